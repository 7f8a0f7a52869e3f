// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why tasks sleep and what ends it, as far as a kernel tells: nothing that a simulator's run needs.

use crate::fields::Value;
use crate::kind::Field;
use std::sync::Arc;

/// What is known of a sleep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A task is about to leave its CPU to sleep: just before its `switch_out`.
    Block {
        /// The task.
        pid: u32,
        /// The system call that it sleeps in, by its name; empty: in none, as for a page fault or in
        /// a thread of the kernel.
        call: Arc<str>,
        /// The sleep is uninterruptible: it waits for a device, or for another task in the kernel.
        uninterruptible: bool,
        /// It sleeps until a time of a clock (`TIMER_ABSTIME`), not for a length of time.
        absolute: bool,
    },
    /// A task that can go on is about to leave its CPU in a call that yields, or that asks whether
    /// something has come: just before its `switch_out`.
    Spin {
        /// The task.
        pid: u32,
        /// The system call, by its name.
        call: Arc<str>,
    },
    /// What wakes a task that no task does: just before its `wakeup`.
    Source {
        /// The task.
        pid: u32,
        /// What.
        source: WakeSource,
    },
}

/// What wakes a task, other than a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WakeSource {
    /// A timer of the kernel ran out.
    Timer,
    /// Another interrupt: the network, a disk, a terminal, a signal from outside.
    Device,
}

impl Cause {
    /// The task that sleeps or is woken.
    pub fn pid(&self) -> u32 {
        match *self {
            Cause::Block { pid, .. } | Cause::Spin { pid, .. } | Cause::Source { pid, .. } => pid,
        }
    }

    pub(crate) fn describe<'a>(
        &'a self,
        mut say: impl FnMut(Field, Value<'a>),
    ) -> (&'static str, Option<u32>) {
        match self {
            Cause::Block { pid, call, uninterruptible, absolute } => {
                say(Field::SleepState, Value::Text(if *uninterruptible { "D" } else { "S" }));
                if *absolute {
                    say(Field::Absolute, Value::Number(1));
                }
                if !call.is_empty() {
                    say(Field::Call, Value::Text(call));
                }
                ("block", Some(*pid))
            }
            Cause::Spin { pid, call } => {
                say(Field::Call, Value::Text(call));
                ("spin", Some(*pid))
            }
            Cause::Source { pid, source } => {
                let source = match source {
                    WakeSource::Timer => "timer",
                    WakeSource::Device => "device",
                };
                say(Field::Source, Value::Text(source));
                ("wake_source", Some(*pid))
            }
        }
    }
}
