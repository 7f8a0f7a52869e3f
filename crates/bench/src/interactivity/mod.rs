// SPDX-License-Identifier: MIT OR Apache-2.0
//! How late interactive tasks get the CPU beside a load, after Interbench by Con Kolivas
//! [O1CFS §4]. Task and load are processes of their own, which share CPUs.

mod child;
mod load;
mod tally;
mod task;

pub use child::child;
pub use load::Load;
pub use tally::Tally;
pub use task::Task;

use crate::busy;
use crate::cpus::Cpus;
use crate::error::Error;
use crate::spread::Spread;
use child::{Child, Order};
use serde::Serialize;
use std::process::Command;
use std::time::Duration;

/// What to measure.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Interactive tasks, one after the other.
    pub tasks: Vec<Task>,
    /// Loads, each beside each task.
    pub loads: Vec<Load>,
    /// Threads of [`Load::Burn`].
    pub burn: u32,
    /// Time of each pair.
    pub duration: Duration,
    /// Number of measurements of each pair.
    pub repeat: u32,
    /// Known from an earlier run; `None`: calibrated.
    pub loops_per_ms: Option<u64>,
}

/// So long a load runs before a task is measured.
pub const LEAD: Duration = Duration::from_secs(1);

/// What came out.
#[derive(Clone, Debug, Serialize)]
pub struct Interactivity {
    /// Loops of nothing that take a millisecond of CPU time.
    pub loops_per_ms: u64,
    /// Task by task, load by load.
    pub pairs: Vec<Pair>,
}

/// A task beside a load.
#[derive(Clone, Debug, Serialize)]
pub struct Pair {
    /// The task.
    pub task: Task,
    /// The load.
    pub load: Load,
    /// Of all repetitions, from when a period was due to its start; `None`: it never slept.
    pub latency_ns: Option<Spread>,
    /// Average and maximum of each repetition.
    pub repetitions: Vec<Repetition>,
    /// Part of the CPU time that was wanted which was had; `None`: none was wanted.
    pub desired_cpu: Option<f64>,
    /// Part of all periods whose work was done in time.
    pub deadlines_met: Option<f64>,
    /// Periods whose work was done in time.
    pub met: u64,
    /// Those whose work was done later.
    pub late: u64,
    /// Those that were over before they could begin.
    pub dropped: u64,
}

/// One time that a pair was measured.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Repetition {
    /// Average of its latencies.
    pub average_ns: f64,
    /// The greatest.
    pub maximum_ns: f64,
}

/// Measures all pairs. `program` has to be one that calls [`child()`]; `done` is called after each
/// test.
pub fn measure(
    plan: &Plan,
    cpus: &Cpus,
    program: impl Fn() -> Command,
    done: impl Fn(),
) -> Result<Interactivity, Error> {
    let loops_per_ms = match plan.loops_per_ms {
        Some(loops) => loops,
        None => cpus.share(busy::calibrate)??,
    };
    let mut pairs = Vec::new();
    for task in &plan.tasks {
        for load in &plan.loads {
            let mut all = Vec::new();
            for _ in 0..plan.repeat {
                all.push(once(plan, (*task, *load), loops_per_ms, cpus, &program)?);
                done();
            }
            pairs.push(Pair::of(*task, *load, &all));
        }
    }
    Ok(Interactivity { loops_per_ms, pairs })
}

fn once(
    plan: &Plan,
    (task, load): (Task, Load),
    loops_per_ms: u64,
    cpus: &Cpus,
    program: &impl Fn() -> Command,
) -> Result<Tally, Error> {
    let busy_threads = load.busy(plan.burn, cpus.count());
    let start = || Child::start(&mut program());
    let (mut beside, mut measured) =
        cpus.share(|| -> Result<_, Error> { Ok((start()?, start()?)) })??;
    beside.tell(&Order::Load { load, busy_threads, loops_per_ms })?;
    std::thread::sleep(LEAD);
    let duration_ns = u64::try_from(plan.duration.as_nanos()).unwrap_or(u64::MAX);
    measured.tell(&Order::Task { task, duration_ns, loops_per_ms })?;
    let tally = measured.hear()?;
    // It loads the CPUs until it is killed, unless something went wrong.
    beside.is_there()?;
    Ok(tally)
}

impl Pair {
    fn of(task: Task, load: Load, all: &[Tally]) -> Self {
        let spread = |tally: &Tally| {
            let latencies: Vec<f64> = tally.latencies_ns.iter().map(|ns| *ns as f64).collect();
            Spread::of(&latencies)
        };
        let mut sum = Tally::default();
        all.iter().for_each(|tally| sum.add(tally));
        let repetitions = all.iter().filter_map(spread);
        Self {
            task,
            load,
            latency_ns: spread(&sum),
            repetitions: repetitions
                .map(|of| Repetition { average_ns: of.mean, maximum_ns: of.max })
                .collect(),
            desired_cpu: sum.desired_cpu(),
            deadlines_met: sum.deadlines_met(),
            met: sum.met,
            late: sum.late,
            dropped: sum.dropped,
        }
    }

    /// The greatest latency of each repetition, averaged, as [O1CFS §4.2] does.
    pub fn average_maximum_ns(&self) -> Option<f64> {
        let maxima: Vec<f64> = self.repetitions.iter().map(|of| of.maximum_ns).collect();
        Spread::of(&maxima).map(|of| of.mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maxima_are_averaged_over_repetitions() {
        let of = |latencies_ns: &[u64]| Tally {
            latencies_ns: latencies_ns.to_vec(),
            met: latencies_ns.len() as u64,
            ..Tally::default()
        };
        // Maxima of 30 and 50; three latencies of 10, 30 and 50 in all.
        let pair = Pair::of(Task::X, Load::Full, &[of(&[10, 30]), of(&[50])]);
        assert_eq!(pair.average_maximum_ns(), Some(40.0));
        let spread = pair.latency_ns.expect("three");
        assert_eq!((spread.count, spread.mean, spread.max), (3, 30.0, 50.0));
        assert_eq!((pair.met, pair.deadlines_met, pair.desired_cpu), (3, Some(1.0), None));
    }
}
