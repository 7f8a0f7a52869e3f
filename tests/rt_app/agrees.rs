// SPDX-License-Identifier: MIT OR Apache-2.0
//! The same file run by rt-app on this machine's kernel and simulated: as many loops, and the same
//! time for each, within 2 %.
//!
//! The tests' machine has other things to do. What disturbs a run event only makes it longer, so
//! the shortest twentieth of them is compared; a late wakeup makes one period longer and the next
//! shorter, so it is the median of the periods. A run that was disturbed beyond that is repeated.
//! `run` events depend on a calibration of whole nanoseconds, which is too coarse for a loop of a
//! few; their CPU time is compared in relation to each other.

use super::log::{self, Loop};
use super::ALONE;
use anyhow::{bail, ensure, Context, Result};
use rota_e2e::command::rota;
use rota_e2e::trace;
use std::path::Path;

const ATTEMPTS: usize = 6;
const TOLERANCE: f64 = 0.02;

/// What rt-app needs to run and to tell; without meaning for a simulation.
const GLOBAL: &str = r#""global": {"calibration": 10, "logdir": "./", "log_basename": "log",
    "log_size": 2, "lock_pages": false, "gnuplot": false}"#;

/// Loops of a simulated task: it sleeps once in each, at its end.
fn simulated(directory: &Path, task: &str) -> Result<Vec<Loop>> {
    let rows = trace::read(&directory.join("trace.csv"))?;
    let (mut loops, mut begin, mut since, mut run) = (Vec::new(), None, 0, 0);
    for row in rows.iter().filter(|row| row.task == task) {
        match row.event.as_str() {
            "switch_in" => {
                let now = begin.unwrap_or(row.time_ns);
                // The loop before ends where this one begins.
                if begin.is_none() {
                    if let Some(last) = loops.last_mut() {
                        let last: &mut (u64, Loop) = last;
                        last.1.period_us = (now - last.0) / 1000;
                    }
                }
                begin = Some(now);
                since = row.time_ns;
            }
            "switch_out" => {
                run += row.time_ns - since;
                // After its last sleep a task comes once more, to end.
                let ends = row.detail.contains("exit") && run > 0;
                if row.detail.contains("sleep") || ends {
                    let start = begin.take().context("it was on no CPU")?;
                    let period_us = (row.time_ns - start) / 1000;
                    loops.push((start, Loop { run_us: run / 1000, period_us }));
                    run = 0;
                }
            }
            _ => {}
        }
    }
    Ok(loops.into_iter().map(|(_, l)| l).collect())
}

/// A column of rt-app's log.
type Column = fn(&Loop) -> u64;

/// The value with so many percent of all below it.
fn percentile(loops: &[Loop], percent: usize, column: Column) -> f64 {
    let mut values: Vec<u64> = loops.iter().map(column).collect();
    values.sort_unstable();
    values.get(values.len() * percent / 100).copied().unwrap_or(0) as f64
}

fn near(real: f64, simulated: f64) -> bool {
    (real / simulated - 1.0).abs() <= TOLERANCE
}

/// Runs a file both ways and compares its tasks; `Err` if they differ.
fn compare(tasks: &str, names: &[&str]) -> Result<()> {
    let _alone = ALONE.lock();
    let scratch = tempfile::tempdir()?;
    let directory = scratch.path();
    let path = directory.join("load.json");
    std::fs::write(&path, format!("{{\"tasks\": {{{tasks}}}, {GLOBAL}}}"))?;
    let path = path.to_str().context("path")?;
    let trace = directory.join("trace.csv");
    let trace = trace.to_str().context("path")?;
    let outcome = rota(["sim", "fifo", path, "--ideal", "--trace", trace])?;
    ensure!(outcome.code == Some(0), "{}", outcome.stderr);

    let mut differences = Vec::new();
    for _ in 0..ATTEMPTS {
        differences.clear();
        if let Err(error) = log::run(directory, "load.json") {
            differences.push(error.to_string());
            continue;
        }
        for name in names {
            let (real, simulated) = (log::read(directory, name)?, simulated(directory, name)?);
            ensure!(
                real.len() == simulated.len(),
                "{name}: {} loops, simulated {}",
                real.len(),
                simulated.len()
            );
            let columns: [(&str, usize, Column); 2] =
                [("run", 5, |l| l.run_us), ("period", 50, |l| l.period_us)];
            for (what, percent, column) in columns {
                let at = |loops: &[Loop]| percentile(loops, percent, column);
                let (real, simulated) = (at(&real), at(&simulated));
                if !near(real, simulated) {
                    differences.push(format!("{name}: {what} {real} us, simulated {simulated} us"));
                }
            }
        }
        if differences.is_empty() {
            return Ok(());
        }
    }
    bail!("after {ATTEMPTS} runs: {}", differences.join("; "))
}

#[test]
fn periods_and_naps() -> Result<()> {
    // One phase, as rt-app 1.0 counts a task's own "loop" twice.
    compare(
        r#""beat": {"loop": 1, "phases": {"p": {"loop": 80, "runtime": 8000,
            "timer": {"ref": "unique", "period": 20000}}}}"#,
        &["beat-0"],
    )?;
    compare(
        r#""nap": {"loop": 1, "phases": {"p": {"loop": 100, "runtime": 5000, "sleep": 10000}}}"#,
        &["nap-0"],
    )
}

#[test]
fn locks_that_nobody_holds_cost_nothing() -> Result<()> {
    compare(
        r#""locks": {"loop": 1, "phases": {"p": {"loop": 60, "lock": "m", "runtime": 3000,
            "unlock": "m", "signal": "c", "broad": "c", "runtime1": 4000,
            "timer": {"ref": "tick", "period": 15000}}}}"#,
        &["locks-0"],
    )
}

#[test]
fn work_is_in_proportion() -> Result<()> {
    // Three times the work takes three times the CPU time, whatever a loop takes.
    let _alone = ALONE.lock();
    let scratch = tempfile::tempdir()?;
    let directory = scratch.path();
    for (file, run_us) in [("small.json", 20_000), ("large.json", 60_000)] {
        let task = format!(
            r#""t": {{"loop": 1, "phases": {{"p": {{"loop": 20, "run": {run_us}, "sleep": 1000}}}}}}"#
        );
        std::fs::write(directory.join(file), format!("{{\"tasks\": {{{task}}}, {GLOBAL}}}"))?;
        let path = directory.join(file);
        let outcome = rota(["sim", "fifo", path.to_str().context("path")?, "--ideal", "--json"])?;
        let summary: serde_json::Value = serde_json::from_slice(&outcome.stdout)?;
        ensure!(summary["tasks"][0]["cpu_ns"] == 20_000 * run_us, "{summary}");
    }
    // What disturbs a run only makes it longer.
    let mut least = [f64::INFINITY; 2];
    for _ in 0..ATTEMPTS {
        for (file, least) in ["small.json", "large.json"].iter().zip(&mut least) {
            *least = least.min(log::cpu_seconds(directory, file)?);
        }
        // Neighbours on a shared host cost some CPU time as well.
        if (least[1] / least[0] / 3.0 - 1.0).abs() <= 2.0 * TOLERANCE + 0.01 {
            return Ok(());
        }
    }
    bail!("20 and 60 ms of work took {least:?} s of CPU time")
}
