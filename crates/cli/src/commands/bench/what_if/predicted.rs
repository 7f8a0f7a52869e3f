// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a recording says about another setting.

use super::child::nicer;
use super::live::Recording;
use super::question::Setting;
use crate::commands::bench::computer::Computer;
use crate::error::Error;
use crate::object;
use crate::replay::part;
use rota_machine_file::Machine;
use rota_sim::{Simulation, Watchers};
use rota_trace::{Event, EventKind, Sink};
use std::collections::BTreeSet;
use std::sync::Arc;

/// How long the first copy takes, and the p99 of all wakeup latencies.
pub(super) struct Predicted {
    pub(super) took_ns: u64,
    pub(super) p99_ns: Option<u64>,
}

/// A recording in which tasks wait for ever goes on as long as hogs do. Any other is over before: with
/// hogs on one CPU it takes some ten times as long as recorded.
const MOST_TIMES: u64 = 100;

/// Plays the recording of one setting as the other one, under the model of the kernel's own
/// scheduler, set as on this computer. `None`: some of the first copy's tasks wait for ever.
pub(super) fn predict(
    recording: &Recording,
    machine: &Machine,
    asked: Setting,
    computer: &Computer,
) -> Result<Option<Predicted>, Error> {
    let Some(made) = &recording.made else {
        return Err(Error::Failure("there is no workload to play".into()));
    };
    let mut workload = rota_workload::parse("the recorded workload", &made.replay.text)?;
    let runner = format!("-{}", recording.report.pid);
    let name = workload.task_names().find(|name| name.ends_with(&runner)).map(str::to_owned);
    let copies = name.iter().flat_map(|name| workload.forked_by(name));
    let copies: Vec<_> = copies.map(|copy| workload.family(copy)).collect();
    let Some(first) = copies.first().cloned() else {
        return Err(Error::Failure("the recording does not have the command's start".into()));
    };
    if let (Some(second), true) = (copies.get(1), asked.nice != 0) {
        workload.set_nice(second, nicer(asked.nice)?);
    }
    if let Some(slice_ns) = asked.slice_ns {
        workload.set_slices(slice_ns);
    }
    if asked.hogs > 0 {
        workload.add_hogs(asked.hogs);
    }
    let policy = policy(computer)?;
    let cpus: Vec<u32> = (0..asked.cpus).collect();
    let mut config = part(machine, &cpus)?.config(MOST_TIMES * recording.length_ns);
    config.hz = computer.hz;
    let mut lives = Lives { of: first, ..Lives::default() };
    let watchers = Watchers { sinks: vec![&mut lives], figures: None };
    let measured = Simulation::new(&policy, &Arc::new(workload), config).measure(watchers)?;
    if measured.outcome.exit.kind.is_error() {
        return Err(Error::Failure(format!("eevdf was ejected: {}", measured.outcome.exit)));
    }
    if !lives.alive.is_empty() {
        return Ok(None);
    }
    let began_ns = lives.began_ns.unwrap_or(0);
    Ok(Some(Predicted {
        took_ns: lives.ended_ns.saturating_sub(began_ns),
        p99_ns: measured.numbers.totals.wakeup_latency_ns.p99,
    }))
}

fn policy(computer: &Computer) -> Result<rota_sim::Policy, Error> {
    let kernel = computer.simulated();
    let mut policy = object::link_shipped(rota_catalog::find("eevdf")?, &kernel)?;
    for set in computer.tunables() {
        if let Some((name, value)) = set.split_once('=') {
            policy.set(name, value)?;
        }
    }
    Ok(policy)
}

/// When the first task of some began, and the last ended.
#[derive(Default)]
struct Lives {
    of: BTreeSet<String>,
    pids: BTreeSet<u32>,
    /// Those of them that have not ended.
    alive: BTreeSet<u32>,
    began_ns: Option<u64>,
    ended_ns: u64,
}

impl Sink for Lives {
    fn event(&mut self, event: &Event) {
        match &event.kind {
            EventKind::Task { pid, instance_of, name, .. } => {
                let name = instance_of.as_deref().unwrap_or(name);
                if self.of.contains(name) && self.pids.insert(*pid) {
                    self.alive.insert(*pid);
                    self.began_ns.get_or_insert(event.time_ns);
                }
            }
            EventKind::Exit { pid } if self.pids.contains(pid) => {
                self.alive.remove(pid);
                self.ended_ns = self.ended_ns.max(event.time_ns);
            }
            _ => {}
        }
    }
}
