// SPDX-License-Identifier: MIT OR Apache-2.0
//! One run: a policy, a workload and a machine put together, as the options say.

use crate::error::Error;
use crate::load::Load;
use crate::object;
use crate::options::{MachineArgs, ObjectArgs};
use crate::progress::Clock;
use crate::session::session;
use rota_machine::config::Config;
use rota_machine::kernel::{Kernel, Settings};
use rota_machine::topology::Topology;
use rota_object::image::Image;
use rota_session::simulation;
use rota_sim::{Measured, Policy, SimError, Simulation, UserProgram, Watchers};
use rota_trace::Sink;
use std::path::Path;

pub(crate) use rota_session::simulation::CPUS;

/// The kernel of the machine that the options describe.
pub(crate) fn kernel(object: &ObjectArgs, machine: &MachineArgs) -> Result<Kernel, Error> {
    Ok(object::kernel(object)?.with_settings(&settings(machine)?))
}

/// How that kernel is set, as far as the user and the machine say.
pub(crate) fn settings(args: &MachineArgs) -> Result<Settings, Error> {
    Ok(session().settings(&args.options())?)
}

/// Reads a workload file, and prints its warnings.
pub(crate) fn load(path: &Path) -> Result<Load, Error> {
    Ok(session().load(path)?)
}

/// CPUs and what they share.
pub(crate) fn topology(args: &MachineArgs, cpus: u32) -> Result<Topology, Error> {
    Ok(session().topology(&args.options(), cpus)?)
}

/// The machine that the options describe, and how long it runs.
pub(crate) fn config(args: &MachineArgs, cpus: u32, load: &Load) -> Result<Config, Error> {
    Ok(session().config(&args.options(), cpus, load)?)
}

/// Has `--engine` run a policy's code, and that of those that run with it.
pub(crate) fn run_by(policy: &mut Policy, args: &MachineArgs) -> Result<(), Error> {
    Ok(simulation::run_by(policy, &args.options())?)
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
    Ok(simulation::of(policy, load, config, no_autogroup, reloads)?)
}

/// With Linux's fair class, which the shipped eevdf is.
pub(crate) fn with_fair(
    simulation: Simulation,
    kernel: &Kernel,
    no_autogroup: bool,
) -> Result<Simulation, Error> {
    Ok(simulation::with_fair(simulation, kernel, no_autogroup)?)
}

/// What the user sets of a policy with `--no-autogroup`: that, too, unless it is set anyway. It says
/// so if the policy has no autogroups.
pub(crate) fn without_autogroups(
    named: (&str, &Image),
    set: &[(String, String)],
) -> Vec<(String, String)> {
    session().without_autogroups(named, set)
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
    simulation::refused(error, load).into()
}
