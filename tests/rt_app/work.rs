// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events that are an amount of work: `run`, `mem` and `iorun`. How long a unit takes is a
//! matter of the machine (rt-app's calibration is whole nanoseconds, for a loop of some twenty),
//! so amounts are compared: twice the work takes twice the time here and there, within 2 %.
//!
//! The phases of a task take turns, so that whatever changes the machine's speed does it to
//! all of them; of the rounds' ratios the median is compared.

use super::agrees::{median, ATTEMPTS, TOLERANCE};
use super::real::{self, Line, GLOBAL};
use super::{simulated, ALONE};
use anyhow::{bail, Context, Result};

const ROUNDS: usize = 80;

/// Compares each phase with the first: its time of the clock, and simulated CPU time.
fn compare(phases: &[&str]) -> Result<()> {
    let _alone = ALONE.lock();
    let scratch = tempfile::tempdir()?;
    let directory = scratch.path();
    let write = |file: &str, rounds: usize, phases: &[&str]| {
        let phases: Vec<String> =
            phases.iter().enumerate().map(|(at, p)| format!("\"p{at}\": {{{p}}}")).collect();
        let phases = phases.join(", ");
        let task = format!("\"t\": {{\"loop\": {rounds}, \"phases\": {{{phases}}}}}");
        std::fs::write(directory.join(file), format!("{{\"tasks\": {{{task}}}, {GLOBAL}}}"))
    };
    let mut expected = Vec::new();
    for phase in phases {
        write("one.json", 1, &[*phase])?;
        expected.push(simulated::cpu_ns(directory, "one.json")? as f64);
    }
    write("all.json", ROUNDS, phases)?;

    let mut attempts = Vec::new();
    for _ in 0..ATTEMPTS {
        let disturbance = real::run(directory, "all.json")?;
        let lines: Vec<Line> = real::read(directory, "t-0")?;
        anyhow::ensure!(lines.len() == ROUNDS * phases.len(), "{} phases", lines.len());
        let rounds = lines.chunks_exact(phases.len());
        let ratio = |at: usize| {
            median(rounds.clone().map(|r| r[at].period_us as f64 / r[0].period_us as f64).collect())
        };
        let ratios: Vec<(f64, f64)> =
            (0..phases.len()).map(|at| (ratio(at), expected[at] / expected[0])).collect();
        if ratios.iter().all(|(real, expected)| (real / expected - 1.0).abs() <= TOLERANCE) {
            return Ok(());
        }
        attempts.push(format!("{ratios:.3?} ({disturbance})"));
    }
    let first = phases.first().context("phases")?;
    bail!("in relation to {first}, real and simulated, in {ATTEMPTS} runs: {}", attempts.join("; "))
}

#[test]
fn run_is_in_proportion() -> Result<()> {
    compare(&["\"run\": 5000", "\"run\": 15000", "\"run1\": 3500, \"run2\": 6500"])
}

#[test]
fn memory_is_in_proportion() -> Result<()> {
    compare(&["\"mem\": 40000000", "\"mem\": 120000000"])
}

#[test]
fn output_is_in_proportion() -> Result<()> {
    compare(&["\"iorun\": 80000000", "\"iorun\": 240000000"])
}
