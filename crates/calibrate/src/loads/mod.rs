// SPDX-License-Identifier: MIT OR Apache-2.0
//! Small loads to check a machine file with: each is played here, and can be simulated on the file.
//!
//! What a load does itself (calls that wake nobody, its own computing) is timed alone, on a CPU
//! that does nothing else. All that is predicted from a machine file comes on top of that. Each
//! thread has its CPU: what is compared is the machine, not where a scheduler puts tasks.

mod groups;
mod memory;
mod wakeups;

use crate::budget::Budget;
use crate::error::CalibrateError;
use crate::estimate::Estimate;
use crate::turns::{self, Pipe};
use std::sync::atomic::AtomicBool;

pub use groups::{MESSAGES_OF_PAGE, PAGES, SENDERS};
pub use memory::{PASSES, SET_KIB, SLEEP_NS, TASKS_OF_CPU};
pub use wakeups::THINK_NS;

/// A load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// Two threads that hand a byte to each other through pipes, on one CPU.
    PipeOne,
    /// The same on two CPUs.
    PipeTwo,
    /// As hackbench: each of ten senders writes to each of ten receivers, through pipes.
    Groups,
    /// As schbench: a thread that thinks, wakes another one, and waits until that has worked; one
    /// pair for each two CPUs.
    Wakeups,
    /// As rt-app with `memrun`: two threads for each CPU that walk through memory, then sleep.
    Memory,
}

/// What a run of a load was.
#[derive(Clone, Debug, PartialEq)]
pub struct Live {
    /// Rounds, messages or passes in a second.
    pub per_second: f64,
    /// From the call that wakes to the woken thread's first instruction, in nanoseconds, half of
    /// the times; of [`Load::Wakeups`] only.
    pub wakeup_p50_ns: Option<f64>,
    /// What the load does itself, in nanoseconds: of pipes a byte in and out; of groups a message
    /// in, and out; of wakeups the work; of memory a pass.
    pub own_ns: Vec<f64>,
}

/// CPU time that the timing of a load's own work takes, as a part of the run.
const ALONE: u64 = 5;

/// Plays a load on these CPUs for some time; `None`: it needs more CPUs, or was ended early.
pub fn play(
    load: Load,
    cpus: &[u32],
    duration_ns: u64,
    stop: &AtomicBool,
) -> Result<Option<Live>, CalibrateError> {
    let budget = Budget::new(duration_ns, stop);
    let Some(first) = cpus.first().copied() else { return Ok(None) };
    let live = match load {
        Load::PipeOne => Some(rounds((first, first), budget)?),
        Load::PipeTwo => match cpus.get(1) {
            Some(second) => Some(rounds((first, *second), budget)?),
            None => None,
        },
        Load::Groups => Some(groups::play(cpus, budget)?),
        Load::Wakeups if cpus.len() > 1 => Some(wakeups::play(cpus, budget)?),
        Load::Wakeups => None,
        Load::Memory => Some(memory::play(cpus, budget)?),
    };
    Ok(live.filter(|_| !stop.load(std::sync::atomic::Ordering::Relaxed)))
}

/// Half of the samples are at or below it.
fn half(samples: &[f64]) -> Result<f64, CalibrateError> {
    let estimate = Estimate::of(samples);
    estimate.map(|of| of.median).ok_or_else(|| CalibrateError::new("too short a time for a load"))
}

fn rounds(cpus: (u32, u32), budget: Budget<'_>) -> Result<Live, CalibrateError> {
    let pipes = [Pipe::new()?, Pipe::new()?];
    let own = half(&turns::alone_ns(cpus.0, &pipes[0], budget.part(ALONE))?)?;
    let rounds = turns::round_ns(cpus, &pipes, budget)?;
    let mean = rounds.iter().sum::<f64>() / rounds.len().max(1) as f64;
    half(&rounds)?;
    Ok(Live { per_second: 1e9 / mean, wakeup_p50_ns: None, own_ns: vec![own] })
}
