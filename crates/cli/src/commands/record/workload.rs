// SPDX-License-Identifier: MIT OR Apache-2.0
//! What recorded tasks did, as a workload file: each works and sleeps as it was seen to.
//! Why it slept, whom it woke, and what it would have done under another scheduler, is lost.

use rota_kernel::events::Traits;
use rota_trace::{Event, EventKind, OffCpu, Sink};
use serde_json::{json, Map, Value};
use std::collections::BTreeMap;

/// Gathers what each task did.
#[derive(Debug, Default)]
pub(crate) struct Script {
    /// By pid: the task that has it.
    tasks: BTreeMap<u32, Part>,
    /// Those that had it before.
    ended: Vec<(u32, Part)>,
}

/// What one task did.
#[derive(Debug, Default)]
struct Part {
    name: String,
    weight: u32,
    /// When it first was there to run.
    start_ns: Option<u64>,
    state: State,
    exited: bool,
    /// Work since the last sleep.
    run_ns: u64,
    /// Work, and the sleep after it.
    steps: Vec<(u64, u64)>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Waiting,
    Running {
        since_ns: u64,
    },
    Sleeping {
        since_ns: u64,
    },
}

impl Sink for Script {
    fn event(&mut self, event: &Event) {
        let now_ns = event.time_ns;
        match event.kind {
            EventKind::Task { pid, ref name, weight, .. } => {
                let part = self.begin_life(pid);
                part.name.clone_from(name);
                part.weight = weight;
            }
            EventKind::Fork { pid, .. } => _ = self.begin_life(pid),
            EventKind::Wakeup { pid, .. } => self.tasks.entry(pid).or_default().wait(now_ns),
            EventKind::SwitchIn { pid } => {
                let part = self.tasks.entry(pid).or_default();
                part.wait(now_ns);
                part.state = State::Running { since_ns: now_ns };
            }
            EventKind::SwitchOut { pid, why } => {
                let part = self.tasks.entry(pid).or_default();
                part.stop(now_ns);
                part.exited = why == OffCpu::Exit;
                match why {
                    OffCpu::Runnable => part.wait(now_ns),
                    OffCpu::Sleep | OffCpu::Exit => {
                        part.state = State::Sleeping { since_ns: now_ns }
                    }
                }
            }
            _ => {}
        }
    }
}

impl Part {
    /// It is runnable; a sleep, if it had one, is over.
    fn wait(&mut self, now_ns: u64) {
        self.start_ns.get_or_insert(now_ns);
        if let State::Sleeping { since_ns } = self.state {
            let sleep_ns = now_ns.saturating_sub(since_ns);
            self.steps.push((std::mem::take(&mut self.run_ns), sleep_ns));
        }
        self.state = State::Waiting;
    }

    fn stop(&mut self, now_ns: u64) {
        if let State::Running { since_ns } = self.state {
            self.run_ns += now_ns.saturating_sub(since_ns);
        }
    }

    /// Events of a workload file, and whether there are any. Microseconds, with what rounding
    /// left over in the next one, so that sums stay.
    fn events(&self, into: &mut Map<String, Value>) -> bool {
        let (mut run_ns, mut sleep_ns) = (0, 0);
        let mut number = 0;
        for (run, sleep) in self.steps.iter().copied().chain([(self.run_ns, 0)]) {
            number += 1;
            (run_ns, sleep_ns) = (run_ns + run, sleep_ns + sleep);
            for (event, ns) in [("run", &mut run_ns), ("sleep", &mut sleep_ns)] {
                if *ns >= 1000 {
                    into.insert(format!("{event}{number}"), (*ns / 1000).into());
                    *ns %= 1000;
                }
            }
        }
        into.keys().any(|key| key.starts_with("run"))
    }
}

/// Name and pid; a pid that was used again by a task of the same name gets a number.
fn free_name(tasks: &Map<String, Value>, name: &str, pid: u32) -> String {
    let first = format!("{name}-{pid}");
    let others = (2u32..).map(|number| format!("{first}-{number}"));
    let mut names = std::iter::once(first.clone()).chain(others);
    names.find(|name| !tasks.contains_key(name)).unwrap_or(first)
}

impl Script {
    /// The task with this pid, a new one if the last was seen to exit. Until something else is
    /// told it has the name and weight of that one.
    fn begin_life(&mut self, pid: u32) -> &mut Part {
        let part = self.tasks.entry(pid).or_default();
        if part.exited {
            let next = Part { name: part.name.clone(), weight: part.weight, ..Part::default() };
            self.ended.push((pid, std::mem::replace(part, next)));
        }
        part
    }

    /// The workload file of a recording that ended at `end_ns`; `None` if no task worked.
    pub(crate) fn finish(mut self, end_ns: u64, traits: &BTreeMap<u32, Traits>) -> Option<String> {
        let mut parts: Vec<(u32, Part)> = Vec::new();
        let ended = std::mem::take(&mut self.ended).into_iter();
        for (pid, mut part) in ended.chain(std::mem::take(&mut self.tasks)) {
            part.stop(end_ns);
            // The simulated machine has no kernel threads.
            if !traits.get(&pid).is_some_and(|t| t.kernel_thread) {
                parts.push((pid, part));
            }
        }
        parts.sort_by_key(|(pid, part)| (part.start_ns, *pid));
        let mut tasks = Map::new();
        for (pid, part) in parts {
            let mut task = Map::new();
            let delay_us = part.start_ns.unwrap_or(0) / 1000;
            if delay_us > 0 {
                task.insert("delay".into(), delay_us.into());
            }
            if part.weight != 100 {
                task.insert("weight".into(), part.weight.into());
            }
            if let Some(cpus) = traits.get(&pid).and_then(|t| t.cpus.as_ref()) {
                task.insert("cpus".into(), json!(cpus));
            }
            task.insert("loop".into(), 1.into());
            if part.events(&mut task) {
                tasks.insert(free_name(&tasks, &part.name, pid), Value::Object(task));
            }
        }
        if tasks.is_empty() {
            return None;
        }
        let duration = end_ns.div_ceil(1_000_000_000);
        let file = json!({ "global": { "duration": duration }, "tasks": tasks });
        Some(format!("{file:#}\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(events: &[(u64, EventKind)]) -> Script {
        let mut script = Script::default();
        for (time_us, kind) in events {
            let event = Event { time_ns: time_us * 1000, cpu: Some(0), kind: kind.clone() };
            script.event(&event);
        }
        script
    }

    fn named(pid: u32, name: &str, weight: u32) -> (u64, EventKind) {
        (0, EventKind::Task { pid, name: name.into(), weight, instance_of: None })
    }

    fn out(pid: u32, why: OffCpu) -> EventKind {
        EventKind::SwitchOut { pid, why }
    }

    #[test]
    fn work_and_sleep_come_back_and_waiting_does_not() {
        use OffCpu::{Exit, Runnable, Sleep};
        let script = script(&[
            named(7, "a", 335),
            (500, EventKind::Wakeup { pid: 7, waker: 0 }),
            (600, EventKind::SwitchIn { pid: 7 }),
            (700, out(7, Runnable)),
            (900, EventKind::SwitchIn { pid: 7 }),
            (1000, out(7, Sleep)),
            (1300, EventKind::Wakeup { pid: 7, waker: 0 }),
            (1400, EventKind::SwitchIn { pid: 7 }),
            (1450, out(7, Exit)),
        ]);
        let traits = Traits { cpus: Some(vec![1]), ..Traits::default() };
        let text = script.finish(1_200_000_000, &BTreeMap::from([(7, traits)])).expect("a task");
        let file: Value = serde_json::from_str(&text).expect("JSON");
        let expected = json!({
            "global": { "duration": 2 },
            "tasks": { "a-7": {
                "delay": 500, "weight": 335, "cpus": [1], "loop": 1,
                "run1": 200, "sleep1": 300, "run2": 50,
            } },
        });
        assert_eq!(file, expected);
        rota_workload::parse("recorded.json", &text).expect("a workload");
    }

    #[test]
    fn a_pid_that_is_used_again_is_another_task() {
        let run = |from_us, to_us| {
            [(from_us, EventKind::SwitchIn { pid: 7 }), (to_us, out(7, OffCpu::Exit))]
        };
        let fork = |us| [(us, EventKind::Fork { pid: 7, parent: 1 })];
        let ls = [(400, named(7, "ls", 100).1)];
        let parts = [&[named(7, "sh", 100)][..], &run(0, 100), &fork(200), &run(210, 250)];
        let parts =
            parts.concat().into_iter().chain([&ls[..], &fork(400), &run(400, 430)].concat());
        let script = script(&parts.collect::<Vec<_>>());
        let text = script.finish(1_000_000_000, &BTreeMap::new()).expect("tasks");
        let file: Value = serde_json::from_str(&text).expect("JSON");
        let expected = json!({
            "sh-7": { "loop": 1, "run1": 100 },
            "sh-7-2": { "delay": 210, "loop": 1, "run1": 40 },
            "ls-7": { "delay": 400, "loop": 1, "run1": 30 },
        });
        assert_eq!(file["tasks"], expected);
        rota_workload::parse("recorded.json", &text).expect("a workload");
    }

    #[test]
    fn what_rounding_leaves_is_not_lost() {
        let mut part = Part { steps: vec![(600, 700); 10], ..Part::default() };
        part.run_ns = 1400;
        let mut events = Map::new();
        assert!(part.events(&mut events));
        let sum = |word: &str| -> u64 {
            events.iter().filter(|(k, _)| k.starts_with(word)).filter_map(|(_, v)| v.as_u64()).sum()
        };
        // 10 * 600 + 1400 ns and 10 * 700 ns
        assert_eq!((sum("run"), sum("sleep")), (7, 7));
    }

    #[test]
    fn kernel_threads_and_idlers_are_left_out() {
        let script = script(&[
            named(7, "idler", 100),
            named(8, "[kworker]", 100),
            (1, EventKind::SwitchIn { pid: 8 }),
            (900, out(8, OffCpu::Sleep)),
        ]);
        let kernel = Traits { kernel_thread: true, ..Traits::default() };
        assert_eq!(script.finish(1_000_000, &BTreeMap::from([(8, kernel)])), None);
    }
}
