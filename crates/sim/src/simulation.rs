// SPDX-License-Identifier: MIT OR Apache-2.0
//! A policy, a workload and a machine put together.

use crate::bundle::{self, Origin};
use crate::error::SimError;
use crate::policy::Policy;
use crate::setup;
use crate::stands_for::stands_for;
use crate::statistics::{self, PolicyStat};
use rota_choice::{Choices, Recording, Replayed};
use rota_machine::config::Config;
use rota_machine::kernel::Kernel;
use rota_machine::policy::BpfOps;
use rota_machine::run::{Machine, Outcome, RunError};
use rota_machine::stage::Stage;
use rota_machine::subs::SubLoader;
use rota_machine::system::System;
use rota_machine::user_half::UserHalf;
use rota_manifest::Setup;
use rota_object::image::Image;
use rota_trace::Sink;
use rota_workload::Workload;
use std::sync::Arc;

/// A run that has not begun.
#[derive(Clone, Debug)]
pub struct Simulation {
    pub(crate) policy: Policy,
    pub(crate) workload: Arc<Workload>,
    pub(crate) config: Config,
    setup: Setup,
    /// The fair class, if there is one.
    fair: Option<Policy>,
    /// Schedulers for cgroups.
    subs: Vec<(String, Policy, Setup)>,
    /// `None`: choices are seeded.
    replays: Option<Arc<Recording>>,
    records: bool,
    pub(crate) dumps: bool,
    as_program: bool,
}

impl Simulation {
    /// This workload under this policy on this machine, with the kernel for which the policy is
    /// linked.
    pub fn new(policy: &Policy, workload: &Arc<Workload>, config: Config) -> Self {
        Self {
            policy: policy.clone(),
            workload: Arc::clone(workload),
            config: on(policy.kernel(), config),
            setup: Setup::default(),
            fair: None,
            subs: Vec::new(),
            replays: None,
            records: false,
            dumps: false,
            as_program: false,
        }
    }

    /// With the policy as a program of `sched_ext`, which pays for its instructions also if it
    /// [stands for](crate::stands_for()) a class of the kernel itself.
    #[must_use]
    pub fn as_program(self) -> Self {
        Self { as_program: true, ..self }
    }

    /// With the entries of maps and the programs that a loader would fill and run.
    pub fn with_setup(self, setup: &Setup) -> Self {
        Self { setup: setup.clone(), ..self }
    }

    /// With a fair class, which this policy is: tasks belong to it before the scheduler is attached
    /// and after it has left, and those that a partial scheduler leaves. Events of the workload can
    /// load the scheduler, again and again; if the first of them does, it is not attached before.
    pub fn with_fair(self, fair: &Policy) -> Self {
        let mut config = self.config;
        if self.workload.loads() == Some(true) {
            config.lifecycle.clear();
        }
        Self { fair: Some(fair.clone()), config, ..self }
    }

    /// With a scheduler for the tasks of a cgroup and those below, and its set-up. It is attached
    /// from the beginning, or when events say so; the policy must allow it (`ops.sub_attach()`).
    #[must_use]
    pub fn with_sub(mut self, cgroup: &str, policy: &Policy, setup: &Setup) -> Self {
        self.subs.push((cgroup.to_owned(), policy.clone(), setup.clone()));
        self
    }

    /// The sub-schedulers: cgroup and object of each.
    pub fn subs(&self) -> impl Iterator<Item = (&str, &Arc<Image>)> {
        self.subs.iter().map(|(cgroup, policy, _)| (cgroup.as_str(), policy.image()))
    }

    /// Attaches the scheduler at a time, to the tasks that there are then. Only a machine with a
    /// fair class has any.
    pub fn attached_at(mut self, at_ns: u64) -> Self {
        self.config.lifecycle = vec![(at_ns, true)];
        self
    }

    /// With the choices of another run in place of those of the seed. It is an error if they do not
    /// fit this one: less of the same run is no such run.
    pub fn with_choices(self, of: Arc<Recording>) -> Self {
        Self { replays: Some(of), ..self }
    }

    /// Keeps its choices, for [`Simulation::with_choices`] of another run.
    pub fn recording_choices(self) -> Self {
        Self { records: true, ..self }
    }

    /// Reads all global variables and maps of the policy at the end: [`Measured::dump`].
    ///
    /// [`Measured::dump`]: crate::Measured::dump
    pub fn dumping(self) -> Self {
        Self { dumps: true, ..self }
    }

    /// Makes the machine, and loads and sets up the policy.
    pub fn load(self) -> Result<Loaded, SimError> {
        self.load_for(None)
    }

    /// As [`Simulation::load`], of a policy that this program has loaded so far
    /// ([`Policy::of_image`]): it goes on until the scheduler is attached, and then while the machine
    /// runs. Nothing else sets the policy up.
    pub fn load_by(self, program: UserProgram) -> Result<Loaded, SimError> {
        if self.workload.loads().is_some() {
            return Err(SimError::Program(format!(
                "{}: events that load a scheduler are for schedulers without their program",
                program.name
            )));
        }
        self.load_for(Some(program))
    }

    /// What this program has set up by the time it attaches, as a file: [`Policy::of_bundle`] runs
    /// it without the program, on the same machine. The workload has no part in it.
    pub fn bundle_by(self, mut program: UserProgram, origin: Origin) -> Result<Vec<u8>, SimError> {
        program.half.record_set_up();
        let (name, config) = (origin.program.clone(), self.config.clone());
        let Loaded { mut machine, mut ops, policy, .. } = self.load_by(program)?;
        let table = ops.table().cloned();
        let table = table.ok_or_else(|| SimError::Program(format!("{name}: has no table")))?;
        let steps = ops.set_up().to_vec();
        bundle::write(&policy, origin, table, steps, &config, ops.runtime(), &mut machine.system)
    }

    fn load_for(self, program: Option<UserProgram>) -> Result<Loaded, SimError> {
        let Self { mut policy, workload, config, setup, mut fair, replays, records, .. } = self;
        let (mut subs, as_program) = (self.subs, self.as_program);
        if let Some(set_up) = policy.set_up() {
            set_up.check(&policy.image().name, &config)?;
        }
        let all = [Some(&mut policy), fair.as_mut()].into_iter().flatten();
        for policy in all.chain(subs.iter_mut().map(|(_, policy, _)| policy)) {
            policy.describe(&config.topology, config.hardware.as_deref())?;
        }
        let workload = setup::with_timed(workload, &setup, &config, &policy.image().name);
        let mut choices = match replays {
            Some(recording) => Choices::by(Replayed::new(recording)),
            None => config.choices(),
        };
        if records {
            choices = choices.recorded();
        }
        let btf = &policy.image().kernel_btf;
        let config = charged(&policy, as_program, config);
        let mut machine = Machine::choosing(choices, config, workload, btf)?;
        machine.system.engine = policy.compiler();
        // one that comes later reads of what was before, too
        subs.iter().for_each(|(_, sub, _)| machine.system.attend_to(sub.image()));
        let image = Arc::clone(policy.image());
        let has_program = program.is_some();
        let ops = match program {
            None => loaded(&policy, &setup, &mut machine.system)?,
            Some(UserProgram { name, half }) => {
                machine.add_program(&name);
                BpfOps::load_by(half, image, &mut machine.system)?
            }
        };
        let load_fair = |fair: Policy| {
            let image = Arc::clone(fair.image());
            machine.with_fair(|system| BpfOps::load(image, system))
        };
        let fair = fair.map(load_fair).transpose()?;
        for (cgroup, policy, setup) in subs {
            machine.system.add_sub_scheduler(&cgroup, sub_loader(policy, setup));
        }
        Ok(Loaded { machine, ops, fair, policy, setup, has_program, as_program })
    }
}

/// The program that brings a scheduler and takes part in the run.
pub struct UserProgram {
    /// Its file's name: that of its task, as far as a task's name goes.
    pub name: String,
    /// What it does.
    pub half: Box<dyn UserHalf>,
}

impl std::fmt::Debug for UserProgram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UserProgram").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Another instance of the policy, as its loader would start it.
fn anew(policy: &Policy, setup: &Setup, system: &mut System) -> Result<BpfOps, RunError> {
    loaded(policy, setup, system).map_err(|error| RunError::Load(error.to_string()))
}

/// An instance as its loader would have it before it attaches.
fn loaded(policy: &Policy, setup: &Setup, system: &mut System) -> Result<BpfOps, SimError> {
    let mut ops = BpfOps::load(Arc::clone(policy.image()), system)?;
    if let Some(set_up) = policy.set_up() {
        set_up.restore(&policy.image().name, ops.runtime(), system)?;
    }
    setup::instance(&mut ops, system, setup)?;
    Ok(ops)
}

/// What loads a sub-scheduler, with the id of its cgroup as its loader would set it.
fn sub_loader(policy: Policy, setup: Setup) -> SubLoader {
    Box::new(move |system, id| {
        let failed = |error: &dyn std::fmt::Display| RunError::Load(error.to_string());
        let mut image = (**policy.image()).clone();
        image.set_ops("sub_cgroup_id", &id.to_string()).map_err(|error| failed(&error))?;
        let loaded = BpfOps::load(Arc::new(image), system);
        let mut ops = loaded.map_err(|error| failed(&error))?;
        setup::instance(&mut ops, system, &setup).map_err(|error| failed(&error))?;
        Ok(Box::new(ops))
    })
}

/// The machine with this kernel.
fn on(kernel: &Kernel, config: Config) -> Config {
    Config { hz: kernel.hz(), rules: kernel.rules(), ..config }
}

/// The machine under this policy: instructions of one that stands for a class of the kernel itself
/// are counted, and take no time.
fn charged(policy: &Policy, as_program: bool, mut config: Config) -> Config {
    if !as_program && stands_for(policy.image()).is_some() {
        config.costs.insn_ps = 0;
    }
    config
}

/// A machine with a workload and a policy in it.
pub struct Loaded {
    /// The machine.
    pub machine: Machine,
    /// The policy: the instance that was loaded last.
    pub ops: BpfOps,
    fair: Option<BpfOps>,
    policy: Policy,
    setup: Setup,
    has_program: bool,
    as_program: bool,
}

impl std::fmt::Debug for Loaded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Loaded")
    }
}

impl Loaded {
    /// Another machine with the same policy as it was loaded: cheaper than a new one. Its set-up
    /// is not repeated, and must have been none. One with a program, or of a bundle, is an error: what
    /// that did is not repeated either.
    pub fn another(&self, workload: &Arc<Workload>, config: Config) -> Result<Self, SimError> {
        if self.has_program || self.policy.set_up().is_some() {
            let what = "a policy with its program has to be loaded anew for each run";
            return Err(SimError::Program(what.into()));
        }
        let config = charged(&self.policy, self.as_program, on(self.policy.kernel(), config));
        let mut machine = self.machine.another(config, Arc::clone(workload))?;
        let ops = self.ops.another(&mut machine.system)?;
        let fair = self.fair.as_ref().map(|fair| machine.with_fair(|system| fair.another(system)));
        let fair = fair.transpose()?;
        let (policy, setup) = (self.policy.clone(), self.setup.clone());
        let as_program = self.as_program;
        Ok(Self { machine, ops, fair, policy, setup, has_program: false, as_program })
    }

    /// Runs it until the duration is over or the policy is ejected. Every event goes to `sink`, in
    /// order of time.
    pub fn run(&mut self, sink: &mut dyn Sink) -> Result<Outcome, SimError> {
        let Self { machine, ops, fair, policy, setup, .. } = self;
        let Some(fair) = fair else { return Ok(machine.run(ops, sink)?) };
        let mut load = |system: &mut System| anew(policy, setup, system);
        let mut stage = Stage::new(ops, fair, &mut load);
        Ok(machine.run(&mut stage, sink)?)
    }

    /// The choices so far, if they are recorded; no more are.
    pub fn take_choices(&mut self) -> Option<Recording> {
        self.machine.choices().take_recording()
    }

    /// What the policy counted itself; nothing if it counts nothing.
    pub fn statistics(&mut self) -> Vec<PolicyStat> {
        statistics::read(&mut self.ops, &mut self.machine.system)
    }
}
