// SPDX-License-Identifier: MIT OR Apache-2.0
//! A policy, a workload and a machine put together.

use crate::error::SimError;
use crate::policy::Policy;
use crate::setup;
use crate::statistics::{self, PolicyStat};
use rota_machine::config::Config;
use rota_machine::policy::BpfOps;
use rota_machine::run::{Machine, Outcome};
use rota_manifest::Setup;
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
}

impl Simulation {
    /// This workload under this policy on this machine, with the ticks of the kernel for which the
    /// policy is linked.
    pub fn new(policy: &Policy, workload: &Arc<Workload>, config: Config) -> Self {
        let config = Config { hz: policy.hz(), ..config };
        let (policy, workload) = (policy.clone(), Arc::clone(workload));
        Self { policy, workload, config, setup: Setup::default() }
    }

    /// With the entries of maps and the programs that a loader would fill and run.
    pub fn with_setup(self, setup: &Setup) -> Self {
        Self { setup: setup.clone(), ..self }
    }

    /// Makes the machine, and loads and sets up the policy.
    pub fn load(self) -> Result<Loaded, SimError> {
        let Self { policy, workload, config, setup } = self;
        let mut machine = Machine::new(config, workload, &policy.image().kernel_btf)?;
        let mut ops = BpfOps::load(Arc::clone(policy.image()), &mut machine.core)?;
        setup::instance(&mut ops, &mut machine.core, &setup)?;
        Ok(Loaded { machine, ops, hz: policy.hz() })
    }
}

/// A machine with a workload and a policy in it.
pub struct Loaded {
    /// The machine.
    pub machine: Machine,
    /// The policy.
    pub ops: BpfOps,
    hz: u32,
}

impl std::fmt::Debug for Loaded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Loaded")
    }
}

impl Loaded {
    /// Another machine with the same policy as it was loaded: cheaper than a new one. Its set-up
    /// is not repeated, and must have been none.
    pub fn another(&self, workload: &Arc<Workload>, config: Config) -> Result<Self, SimError> {
        let config = Config { hz: self.hz, ..config };
        let mut machine = self.machine.another(config, Arc::clone(workload))?;
        let ops = self.ops.another(&mut machine.core)?;
        Ok(Self { machine, ops, hz: self.hz })
    }

    /// Runs it until the duration is over or the policy is ejected. Every event goes to `sink`, in
    /// order of time.
    pub fn run(&mut self, sink: &mut dyn Sink) -> Result<Outcome, SimError> {
        Ok(self.machine.run(&mut self.ops, sink)?)
    }

    /// What the policy counted itself; nothing if it counts nothing.
    pub fn statistics(&mut self) -> Vec<PolicyStat> {
        statistics::read(&mut self.ops, &mut self.machine.core)
    }
}
