// SPDX-License-Identifier: MIT OR Apache-2.0
//! One run: a policy, a workload and a machine put together.

use crate::error::Error;
use crate::load::Load;
use crate::machine;
use crate::object;
use crate::options::{MachineArgs, ObjectArgs};
use crate::output::messages;
use crate::output::units::duration as duration_text;
use crate::progress::Clock;
use rota_machine::config::Config;
use rota_machine::kernel::{Kernel, Settings};
use rota_machine::topology::Topology;
use rota_object::image::Image;
use rota_sim::{Measured, Policy, SimError, Simulation, UserProgram, Watchers};
use rota_trace::Sink;
use std::path::Path;

/// CPUs of a machine of which the user says nothing.
pub(crate) const CPUS: u32 = 4;

/// Length of a run if neither the user nor the workload says.
const DURATION_NS: u64 = 10_000_000_000;

/// The tunable of policies that have autogroups.
const AUTOGROUP: &str = "autogroup";

/// The kernel of the machine that the options describe.
pub(crate) fn kernel(object: &ObjectArgs, machine: &MachineArgs) -> Result<Kernel, Error> {
    Ok(object::kernel(object)?.with_settings(&settings(machine)?))
}

/// How that kernel is set, as far as the user and the machine say.
pub(crate) fn settings(args: &MachineArgs) -> Result<Settings, Error> {
    let own = match &args.machine {
        Some(name) => machine::find(name)?.kernel,
        None => Settings::default(),
    };
    Ok(Settings { hz: args.hz, ..Settings::default() }.or(own))
}

/// Reads a workload file, and prints its warnings.
pub(crate) fn load(path: &Path) -> Result<Load, Error> {
    let load = Load::read(path)?;
    for warning in &load.workload.warnings {
        messages::line(&format!("warning: {warning}"));
    }
    Ok(load)
}

/// CPUs and what they share.
pub(crate) fn topology(args: &MachineArgs, cpus: u32) -> Result<Topology, Error> {
    Ok(match (&args.machine, &args.topology) {
        (Some(name), _) => machine::find(name)?.topology,
        (None, Some(text)) => Topology::parse(cpus, text)?,
        (None, None) => Topology::flat(cpus)?,
    })
}

/// The machine that the options describe, and how long it runs.
pub(crate) fn config(args: &MachineArgs, cpus: u32, load: &Load) -> Result<Config, Error> {
    let workload = &load.workload;
    let duration_ns = args.duration.or(workload.duration_ns).unwrap_or(DURATION_NS);
    let mut config = match &args.machine {
        Some(name) => machine::find(name)?.config(duration_ns),
        None => Config::new(topology(args, cpus)?, duration_ns),
    };
    config.warmup_ns = args.warmup.unwrap_or(0);
    if config.warmup_ns >= duration_ns {
        let (warmup, duration) = (duration_text(config.warmup_ns), duration_text(duration_ns));
        return Err(Error::input(format!(
            "--warmup {warmup}: {} runs for {duration}, expected less than that",
            load.file
        )));
    }
    if args.ideal {
        config.hardware = None;
        config = config.ideal();
    }
    config.hz = args.hz.unwrap_or(config.hz);
    config.nohz_full = nohz_full(args, config.topology.cpus())?;
    config.costs.idle_entry_ns = args.idle_entry.unwrap_or(0);
    config.seed = args.seed;
    config.shuffle_ties = args.shuffle_ties;
    config.budget = args.budget;
    config.budget_per_second = args.budget_per_second;
    Ok(config)
}

/// Has `--engine` run a policy's code, and that of those that run with it.
pub(crate) fn run_by(policy: &mut Policy, args: &MachineArgs) -> Result<(), Error> {
    match policy.run_by(args.engine.into()) {
        true => Ok(()),
        false => Err(Error::input(
            "--engine compiled: nothing is compiled on this processor, expected auto or interpreter",
        )),
    }
}

/// A run of a policy, with a fair class if the workload or the policy needs one; with
/// `--no-autogroup`, that has no autogroups. Programs that load schedulers while the machine runs
/// need one (`reloads`).
pub(crate) fn of(
    policy: &Policy,
    load: &Load,
    config: Config,
    no_autogroup: bool,
    reloads: bool,
) -> Result<Simulation, Error> {
    let simulation = Simulation::new(policy, &load.workload, config);
    match load.workload.loads().is_some() || policy.is_partial() || reloads {
        true => with_fair(simulation, policy.kernel(), no_autogroup),
        false => Ok(simulation),
    }
}

/// With Linux's fair class, which the shipped eevdf is.
pub(crate) fn with_fair(
    simulation: Simulation,
    kernel: &Kernel,
    no_autogroup: bool,
) -> Result<Simulation, Error> {
    let mut fair = object::link_shipped(rota_catalog::find("eevdf")?, kernel)?;
    if no_autogroup {
        fair.set(AUTOGROUP, "false")?;
    }
    Ok(simulation.with_fair(&fair))
}

/// What the user sets of a policy with `--no-autogroup`: that, too, unless it is set anyway. It says
/// so if the policy has no autogroups.
pub(crate) fn without_autogroups(
    (name, image): (&str, &Image),
    set: &[(String, String)],
) -> Vec<(String, String)> {
    let mut set = set.to_vec();
    if !image.tunables().iter().any(|tunable| tunable.name == AUTOGROUP) {
        messages::line(&format!(
            "note: {name} has no autogroups: --no-autogroup does not change it"
        ));
    } else if !set.iter().any(|(name, _)| name == AUTOGROUP) {
        set.push((AUTOGROUP.into(), "false".into()));
    }
    set
}

/// The CPUs of `--nohz-full`.
fn nohz_full(args: &MachineArgs, cpus: u32) -> Result<Vec<u32>, Error> {
    let Some(list) = &args.nohz_full else { return Ok(Vec::new()) };
    let full: Vec<u32> = list.iter().collect();
    let refuse = |why: String| Err(Error::input(format!("--nohz-full {}: {why}", list.as_str())));
    if let Some(cpu) = full.iter().find(|cpu| **cpu >= cpus) {
        return refuse(format!("there is no CPU {cpu}, expected CPUs from 0 to {}", cpus - 1));
    }
    if full.len() == cpus as usize {
        return refuse("expected to leave one CPU at least, which ticks for the others".into());
    }
    Ok(full)
}

/// Does a run, with the policy's program if it has one.
pub(crate) fn run(
    simulation: Simulation,
    program: Option<UserProgram>,
    watchers: Watchers<'_>,
    clock: &Clock,
) -> Result<Measured, SimError> {
    let mut ticker = clock.ticker();
    let mut sinks: Vec<&mut dyn Sink> = Vec::new();
    sinks.extend(watchers.sinks.into_iter().map(|sink| sink as &mut dyn Sink));
    sinks.push(&mut ticker);
    let watchers = Watchers { sinks, figures: watchers.figures };
    match program {
        Some(program) => simulation.measure_by(program, watchers),
        None => simulation.measure(watchers),
    }
}

/// Why there was no run of this workload.
pub(crate) fn refused(error: &SimError, load: &Load) -> Error {
    match error.is_of_workload() && !error.names_place() {
        true => Error::input(format!("{}: {error}", load.file)),
        false => Error::input(error),
    }
}
