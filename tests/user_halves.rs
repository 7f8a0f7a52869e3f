// SPDX-License-Identifier: MIT OR Apache-2.0
//! Other people's schedulers with their own programs, unmodified, as a user runs them: both halves
//! take part, and the same run has the same bytes. `third-party/fetch-programs` builds them.

use anyhow::{ensure, Context, Result};
use rota_e2e::command::{root, rota};
use rota_e2e::fetch::fetch;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// CPUs and how they are arranged.
const MACHINES: [(&str, &str); 3] =
    [("4", "smt=1"), ("16", "smt=2,llc=8"), ("64", "smt=2,llc=16,node=32")];
const LOADS: [&str; 4] = ["desktop", "hogs", "web", "build"];

fn programs() -> &'static Path {
    static PROGRAMS: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let fetch = || fetch("tests/third-party/fetch-programs", "programs");
    let programs = PROGRAMS.get_or_init(|| fetch().map_err(|e| format!("{e:#}")));
    programs.as_deref().unwrap_or_else(|e| panic!("{e}"))
}

/// What a run leaves.
#[derive(PartialEq)]
struct Ran {
    json: serde_json::Value,
    trace: Vec<u8>,
    log: String,
}

fn run(program: &Path, arguments: &[&str], load: &Path, machine: (&str, &str)) -> Result<Ran> {
    let folder = tempfile::tempdir()?;
    let (trace, log) = (folder.path().join("trace.csv"), folder.path().join("log"));
    let path = |path: &Path| path.to_str().context("text").map(str::to_owned);
    let (trace_text, log_text) = (path(&trace)?, path(&log)?);
    let (load, program) = (path(load)?, path(program)?);
    let mut words = vec!["sim", &load, "--duration", "2s", "--json", "--cpus", machine.0];
    words.extend(["--topology", machine.1, "--trace", &trace_text, "--program-log", &log_text]);
    words.extend(["--", &program]);
    words.extend(arguments);
    let outcome = rota(&words)?;
    ensure!(outcome.code == Some(0), "{}", outcome.stderr);
    Ok(Ran {
        json: serde_json::from_slice(&outcome.stdout)?,
        trace: std::fs::read(trace)?,
        log: std::fs::read_to_string(log)?,
    })
}

/// Twice the same, and the program took part: it made system calls in simulated time.
fn check(program: &Path, arguments: &[&str], load: &str, machine: (&str, &str)) -> Result<Ran> {
    let file = root().join("workloads").join(format!("{load}.json"));
    let first = run(program, arguments, &file, machine)?;
    let second = run(program, arguments, &file, machine)?;
    ensure!(first.trace == second.trace, "the traces of two runs differ");
    ensure!(first.log == second.log, "its output differs: {}\n{}", first.log, second.log);
    ensure!(first.json == second.json, "the results of two runs differ");
    let used = first.json.pointer("/program/cpu_ns").and_then(serde_json::Value::as_u64);
    ensure!(used.is_some_and(|ns| ns > 0), "the program did nothing: {used:?}");
    Ok(first)
}

/// Each program on each machine; all failures are told together.
fn check_all(programs: &[(PathBuf, Vec<&str>)], loads: &[&str]) {
    let mut failures = Vec::new();
    for (program, arguments) in programs {
        for machine in MACHINES {
            for load in loads {
                if let Err(error) = check(program, arguments, load, machine) {
                    failures.push(format!("{} {load} {machine:?}: {error:#}", program.display()));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn the_kernels_examples_run_with_both_halves() {
    const EXAMPLES: [&str; 8] = [
        "scx_simple",
        "scx_central",
        "scx_qmap",
        "scx_cpu0",
        "scx_pair",
        "scx_flatcg",
        "scx_sdt",
        "scx_userland",
    ];
    let all: Vec<_> = EXAMPLES.iter().map(|name| (programs().join(name), Vec::new())).collect();
    check_all(&all, &["desktop"]);
}

#[test]
fn a_scheduler_in_user_space_decides_for_all_tasks() {
    let ran = check(&programs().join("scx_userland"), &[], "desktop", MACHINES[0]).unwrap();

    // Of each second it prints how many tasks it was given and gave back.
    let last = |what: &str| {
        let mut lines = ran.log.lines().filter(|line| line.contains(what));
        let number = lines.next_back().and_then(|line| line.split_whitespace().nth(2));
        number
            .and_then(|number| number.parse::<u64>().ok())
            .unwrap_or_else(|| panic!("{}", ran.log))
    };
    let (given, back) = (last("enq:"), last("disp:"));
    assert!(given >= 20, "{given}");
    // Those that it has now are fewer than the tasks of the load.
    assert!(given - back < 20, "{given} {back}");
}

#[test]
fn counters_of_the_kernel_half_reach_the_program_each_second() {
    let ran = check(&programs().join("scx_simple"), &[], "hogs", MACHINES[0]).unwrap();

    let global = |line: &str| line.split("global=").nth(1).and_then(|n| n.parse::<u64>().ok());
    let counts: Vec<u64> = ran.log.lines().filter_map(global).collect();
    assert_eq!(counts.len(), 2, "at the start and after a second: {}", ran.log);
    assert!(counts[0] < counts[1], "{counts:?}");
}

/// Those of the sched_ext project's crates: their halves watch statistics, give CPUs to layers,
/// balance domains, or decide everything.
#[test]
#[ignore = "builds programs for a quarter of an hour: make schedulers-test"]
fn the_crates_programs_run_with_both_halves() {
    let status =
        Command::new(root().join("tests/third-party/fetch-programs")).arg("crates").status();
    assert!(status.unwrap().success());
    let layers = root().join("tests/third-party/layers.json");
    let layers = format!("f:{}", layers.display());
    let program = |name: &str| programs().join("crates").join(name);
    let mut all: Vec<_> = ["scx_bpfland", "scx_rustland", "scx_lavd", "scx_rusty"]
        .iter()
        .map(|name| (program(name), Vec::new()))
        .collect();
    all.push((program("scx_layered"), vec![layers.as_str()]));
    check_all(&all, &LOADS);
}
