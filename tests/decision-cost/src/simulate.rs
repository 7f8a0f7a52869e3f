// SPDX-License-Identifier: MIT OR Apache-2.0
//! The same load in the simulated machine: what it picks, and the instructions that it
//! counts for a decision.

use crate::failure::Failure;
use crate::host::TaskSpec;
use rota_machine::config::Config;
use rota_machine::exit::ExitKind;
use rota_machine::kernel::Kernel;
use rota_machine::topology::Topology;
use rota_sim::{Policy, Simulation};
use rota_trace::{Cost, Event, EventKind, Sink};
use std::fmt::Write as _;
use std::sync::Arc;

/// What a policy whose slices do not end gives each task before it yields, as in
/// `bench.bpf.c`.
const UNBOUNDED_RUN_US: u64 = 10_000;

/// A run of the simulated machine.
#[derive(Clone, Debug, Default)]
pub struct Simulated {
    /// The task of each decision, by its number in the load.
    pub picks: Vec<usize>,
    /// Instructions of the policy's callbacks per decision, kernel functions included, once
    /// all tasks are there. As in the kernel's loop, ticks are not part of a decision.
    pub instructions: f64,
    /// Tasks had to yield, as slices did not end.
    pub yielded: bool,
}

#[derive(Default)]
struct Picks {
    first_pid: Option<u32>,
    picks: Vec<usize>,
    unbounded: bool,
    /// Since the tasks came, all at once at the beginning.
    later_picks: u64,
    later_instructions: u64,
}

impl Sink for Picks {
    fn event(&mut self, event: &Event) {
        match &event.kind {
            EventKind::Task { pid, .. } => {
                self.first_pid.get_or_insert(*pid);
            }
            EventKind::Pick { pid, slice_ns } => {
                self.picks.push((pid - self.first_pid.unwrap_or(*pid)) as usize);
                self.unbounded |= *slice_ns == u64::MAX;
                self.later_picks += u64::from(event.time_ns > 0);
            }
            EventKind::OpCall { cost: Cost::Instructions(count), op, .. }
                if event.time_ns > 0 && op != "tick" =>
            {
                self.later_instructions += count;
            }
            _ => {}
        }
    }

    fn wants_detail(&self) -> bool {
        true
    }
}

/// Simulates tasks that never sleep, on one CPU without overheads, for about as many
/// decisions as wanted (slices of 10 ms; more decisions if they are shorter), or until
/// the watchdog comes: a task waited for 30 s.
pub fn simulate(
    policy: &str,
    object: &[u8],
    specs: &[TaskSpec],
    decisions: u64,
) -> Result<Simulated, Failure> {
    let simulated = run(policy, object, specs, decisions, false)?;
    if simulated.yielded {
        return run(policy, object, specs, decisions, true);
    }
    Ok(simulated)
}

fn run(
    policy: &str,
    object: &[u8],
    specs: &[TaskSpec],
    decisions: u64,
    yielding: bool,
) -> Result<Simulated, Failure> {
    let failure =
        |e: &dyn std::fmt::Display| Failure::run(policy, format!("in the simulator: {e}"));
    let policy = Policy::link(policy, object, &Kernel::default()).map_err(|e| failure(&e))?;
    let load = rota_workload::parse("load", &workload(specs, yielding)).map_err(|e| failure(&e))?;
    let topology = Topology::flat(1).map_err(|e| failure(&e))?;
    let mut config = Config::new(topology, decisions * UNBOUNDED_RUN_US * 1000).ideal();
    config.detail = true;
    let simulation = Simulation::new(&policy, &Arc::new(load), config);
    let mut loaded = simulation.load().map_err(|e| failure(&e))?;
    let mut picks = Picks::default();
    let outcome = loaded.run(&mut picks).map_err(|e| failure(&e))?;
    // with so many tasks the watchdog comes before everybody had a turn: an end like another
    if !matches!(outcome.exit.kind, ExitKind::Unreg | ExitKind::ErrorStall) {
        return Err(failure(&outcome.exit.message));
    }
    Ok(Simulated {
        instructions: picks.later_instructions as f64 / picks.later_picks.max(1) as f64,
        picks: picks.picks,
        yielded: picks.unbounded,
    })
}

fn workload(specs: &[TaskSpec], yielding: bool) -> String {
    let mut text = String::from("{\"tasks\": {");
    for (i, spec) in specs.iter().enumerate() {
        let comma = if i == 0 { "" } else { "," };
        let share = spec.share.map(|share| format!("\"share\": {share}, ")).unwrap_or_default();
        let work = if yielding {
            format!("\"run\": {UNBOUNDED_RUN_US}, \"yield\": \"\"")
        } else {
            "\"run\": 1000000".into()
        };
        let weight = spec.weight;
        let _ =
            write!(text, "{comma}\"t{i}\": {{\"weight\": {weight}, {share}\"loop\": -1, {work}}}");
    }
    text.push_str("}}");
    text
}
