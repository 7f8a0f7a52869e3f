// SPDX-License-Identifier: MIT OR Apache-2.0
//! A case in the simulated machine.

use super::case::{Case, Scheduler};
use super::numbers::Numbers;
use super::programs;
use anyhow::{bail, Context, Result};
use rota_guest::cores::Cores;
use rota_kernel::Fair;
use rota_machine::config::{Config, Costs};
use rota_machine::exit::ExitKind;
use rota_machine::interruption::Interruption;
use rota_machine::kernel::Kernel;
use rota_machine::lab::Lab;
use rota_measure::Summary;
use rota_program::Report;
use rota_sim::{Loaded, Policy, Simulation};
use rota_trace::{CsvSink, Event, EventKind, Sink};
use rota_workload::events::{Action, OutsideEvent};
use rota_workload::Workload;
use std::collections::HashMap;
use std::sync::Arc;

/// From a wakeup to the other CPU's looking, where no wakeup of the case tells.
const IPI_NS: u64 = 20_000;

/// For a system call of a scheduler's program, until the recording tells.
pub(super) const CALL_NS: u64 = 1_000;

/// From when a task that ends is taken out of its group to its last moment: what switches of leaves
/// of forks.json tell, in the kernel (12 to 20 us).
const LAST_OF_EXIT_NS: u64 = 15_000;

/// Time for a CPU to go.
const GONE_WITHIN_NS: u64 = 100_000_000;

/// The player has a cgroup, with those of the workload in it: rota-play and its process id, there.
const PLAYERS_GROUP: &str = "rota-play";

/// The player's threads are not new when they join the fair class.
const OLD: [&str; 2] = ["no_place_deadline_initial=true", "no_balance_fork=true"];

/// What the kernel's machine did beside the workload.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Beside {
    /// How long a tick took that ended a slice.
    pub tick_ns: u64,
    /// How long a wakeup took to another CPU that was idle, if there were any.
    pub crossing_ns: Option<u64>,
    /// When the first CPU ran the first task.
    pub start_ns: u64,
    /// How long a fork took.
    pub fork_ns: u64,
    /// How long the end of a thread took: freeing its stack, and `exit()`.
    pub exit_ns: u64,
    /// CPU time of the scheduler's own program, if there was one.
    pub program_ns: Option<u64>,
    /// How long each system call of it takes in the machine.
    pub call_ns: u64,
    /// When others had a CPU.
    pub interruptions: Vec<Interruption>,
    /// How its fair class is set, if that scheduled the workload.
    pub fair: Option<Fair>,
    /// Whether all that happened was recorded, and is to be here.
    pub traced: bool,
}

impl Beside {
    /// How long others had CPUs, all together.
    pub fn interrupted_ns(&self) -> u64 {
        self.interruptions.iter().map(|interruption| interruption.for_ns).sum()
    }
}

/// What a host gave.
#[derive(Clone, Debug)]
pub struct Host {
    /// The numbers.
    pub numbers: Numbers,
    /// Whose slices each CPU began, as indices into the tasks.
    pub picks: Vec<Vec<u32>>,
    /// All that happened, as CSV, if that was asked for.
    pub trace: Option<String>,
    /// System calls of the scheduler's own program, in the machine.
    pub calls: Option<u64>,
}

/// How lots are drawn.
#[derive(Clone, Copy, Debug)]
pub struct Lots {
    /// Another one, other lots.
    pub seed: u64,
    /// For the order in which the tasks start, too. The player's timers are all on one CPU, which
    /// starts the tasks in the order in which they were made.
    pub of_starts: bool,
}

/// Runs the case. The player counts whatever a thread does as its work, so a switch costs
/// nothing beside it. The emulated clock is not stable enough for the kernel to account
/// interrupts, so ticks are charged. What the kernel had to do besides, the simulated machine has to do at the
/// same times. With lots, they decide on the order of what happens at one instant.
pub fn simulate(case: &Case, workload: &str, beside: &Beside, lots: Option<Lots>) -> Result<Host> {
    let name = format!("{}.json", case.workload);
    let mut workload = rota_workload::parse(&name, workload)?;
    workload.put_below(PLAYERS_GROUP);
    let workload = Arc::new(workload);
    let mut config = Config::new(case.arranged()?, case.duration_ns);
    let Beside { tick_ns, fork_ns, exit_ns, crossing_ns, .. } = *beside;
    let ipi_ns = crossing_ns.unwrap_or(IPI_NS);
    config.costs = Costs { tick_ns, fork_ns, exit_ns, ipi_ns, ..Costs::none() };
    if let Some(Lots { seed, .. }) = lots {
        (config.seed, config.shuffle_ties) = (seed, true);
    }
    config.lab = Some(Lab {
        ticks_are_charged: true,
        // The cases of the fair class say no_balance_fork.
        starts_are_wakeups: !case.is_fair(),
        starts_keep_order: lots.is_some_and(|lots| !lots.of_starts),
        start_ns: beside.start_ns,
        // Under a policy CPUs look at one instant: see the page on that.
        tick_turn_ns: if case.is_fair() || case.has_program() { tick_ns } else { 0 },
        moves_at_exit_ns: Some(LAST_OF_EXIT_NS),
        enq_exiting: case.has_fair(),
        interruptions: beside.interruptions.clone(),
    });

    let (mut loaded, program) = match case.has_program() {
        true => {
            let (loaded, report) = programs::load(case, &workload, config, beside.call_ns)?;
            (loaded, Some(report))
        }
        false => (load(case, &workload, config, beside, lots)?, None),
    };
    let mut watch = Watch::new(case, beside.traced && lots.is_none());
    let outcome = loaded.run(&mut watch)?;
    if let Some(failure) = program.as_ref().and_then(Report::take_failure) {
        return Err(failure).context(case.name());
    }
    let exits = outcome.exits.iter().map(|left| &left.exit).chain([&outcome.exit]);
    if let Some(exit) = exits.clone().find(|exit| exit.kind.is_error()) {
        bail!("{}: the policy was ejected: {exit}", case.name());
    }
    let left = exits.into_iter().find(|exit| exit.kind != ExitKind::Unreg);
    let mut report = serde_json::to_value(watch.summary.finish(outcome.end_ns))?;
    if let (Some(pid), Some(tasks)) = (watch.program, report["tasks"].as_array_mut()) {
        tasks.retain(|task| task["pid"] != pid);
    }
    let trace = watch.trace.map(|trace| anyhow::Ok(String::from_utf8(trace.finish()?)?));
    let mut numbers = Numbers::of(&report)?;
    numbers.left = left.map(ToString::to_string);
    numbers.doubled = watch.cores.map(|cores| cores.doubled(case.duration_ns));
    let calls = program.map(|report| report.calls());
    Ok(Host { numbers, picks: watch.picks, trace: trace.transpose()?, calls })
}

/// A policy that ships, in the machine, and the fair class where there is one.
fn load(
    case: &Case,
    workload: &Arc<Workload>,
    mut config: Config,
    beside: &Beside,
    lots: Option<Lots>,
) -> Result<Loaded> {
    let plugs = plugs(workload) > 0;
    let of_fair = beside.fair.as_ref().map(Fair::tunables).unwrap_or_default();
    let mut set: Vec<String> = if case.is_fair() { of_fair.clone() } else { Vec::new() };
    set.extend(case.set.iter().cloned());
    let seed = lots.map(|lots| format!("seed={}", lots.seed + 1));
    set.extend(seed.clone().filter(|_| case.is_fair()));
    let mut policy = linked(&case.policy, &set)?;
    let fair = match (case.kernel, plugs) {
        // As a policy it would leave when a CPU does.
        (Scheduler::Fair, true) => {
            config.lifecycle.clear();
            Some(policy.clone())
        }
        (Scheduler::Fair, false) | (Scheduler::Policy, false) => None,
        // It has what the policy leaves, and all when that has left.
        (Scheduler::Policy, true) | (Scheduler::Partial | Scheduler::Program, _) => {
            let set: Vec<String> =
                of_fair.into_iter().chain(OLD.map(str::to_owned)).chain(seed).collect();
            Some(linked("eevdf", &set)?)
        }
    };
    if case.kernel == Scheduler::Partial {
        policy.make_partial()?;
    }
    let mut simulation = Simulation::new(&policy, workload, config);
    if let Some(fair) = &fair {
        simulation = simulation.with_fair(fair);
    }
    Ok(simulation.load()?)
}

/// How often CPUs go or come.
pub(super) fn plugs(workload: &Workload) -> u64 {
    let plugs = |event: &&OutsideEvent| matches!(event.action, Action::Cpu(..));
    workload.outside.iter().filter(plugs).count() as u64
}

/// CPUs that go, and a time at which each is away: a moment later.
pub(super) fn away(workload: &Workload) -> Vec<(u32, u64)> {
    let goes = |event: &OutsideEvent| match event.action {
        Action::Cpu(cpu, false) => Some((cpu, event.at_ns + GONE_WITHIN_NS)),
        _ => None,
    };
    workload.outside.iter().filter_map(goes).collect()
}

/// A policy that ships, with these tunables.
fn linked(name: &str, tunables: &[String]) -> Result<Policy> {
    let shipped = rota_catalog::find(name)?;
    let mut policy = Policy::link(shipped.name, shipped.object, &Kernel::default())?;
    for set in tunables {
        let (name, value) = set.split_once('=').with_context(|| format!("'{set}' sets nothing"))?;
        policy.set(name, value)?;
    }
    Ok(policy)
}

/// The numbers, the picks, and the trace if it is wanted.
struct Watch {
    trace: Option<CsvSink<Vec<u8>>>,
    summary: Summary,
    picks: Vec<Vec<u32>>,
    cores: Option<Cores>,
    /// The task that is the scheduler's own program: no part of the workload.
    program: Option<u32>,
    /// Index of a task, by pid.
    index: HashMap<u32, u32>,
}

impl Watch {
    fn new(case: &Case, traced: bool) -> Watch {
        Watch {
            trace: traced.then(|| CsvSink::new(Vec::new())),
            summary: Summary::new(case.cpus),
            picks: vec![Vec::new(); case.cpus as usize],
            cores: case.core().map(|core| Cores::new(case.cpus, core)),
            program: None,
            index: HashMap::new(),
        }
    }
}

impl Sink for Watch {
    fn event(&mut self, event: &Event) {
        match event.kind {
            EventKind::Program { pid } => self.program = Some(pid),
            EventKind::Wakeup { pid, .. }
            | EventKind::Pick { pid, .. }
            | EventKind::SwitchIn { pid }
            | EventKind::SwitchOut { pid, .. }
            | EventKind::Migrate { pid, .. }
                if self.program == Some(pid) =>
            {
                return
            }
            _ => {}
        }
        self.summary.event(event);
        if let Some(trace) = &mut self.trace {
            trace.event(event);
        }
        if let Some(cores) = &mut self.cores {
            cores.event(event);
        }
        let next = self.index.len() as u32;
        match (event.cpu, &event.kind) {
            (_, EventKind::Task { pid, .. }) => {
                self.index.entry(*pid).or_insert(next);
            }
            (Some(cpu), EventKind::Pick { pid, .. }) => {
                self.picks[cpu as usize].push(self.index.get(pid).copied().unwrap_or(u32::MAX));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
#[path = "simulate_tests.rs"]
mod tests;
