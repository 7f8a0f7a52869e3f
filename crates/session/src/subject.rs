// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a run is a run of: an object with its settings, or a scheduler's own program, which brings
//! one.

use crate::error::Error;
use crate::load::Load;
use crate::object;
use crate::options::MachineOptions;
use crate::program::{Installed, ProgramOptions, Started};
use crate::run::{Ask, Ready};
use crate::simulation;
use crate::time::duration;
use crate::wanted::Wanted;
use crate::Session;
use rota_machine::config::Config;
use rota_machine::kernel::Kernel;
use rota_sim::{Measured, Policy, Watchers};
use std::sync::OnceLock;

/// What a run is a run of.
#[derive(Debug)]
pub enum Subject {
    /// An object.
    Object(Box<Ready>),
    /// A program.
    Program(Box<ProgramOf>),
}

/// A program on a kind of machine. It is started anew for each run.
#[derive(Debug)]
pub struct ProgramOf {
    program: Installed,
    kernel: Kernel,
    on: MachineOptions,
    no_autogroup: bool,
    /// What the first run compiled, the others need not compile again.
    first: OnceLock<Policy>,
}

impl ProgramOf {
    /// With what is asked for.
    pub fn new(program: Installed, ask: &Ask, kernel: Kernel, on: &MachineOptions) -> Self {
        let (on, no_autogroup) = (on.clone(), ask.no_autogroup);
        Self { program, kernel, on, no_autogroup, first: OnceLock::new() }
    }

    /// Starts it, and lets it set up its scheduler.
    pub fn start(&self, config: &Config, load: &Load) -> Result<Started, Error> {
        let groups = load.workload.groups.as_slice();
        let mut started = self.program.start((config, groups), &self.kernel, None, &[])?;
        simulation::run_by(&mut started.policy, &self.on)?;
        Ok(started)
    }

    fn measure(
        &self,
        config: Config,
        load: &Load,
        watchers: Watchers<'_>,
    ) -> Result<Measured, Error> {
        let mut started = self.start(&config, load)?;
        let first = self.first.get_or_init(|| started.policy.clone());
        started.policy.run_as(first);
        let simulation = started.simulation(load, config, self.no_autogroup)?;
        let Started { program, report, .. } = started;
        let finished = simulation.measure_by(program, watchers);
        let finished = finished.map_err(|error| simulation::refused(&error, load))?;
        match report.take_failure() {
            Some(failure) => Err(failure.into()),
            None => Ok(finished),
        }
    }
}

impl Subject {
    /// Does a run with a seed.
    pub fn measure(
        &self,
        (config, load): (&Config, &Load),
        seed: u64,
        watchers: Watchers<'_>,
    ) -> Result<Measured, Error> {
        match self {
            Self::Object(ready) => {
                let finished = ready.simulation(seed)?.measure(watchers);
                finished.map_err(|error| simulation::refused(&error, load))
            }
            Self::Program(program) => {
                program.measure(Config { seed, ..config.clone() }, load, watchers)
            }
        }
    }
}

impl Session {
    /// What a word names, for a workload on the machine that is asked for.
    pub fn subject(
        &self,
        wanted: &Wanted,
        (ask, options): (&Ask, &ProgramOptions),
        load: &Load,
    ) -> Result<(Subject, Config), Error> {
        if !wanted.is_program {
            let Wanted { policy, set, manifest, .. } = wanted.clone();
            let ready = self.ready(&Ask { policy, set, manifest, ..ask.clone() }, load.clone())?;
            let config = ready.config.clone();
            return Ok((Subject::Object(Box::new(ready)), config));
        }
        let program = Installed::parse(&wanted.policy, options)?;
        let (on, config) = self.machine_and_run(ask, load)?;
        let kernel = object::kernel(&ask.kernel, ask.btf.as_deref())?;
        let kernel = kernel.with_settings(&self.settings(&on)?);
        let program = ProgramOf::new(program, ask, kernel, &on);
        Ok((Subject::Program(Box::new(program)), config))
    }
}

/// Why a run has no numbers of all of it: the policy was ejected, or its program ended before the run
/// did.
pub fn left(finished: &Measured) -> Option<String> {
    let exit = &finished.outcome.exit;
    let end = finished.outcome.program.as_ref().filter(|_| !exit.kind.is_error());
    match end {
        _ if exit.kind.is_error() => Some(exit.to_string()),
        Some(end) => {
            let at = duration(end.at_ns);
            Some(format!("its program ended with status {} at {at}", end.status))
        }
        None => None,
    }
}
