// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a decision of each policy costs on this computer's CPU, under the kernel's BPF
//! JIT, and in terms of the kernel's scx_simple. Needs root; see docs/decision-cost.md.

use clap::Parser;
use rota_decision_cost::calls;
use rota_decision_cost::host;
use rota_decision_cost::link::Bench;
use rota_decision_cost::measure::{self, Plan, Row};
use rota_decision_cost::report::{Computer, Report};
use rota_decision_cost::subject::Subject;
use rota_decision_cost::tasks::SleepingTasks;
use rota_decision_cost::Failure;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const BASELINE: &str = "scx_simple";
/// A thread needs four mappings, of which a process may have 65530.
const MAX_TASKS: i64 = 15_000;

/// Times the pick path of policies on the real CPU.
#[derive(Debug, Parser)]
struct Args {
    /// Policies that ship, "none", "scx_simple", or files (.bpf.c, .bpf.o), with what to set:
    /// wfq:queue=list. Without any: all of them, and what single calls of the kernel cost
    policies: Vec<String>,
    /// Numbers of runnable tasks, up to 15000
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "1,10,200,10000",
        value_parser = clap::value_parser!(u32).range(1..=MAX_TASKS)
    )]
    tasks: Vec<u32>,
    /// Turns that each policy takes with the baseline
    #[arg(long, default_value_t = 41, value_parser = clap::value_parser!(u32).range(1..))]
    repetitions: u32,
    /// Decisions of one turn
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    decisions: u32,
    /// One JSON object instead of the table
    #[arg(long)]
    json: bool,
    /// What cargo calls every bench with
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> ExitCode {
    let args = Args::parse();
    match run(&args) {
        Ok(report) => {
            let text = if args.json { report.json() } else { Ok(report.text()) };
            match text {
                Ok(text) => println!("{}", text.trim_end()),
                Err(e) => eprintln!("{e}"),
            }
            let asked_for = !args.policies.is_empty();
            ExitCode::from(u8::from(asked_for && report.is_incomplete()))
        }
        Err(Failure::Unavailable(why)) => {
            eprintln!("decision cost: skipped: {why}");
            ExitCode::SUCCESS
        }
        Err(failure) => {
            eprintln!("decision cost: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<Report, Failure> {
    host::available()?;
    let computer = Computer::this();
    let bench = Bench::compile()?;
    let baseline = baseline();
    if baseline.is_none() {
        eprintln!("decision cost: no {BASELINE} to compare with: run tests/third-party/fetch");
    }
    let subjects = subjects(&args.policies, baseline.as_ref())?;
    let plan =
        Plan { repetitions: args.repetitions as usize, decisions: u64::from(args.decisions) };
    let sizes: Vec<usize> = args.tasks.iter().map(|n| *n as usize).collect();
    let most = sizes.iter().copied().max().unwrap_or(0).max(calls::TASKS);
    let sleeping = SleepingTasks::start(most)?;
    stay_on_one_cpu();
    let (mut rows, mut failures) = (Vec::new(), Vec::new());
    for subject in &subjects {
        for tasks in &sizes {
            match row(&bench, subject, baseline.as_ref(), &sleeping, *tasks, plan) {
                Ok(row) => rows.push(row),
                Err(failure @ Failure::Unavailable(_)) => return Err(failure),
                Err(failure) => {
                    failures.push(failure.to_string());
                    break;
                }
            }
        }
    }
    let mut calls = Vec::new();
    if args.policies.is_empty() {
        match calls::measure_all(&bench, &sleeping, plan) {
            Ok(measured) => calls = measured,
            Err(failure) => failures.push(failure.to_string()),
        }
    }
    Ok(Report::new(computer, baseline.map(|b| b.name), plan, rows, calls, failures))
}

fn row(
    bench: &Bench,
    subject: &Subject,
    baseline: Option<&Subject>,
    sleeping: &SleepingTasks,
    tasks: usize,
    plan: Plan,
) -> Result<Row, Failure> {
    let specs = measure::load(tasks);
    let mut other = baseline.map(|b| measure::prepare(bench, b, sleeping, &specs)).transpose()?;
    let mut hosted = measure::prepare(bench, subject, sleeping, &specs)?;
    measure::measure(subject, &mut hosted, other.as_mut(), &specs, plan)
}

/// The kernel's example, which is not ours to ship.
fn baseline() -> Option<Subject> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let cache = std::env::var_os("ROTA_CACHE").map_or_else(|| root.join(".cache"), PathBuf::from);
    let object = std::fs::read(cache.join(format!("objects/{BASELINE}.bpf.o"))).ok()?;
    Some(Subject { name: BASELINE.into(), object })
}

fn subjects(named: &[String], baseline: Option<&Subject>) -> Result<Vec<Subject>, Failure> {
    if !named.is_empty() {
        return named.iter().map(|name| subject(name, baseline)).collect();
    }
    let mut subjects = vec![nothing()?];
    subjects.extend(baseline.cloned());
    for policy in rota_catalog::policies() {
        subjects.push(Subject::named(policy.name)?);
    }
    Ok(subjects)
}

/// A policy without callbacks: what the bench itself costs.
fn nothing() -> Result<Subject, Failure> {
    Subject::file(&Path::new(env!("CARGO_MANIFEST_DIR")).join("bpf/none.bpf.c"))
}

fn subject(name: &str, baseline: Option<&Subject>) -> Result<Subject, Failure> {
    if name == "none" {
        return nothing();
    }
    if let Some(baseline) = baseline.filter(|b| b.name == name) {
        return Ok(baseline.clone());
    }
    Subject::named(name)
}

/// Moving between CPUs would cost caches. Where it is not allowed, so be it.
fn stay_on_one_cpu() {
    let Ok(allowed) = rustix::thread::sched_getaffinity(None) else { return };
    let last = (0..rustix::thread::CpuSet::MAX_CPU).rev().find(|cpu| allowed.is_set(*cpu));
    if let Some(cpu) = last {
        let mut only = rustix::thread::CpuSet::new();
        only.set(cpu);
        let _ = rustix::thread::sched_setaffinity(None, &only);
    }
}
