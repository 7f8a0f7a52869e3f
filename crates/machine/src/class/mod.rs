// SPDX-License-Identifier: MIT OR Apache-2.0
//! Scheduling classes: deadline above real-time above fair above sched_ext, as in `kernel/sched/`.
//! What all of them have in common, and the first two; `ext/` has the rules of sched_ext, and hosts
//! the fair class.

mod admission;
mod balance;
mod change;
mod deadline;
mod entity;
mod queue;
mod realtime;
mod server;
mod sides;
pub(crate) mod stop;
mod switch;

pub(crate) use admission::reserved_by;
pub(crate) use change::normal_prio;
pub(crate) use entity::Entity;
pub(crate) use queue::Waiting;
pub(crate) use server::Servers;
pub(crate) use sides::Side;

use rota_trace::SchedClass;
use rota_workload::{Policy, Settings};

/// What `SCHED_DEADLINE` reserves: so much CPU time, before that much time is over, every period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reservation {
    pub(crate) runtime_ns: u64,
    pub(crate) deadline_ns: u64,
    pub(crate) period_ns: u64,
}

/// The class of a task, and its standing there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// The hosted scheduler's.
    Ext,
    /// Ordinary tasks that no scheduler has, where the machine has a fair class.
    Fair,
    /// `SCHED_FIFO` and `SCHED_RR`: 1 to 99, the greatest first.
    Realtime { priority: u8 },
    /// `SCHED_DEADLINE`: the earliest deadline first.
    Deadline(Reservation),
}

impl Class {
    /// `__setscheduler_class()`; of ordinary tasks it is `Tasks::own_class()` that knows.
    pub(crate) fn of(settings: &Settings) -> Self {
        match settings.policy {
            Policy::Other | Policy::Batch | Policy::Idle | Policy::Ext => Class::Ext,
            Policy::Rr | Policy::Fifo => {
                Class::Realtime { priority: settings.priority.clamp(1, 99) as u8 }
            }
            Policy::Deadline => {
                let runtime_ns = settings.slice_ns.unwrap_or(1);
                let period_ns = settings.dl_period_ns.unwrap_or(runtime_ns);
                let deadline_ns = settings.dl_deadline_ns.unwrap_or(period_ns);
                Class::Deadline(Reservation { runtime_ns, deadline_ns, period_ns })
            }
        }
    }

    pub(crate) fn is_ext(self) -> bool {
        self == Class::Ext
    }

    /// Whether it is the class of a hosted scheduler.
    #[inline]
    pub(crate) fn is_hosted(self) -> bool {
        matches!(self, Class::Ext | Class::Fair)
    }

    pub(crate) fn is_deadline(self) -> bool {
        matches!(self, Class::Deadline(_))
    }

    /// `sched_class_above()`: the greater one is above. The idle class is 0.
    pub(crate) fn level(self) -> u8 {
        match self {
            Class::Ext => 1,
            Class::Fair => 2,
            Class::Realtime { .. } => 3,
            Class::Deadline(_) => 4,
        }
    }

    /// What the event stream calls it.
    pub(crate) fn told(self) -> SchedClass {
        match self {
            Class::Ext => SchedClass::Ext,
            Class::Fair => SchedClass::Fair,
            Class::Realtime { .. } => SchedClass::Realtime,
            Class::Deadline(_) => SchedClass::Deadline,
        }
    }

    /// `preempt_reason_from_class()`: `enum scx_cpu_preempt_reason`, where 2 is a stopper.
    pub(crate) fn preempt_reason(self) -> u32 {
        match self {
            Class::Realtime { .. } => 0,
            Class::Deadline(_) => 1,
            Class::Ext | Class::Fair => 3,
        }
    }
}

/// Which ordinary tasks sched_ext has (`task_should_scx()`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Takes {
    /// No scheduler is attached: none.
    Nothing,
    /// Those of `SCHED_EXT` (`SCX_OPS_SWITCH_PARTIAL`).
    Marked,
    #[default]
    All,
}

/// Who goes first: the greater one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank(u8, u64);

impl Rank {
    /// Everybody in sched_ext, and the idle task.
    pub(crate) const EXT: Rank = Rank(0, 0);

    /// Everybody in the fair class.
    pub(crate) const FAIR: Rank = Rank(1, 0);

    pub(crate) fn realtime(priority: u8) -> Self {
        Rank(2, u64::from(priority))
    }

    pub(crate) fn deadline(at_ns: u64) -> Self {
        Rank(3, u64::MAX - at_ns)
    }

    pub(crate) fn is_deadline(self) -> bool {
        self.0 == 3
    }
}

/// What the machine keeps of all tasks above sched_ext.
#[derive(Debug)]
pub(crate) struct Above {
    /// The workload has any.
    pub(crate) exist: bool,
    /// Those that wait for a CPU.
    pub(crate) nr_waiting: u32,
    /// What all live tasks have reserved (`dl_bw->total_bw`).
    pub(crate) reserved: u64,
}
