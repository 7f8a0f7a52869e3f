// SPDX-License-Identifier: MIT OR Apache-2.0
//! A policy, a workload and a machine that a user names in one go, ready to run.

use crate::error::Error;
use crate::load::Load;
use crate::object::{self, Named};
use crate::options::MachineOptions;
use crate::prepare::{self, Prepared};
use crate::simulation::{self, CPUS};
use crate::source::Compiler;
use crate::Session;
use rota_machine::config::Config;
use rota_manifest::Setup;
use rota_sim::{Policy, Simulation};
use std::path::PathBuf;

/// Release of the kernel that is simulated if the user names none.
pub const KERNEL: &str = "7.2";

/// A policy as a user asks for it, and what it runs on.
#[derive(Clone, Debug)]
pub struct Ask {
    /// A shipped policy, or the file of an object or source.
    pub policy: String,
    /// Variables to set.
    pub set: Vec<(String, String)>,
    /// What its own loader would set.
    pub manifest: Option<PathBuf>,
    /// The scheduler to simulate, of a file that has several.
    pub ops: Option<String>,
    /// Folders of headers of a source.
    pub include: Vec<PathBuf>,
    /// Release of the kernel to simulate.
    pub kernel: String,
    /// Kernel to simulate by its types, in place of that.
    pub btf: Option<PathBuf>,
    /// CPUs of a machine that has no name.
    pub cpus: Option<u32>,
    /// Only tasks that ask for it are the policy's.
    pub partial: bool,
    /// Sessions do not share as groups do.
    pub no_autogroup: bool,
    /// The machine and the run.
    pub machine: MachineOptions,
}

impl Default for Ask {
    fn default() -> Self {
        Self {
            policy: String::new(),
            set: Vec::new(),
            manifest: None,
            ops: None,
            include: Vec::new(),
            kernel: KERNEL.into(),
            btf: None,
            cpus: None,
            partial: false,
            no_autogroup: false,
            machine: MachineOptions::default(),
        }
    }
}

/// All that a run is made of.
#[derive(Clone, Debug)]
pub struct Ready {
    /// Short name of the policy.
    pub name: String,
    /// Where it is from.
    pub source: String,
    /// With its settings.
    pub policy: Policy,
    /// What its loader would do at the start.
    pub setup: Setup,
    /// Variables that were set.
    pub set: Vec<(String, String)>,
    /// The machine, with the seed.
    pub config: Config,
    /// The workload.
    pub load: Load,
    no_autogroup: bool,
}

impl Session {
    /// What `rota sim` would run.
    pub fn ready(&self, ask: &Ask, load: Load) -> Result<Ready, Error> {
        let kernel = object::kernel(&ask.kernel, ask.btf.as_deref())?;
        let compiler = Compiler { include: &ask.include, kernel: &kernel };
        let found = object::find(&ask.policy, compiler)?;
        let (on, config) = self.machine_and_run(ask, &load)?;
        let named = found.simulate(&kernel.with_settings(&self.settings(&on)?))?;
        self.ready_of(ask, load, named, (&on, config))
    }

    /// The machine that is asked for, and the run on it: the first half of [`Session::ready`].
    pub fn machine_and_run(
        &self,
        ask: &Ask,
        load: &Load,
    ) -> Result<(MachineOptions, Config), Error> {
        let options = &ask.machine;
        if let (Some(machine), Some(cpus)) = (&options.machine, ask.cpus) {
            return Err(Error::input(format!(
                "machine {machine} and {cpus} CPUs: expected one of the two, as a machine says how \
                 many CPUs it has"
            )));
        }
        if let (Some(machine), Some(topology)) = (&options.machine, &options.topology) {
            return Err(Error::input(format!(
                "machine {machine} and topology {topology}: expected one of the two"
            )));
        }
        let named: Vec<u32> = ask.cpus.into_iter().collect();
        let on =
            MachineOptions { machine: self.machine_of(options, &named, load)?, ..options.clone() };
        let config = self.config(&on, ask.cpus.unwrap_or(CPUS), load)?;
        Ok((on, config))
    }

    /// The other half, with a policy that was linked for the machine's kernel.
    pub fn ready_of(
        &self,
        ask: &Ask,
        load: Load,
        named: Named,
        (on, config): (&MachineOptions, Config),
    ) -> Result<Ready, Error> {
        let Named { name, source, mut policy } = named;
        ask.ops.iter().try_for_each(|ops| policy.choose(ops))?;
        let facts = rota_sim::facts(&config.topology);
        let Prepared { setup, note } =
            prepare::of_policy(ask.manifest.as_deref(), &facts, &policy)?;
        note.iter().for_each(|note| self.tell(&format!("note: {note}")));
        let set = match ask.no_autogroup {
            true => self.without_autogroups((&name, policy.image()), &ask.set),
            false => ask.set.clone(),
        };
        policy.prepare(&setup, &set)?;
        simulation::run_by(&mut policy, on)?;
        if ask.partial {
            policy.make_partial()?;
        }
        let no_autogroup = ask.no_autogroup;
        Ok(Ready { name, source, policy, setup, set, config, load, no_autogroup })
    }
}

impl Ready {
    /// The run with a seed.
    pub fn simulation(&self, seed: u64) -> Result<Simulation, Error> {
        let config = Config { seed, ..self.config.clone() };
        let of = simulation::of(&self.policy, &self.load, config, self.no_autogroup, false)?;
        Ok(of.with_setup(&self.setup))
    }
}
