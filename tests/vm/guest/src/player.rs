// SPDX-License-Identifier: MIT OR Apache-2.0
//! Plays a workload file on this machine: what the simulator's tasks do, done by threads.
//!
//! All tasks are threads of one process and take their steps from the [`Runner`](rota_workload::Runner) that the
//! simulator uses, so that both do the same. `run` counts the CPU time of the thread, its own
//! steps between two runs included: a file that says 1 ms of work for each round gets a thread
//! that uses 1 ms of CPU time for each round. The tasks start together at a tick, as the
//! simulator's do.

mod clock;
mod outside;
mod play;
mod start;
mod task;

pub(crate) use clock::{monotonic_ns, sleep_until, thread_ns};
pub(crate) use play::{play, Options};

use clock::Clock;
use rota_workload::{SeededRunner, TaskIx};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::{Mutex, OnceLock};
use std::thread::Thread;

/// How many tasks a workload may have, its forks included.
const MOST_TASKS: usize = 8192;

/// What the threads share.
pub(crate) struct Stage {
    runner: Mutex<SeededRunner>,
    clock: Clock,
    places: Box<[Place]>,
    options: Options,
    /// CPU time that forks took, and their number.
    forks: (AtomicU64, AtomicU64),
    /// Why it cannot go on, said by the first task that noticed.
    trouble: OnceLock<String>,
}

/// What others know of a task.
#[derive(Default)]
struct Place {
    thread: OnceLock<Thread>,
    /// Thread id, 0 before it has one.
    tid: AtomicU32,
    woken: AtomicBool,
    /// CPU time that it had had when it went to sleep before the start.
    slept_at_ns: AtomicU64,
}

impl Stage {
    fn place(&self, task: TaskIx) -> &Place {
        &self.places[task.0 as usize]
    }
}
