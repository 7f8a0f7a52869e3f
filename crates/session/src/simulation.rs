// SPDX-License-Identifier: MIT OR Apache-2.0
//! One run: a policy, a workload and a machine put together.

use crate::error::Error;
use crate::load::Load;
use crate::object;
use crate::options::MachineOptions;
use crate::time::duration as duration_text;
use crate::Session;
use rota_machine::config::Config;
use rota_machine::kernel::{Kernel, Settings};
use rota_machine::topology::Topology;
use rota_object::image::Image;
use rota_sim::{Policy, SimError, Simulation};
use std::path::Path;

/// CPUs of a machine of which the user says nothing.
pub const CPUS: u32 = 4;

/// Length of a run if neither the user nor the workload says.
const DURATION_NS: u64 = 10_000_000_000;

/// The tunable of policies that have autogroups.
const AUTOGROUP: &str = "autogroup";

impl Session {
    /// How the kernel of the machine is set, as far as the user and the machine say.
    pub fn settings(&self, options: &MachineOptions) -> Result<Settings, Error> {
        let own = match &options.machine {
            Some(name) => self.machine(name)?.kernel,
            None => Settings::default(),
        };
        Ok(Settings { hz: options.hz, ..Settings::default() }.or(own))
    }

    /// Reads a workload file, and tells its warnings.
    pub fn load(&self, path: &Path) -> Result<Load, Error> {
        let load = Load::read(path)?;
        self.warn_of(&load);
        Ok(load)
    }

    /// Tells the warnings of a workload.
    pub fn warn_of(&self, load: &Load) {
        for warning in &load.workload.warnings {
            self.tell(&format!("warning: {warning}"));
        }
    }

    /// CPUs and what they share.
    pub fn topology(&self, options: &MachineOptions, cpus: u32) -> Result<Topology, Error> {
        Ok(match (&options.machine, &options.topology) {
            (Some(name), _) => self.machine(name)?.topology,
            (None, Some(text)) => Topology::parse(cpus, text)?,
            (None, None) => Topology::flat(cpus)?,
        })
    }

    /// The machine that the options describe, and how long it runs.
    pub fn config(
        &self,
        options: &MachineOptions,
        cpus: u32,
        load: &Load,
    ) -> Result<Config, Error> {
        let workload = &load.workload;
        let duration_ns = options.duration.or(workload.duration_ns).unwrap_or(DURATION_NS);
        let mut config = match &options.machine {
            Some(name) => self.machine(name)?.config(duration_ns),
            None => Config::new(self.topology(options, cpus)?, duration_ns),
        };
        config.warmup_ns = options.warmup.unwrap_or(0);
        if config.warmup_ns >= duration_ns {
            let (warmup, duration) = (duration_text(config.warmup_ns), duration_text(duration_ns));
            return Err(Error::input(format!(
                "--warmup {warmup}: {} runs for {duration}, expected less than that",
                load.file
            )));
        }
        if options.ideal {
            config.hardware = None;
            config = config.ideal();
        }
        config.hz = options.hz.unwrap_or(config.hz);
        config.nohz_full = nohz_full(options, config.topology.cpus())?;
        config.costs.idle_entry_ns = options.idle_entry.unwrap_or(0);
        config.seed = options.seed;
        config.shuffle_ties = options.shuffle_ties;
        config.budget = options.budget;
        config.budget_per_second = options.budget_per_second;
        Ok(config)
    }

    /// What the user sets of a policy with `--no-autogroup`: that, too, unless it is set anyway. It
    /// tells if the policy has no autogroups.
    pub fn without_autogroups(
        &self,
        (name, image): (&str, &Image),
        set: &[(String, String)],
    ) -> Vec<(String, String)> {
        let mut set = set.to_vec();
        if !image.tunables().iter().any(|tunable| tunable.name == AUTOGROUP) {
            self.tell(&format!(
                "note: {name} has no autogroups: --no-autogroup does not change it"
            ));
        } else if !set.iter().any(|(name, _)| name == AUTOGROUP) {
            set.push((AUTOGROUP.into(), "false".into()));
        }
        set
    }
}

/// Has `--engine` run a policy's code, and that of those that run with it.
pub fn run_by(policy: &mut Policy, options: &MachineOptions) -> Result<(), Error> {
    match policy.run_by(options.engine) {
        true => Ok(()),
        false => Err(Error::input(
            "--engine compiled: nothing is compiled on this processor, expected auto or interpreter",
        )),
    }
}

/// A run of a policy, with a fair class if the workload or the policy needs one; with
/// `--no-autogroup`, that has no autogroups. Programs that load schedulers while the machine runs
/// need one (`reloads`).
pub fn of(
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
pub fn with_fair(
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

/// The CPUs of `--nohz-full`.
fn nohz_full(options: &MachineOptions, cpus: u32) -> Result<Vec<u32>, Error> {
    let Some(list) = &options.nohz_full else { return Ok(Vec::new()) };
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

/// Why there was no run of this workload.
pub fn refused(error: &SimError, load: &Load) -> Error {
    match error.is_of_workload() && !error.names_place() {
        true => Error::input(format!("{}: {error}", load.file)),
        false => Error::input(error),
    }
}
