// SPDX-License-Identifier: MIT OR Apache-2.0
//! A recording, and what its workload does under the recorded scheduler's model, side by side.

use super::grade::{grade, Circumstances, Grade};
use super::kind::{Kind, Pair};
use super::Made;
use crate::error::Error;
use crate::object;
use crate::output::messages;
use rota_machine::kernel::Kernel;
use rota_measure::{GroupNumbers, Numbers, Results, Summary};
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
        let workload = rota_workload::parse("the recorded workload", &made.replay.text)?;
        let duration_ns = workload.duration_ns.unwrap_or(u64::MAX);
        let workload = Arc::new(workload);
        let config = made.machine.config(duration_ns);
        let mut renamed =
            Renamed { names: &made.replay.names, summary: Summary::new(config.topology.cpus()) };
        let watchers = Watchers { sinks: vec![&mut renamed], figures: None };
        let simulation = Simulation::new(&policy, &workload, config);
        let measured = simulation.measure(watchers).map_err(Error::input)?;
        let Results { groups: replayed, .. } = renamed.summary.finish_all(measured.outcome.end_ns);
        let kinds = kinds(groups, &replayed, &made.replay.names);
        let known: BTreeSet<&str> = made.replay.names.values().map(String::as_str).collect();
        let last = |numbers: &Numbers, all: bool| {
            let own = numbers.tasks.iter().filter(|task| all || known.contains(task.name.as_str()));
            own.filter_map(|task| task.finished_ns).max()
        };
        let completion = last(numbers, false).zip(last(&measured.numbers, true));
        let completion =
            completion.map(|(recorded_ns, replayed_ns)| Pair { recorded_ns, replayed_ns });
        let judged = (&made.replay.waits, made.replay.doubts.as_slice());
        let grade = grade(&kinds, completion, judged, (circumstances, shipped.is_some()));
        Ok(Self { scheduler: name, completion, kinds, grade })
    }
}

fn kinds(
    recorded: &[GroupNumbers],
    replayed: &[GroupNumbers],
    names: &BTreeMap<String, String>,
) -> Vec<Kind> {
    let known: BTreeSet<&str> = names.values().map(String::as_str).collect();
    let plain = |name: &str| name.trim_start_matches('[').trim_end_matches(']').to_owned();
    let mut kinds: Vec<Kind> = recorded
        .iter()
        .filter(|group| known.contains(plain(&group.name).as_str()))
        .filter_map(|group| {
            let name = plain(&group.name);
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
}

impl Sink for Renamed<'_> {
    fn event(&mut self, event: &Event) {
        let EventKind::Task { pid, ref name, weight, ref instance_of } = event.kind else {
            return self.summary.event(event);
        };
        let of = instance_of.as_deref().and_then(|of| self.names.get(of));
        let name = of.unwrap_or(name).clone();
        let kind = EventKind::Task { pid, name, weight, instance_of: None };
        self.summary.event(&Event { time_ns: event.time_ns, cpu: event.cpu, kind });
    }
}
