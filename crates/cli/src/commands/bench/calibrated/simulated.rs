// SPDX-License-Identifier: MIT OR Apache-2.0
//! A load in the simulator, on the machine of a file, under `eevdf`.

use super::args::CalibratedLoad;
use super::workloads;
use crate::commands::bench::computer::Computer;
use crate::error::Error;
use crate::object;
use rota_machine_file::Machine;
use rota_sim::{Simulation, Watchers};
use rota_trace::{Event, EventKind, Sink};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What is not measured at the beginning.
const WARMUP_NS: u64 = 200_000_000;

/// What the simulator says of a load.
pub(super) struct Predicted {
    pub(super) per_second: f64,
    pub(super) wakeup_p50_ns: Option<f64>,
}

/// What a load's tasks did after the warm-up.
#[derive(Default)]
struct Watcher {
    names: BTreeMap<u32, String>,
    /// Wakeups by other tasks, of each task.
    woken: BTreeMap<u32, u64>,
    /// Work of each task, in 1/1024 ns.
    worked: BTreeMap<u32, u64>,
    /// When each task was woken last.
    woken_ns: BTreeMap<u32, u64>,
    /// From the wakeup of a task to its waking another one.
    until_waking: BTreeMap<u32, Vec<u64>>,
}

impl Sink for Watcher {
    fn event(&mut self, event: &Event) {
        match &event.kind {
            EventKind::Task { pid, name, .. } => {
                self.names.insert(*pid, name.clone());
            }
            EventKind::Wakeup { pid, waker } => {
                let counts = event.time_ns >= WARMUP_NS;
                if let Some(from_ns) = self.woken_ns.get(waker).filter(|_| counts) {
                    let took = event.time_ns - from_ns;
                    self.until_waking.entry(*waker).or_default().push(took);
                }
                if *waker != 0 && counts {
                    *self.woken.entry(*pid).or_default() += 1;
                }
                self.woken_ns.insert(*pid, event.time_ns);
            }
            EventKind::Work { pid, done, .. } if event.time_ns >= WARMUP_NS => {
                *self.worked.entry(*pid).or_default() += done;
            }
            _ => {}
        }
    }
}

impl Watcher {
    fn sum(&self, of: &BTreeMap<u32, u64>, name: &str) -> f64 {
        let named = |pid: &u32| self.names.get(pid).is_some_and(|own| own.starts_with(name));
        of.iter().filter(|(pid, _)| named(pid)).map(|(_, n)| *n as f64).sum()
    }

    /// Half of the workers' wakeups take no longer until the first of `work_ns`.
    fn wakeup_p50_ns(&self, work_ns: f64) -> Option<f64> {
        let named = |pid: &u32| self.names.get(pid).is_some_and(|own| own.starts_with("work"));
        let all = self.until_waking.iter().filter(|(pid, _)| named(pid));
        let mut all: Vec<u64> = all.flat_map(|(_, took)| took.iter().copied()).collect();
        all.sort_unstable();
        let middle = all.get(all.len().saturating_sub(1) / 2)?;
        Some((*middle as f64 - work_ns).max(0.0))
    }
}

/// Simulates a load for a time.
pub(super) fn run(
    load: CalibratedLoad,
    own_ns: &[f64],
    seed: u64,
    duration_ns: u64,
    machine: &Machine,
    computer: &Computer,
) -> Result<Predicted, Error> {
    let text = workloads::text(load, own_ns, machine.topology.cpus());
    let workload = rota_workload::parse(load.name(), &text).map_err(Error::input)?;
    let kernel = computer.simulated();
    let mut policy = object::link_shipped(rota_catalog::find("eevdf")?, &kernel)?;
    let mut set = vec![format!("seed={seed}")];
    set.extend(computer.tunables());
    for (name, value) in set.iter().filter_map(|set| set.split_once('=')) {
        policy.set(name, value)?;
    }
    let mut config = machine.config(WARMUP_NS + duration_ns);
    (config.hz, config.seed) = (computer.hz, seed);
    let mut watcher = Watcher::default();
    let watchers = Watchers { sinks: vec![&mut watcher], figures: None };
    let measured = Simulation::new(&policy, &Arc::new(workload), config).measure(watchers)?;
    if measured.outcome.exit.kind.is_error() {
        let exit = &measured.outcome.exit;
        return Err(Error::Failure(format!("{}: eevdf was ejected: {exit}", load.name())));
    }
    let own = |at: usize| own_ns.get(at).copied().unwrap_or_default().max(1.0);
    let worked = |name: &str, each_ns: f64| watcher.sum(&watcher.worked, name) / 1024.0 / each_ns;
    let done = match load {
        CalibratedLoad::PipeOne | CalibratedLoad::PipeTwo => watcher.sum(&watcher.woken, "first"),
        CalibratedLoad::Groups => worked("receive", own(1)),
        CalibratedLoad::Wakeups => watcher.sum(&watcher.woken, "work"),
        CalibratedLoad::Memory => worked("walk", own(0)),
    };
    let p50 = match load {
        CalibratedLoad::Wakeups => watcher.wakeup_p50_ns(own(0)),
        _ => None,
    };
    Ok(Predicted { per_second: done * 1e9 / duration_ns as f64, wakeup_p50_ns: p50 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wakeup_lasts_until_the_first_work() {
        let mut watcher = Watcher::default();
        let mut event = |at_us: u64, kind| {
            watcher.event(&Event { time_ns: WARMUP_NS + at_us * 1_000, cpu: None, kind });
        };
        let task = |pid, name: &str| EventKind::Task {
            pid,
            name: name.into(),
            weight: 100,
            instance_of: None,
        };
        event(0, task(1, "think0-0"));
        event(0, task(2, "work0-1"));
        // woken at 10 us; 20 us later its 100 us of work begin
        event(10, EventKind::Wakeup { pid: 2, waker: 1 });
        event(130, EventKind::Wakeup { pid: 1, waker: 2 });
        assert_eq!(watcher.wakeup_p50_ns(100_000.0), Some(20_000.0));
        assert_eq!(watcher.sum(&watcher.woken, "work"), 1.0);
    }
}
