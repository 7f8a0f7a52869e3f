// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where a test of the kernel's runs: a simulated machine, and what its driver looks at.

use anyhow::{bail, ensure, Context, Result};
use rota_e2e::fetch::fetch;
use rota_machine::config::Config;
use rota_machine::exit::ExitKind;
use rota_machine::kernel::Kernel;
use rota_machine::run::Outcome;
use rota_machine::topology::Topology;
use rota_sim::{Loaded, Policy, Simulation};
use rota_trace::{Event, EventKind, Sink};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// From when a driver wakes until it has taken the scheduler away.
const AFTER_NS: u64 = 10_000_000;

/// A simulated machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Host {
    pub(crate) cpus: u32,
    /// CPUs of a NUMA node.
    pub(crate) node: u32,
    pub(crate) shuffled: bool,
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nodes = self.cpus.div_ceil(self.node);
        let ties = if self.shuffled { ", shuffled ties" } else { "" };
        write!(f, "CPUs: {}, nodes: {nodes}{ties}", self.cpus)
    }
}

/// The compiled programs of the kernel's tests.
fn objects() -> Result<&'static Path> {
    static FOLDER: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let objects = || fetch("tests/third-party/fetch", "selftests").map_err(|e| format!("{e:#}"));
    FOLDER.get_or_init(objects).as_deref().map_err(|e| anyhow::anyhow!("{e}"))
}

/// The names of the tests that the kernel's makefile has.
pub(crate) fn listed_by_the_kernel() -> Result<Vec<String>> {
    objects()?; // with them come the sources
    let path = "tools/testing/selftests/sched_ext/Makefile";
    let path = fetch("tests/third-party/fetch", "kernel")?.join(path);
    let text = std::fs::read_to_string(&path)?;
    let (_, list) = text.split_once("auto-test-targets :=").context("no list of tests")?;
    let lines = list.lines().take_while(|line| !line.trim().is_empty());
    Ok(lines
        .map(|line| line.trim_end_matches('\\').trim().into())
        .filter(|n: &String| !n.is_empty())
        .collect())
}

impl Host {
    /// The program of one of the kernel's tests.
    pub(crate) fn policy(self, object: &str) -> Result<Policy> {
        let path = objects()?.join(format!("{object}.bpf.o"));
        let bytes = std::fs::read(&path).with_context(|| path.display().to_string())?;
        Ok(Policy::link(object, &bytes, &Kernel::default())?)
    }

    fn config(self, seconds: u64) -> Result<Config> {
        let topology = Topology::new(self.cpus, 1, self.node, self.node)?;
        let mut config = Config::new(topology, seconds * 1_000_000_000 + AFTER_NS);
        config.shuffle_ties = self.shuffled;
        config.audit = true;
        Ok(config)
    }

    /// Loads a program, as far as the kernel's verifier goes.
    pub(crate) fn load(self, policy: &Policy) -> Result<()> {
        let nothing = Arc::new(rota_workload::parse("none.json", super::cases::BACKGROUND)?);
        Simulation::new(policy, &nothing, self.config(1)?).load()?;
        Ok(())
    }

    /// Loads a scheduler and attaches it, runs a workload under it and takes it away.
    pub(crate) fn run(self, policy: &Policy, workload: &str, seconds: u64) -> Result<Ended> {
        self.simulate(policy, workload, self.config(seconds)?, None)
    }

    /// Runs a workload in a machine with a fair class: its events load the scheduler.
    pub(crate) fn run_with_fair(
        self,
        policy: &Policy,
        workload: &str,
        seconds: u64,
    ) -> Result<Ended> {
        self.simulate(policy, workload, self.config(seconds)?, Some(fair()?))
    }

    /// As [`Host::run_with_fair`], where the tick of a CPU may stop.
    pub(crate) fn run_tickless(
        self,
        cpu: u32,
        policy: &Policy,
        workload: &str,
        seconds: u64,
    ) -> Result<Ended> {
        let mut config = self.config(seconds)?;
        config.nohz_full = vec![cpu];
        self.simulate(policy, workload, config, Some(fair()?))
    }

    fn simulate(
        self,
        policy: &Policy,
        workload: &str,
        config: Config,
        fair: Option<Policy>,
    ) -> Result<Ended> {
        let workload = Arc::new(rota_workload::parse("selftest.json", workload)?);
        ensure!(workload.warnings.is_empty(), "{:?}", workload.warnings);
        let mut simulation = Simulation::new(policy, &workload, config);
        if let Some(fair) = fair {
            simulation = simulation.with_fair(&fair);
        }
        let mut loaded = simulation.load()?;
        let mut seen = Seen::default();
        let outcome = loaded.run(&mut seen)?;
        Ok(Ended { outcome, loaded, seen })
    }
}

/// The fair class's scheduler.
fn fair() -> Result<Policy> {
    let eevdf = rota_catalog::find("eevdf")?.object;
    Ok(Policy::link("eevdf", eevdf, &Kernel::default())?)
}

/// What became of the tasks.
#[derive(Default)]
struct Seen {
    task_of: BTreeMap<u32, Arc<str>>,
    exited: BTreeMap<Arc<str>, u32>,
    ran_ns: BTreeMap<Arc<str>, u64>,
    since_ns: BTreeMap<u32, u64>,
}

impl Sink for Seen {
    fn event(&mut self, event: &Event) {
        match &event.kind {
            EventKind::Task { pid, instance_of: Some(task), .. } => {
                self.task_of.insert(*pid, Arc::clone(task));
            }
            EventKind::SwitchIn { pid } => {
                self.since_ns.insert(*pid, event.time_ns);
            }
            EventKind::SwitchOut { pid, .. } => self.stops(*pid, event.time_ns),
            EventKind::Exit { pid } => {
                if let Some(task) = self.task_of.get(pid) {
                    *self.exited.entry(Arc::clone(task)).or_insert(0) += 1;
                }
            }
            _ => {}
        }
    }
}

impl Seen {
    fn stops(&mut self, pid: u32, at_ns: u64) {
        let since_ns = self.since_ns.remove(&pid);
        if let (Some(since_ns), Some(task)) = (since_ns, self.task_of.get(&pid)) {
            *self.ran_ns.entry(Arc::clone(task)).or_insert(0) += at_ns - since_ns;
        }
    }
}

/// A run that is over, with the scheduler's memory as it left it.
pub(crate) struct Ended {
    pub(crate) outcome: Outcome,
    pub(crate) loaded: Loaded,
    seen: Seen,
}

impl Ended {
    /// A global of the program: `skel->bss->NAME` of the driver.
    pub(crate) fn number(&mut self, path: &str) -> Result<i128> {
        let value = self.loaded.global(path)?;
        value.number.with_context(|| format!("{path} is {}, expected a number", value.text))
    }

    /// The driver found it attached when it looked, and took it away itself.
    pub(crate) fn stayed(&mut self) -> Result<()> {
        self.left_by(ExitKind::Unreg)?;
        ensure!(self.outcome.exit.code == 0, "exit code {}", self.outcome.exit.code);
        Ok(())
    }

    /// How it left, as the machine says, and as the program was told if it notes that in `uei`.
    pub(crate) fn left_by(&mut self, kind: ExitKind) -> Result<()> {
        let exit = &self.outcome.exit;
        ensure!(exit.kind == kind, "left as {:?} ({exit}), expected {kind:?}", exit.kind);
        let notes = self.loaded.ops.runtime().image().variables.iter().any(|v| v.name == "uei");
        if notes {
            let told = self.number("uei.kind")?;
            ensure!(told == kind as i128, "uei.kind is {told}, expected {}", kind as u32);
        }
        Ok(())
    }

    /// All instances of a task came to their end.
    pub(crate) fn all_exited(&self, task: &str, instances: u32) -> Result<()> {
        let exited = self.seen.exited.get(task).copied().unwrap_or(0);
        ensure!(exited == instances, "{exited} of {instances} tasks {task} came to their end");
        Ok(())
    }

    /// Whether this task has this number.
    pub(crate) fn is_pid_of(&self, pid: u32, task: &str) -> bool {
        self.seen.task_of.get(&pid).is_some_and(|t| t.as_ref() == task)
    }

    /// The CPU time of a task, until the end of the run.
    pub(crate) fn cpu_ns(&mut self, task: &str) -> Result<u64> {
        let running: Vec<u32> = self.seen.since_ns.keys().copied().collect();
        running.into_iter().for_each(|pid| self.seen.stops(pid, self.outcome.end_ns));
        match self.seen.ran_ns.get(task) {
            Some(ns) => Ok(*ns),
            None => bail!("task {task} never ran"),
        }
    }
}
