// SPDX-License-Identifier: MIT OR Apache-2.0
//! A workload played, and what its kinds of tasks got.

use crate::error::Error;
use rota_condense::{kind, Watched};
use rota_machine_file::Machine;
use rota_measure::{GroupNumbers, Results, Summary};
use rota_sim::{Policy, Simulation, Watchers};
use rota_trace::{Event, EventKind, Sink};
use rota_workload::Workload;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Where workloads are played.
pub(super) struct Host<'a> {
    pub(super) policy: &'a Policy,
    pub(super) machine: &'a Machine,
    pub(super) seed: u64,
}

/// What the tasks of each kind got, and how long all of them lived, in nanoseconds.
pub(super) struct Played {
    pub(super) kinds: Vec<GroupNumbers>,
    pub(super) alive_ns: BTreeMap<String, u128>,
}

/// Plays a workload for at most this time; gives what its kinds got, and when it ended.
pub(super) fn play(
    host: &Host<'_>,
    workload: &Arc<Workload>,
    duration_ns: u64,
    watched: Option<&mut Watched>,
) -> Result<(Played, u64), Error> {
    let mut config = host.machine.config(duration_ns);
    config.seed = host.seed;
    let mut by_kind = ByKind {
        summary: Summary::new(config.topology.cpus()),
        born: BTreeMap::new(),
        alive_ns: BTreeMap::new(),
    };
    let mut sinks: Vec<&mut dyn Sink> = vec![&mut by_kind];
    if let Some(watched) = watched {
        sinks.push(watched);
    }
    let watchers = Watchers { sinks, figures: None };
    let measured =
        Simulation::new(host.policy, workload, config).measure(watchers).map_err(Error::input)?;
    let outcome = &measured.outcome;
    if outcome.exit.kind.is_error() {
        let reason = &outcome.exit.message;
        return Err(Error::Failure(format!("the policy was ejected: {reason}")));
    }
    let end_ns = outcome.end_ns;
    let ByKind { summary, born, mut alive_ns } = by_kind;
    for (kind, since_ns) in born.into_values() {
        *alive_ns.entry(kind).or_default() += u128::from(end_ns.saturating_sub(since_ns));
    }
    let Results { groups, .. } = summary.finish_all(end_ns);
    Ok((Played { kinds: groups, alive_ns }, end_ns))
}

/// Tasks by their kinds.
struct ByKind {
    summary: Summary,
    /// By pid: the kind, and since when the task is there.
    born: BTreeMap<u32, (String, u64)>,
    alive_ns: BTreeMap<String, u128>,
}

impl Sink for ByKind {
    fn event(&mut self, event: &Event) {
        match &event.kind {
            EventKind::Task { pid, name, weight, instance_of } => {
                let name = kind(instance_of.as_deref().unwrap_or(name)).to_owned();
                self.born.entry(*pid).or_insert_with(|| (name.clone(), event.time_ns));
                let kind = EventKind::Task { pid: *pid, name, weight: *weight, instance_of: None };
                self.summary.event(&Event { time_ns: event.time_ns, cpu: event.cpu, kind });
            }
            EventKind::Exit { pid } => {
                if let Some((kind, since_ns)) = self.born.remove(pid) {
                    let lived_ns = u128::from(event.time_ns.saturating_sub(since_ns));
                    *self.alive_ns.entry(kind).or_default() += lived_ns;
                }
                self.summary.event(event);
            }
            _ => self.summary.event(event),
        }
    }
}
