// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a running task asks of whoever runs it.

use crate::model::{Settings, TaskIx};

/// What a task does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Compute: work that takes `work_ns` on a CPU of full speed. Never 0.
    Run {
        /// Nanoseconds at full speed.
        work_ns: u64,
    },
    /// Be busy until this much time has passed on the clock, whether on a CPU or waiting
    /// for one. Never 0.
    Runtime {
        /// Nanoseconds of wall-clock time.
        ns: u64,
    },
    /// Sleep from now on. Never 0.
    Sleep {
        /// Nanoseconds.
        ns: u64,
    },
    /// Sleep until a time that is still to come.
    SleepUntil {
        /// Nanoseconds since the run began.
        at_ns: u64,
    },
    /// `sched_yield()`.
    Yield,
    /// Another task was created and starts now.
    Fork {
        /// The new task.
        child: TaskIx,
    },
    /// Block until another task wakes this one ([`Step::Wake`]).
    Block,
    /// These blocked tasks are woken, in this order.
    Wake {
        /// Never empty.
        tasks: Vec<TaskIx>,
        /// The kernel is told that the waker sleeps soon (`WF_SYNC`), as pipes and sockets do
        /// (`wake_up_interruptible_sync_poll()`).
        sync: bool,
    },
    /// These settings hold from now on.
    Change(Box<Settings>),
    /// The task is over.
    Exit,
    /// The workload cannot go on: the task would loop for ever without using time, or forks
    /// without end. The text names the task and says why.
    Stuck(String),
}
