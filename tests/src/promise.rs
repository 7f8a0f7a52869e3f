// SPDX-License-Identifier: MIT OR Apache-2.0
//! What schedulers promise, and whether a run keeps it: no task is forgotten, CPU time is neither
//! lost nor made, no CPU idles next to a task that could use it.

use crate::command::{root, rota};
use crate::laws::{replay, Span};
use crate::summary::Summary;
use crate::trace;
use anyhow::{bail, ensure, Context, Result};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

/// A machine: `--cpus` and `--topology`.
pub type Machine = (u32, &'static str);

/// The workloads of `third-party/workloads`.
pub const WORKLOADS: [&str; 3] = ["saturated", "interactive", "churn"];
/// What can run a scheduler's code: the interpreter, and the compiler where there is one.
pub const ENGINES: [&str; 2] = match cfg!(target_arch = "x86_64") {
    true => ["interpreter", "compiled"],
    false => ["interpreter"; 2],
};
/// Slices end at ticks where the machine is not ideal: 250 Hz.
const TICK_NS: u64 = 4_000_000;

/// What a scheduler promises about CPUs that are idle while a task waits for one.
#[derive(Clone, Copy)]
pub enum Idle {
    /// There are none.
    Conserving,
    /// They are so for at most this many nanoseconds.
    Within(u64),
    /// They are part of its design.
    ByDesign,
}

/// What a scheduler promises about the time that a task waits for a CPU.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// No task of these workloads needs to wait longer than 1.5 s.
    Bounded,
    /// Some may wait for ever.
    Starves,
}

/// The longest wait where waits are bounded.
pub const LONGEST_WAIT_NS: u64 = 1_500_000_000;

/// What a scheduler promises.
#[derive(Clone, Copy)]
pub struct Promise {
    /// Of idle CPUs.
    pub idle: Idle,
    /// Of waiting tasks.
    pub wait: Wait,
}

/// No CPU idles, and no task starves.
pub const CONSERVING: Promise = Promise { idle: Idle::Conserving, wait: Wait::Bounded };

/// One simulation, as `rota sim` takes it.
#[derive(Clone, Copy)]
pub struct Case<'a> {
    /// The scheduler's object.
    pub object: &'a Path,
    /// Machine.
    pub machine: Machine,
    /// Name of a workload of `third-party/workloads`.
    pub workload: &'a str,
    /// Further options.
    pub more: &'a [&'a str],
}

impl Case<'_> {
    /// Arguments of the command.
    pub fn arguments(&self) -> Vec<OsString> {
        let Case { object, machine: (cpus, topology), workload, more } = *self;
        let here = Path::new("tests/third-party");
        let mut arguments: Vec<OsString> = vec![
            "sim".into(),
            object.strip_prefix(root()).unwrap_or(object).into(),
            here.join(format!("workloads/{workload}.json")).into(),
            "--cpus".into(),
            cpus.to_string().into(),
            "--topology".into(),
            topology.into(),
        ];
        arguments.extend(more.iter().map(Into::into));
        arguments
    }

    /// The command that shows what a failed check saw.
    pub fn command(&self) -> String {
        let arguments = self.arguments();
        let words: Vec<_> = arguments.iter().map(|a| a.to_string_lossy()).collect();
        format!("rota {} --trace trace.csv", words.join(" "))
    }

    fn run(&self, engine: &str) -> Result<Run> {
        let scratch = tempfile::tempdir()?;
        let trace = scratch.path().join("trace.csv");
        let mut arguments = self.arguments();
        arguments.extend(["--json", "--engine", engine, "--trace"].map(Into::into));
        arguments.push(trace.clone().into());
        let outcome = rota(arguments)?;
        if outcome.code != Some(0) {
            bail!("rota ended with {:?}: {}", outcome.code, outcome.stderr.trim());
        }
        let rows = trace::read(&trace)?;
        Ok(Run { summary: outcome.stdout, trace: std::fs::read(&trace)?, rows })
    }

    /// Runs it, twice with overheads: interpreted and compiled, which must not differ. Checks it.
    pub fn check(&self, promise: Promise) -> Result<()> {
        let [interpreter, compiled] = ENGINES;
        let run = self.run(interpreter)?;
        if !self.ideal() {
            let again = self.run(compiled)?;
            ensure!(run.summary == again.summary, "{interpreter}, {compiled}: two summaries");
            ensure!(run.trace == again.trace, "{interpreter}, {compiled}: two traces");
        }
        self.check_run(&run, promise)
    }

    /// Runs it once and checks it.
    pub fn check_once(&self, promise: Promise) -> Result<()> {
        self.check_run(&self.run("auto")?, promise)
    }

    fn ideal(&self) -> bool {
        self.more.contains(&"--ideal")
    }
}

struct Run {
    summary: Vec<u8>,
    trace: Vec<u8>,
    rows: Vec<trace::Row>,
}

impl Case<'_> {
    /// Checks one run against the laws of every schedule and the promise of this one.
    fn check_run(&self, run: &Run, promise: Promise) -> Result<()> {
        let cpus = self.machine.0;
        let summary: Summary = serde_json::from_slice(&run.summary).context("summary")?;
        ensure!(summary.schema == "rota.sim/1", "schema {}", summary.schema);
        ensure!(summary.machine.cpus == cpus, "{} CPUs", summary.machine.cpus);
        ensure!(!summary.tasks.is_empty(), "no task in the summary");
        let unfilled: Vec<_> = summary.unfilled_reads.iter().map(|read| &read.field).collect();
        ensure!(unfilled.is_empty(), "reads kernel fields that nothing fills: {unfilled:?}");

        let pinned = pinned(self.workload)?;
        let allowed =
            |task: &str| pinned.get(task.rsplit_once('-').map_or(task, |(n, _)| n)).cloned();
        let laws = replay(&run.rows, cpus, summary.duration_ns, &allowed)?;
        if promise.wait == Wait::Bounded {
            check_waits(&summary, laws.longest_wait.as_ref())?;
        }
        self.check_time(&summary, &laws.on_cpu_ns)?;
        let limit_ns = match promise.idle {
            Idle::Conserving => 0,
            Idle::Within(limit_ns) if self.ideal() => limit_ns,
            Idle::Within(limit_ns) => limit_ns + TICK_NS,
            Idle::ByDesign => u64::MAX,
        };
        match laws.longest_neglect {
            Some(span) if span.ns() > limit_ns => {
                bail!("idle beside a waiting task for more than {limit_ns} ns: {span:?}")
            }
            _ => Ok(()),
        }
    }

    /// CPU time is neither lost nor made: exactly where overheads are zero.
    fn check_time(&self, summary: &Summary, traced: &BTreeMap<u32, u64>) -> Result<()> {
        let capacity = u64::from(self.machine.0) * summary.duration_ns;
        let used: u64 = summary.tasks.iter().map(|task| task.cpu_ns).sum();
        if !self.ideal() {
            ensure!(used <= capacity, "{used} ns used of {capacity}");
            return Ok(());
        }
        for task in &summary.tasks {
            let traced = traced.get(&task.pid).copied().unwrap_or(0);
            ensure!(task.cpu_ns == traced, "{}: {} ns, traced {traced}", task.name, task.cpu_ns);
        }
        let idle = summary.totals.idle_ns;
        ensure!(used + idle == capacity, "{used} ns used + {idle} idle of {capacity}");
        Ok(())
    }
}

/// No task is forgotten.
fn check_waits(summary: &Summary, longest: Option<&Span>) -> Result<()> {
    for task in &summary.tasks {
        let born_at_the_end = task.started_ns + LONGEST_WAIT_NS > summary.duration_ns;
        ensure!(task.cpu_ns > 0 || born_at_the_end, "{} never ran", task.name);
    }
    match longest {
        Some(wait) if wait.ns() > LONGEST_WAIT_NS => {
            bail!("{} waited {} ms from {} ns", wait.task, wait.ns() / 1_000_000, wait.from_ns)
        }
        _ => Ok(()),
    }
}

/// The tasks that the workload binds to CPUs.
fn pinned(workload: &str) -> Result<BTreeMap<String, Vec<u32>>> {
    let path = root().join(format!("tests/third-party/workloads/{workload}.json"));
    let text = std::fs::read_to_string(&path)?;
    let json: Vec<_> = text.lines().filter(|line| !line.starts_with("//")).collect();
    let json: serde_json::Value = serde_json::from_str(&json.join("\n"))?;
    let tasks = json["tasks"].as_object().context("tasks")?;
    let bound = tasks.iter().filter(|(_, task)| !task["cpus"].is_null());
    bound
        .map(|(name, task)| Ok((name.clone(), serde_json::from_value(task["cpus"].clone())?)))
        .collect()
}
