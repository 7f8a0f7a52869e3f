// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shipped policies in a machine with one CPU, or several equal ones: the papers' test rig.

use crate::error::Error;
use rota_machine::config::{Config, DEFAULT_HZ};
use rota_machine::exit::ExitKind;
use rota_machine::kernel::Kernel;
use rota_machine::run::Outcome;
use rota_machine::topology::Topology;
use rota_sim::{Loaded, Policy, Simulation};
use rota_trace::Sink;
use rota_workload::Workload;
use std::fmt::Write as _;
use std::sync::Arc;

/// The quantum of experiments in which its length does not matter.
pub(crate) const QUANTUM_NS: u64 = 10_000_000;

/// An hour, which tasks repeat for ever.
const LONG_US: u64 = 3_600_000_000;

/// A shipped policy with its settings.
pub(crate) struct Rig {
    policy: Policy,
    /// Has ticks and takes time for itself; else the ideal machine.
    ticking: bool,
    cpus: u32,
    watchdog: bool,
    /// One that was run: others are made from it.
    first: Option<Loaded>,
}

/// Links a shipped policy, with tunables set.
pub(crate) fn linked(policy: &str, set: &[(&str, &str)]) -> Result<Policy, Error> {
    linked_at_hz(policy, set, DEFAULT_HZ)
}

/// The same for a kernel with so many ticks per second.
pub(crate) fn linked_at_hz(policy: &str, set: &[(&str, &str)], hz: u32) -> Result<Policy, Error> {
    let object = rota_catalog::find(policy)?.object;
    let mut policy = Policy::link(policy, object, &Kernel::default().with_hz(hz))?;
    for (name, value) in set {
        policy.set(name, value)?;
    }
    Ok(policy)
}

impl Rig {
    pub(crate) fn new(policy: &Policy) -> Self {
        Self { policy: policy.clone(), ticking: false, cpus: 1, watchdog: true, first: None }
    }

    /// Clients can wait for longer than a kernel would let them.
    pub(crate) fn without_watchdog(self) -> Self {
        Self { watchdog: false, ..self }
    }

    /// With the machine's default costs, and slices that end at ticks.
    pub(crate) fn ticking(policy: &Policy) -> Self {
        Self { ticking: true, ..Self::new(policy) }
    }

    /// With so many CPUs.
    pub(crate) fn with_cpus(self, cpus: u32) -> Self {
        Self { cpus, ..self }
    }

    /// Runs a workload under a fresh instance of the policy.
    pub(crate) fn run(
        &mut self,
        workload: &Arc<Workload>,
        length: Length,
        sink: &mut dyn Sink,
    ) -> Result<Outcome, Error> {
        let mut config = Config::new(Topology::flat(self.cpus)?, length.duration_ns);
        if !self.ticking {
            config = config.ideal();
        }
        config.warmup_ns = length.warmup_ns;
        config.seed = length.seed;
        config.watchdog = self.watchdog;
        let mut loaded = match &self.first {
            Some(first) => first.another(workload, config)?,
            // as the papers' schedulers are compared: each pays for its decisions
            None => Simulation::new(&self.policy, workload, config).as_program().load()?,
        };
        let outcome = loaded.run(sink)?;
        if outcome.exit.kind != ExitKind::Unreg {
            let name = &self.policy.image().name;
            return Err(Error::Failure(format!("{name}: ejected: {}", outcome.exit)));
        }
        self.first.get_or_insert(loaded);
        Ok(outcome)
    }
}

/// How long a run is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Length {
    pub(crate) duration_ns: u64,
    /// Not counted in the costs of decisions.
    pub(crate) warmup_ns: u64,
    pub(crate) seed: u64,
}

impl Length {
    pub(crate) fn of(duration_ns: u64) -> Self {
        Self { duration_ns, warmup_ns: 0, seed: 1 }
    }
}

/// Clients that never sleep, with these shares, named by `name`.
pub(crate) fn hogs(shares: &[u64], name: impl Fn(usize) -> String) -> Result<Arc<Workload>, Error> {
    hogs_told(shares.iter().map(|share| format!("\"share\": {share}")), name)
}

/// Clients that never sleep, each with a setting of a workload file.
pub(crate) fn hogs_told(
    settings: impl Iterator<Item = String>,
    name: impl Fn(usize) -> String,
) -> Result<Arc<Workload>, Error> {
    tasks(settings.map(|setting| format!("{setting}, \"run\": {LONG_US}")), name)
}

/// Tasks with what a workload file says of each.
pub(crate) fn tasks(
    told: impl Iterator<Item = String>,
    name: impl Fn(usize) -> String,
) -> Result<Arc<Workload>, Error> {
    let mut text = String::from("{\"tasks\": {");
    for (at, told) in told.enumerate() {
        let comma = if at > 0 { ", " } else { "" };
        let name = name(at);
        let _ = write!(text, "{comma}\"{name}\": {{{told}}}");
    }
    text.push_str("}}");
    Ok(Arc::new(rota_workload::parse("tasks", &text)?))
}
