// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether a condition holds: over the last second of an event stream.

use crate::condition::{Condition, Metric, Statistic, Subject};
use crate::counts::{Longest, Steps};
use rota_trace::{Event, EventKind, OffCpu, Sink};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The window over which a condition is looked at. It slides in steps of 50 ms.
pub const WINDOW_NS: u64 = 1_000_000_000;

/// Watches an event stream.
#[derive(Debug)]
pub struct Watch {
    condition: Condition,
    tasks: BTreeMap<u32, Task>,
    steps: Steps,
}

#[derive(Debug, Default)]
struct Task {
    name: String,
    /// Its cgroup, if that was said.
    cgroup: Option<Arc<str>>,
    /// Since when it waits for a CPU, as far as the metric counts it.
    waits_since_ns: Option<u64>,
}

/// What a window held.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// The end of the window, in time since the beginning of the stream.
    pub at_ns: u64,
    /// Times in the window, those of waits that are not over yet included if they are too long
    /// already.
    pub count: u64,
    /// The statistic of them, to three digits.
    pub value_ns: u64,
    /// The longest of them.
    pub longest: Option<Longest>,
}

impl Watch {
    /// Watches for a condition.
    pub fn new(condition: Condition) -> Self {
        Self { condition, tasks: BTreeMap::new(), steps: Steps::default() }
    }

    /// What it watches for.
    pub fn condition(&self) -> &Condition {
        &self.condition
    }

    /// What the window that ends at `now_ns` holds, if the condition is true of it. All events until
    /// then must have come. Before the first whole window nothing is true.
    pub fn met(&mut self, now_ns: u64) -> Option<Seen> {
        self.steps.forget(now_ns, WINDOW_NS);
        if now_ns < WINDOW_NS {
            return None;
        }
        let Condition { statistic, comparison, limit_ns, .. } = self.condition;
        let mut counts = self.steps.counts();
        self.open(now_ns).for_each(|(ns, ..)| counts.add(ns, limit_ns));
        counts.hold(statistic, comparison, limit_ns).then(|| self.seen(now_ns))?
    }

    /// What the window that ends at `now_ns` holds; `None`: nothing.
    pub fn seen(&self, now_ns: u64) -> Option<Seen> {
        let mut times = self.steps.times();
        let mut longest = self.steps.longest().cloned();
        for (ns, pid, name) in self.open(now_ns) {
            times.record(ns);
            longest = longest.max(Some(Longest { ns, pid, name: name.to_owned() }));
        }
        let numbers = times.numbers(0);
        let value_ns = match self.condition.statistic {
            Statistic::Mean => numbers.mean.map(|mean| mean as u64),
            Statistic::Permille(500) => numbers.p50,
            Statistic::Permille(950) => numbers.p95,
            Statistic::Permille(990) => numbers.p99,
            Statistic::Permille(_) => numbers.p999,
            Statistic::Max => numbers.max,
        };
        value_ns.map(|value_ns| Seen { at_ns: now_ns, count: times.count(), value_ns, longest })
    }

    /// Waits that are not over and have reached the limit: a task that never gets to run is slow, too.
    fn open(&self, now_ns: u64) -> impl Iterator<Item = (u64, u32, &str)> {
        self.tasks.iter().filter_map(move |(pid, task)| {
            let ns = now_ns.saturating_sub(task.waits_since_ns?);
            (ns >= self.condition.limit_ns).then_some((ns, *pid, task.name.as_str()))
        })
    }

    fn waits(&mut self, pid: u32, since_ns: Option<u64>) {
        let task = self.tasks.entry(pid).or_default();
        task.waits_since_ns = since_ns.filter(|_| task.is_of(&self.condition.subject));
    }

    /// What is known of a task changes: it is watched from now on, or no longer.
    fn learns(&mut self, pid: u32, learn: impl FnOnce(&mut Task)) {
        let task = self.tasks.entry(pid).or_default();
        learn(task);
        task.waits_since_ns = task.waits_since_ns.filter(|_| task.is_of(&self.condition.subject));
    }
}

impl Task {
    fn is_of(&self, subject: &Subject) -> bool {
        match subject {
            Subject::All => true,
            Subject::Name(wanted) => *wanted == self.name,
            Subject::Cgroup(path) => {
                let below = self.cgroup.as_deref().unwrap_or("/").strip_prefix(path.as_str());
                path == "/" || below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            }
        }
    }
}

impl Sink for Watch {
    fn event(&mut self, event: &Event) {
        let now_ns = event.time_ns;
        match &event.kind {
            EventKind::Task { pid, name, .. } => {
                self.learns(*pid, |task| task.name.clone_from(name));
            }
            EventKind::Cgroup { pid, path } => {
                self.learns(*pid, |task| task.cgroup = Some(Arc::clone(path)));
            }
            EventKind::Wakeup { pid, .. } => self.waits(*pid, Some(now_ns)),
            EventKind::SwitchIn { pid } => {
                let task = self.tasks.entry(*pid).or_default();
                if let Some(since_ns) = task.waits_since_ns.take() {
                    let limit_ns = self.condition.limit_ns;
                    self.steps.add(now_ns, now_ns - since_ns, (*pid, &task.name), limit_ns);
                }
            }
            EventKind::SwitchOut { pid, why: OffCpu::Exit } => {
                self.tasks.remove(pid);
            }
            EventKind::SwitchOut { pid, why: OffCpu::Runnable }
                if self.condition.metric == Metric::RunDelay =>
            {
                self.waits(*pid, Some(now_ns));
            }
            EventKind::SwitchOut { pid, .. } => self.waits(*pid, None),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn watch(condition: &str) -> Watch {
        Watch::new(condition.parse().expect("a condition"))
    }

    fn tell(watch: &mut Watch, ms: u64, kind: EventKind) {
        watch.event(&Event { time_ns: ms * MS, cpu: Some(0), kind });
    }

    fn name(watch: &mut Watch, pid: u32, name: &str) {
        let (name, instance_of) = (name.to_owned(), None);
        tell(watch, 0, EventKind::Task { pid, name, weight: 100, instance_of });
    }

    /// Woken at a time, running a while later, and asleep 1 ms after that.
    fn wait(watch: &mut Watch, pid: u32, at_ms: u64, for_ms: u64) {
        tell(watch, at_ms, EventKind::Wakeup { pid, waker: 0 });
        tell(watch, at_ms + for_ms, EventKind::SwitchIn { pid });
        let why = OffCpu::Sleep;
        tell(watch, at_ms + for_ms + 1, EventKind::SwitchOut { pid, why });
    }

    #[test]
    fn a_condition_holds_of_the_last_second() {
        let mut watch = watch("max wakeup of web > 20ms");
        name(&mut watch, 7, "web");
        name(&mut watch, 8, "other");
        wait(&mut watch, 8, 100, 90);
        wait(&mut watch, 7, 300, 20);
        assert_eq!(watch.met(1000 * MS), None, "20 ms are not more than 20 ms");
        wait(&mut watch, 7, 1000, 21);
        let longest = Some(Longest { ns: 21 * MS, pid: 7, name: "web".into() });
        let seen = Seen { at_ns: 1050 * MS, count: 2, value_ns: 21 * MS, longest };
        assert_eq!(watch.met(1050 * MS), Some(seen));
        assert_eq!(watch.met(2000 * MS).map(|seen| seen.count), Some(1));
        assert_eq!(watch.met(2100 * MS), None, "it is over a second ago");
    }

    #[test]
    fn a_cgroup_has_the_tasks_in_it_and_below() {
        for (path, holds) in [
            ("/system.slice/web", true),
            ("/system.slice/web/workers", true),
            ("/system.slice/web2", false),
            ("/system.slice", false),
        ] {
            let mut watch = watch("max wakeup of cgroup system.slice/web > 20ms");
            name(&mut watch, 7, "a");
            tell(&mut watch, 0, EventKind::Cgroup { pid: 7, path: path.into() });
            wait(&mut watch, 7, 500, 30);
            assert_eq!(watch.met(1000 * MS).is_some(), holds, "{path}");
        }
        // Of a task that says nothing it is the root; one that leaves is not watched any more.
        let mut watch = watch("max wakeup of cgroup web > 20ms");
        name(&mut watch, 7, "a");
        wait(&mut watch, 7, 100, 30);
        tell(&mut watch, 200, EventKind::Cgroup { pid: 7, path: "/web".into() });
        tell(&mut watch, 300, EventKind::Wakeup { pid: 7, waker: 0 });
        tell(&mut watch, 310, EventKind::Cgroup { pid: 7, path: "/".into() });
        tell(&mut watch, 400, EventKind::SwitchIn { pid: 7 });
        assert_eq!(watch.met(1000 * MS), None);
    }

    #[test]
    fn nothing_holds_before_the_first_whole_window() {
        let mut watch = watch("max wakeup < 20ms");
        name(&mut watch, 7, "web");
        wait(&mut watch, 7, 500, 2);
        assert_eq!(watch.met(999 * MS), None);
        assert!(watch.met(1000 * MS).is_some());
    }

    #[test]
    fn a_wait_that_never_ends_counts_when_it_is_too_long() {
        let mut watch = watch("p99 wakeup > 20ms");
        name(&mut watch, 7, "web");
        tell(&mut watch, 1000, EventKind::Wakeup { pid: 7, waker: 0 });
        assert_eq!(watch.met(1020 * MS), None);
        let seen = watch.met(1030 * MS).expect("30 ms");
        assert_eq!((seen.count, seen.value_ns), (1, 30 * MS));
        // Its end, too, is one time only.
        tell(&mut watch, 1040, EventKind::SwitchIn { pid: 7 });
        assert_eq!(watch.met(1040 * MS).map(|seen| seen.count), Some(1));
    }

    #[test]
    fn only_run_delay_counts_waits_after_preemption() {
        for (condition, holds) in [("max wakeup > 5ms", false), ("max run delay > 5ms", true)] {
            let mut watch = watch(condition);
            name(&mut watch, 7, "web");
            tell(&mut watch, 900, EventKind::SwitchIn { pid: 7 });
            tell(&mut watch, 950, EventKind::SwitchOut { pid: 7, why: OffCpu::Runnable });
            tell(&mut watch, 960, EventKind::SwitchIn { pid: 7 });
            assert_eq!(watch.met(1000 * MS).is_some(), holds, "{condition}");
        }
    }

    #[test]
    fn a_task_that_ended_waits_no_more() {
        let mut watch = watch("max wakeup > 5ms");
        name(&mut watch, 7, "web");
        tell(&mut watch, 900, EventKind::Wakeup { pid: 7, waker: 0 });
        tell(&mut watch, 900, EventKind::SwitchOut { pid: 7, why: OffCpu::Exit });
        assert_eq!(watch.met(1000 * MS), None);
        assert!(watch.tasks.is_empty());

        // The name of what waited before stays known.
        name(&mut watch, 8, "gone");
        wait(&mut watch, 8, 1000, 6);
        tell(&mut watch, 1010, EventKind::SwitchOut { pid: 8, why: OffCpu::Exit });
        let longest = watch.met(1020 * MS).and_then(|seen| seen.longest);
        assert_eq!(longest.map(|longest| longest.name), Some("gone".into()));
    }
}
