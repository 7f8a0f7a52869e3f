// SPDX-License-Identifier: MIT OR Apache-2.0
//! Other people's schedulers, unmodified, as a user runs them: no guest fault, no lost
//! task, CPU time conserved, work conserved where the policy promises it, and the same
//! bytes out of the same run. `third-party/fetch` brings and compiles them.

use anyhow::{bail, ensure, Context, Result};
use rota_e2e::command::{root, rota};
use rota_e2e::fetch::fetch;
use rota_e2e::laws::{replay, Span};
use rota_e2e::summary::Summary;
use rota_e2e::trace;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// A machine: `--cpus` and `--topology`.
type Machine = (u32, &'static str);

const ONE: Machine = (1, "smt=1");
const FOUR: Machine = (4, "smt=1");
const FOUR_SMT: Machine = (4, "smt=2");
const SIXTEEN: Machine = (16, "smt=2,llc=8");
const TWO_NODES: Machine = (16, "smt=2,llc=4,node=8");
const WORKLOADS: [&str; 3] = ["saturated", "interactive", "churn"];
/// Slices end at ticks where the machine is not ideal: 250 Hz.
const TICK_NS: u64 = 4_000_000;

/// What a scheduler promises about CPUs that are idle while a task waits for one.
#[derive(Clone, Copy)]
enum Idle {
    /// There are none.
    Conserving,
    /// They are so for at most this many nanoseconds.
    Within(u64),
    /// They are part of its design.
    ByDesign,
}

/// What a scheduler promises about the time that a task waits for a CPU.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wait {
    /// No task of these workloads needs to wait longer than 1.5 s.
    Bounded,
    /// Some may wait for ever.
    Starves,
}

const LONGEST_WAIT_NS: u64 = 1_500_000_000;

#[derive(Clone, Copy)]
struct Promise {
    idle: Idle,
    wait: Wait,
}

const CONSERVING: Promise = Promise { idle: Idle::Conserving, wait: Wait::Bounded };

fn fetched() -> Result<&'static Path> {
    static CACHE: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let objects = || fetch("tests/third-party/fetch", "objects").map_err(|e| format!("{e:#}"));
    CACHE.get_or_init(objects).as_deref().map_err(|e| anyhow::anyhow!("{e}"))
}

/// One simulation, as `rota sim` takes it.
#[derive(Clone, Copy)]
struct Case<'a> {
    scheduler: &'a str,
    machine: Machine,
    workload: &'a str,
    more: &'a [&'a str],
}

impl Case<'_> {
    fn arguments(&self) -> Result<Vec<OsString>> {
        let Case { scheduler, machine: (cpus, topology), workload, more } = *self;
        let here = Path::new("tests/third-party");
        let object = fetched()?.join(format!("{scheduler}.bpf.o"));
        let mut arguments: Vec<OsString> = vec![
            "sim".into(),
            object.strip_prefix(root()).unwrap_or(&object).into(),
            here.join(format!("workloads/{workload}.json")).into(),
            "--cpus".into(),
            cpus.to_string().into(),
            "--topology".into(),
            topology.into(),
        ];
        arguments.extend(more.iter().map(Into::into));
        Ok(arguments)
    }

    /// The command that shows what a failed check saw.
    fn command(&self) -> String {
        let arguments = self.arguments().unwrap_or_default();
        let words: Vec<_> = arguments.iter().map(|a| a.to_string_lossy()).collect();
        format!("rota {} --trace trace.csv", words.join(" "))
    }

    fn run(&self) -> Result<Run> {
        let scratch = tempfile::tempdir()?;
        let trace = scratch.path().join("trace.csv");
        let mut arguments = self.arguments()?;
        arguments.extend(["--json".into(), "--trace".into(), trace.clone().into()]);
        let outcome = rota(arguments)?;
        if outcome.code != Some(0) {
            bail!("rota ended with {:?}: {}", outcome.code, outcome.stderr.trim());
        }
        let rows = trace::read(&trace)?;
        Ok(Run { summary: outcome.stdout, trace: std::fs::read(&trace)?, rows })
    }

    fn check(&self, promise: Promise) -> Result<()> {
        let run = self.run()?;
        if !self.ideal() {
            let again = self.run()?;
            ensure!(run.summary == again.summary, "two runs gave two summaries");
            ensure!(run.trace == again.trace, "two runs gave two traces");
        }
        self.check_run(&run, promise)
    }

    fn ideal(&self) -> bool {
        self.more.contains(&"--ideal")
    }
}

/// One scheduler on each machine with each workload, with overheads and without; all
/// failures are told together.
fn check(scheduler: &str, machines: &[Machine], promise: Promise) {
    let mut failures = Vec::new();
    for machine in machines {
        for workload in WORKLOADS {
            for more in [&[][..], &["--ideal"]] {
                let case = Case { scheduler, machine: *machine, workload, more };
                if let Err(e) = case.check(promise) {
                    failures.push(format!("{e:#}\n    {}", case.command()));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{scheduler}:\n{}", failures.join("\n"));
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

#[test]
fn scx_simple_runs_unmodified() {
    check("scx_simple", &[ONE, FOUR, SIXTEEN], CONSERVING);
}

// The central CPU preempts its own task to serve another CPU. If it then finds no task for
// itself, its own one is queued while it still counts as running, which kicks nobody: both
// wait until another CPU has used up its slice (20 ms) and the timer (1 ms) has seen it.
#[test]
fn scx_central_runs_unmodified() {
    let promise = Promise { idle: Idle::Within(21_000_000), wait: Wait::Bounded };
    check("scx_central", &[FOUR, SIXTEEN], promise);
}

// Slices are endless and the timer spares the central CPU: with no other, a task runs until
// it sleeps or another one wakes.
#[test]
fn scx_central_runs_unmodified_on_one_cpu() {
    check("scx_central", &[ONE], Promise { idle: Idle::ByDesign, wait: Wait::Starves });
}

#[test]
fn scx_central_is_ejected_where_it_starves_tasks_on_one_cpu() {
    let more = &["--duration", "50s"];
    let case = Case { scheduler: "scx_central", machine: ONE, workload: "saturated", more };
    let outcome = rota(case.arguments().unwrap()).unwrap();
    assert_eq!(outcome.code, Some(3), "{}", outcome.stderr);
    // the watchdog looks every 15 s for a task that has waited more than 30 s
    let reason = "runnable task stall (high-1[1002] failed to run for 45.000s)";
    assert!(outcome.stderr.contains(reason), "{}", outcome.stderr);
}

#[test]
fn scx_qmap_runs_unmodified() {
    check("scx_qmap", &[ONE, FOUR, SIXTEEN], CONSERVING);
}

// The same object as the scheduler of all and as that of a cgroup with tasks that come and go: the
// upper one asks the lower one when it has nothing itself.
#[test]
fn scx_qmap_runs_as_a_sub_scheduler_of_itself() {
    let object = fetched().unwrap().join("scx_qmap.bpf.o");
    let object = object.strip_prefix(root()).unwrap_or(&object);
    let sub = format!("/web={}", object.display());
    let manifest = "/web=manifests/scx_qmap.toml";
    let more = ["--sub", &sub, "--sub-manifest", manifest];
    let promise = Promise { idle: Idle::ByDesign, wait: Wait::Bounded };
    for machine in [ONE, FOUR, SIXTEEN] {
        for more in [&more[..], &[&more[..], &["--ideal"]].concat()] {
            let case = Case { scheduler: "scx_qmap", machine, workload: "churn", more };
            let told = || case.command();
            case.check(promise).unwrap_or_else(|e| panic!("{e:#}\n    {}", told()));
            let json = rota([&case.arguments().unwrap()[..], &["--json".into()]].concat()).unwrap();
            let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
            // it stays until the one above leaves: SCX_EXIT_PARENT
            let gone = json["sub_exits"].as_array().unwrap();
            assert_eq!(gone.len(), 1, "{gone:?}\n    {}", told());
            assert_eq!(gone[0]["kind"], 68, "{gone:?}\n    {}", told());
        }
    }
}

// It runs every task on CPU 0 that may run there.
#[test]
fn scx_cpu0_runs_unmodified() {
    let promise = Promise { idle: Idle::ByDesign, wait: Wait::Bounded };
    check("scx_cpu0", &[ONE, FOUR, SIXTEEN], promise);
}

// A CPU idles while its pair runs a group that has no task for it.
#[test]
fn scx_pair_runs_unmodified() {
    let promise = Promise { idle: Idle::ByDesign, wait: Wait::Bounded };
    check("scx_pair", &[(2, "smt=2"), FOUR, FOUR_SMT, SIXTEEN], promise);
}

#[test]
fn scx_pair_refuses_an_odd_number_of_cpus_as_its_loader_does() {
    let case = Case { scheduler: "scx_pair", machine: ONE, workload: "saturated", more: &[] };
    let outcome = rota(case.arguments().unwrap()).unwrap();
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("needs an even number of them"), "{}", outcome.stderr);
}

#[test]
fn scx_flatcg_runs_unmodified() {
    check("scx_flatcg", &[ONE, FOUR, SIXTEEN], CONSERVING);
}

// A task given to an idle CPU goes to that CPU's own queue, which no other CPU looks at. A
// task of the shared queue with an earlier deadline may overtake it there, for one slice.
#[test]
fn scx_bpfland_runs_unmodified() {
    let promise = Promise { idle: Idle::Within(1_000_000), wait: Wait::Bounded };
    check("scx_bpfland", &[ONE, FOUR, FOUR_SMT, SIXTEEN], promise);
}

#[test]
fn scx_flash_runs_unmodified() {
    check("scx_flash", &[ONE, FOUR, FOUR_SMT, SIXTEEN], CONSERVING);
}

// Every node has a queue of its own, which the CPUs of another node do not look at.
#[test]
fn schedulers_of_many_nodes_run_unmodified_on_two() {
    let promise = Promise { idle: Idle::ByDesign, wait: Wait::Bounded };
    check("scx_bpfland", &[TWO_NODES], promise);
    check("scx_flash", &[TWO_NODES], promise);
}
