// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a trace lacks, and what that means for what is made of it.

use std::fmt;

/// Something that a trace lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// Neither `sched_waking` nor `sched_wakeup`.
    Wakeups,
    /// `sched_waking`, with `sched_wakeup` there.
    Waking,
    /// `sched_wakeup`, with `sched_waking` there.
    Wakeup,
    /// `sched_process_fork`.
    Forks,
    /// `sched_process_exit`.
    Exits,
    /// Whether an interrupt woke a task.
    Interrupts,
    /// Names of so many tasks.
    Names(u64),
    /// Priorities.
    Priorities,
    /// Budgets of so many deadline tasks.
    Budgets(u64),
    /// Records that were lost.
    Lost {
        /// CPUs that lost some.
        cpus: u64,
        /// How many, as far as the trace says.
        records: u64,
    },
    /// So many switches that must have been.
    Switches(u64),
    /// The right order of so many records.
    Order(u64),
}

impl Missing {
    /// A word for programs.
    pub fn key(self) -> &'static str {
        match self {
            Missing::Wakeups => "wakeups",
            Missing::Waking => "sched_waking",
            Missing::Wakeup => "sched_wakeup",
            Missing::Forks => "sched_process_fork",
            Missing::Exits => "sched_process_exit",
            Missing::Interrupts => "interrupts",
            Missing::Names(_) => "names",
            Missing::Priorities => "priorities",
            Missing::Budgets(_) => "budgets",
            Missing::Lost { .. } => "lost",
            Missing::Switches(_) => "switches",
            Missing::Order(_) => "order",
        }
    }

    /// What follows from it.
    pub fn consequence(self) -> &'static str {
        match self {
            Missing::Wakeups => {
                "no wakeup latencies, and nothing is known of what ended a task's sleep"
            }
            Missing::Waking => {
                "a task that another CPU woke counts as woken by what ran, or interrupted, on its \
                 own CPU"
            }
            Missing::Wakeup => {
                "a task that was woken while it was about to sleep may count as woken once too \
                 often, or once too rarely"
            }
            Missing::Forks => "new tasks have no parent: they are there from the begin",
            Missing::Exits => "a task ends with its last switch",
            Missing::Interrupts => {
                "a task's waker may be the task that an interrupt stopped: timers and devices are \
                 not told from tasks"
            }
            Missing::Names(_) => "they are named by their numbers",
            Missing::Priorities => "all tasks count as nice 0",
            Missing::Budgets(_) => "they count as ordinary tasks of nice 0",
            Missing::Lost { .. } => {
                "times of tasks on these CPUs are wrong where records are missing"
            }
            Missing::Switches(_) => {
                "they were inserted before the next ones: times are wrong there"
            }
            Missing::Order(_) => "they have the time of the record before",
        }
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Missing::Wakeups => write!(f, "no wakeups (sched_waking, sched_wakeup)"),
            Missing::Waking => write!(f, "no sched_waking"),
            Missing::Wakeup => write!(f, "no sched_wakeup"),
            Missing::Forks => write!(f, "no sched_process_fork"),
            Missing::Exits => write!(f, "no sched_process_exit"),
            Missing::Interrupts => write!(f, "no mark of interrupts"),
            Missing::Names(tasks) => write!(f, "no names of {tasks} tasks"),
            Missing::Priorities => write!(f, "no priorities"),
            Missing::Budgets(tasks) => write!(f, "no budgets of {tasks} deadline tasks"),
            Missing::Lost { cpus, records: 0 } => write!(f, "lost records on {cpus} CPUs"),
            Missing::Lost { cpus, records } => {
                write!(f, "{records} or more lost records on {cpus} CPUs")
            }
            Missing::Switches(count) => write!(f, "{count} missing switches"),
            Missing::Order(count) => write!(f, "{count} records out of order"),
        }
    }
}
