// SPDX-License-Identifier: MIT OR Apache-2.0
//! The same file three ways: worked out by hand, simulated, and run by rt-app on this machine's
//! kernel. The simulation must be what was worked out; rt-app must go through as many loops,
//! and the time in its run events and from loop to loop must be the same within 2 %.
//!
//! The tests' machine has other things to do, so rt-app gets real-time priority where that is
//! allowed, and medians over dozens of loops are compared, which a few late wakeups leave alone.
//! A run that still differs is repeated. A wrong simulation is wrong each time.

use super::real::{self, Line, GLOBAL};
use super::{simulated, ALONE};
use anyhow::{bail, ensure, Context, Result};
use std::path::Path;

pub(crate) const ATTEMPTS: usize = 6;
pub(crate) const TOLERANCE: f64 = 0.02;

/// A task, and what one loop of it is, worked out by hand.
#[derive(Clone, Copy)]
pub(crate) struct Task {
    pub(crate) name: &'static str,
    pub(crate) loops: usize,
    /// Phases of a loop that do something: lines in rt-app's log.
    pub(crate) phases: usize,
    pub(crate) busy_us: u64,
    /// From loop to loop, as most of them are.
    pub(crate) period_us: u64,
    /// Begins so much after the first task of the file; 0: soon, and nobody looks.
    pub(crate) delay_us: u64,
    /// Its run events are work, which takes as long as rt-app's calibration is right.
    pub(crate) work: bool,
}

impl Task {
    pub(crate) const fn new(
        name: &'static str,
        loops: usize,
        busy_us: u64,
        period_us: u64,
    ) -> Self {
        Task { name, loops, phases: 1, busy_us, period_us, delay_us: 0, work: false }
    }
}

pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// Runs tasks both ways; `Err` if they differ from each other or from what they should do.
pub(crate) fn compare(json: &str, tasks: &[Task]) -> Result<()> {
    let _alone = ALONE.lock();
    let scratch = tempfile::tempdir()?;
    let directory = scratch.path();
    std::fs::write(directory.join("load.json"), format!("{{\"tasks\": {{{json}}}, {GLOBAL}}}"))?;
    simulation_is_right(directory, tasks)?;
    let mut attempts = Vec::new();
    for _ in 0..ATTEMPTS {
        let found = match real::run(directory, "load.json") {
            Ok(disturbance) => (differences(directory, tasks)?, disturbance.to_string()),
            Err(error) => (vec![format!("{error:#}")], String::new()),
        };
        if found.0.is_empty() {
            return Ok(());
        }
        attempts.push(format!("{} ({})", found.0.join(", "), found.1));
    }
    bail!("rt-app differs in {ATTEMPTS} runs: {}", attempts.join("; "))
}

fn simulation_is_right(directory: &Path, tasks: &[Task]) -> Result<()> {
    let rows = simulated::trace(directory, "load.json")?;
    let first = rows.iter().find(|row| row.event == "wakeup").context("nobody came")?.time_ns;
    for task in tasks {
        let Task { name, loops, busy_us, period_us, delay_us, .. } = *task;
        let starts = simulated::loop_starts_ns(&rows, name, busy_us * 1000)?;
        ensure!(starts.len() == loops + 1, "{name}: {} loops simulated", starts.len() - 1);
        let delay_ns = starts[0] - first;
        ensure!(delay_us == 0 || delay_ns == delay_us * 1000, "{name} began after {delay_ns} ns");
        let periods = starts.windows(2).map(|two| (two[1] - two[0]) as f64);
        let period = median(periods.collect()) / 1000.0;
        ensure!(period == period_us as f64, "{name}: period {period} us simulated");
    }
    Ok(())
}

/// In what rt-app is not as it should be.
fn differences(directory: &Path, tasks: &[Task]) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let mut check = |name: &str, what: &str, real: f64, expected: u64| {
        if (real / expected as f64 - 1.0).abs() > TOLERANCE {
            found.push(format!("{name}: {what} {real} us, expected {expected} us"));
        }
    };
    let mut first = None;
    for task in tasks {
        let name = task.name;
        let lines = real::read(directory, name)?;
        let busy: Vec<Line> = lines.into_iter().filter(|line| line.planned_us > 0).collect();
        let rounds = busy.chunks_exact(task.phases);
        let sum = |of: fn(&Line) -> u64| -> Vec<f64> {
            rounds.clone().map(|lines| lines.iter().map(of).sum::<u64>() as f64).collect()
        };
        if busy.len() != task.loops * task.phases {
            found.push(format!("{name}: {} phases, expected {}", busy.len(), task.loops));
            break;
        }
        if !task.work {
            check(name, "run", median(sum(|line| line.run_us)), task.busy_us);
        }
        check(name, "period", median(sum(|line| line.period_us)), task.period_us);
        let start_us = busy[0].start_us;
        let delay_us = start_us.saturating_sub(*first.get_or_insert(start_us));
        if task.delay_us > 0 {
            check(name, "delay", delay_us as f64, task.delay_us);
        }
    }
    Ok(found)
}
