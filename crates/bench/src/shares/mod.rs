// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tasks that begin one after the other and compute on one CPU, each of which counts itself how
//! much it has done in each window of time [PBS §4, Figure 4]. The kernel is asked for nothing but
//! the time of day.
//!
//! The tasks are threads of this process: a thread begins at once, where a program has to be read
//! first. Work is done in chunks of loops; how long one takes is measured before.

mod tally;

use crate::busy::{burn, calibrate, loops};
use crate::clock::{now_ns, sleep_until};
use crate::cpus::Cpus;
use crate::error::Error;
use serde::Serialize;
use std::hint::spin_loop;
use tally::Tally;

/// Time that a chunk takes alone, about.
const CHUNK_NS: u64 = 200_000;
/// The shortest of so many chunks is how long one takes.
const CHUNKS: usize = 250;
/// From now to the time 0, for the first thread to be there.
const LEAD_NS: u64 = 10_000_000;
/// More windows than this are no picture, and much memory.
const MOST_WINDOWS: u64 = 1_000_000;
const STACK_BYTES: usize = 64 << 10;

/// One task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Task {
    /// When it begins.
    pub start_ns: u64,
    /// CPU time that it needs, if nobody interrupts it.
    pub work_ns: u64,
}

/// What to measure.
#[derive(Clone, Debug)]
pub struct Plan {
    /// In the order in which they begin.
    pub tasks: Vec<Task>,
    /// Length of a window.
    pub window_ns: u64,
    /// Loops that take a millisecond; none: they are counted first.
    pub loops_per_ms: Option<u64>,
}

/// What became of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Done {
    /// What it was to do.
    #[serde(flatten)]
    pub task: Task,
    /// When it was done.
    pub end_ns: u64,
    /// Work that was done in each window, from time 0 to its end.
    pub windows_ns: Vec<u64>,
    /// Times in each of these windows that it got the CPU: first, and after another of the tasks.
    pub turns: Vec<u32>,
}

/// What came out.
#[derive(Clone, Debug, Serialize)]
pub struct Shares {
    /// Loops that take a millisecond.
    pub loops_per_ms: u64,
    /// How long a chunk of work takes.
    pub chunk_ns: u64,
    /// In the order of the plan.
    pub tasks: Vec<Done>,
}

impl Shares {
    /// Part of a window's CPU time that a task has worked in it.
    pub fn share(&self, task: usize, window: usize, window_ns: u64) -> f64 {
        let worked_ns = self.tasks[task].windows_ns.get(window).copied().unwrap_or(0);
        worked_ns as f64 / window_ns as f64
    }

    /// Windows until the last task ended.
    pub fn windows(&self) -> usize {
        self.tasks.iter().map(|done| done.windows_ns.len()).max().unwrap_or(0)
    }
}

/// Runs all tasks to their ends, on one CPU.
pub fn measure(plan: &Plan, cpus: &Cpus) -> Result<Shares, Error> {
    check(plan)?;
    let (loops_per_ms, chunk) = cpus.share(|| -> Result<_, Error> {
        let loops_per_ms = plan.loops_per_ms.map_or_else(calibrate, Ok)?;
        Ok((loops_per_ms, Chunk::measured(loops(loops_per_ms, CHUNK_NS).max(1))))
    })??;
    let origin_ns = now_ns() + LEAD_NS;
    let mut threads = Vec::new();
    for task in &plan.tasks {
        sleep_until(origin_ns.saturating_add(task.start_ns))?;
        let (task, window_ns, cpus) = (*task, plan.window_ns, cpus.clone());
        let live = move || {
            // Not by its parent, who would have to wait there to have the CPU.
            cpus.enter()?;
            Ok(work(task, chunk, Tally::new(origin_ns, window_ns)))
        };
        let started = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(live);
        threads.push(started.map_err(|e| Error::system("start a thread", e))?);
    }
    let ended = threads
        .into_iter()
        .map(|thread| thread.join().map_err(|_| Error::Failure("a thread failed".into()))?);
    let tallies = ended.collect::<Result<Vec<_>, Error>>()?;
    Ok(Shares { loops_per_ms, chunk_ns: chunk.ns, tasks: Tally::done(tallies) })
}

fn check(plan: &Plan) -> Result<(), Error> {
    if plan.tasks.is_empty() || plan.window_ns == 0 {
        return Err(Error::Input("there is nothing to measure".into()));
    }
    if !plan.tasks.is_sorted_by_key(|task| task.start_ns) {
        return Err(Error::Input("tasks have to be in the order in which they begin".into()));
    }
    let last_ns = plan
        .tasks
        .iter()
        .fold(0u64, |end_ns, task| end_ns.max(task.start_ns).saturating_add(task.work_ns));
    if last_ns / plan.window_ns >= MOST_WINDOWS {
        return Err(Error::Input(format!("these are more than {MOST_WINDOWS} windows")));
    }
    Ok(())
}

/// A piece of work between two looks at the clock.
#[derive(Clone, Copy, Debug)]
struct Chunk {
    loops: u64,
    ns: u64,
}

impl Chunk {
    fn measured(loops: u64) -> Self {
        let mut shortest_ns = u64::MAX;
        let mut before_ns = now_ns();
        for _ in 0..CHUNKS {
            let after_ns = Self::pass(loops);
            shortest_ns = shortest_ns.min(after_ns - before_ns);
            before_ns = after_ns;
        }
        Self { loops, ns: shortest_ns.max(1) }
    }

    /// The time when it is done.
    fn pass(loops: u64) -> u64 {
        burn(loops);
        // Emulated CPUs that take turns take this as the end of one.
        spin_loop();
        now_ns()
    }
}

/// With the time of its end.
fn work(task: Task, chunk: Chunk, mut tally: Tally) -> (Task, Tally, u64) {
    let mut before_ns = now_ns();
    tally.begin(before_ns);
    for _ in 0..task.work_ns.div_ceil(chunk.ns) {
        let after_ns = Chunk::pass(chunk.loops);
        tally.chunk(before_ns, after_ns, chunk.ns);
        before_ns = after_ns;
    }
    (task, tally, before_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(tasks: &[(u64, u64)]) -> Plan {
        let task =
            |(start_ns, work_ns): &(u64, u64)| Task { start_ns: *start_ns, work_ns: *work_ns };
        let tasks = tasks.iter().map(task).collect();
        Plan { tasks, window_ns: 1_000_000, loops_per_ms: Some(100_000) }
    }

    #[test]
    fn all_work_is_counted_and_none_before_the_start() {
        let cpus = Cpus::new(None).expect("there is a CPU");
        let found = measure(&plan(&[(0, 8_000_000), (5_000_000, 3_000_000)]), &cpus).expect("runs");
        for done in &found.tasks {
            let worked_ns: u64 = done.windows_ns.iter().sum();
            let whole_ns = done.task.work_ns.div_ceil(found.chunk_ns) * found.chunk_ns;
            assert_eq!(worked_ns, whole_ns);
            assert!(done.end_ns >= done.task.start_ns);
            assert!(done.turns.iter().sum::<u32>() >= 1);
        }
        assert!(found.tasks[1].windows_ns.iter().take(5).all(|ns| *ns == 0), "{found:?}");
        assert!(found.windows() > 5);
    }

    #[test]
    fn plans_that_cannot_be_run_are_told() {
        let error = |plan: &Plan| check(plan).expect_err("is refused").to_string();
        assert!(error(&plan(&[])).contains("nothing to measure"));
        assert!(error(&plan(&[(2, 1), (1, 1)])).contains("in the order"));
        assert!(error(&plan(&[(0, u64::MAX), (1, u64::MAX)])).contains("1000000 windows"));
    }
}
