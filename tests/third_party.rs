// SPDX-License-Identifier: MIT OR Apache-2.0
//! Other people's schedulers, unmodified, as a user runs them: no guest fault, no lost
//! task, CPU time conserved, work conserved where the policy promises it, and the same
//! bytes out of the same run. `third-party/fetch` brings and compiles them.

use anyhow::{bail, ensure, Context, Result};
use rota_e2e::command::{root, rota};
use rota_e2e::laws::replay;
use rota_e2e::summary::Summary;
use rota_e2e::trace;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// A machine: `--cpus` and `--topology`.
type Machine = (u32, &'static str);

const ONE: Machine = (1, "smt=1");
const FOUR: Machine = (4, "smt=1");
const FOUR_SMT: Machine = (4, "smt=2");
const SIXTEEN: Machine = (16, "smt=2,llc=8");
const WORKLOADS: [&str; 3] = ["saturated", "interactive", "churn"];
/// No task of these workloads needs to wait longer under any of the schedulers.
const LONGEST_WAIT_NS: u64 = 1_500_000_000;

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

fn fetched() -> Result<&'static Path> {
    static CACHE: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let cache = CACHE.get_or_init(|| {
        let output = Command::new(root().join("tests/third-party/fetch")).output();
        match output.map_err(|e| format!("tests/third-party/fetch: {e}"))? {
            done if done.status.success() => {
                let cache = std::env::var_os("ROTA_CACHE").map(PathBuf::from);
                Ok(cache.unwrap_or(root().join(".cache")).join("objects"))
            }
            failed => Err(String::from_utf8_lossy(&failed.stderr).into_owned()),
        }
    });
    cache.as_deref().map_err(|e| anyhow::anyhow!("{e}"))
}

/// One scheduler on each machine with each workload; all failures are told together.
fn check(scheduler: &str, machines: &[Machine], idle: Idle) {
    let mut failures = Vec::new();
    for machine in machines {
        for workload in WORKLOADS {
            if let Err(e) = check_one(scheduler, *machine, workload, idle) {
                failures.push(format!("{workload} on {} CPUs ({}): {e:#}", machine.0, machine.1));
            }
        }
    }
    assert!(failures.is_empty(), "{scheduler}:\n{}", failures.join("\n"));
}

fn check_one(scheduler: &str, machine: Machine, workload: &str, idle: Idle) -> Result<()> {
    let first = simulate(scheduler, machine, workload, &[])?;
    let second = simulate(scheduler, machine, workload, &[])?;
    ensure!(first.summary == second.summary, "two runs gave two summaries");
    ensure!(first.trace == second.trace, "two runs gave two traces");
    check_run(&first, machine, workload, None)?;
    let ideal = simulate(scheduler, machine, workload, &["--ideal"])?;
    check_run(&ideal, machine, workload, Some(idle)).context("with --ideal")
}

struct Run {
    summary: Vec<u8>,
    trace: Vec<u8>,
    rows: Vec<trace::Row>,
}

fn simulate(scheduler: &str, machine: Machine, workload: &str, more: &[&str]) -> Result<Run> {
    let scratch = tempfile::tempdir()?;
    let trace = scratch.path().join("trace.csv");
    let here = root().join("tests/third-party");
    let outcome = rota(
        [
            vec!["sim".into(), fetched()?.join(format!("{scheduler}.bpf.o")).into_os_string()],
            vec![here.join(format!("workloads/{workload}.json")).into()],
            vec!["--manifest".into(), here.join(format!("manifests/{scheduler}.toml")).into()],
            vec![
                "--cpus".into(),
                machine.0.to_string().into(),
                "--topology".into(),
                machine.1.into(),
            ],
            vec!["--json".into(), "--trace".into(), trace.clone().into()],
            more.iter().map(Into::into).collect(),
        ]
        .concat(),
    )?;
    if outcome.code != Some(0) {
        bail!("rota ended with {:?}: {}", outcome.code, outcome.stderr.trim());
    }
    let rows = trace::read(&trace)?;
    Ok(Run { summary: outcome.stdout, trace: std::fs::read(&trace)?, rows })
}

/// Checks one run; `idle` only where overheads are zero and time must add up exactly.
fn check_run(run: &Run, machine: Machine, workload: &str, idle: Option<Idle>) -> Result<()> {
    let summary: Summary = serde_json::from_slice(&run.summary).context("summary")?;
    ensure!(summary.schema == "rota.sim/1", "schema {}", summary.schema);
    ensure!(summary.machine.cpus == machine.0, "{} CPUs", summary.machine.cpus);
    ensure!(!summary.tasks.is_empty(), "no task in the summary");

    let pinned = pinned(workload)?;
    let allowed = |task: &str| pinned.get(task.rsplit_once('-').map_or(task, |(n, _)| n)).cloned();
    let laws = replay(&run.rows, machine.0, summary.duration_ns, &allowed)?;
    for task in &summary.tasks {
        let born_at_the_end = task.started_ns + LONGEST_WAIT_NS > summary.duration_ns;
        ensure!(task.cpu_ns > 0 || born_at_the_end, "{} never ran", task.name);
    }
    if let Some(wait) = laws.longest_wait.filter(|wait| wait.ns() > LONGEST_WAIT_NS) {
        bail!("{} waited {} ms from {} ns", wait.task, wait.ns() / 1_000_000, wait.from_ns);
    }

    let capacity = u64::from(machine.0) * summary.duration_ns;
    let used: u64 = summary.tasks.iter().map(|task| task.cpu_ns).sum();
    let Some(idle) = idle else {
        ensure!(used <= capacity, "{used} ns used of {capacity}");
        return Ok(());
    };
    for task in &summary.tasks {
        let traced = laws.on_cpu_ns.get(&task.pid).copied().unwrap_or(0);
        ensure!(task.cpu_ns == traced, "{}: {} ns, traced {traced}", task.name, task.cpu_ns);
    }
    let all = used + summary.totals.idle_ns;
    ensure!(all == capacity, "{used} ns used + {} idle of {capacity}", summary.totals.idle_ns);
    match (laws.longest_neglect, idle) {
        (None, _) | (_, Idle::ByDesign) => Ok(()),
        (Some(span), Idle::Within(limit)) if span.ns() <= limit => Ok(()),
        (Some(span), Idle::Conserving) => bail!("idle beside a waiting task: {span:?}"),
        (Some(span), Idle::Within(limit)) => {
            bail!("idle beside a waiting task: {span:?}, more than {limit} ns")
        }
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
    check("scx_simple", &[ONE, FOUR, SIXTEEN], Idle::Conserving);
}

// A CPU waits until the central CPU has dispatched for it, at the latest at its timer.
#[test]
fn scx_central_runs_unmodified() {
    check("scx_central", &[ONE, FOUR, SIXTEEN], Idle::Within(1_000_000));
}

#[test]
fn scx_qmap_runs_unmodified() {
    check("scx_qmap", &[ONE, FOUR, SIXTEEN], Idle::Conserving);
}

// It runs every task on CPU 0 that may run there.
#[test]
fn scx_cpu0_runs_unmodified() {
    check("scx_cpu0", &[ONE, FOUR, SIXTEEN], Idle::ByDesign);
}

// A CPU idles while its pair runs a group that has no task for it. Pairs need two CPUs.
#[test]
fn scx_pair_runs_unmodified() {
    check("scx_pair", &[(2, "smt=2"), FOUR, FOUR_SMT, SIXTEEN], Idle::ByDesign);
}

#[test]
fn scx_flatcg_runs_unmodified() {
    check("scx_flatcg", &[ONE, FOUR, SIXTEEN], Idle::Conserving);
}

#[test]
fn scx_bpfland_runs_unmodified() {
    check("scx_bpfland", &[ONE, FOUR, FOUR_SMT, SIXTEEN], Idle::Conserving);
}

#[test]
fn scx_flash_runs_unmodified() {
    check("scx_flash", &[ONE, FOUR, FOUR_SMT, SIXTEEN], Idle::Conserving);
}
