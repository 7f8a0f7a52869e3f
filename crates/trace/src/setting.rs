// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a task was set to be scheduled, as far as a kernel tells: nothing that a simulator's run
//! needs, as its workload says it.

use crate::fields::Value;
use crate::kind::Field;

/// Something that was set, from now on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Setting {
    /// The task is a thread of a process. One of which nothing is said is a process of its own.
    Process {
        /// The task.
        pid: u32,
        /// Pid of the thread that leads the process.
        process: u32,
    },
    /// The task shares with its session (`kernel.sched_autogroup_enabled`).
    Session {
        /// The task.
        pid: u32,
        /// Number of the session; 0: it shares with none, as it is in a cgroup, for instance.
        session: u32,
    },
    /// The task has a policy. One of which nothing is said is of `SCHED_OTHER` or `SCHED_EXT`.
    Policy {
        /// The task.
        pid: u32,
        /// The policy.
        policy: Policy,
    },
}

/// A policy as `sched_setattr(2)` takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Of the fair class, or of sched_ext.
    Fair {
        /// Which.
        kind: FairKind,
        /// -20 to 19.
        nice: i32,
        /// The slice that the task asks for (Linux 6.12 and later), in nanoseconds.
        slice_ns: Option<u64>,
    },
    /// `SCHED_FIFO` and `SCHED_RR`.
    Realtime {
        /// `SCHED_RR`.
        round_robin: bool,
        /// 1 to 99.
        priority: u32,
    },
    /// `SCHED_DEADLINE`, in nanoseconds.
    Deadline {
        /// Budget of each period.
        runtime_ns: u64,
        /// From the start of each period.
        deadline_ns: u64,
        /// The period.
        period_ns: u64,
    },
}

/// The policies that have nice values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FairKind {
    /// `SCHED_OTHER`.
    Other,
    /// `SCHED_BATCH`.
    Batch,
    /// `SCHED_IDLE`.
    Idle,
    /// `SCHED_EXT`.
    Ext,
}

impl FairKind {
    pub(crate) const ALL: [FairKind; 4] =
        [FairKind::Other, FairKind::Batch, FairKind::Idle, FairKind::Ext];

    /// The policy's name in the kernel.
    pub fn name(self) -> &'static str {
        match self {
            FairKind::Other => "SCHED_OTHER",
            FairKind::Batch => "SCHED_BATCH",
            FairKind::Idle => "SCHED_IDLE",
            FairKind::Ext => "SCHED_EXT",
        }
    }
}

impl Policy {
    /// Its name in the kernel.
    pub fn name(self) -> &'static str {
        match self {
            Policy::Fair { kind, .. } => kind.name(),
            Policy::Realtime { round_robin: false, .. } => "SCHED_FIFO",
            Policy::Realtime { round_robin: true, .. } => "SCHED_RR",
            Policy::Deadline { .. } => "SCHED_DEADLINE",
        }
    }
}

impl Setting {
    /// The task that it is about.
    pub fn pid(&self) -> u32 {
        match *self {
            Setting::Process { pid, .. }
            | Setting::Session { pid, .. }
            | Setting::Policy { pid, .. } => pid,
        }
    }

    pub(crate) fn describe<'a>(
        &'a self,
        mut say: impl FnMut(Field, Value<'a>),
    ) -> (&'static str, Option<u32>) {
        let mut number = |field, value: u64| say(field, Value::Number(value));
        let name = match self {
            Setting::Process { process, .. } => {
                number(Field::Process, u64::from(*process));
                "process"
            }
            Setting::Session { session, .. } => {
                number(Field::Session, u64::from(*session));
                "session"
            }
            Setting::Policy { policy, .. } => {
                match *policy {
                    Policy::Fair { nice, slice_ns, .. } => {
                        say(Field::Priority, Value::Signed(i64::from(nice)));
                        if let Some(slice_ns) = slice_ns {
                            say(Field::SliceNs, Value::Number(slice_ns));
                        }
                    }
                    Policy::Realtime { priority, .. } => {
                        say(Field::Priority, Value::Signed(i64::from(priority)));
                    }
                    Policy::Deadline { runtime_ns, deadline_ns, period_ns } => {
                        number(Field::RuntimeNs, runtime_ns);
                        number(Field::DeadlineNs, deadline_ns);
                        number(Field::PeriodNs, period_ns);
                    }
                }
                say(Field::Policy, Value::Text(policy.name()));
                "policy"
            }
        };
        (name, Some(self.pid()))
    }
}
