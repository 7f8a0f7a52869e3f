// SPDX-License-Identifier: MIT OR Apache-2.0
//! A recording, and what its workload does under the recorded scheduler's model, side by side.

use super::grade::{grade, Circumstances, Grade};
use super::kind::{Kind, Pair};
use super::Made;
use crate::error::Error;
use crate::object;
use crate::output::messages;
use rota_machine::kernel::Kernel;
use rota_measure::{GroupNumbers, Numbers, Summary};
use rota_sim::{Simulation, Watchers};
use rota_trace::{Event, EventKind, Sink};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The model of the kernel's own scheduler.
const FAIR: &str = "eevdf";

/// Recorded and replayed.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Compared {
    /// The scheduler that replayed it.
    pub(crate) scheduler: String,
    /// Until the last task that ended had ended; `None`: none did.
    pub(crate) completion: Option<Pair>,
    /// Most CPU time first.
    pub(crate) kinds: Vec<Kind>,
    #[serde(flatten)]
    pub(crate) grade: Grade,
}

impl Compared {
    /// Plays the workload. If that fails, there is a warning and nothing to compare: the file and what
    /// was measured are there all the same.
    pub(crate) fn of(
        made: &Made,
        recorded: (&Numbers, &[GroupNumbers]),
        circumstances: &Circumstances<'_>,
    ) -> Option<Self> {
        let compared = Self::new(made, recorded, circumstances);
        compared.map_err(|why| messages::warning(&format!("the workload does not run: {why}"))).ok()
    }

    fn new(
        made: &Made,
        (numbers, groups): (&Numbers, &[GroupNumbers]),
        circumstances: &Circumstances<'_>,
    ) -> Result<Self, Error> {
        let shipped = circumstances.scheduler.and_then(|name| rota_catalog::find(name).ok());
        let found = match shipped {
            Some(found) => found,
            None => rota_catalog::find(FAIR)?,
        };
        let name = found.name.to_string();
        let policy =
            object::link_shipped(found, &Kernel::default().with_settings(&made.machine.kernel))?;
        let text = made.replay.with_recorder.as_ref().unwrap_or(&made.replay.text);
        let workload = rota_workload::parse("the recorded workload", text)?;
        let duration_ns = workload.duration_ns.unwrap_or(u64::MAX);
        let workload = Arc::new(workload);
        let config = made.machine.config(duration_ns);
        let (ended, recorded_ns) = ended(numbers, &made.replay.names);
        let mut renamed = Renamed {
            names: &made.replay.names,
            summary: Summary::new(config.topology.cpus()),
            ended,
            pids: BTreeSet::new(),
            ended_ns: None,
        };
        let watchers = Watchers { sinks: vec![&mut renamed], figures: None };
        let simulation = Simulation::new(&policy, &workload, config);
        let measured = simulation.measure(watchers).map_err(Error::input)?;
        let replayed = renamed.summary.finish_all(measured.outcome.end_ns).groups;
        let kinds = kinds(groups, &replayed, &made.replay.names);
        let completion = recorded_ns
            .zip(renamed.ended_ns)
            .map(|(recorded_ns, replayed_ns)| Pair { recorded_ns, replayed_ns });
        let judged = (&made.replay.waits, made.replay.doubts.as_slice());
        let grade = grade(&kinds, completion, judged, (circumstances, shipped.is_some()));
        Ok(Self { scheduler: name, completion, kinds, grade })
    }
}

/// The tasks that ended in the recording, as the workload calls them, and when the last one did. What
/// others did is over in the replay once they have done what was seen of it.
fn ended(recorded: &Numbers, names: &BTreeMap<String, String>) -> (BTreeSet<String>, Option<u64>) {
    let tasks = recorded.tasks.iter().filter_map(|task| {
        let name = format!("{}-{}", plain(&task.name), task.pid);
        names.contains_key(&name).then_some((name, task.finished_ns?))
    });
    let tasks: BTreeMap<String, u64> = tasks.collect();
    let last_ns = tasks.values().max().copied();
    (tasks.into_keys().collect(), last_ns)
}

/// A kernel thread's name without the brackets that recordings put around it.
fn plain(name: &str) -> &str {
    name.trim_start_matches('[').trim_end_matches(']')
}

fn kinds(
    recorded: &[GroupNumbers],
    replayed: &[GroupNumbers],
    names: &BTreeMap<String, String>,
) -> Vec<Kind> {
    let known: BTreeSet<&str> = names.values().map(String::as_str).collect();
    let mut kinds: Vec<Kind> = recorded
        .iter()
        .filter(|group| known.contains(plain(&group.name)))
        .filter_map(|group| {
            let name = plain(&group.name).to_owned();
            let other = replayed.iter().find(|other| other.name == name)?;
            let pair = |of: fn(&GroupNumbers) -> u64| Pair {
                recorded_ns: of(group),
                replayed_ns: of(other),
            };
            let enough = group.wakeup_latency_ns.count >= 100;
            let p = |of: fn(&GroupNumbers) -> Option<u64>| {
                let pair = of(group).zip(of(other)).filter(|_| enough);
                pair.map(|(recorded_ns, replayed_ns)| Pair { recorded_ns, replayed_ns })
            };
            Some(Kind {
                name,
                tasks: group.tasks,
                cpu: pair(|g| g.cpu_ns),
                run_delay: pair(|g| g.run_delay_ns),
                p50: p(|g| g.wakeup_latency_ns.p50),
                p99: p(|g| g.wakeup_latency_ns.p99),
            })
        })
        .collect();
    kinds.sort_by_key(|kind| std::cmp::Reverse(kind.cpu.recorded_ns));
    kinds
}

/// Tasks by the names that they had when they were recorded.
struct Renamed<'a> {
    names: &'a BTreeMap<String, String>,
    summary: Summary,
    /// Tasks of which the end is looked for, their pids, and when the last one ended.
    ended: BTreeSet<String>,
    pids: BTreeSet<u32>,
    ended_ns: Option<u64>,
}

impl Sink for Renamed<'_> {
    fn event(&mut self, event: &Event) {
        if matches!(event.kind, EventKind::Exit { pid } if self.pids.contains(&pid)) {
            self.ended_ns = Some(event.time_ns);
        }
        let EventKind::Task { pid, ref name, weight, ref instance_of } = event.kind else {
            return self.summary.event(event);
        };
        if instance_of.as_deref().is_some_and(|of| self.ended.contains(of)) {
            self.pids.insert(pid);
        }
        let of = instance_of.as_deref().and_then(|of| self.names.get(of));
        let name = of.unwrap_or(name).clone();
        let kind = EventKind::Task { pid, name, weight, instance_of: None };
        self.summary.event(&Event { time_ns: event.time_ns, cpu: event.cpu, kind });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn completion_is_of_tasks_that_ended_in_the_recording() {
        let mut summary = Summary::new(1);
        let mut tell = |time_ns, kind| summary.event(&Event { time_ns, cpu: Some(0), kind });
        for (pid, name) in [(5, "job"), (6, "[thread]"), (7, "server"), (8, "unplayed")] {
            tell(0, EventKind::Task { pid, name: name.into(), weight: 100, instance_of: None });
        }
        tell(3000, EventKind::Exit { pid: 5 });
        tell(4000, EventKind::Exit { pid: 6 });
        tell(5000, EventKind::Exit { pid: 8 });
        let names = [("job-5", "job"), ("thread-6", "thread"), ("server-7", "server")];
        let names = names.map(|(task, name)| (task.to_owned(), name.to_owned())).into();

        let (tasks, last_ns) = ended(&summary.finish_all(9000).numbers, &names);

        assert_eq!(tasks.into_iter().collect::<Vec<_>>(), ["job-5", "thread-6"]);
        assert_eq!(last_ns, Some(4000));
    }
}
