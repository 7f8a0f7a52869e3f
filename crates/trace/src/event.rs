// SPDX-License-Identifier: MIT OR Apache-2.0
//! One event of a run, equal in form from the simulator and from a kernel.

use std::borrow::Cow;
use std::sync::Arc;

use crate::cpu_list::CpuList;
use crate::request::Request;

/// Something that happened at a time, on a CPU (`None`: on none, e.g. a timer wakeup).
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Nanoseconds since the run began.
    pub time_ns: u64,
    /// CPU it happened on.
    pub cpu: Option<u32>,
    /// What happened.
    pub kind: EventKind,
}

/// Why a task left its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OffCpu {
    /// Still runnable: slice used up, preempted, or yielded.
    Runnable,
    /// Blocked or sleeping.
    Sleep,
    /// Exited.
    Exit,
}

/// Scheduling class of a task, the lowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SchedClass {
    /// sched_ext: the policy schedules it.
    Ext,
    /// `SCHED_FIFO`, `SCHED_RR`, or with priority lent by a task of these.
    Realtime,
    /// `SCHED_DEADLINE`, or with a deadline lent.
    Deadline,
}

/// What a callback of the policy cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// Instructions, kfuncs included: from the simulator, where a callback takes no time.
    Instructions(u64),
    /// Nanoseconds from its call to its end: from a kernel.
    Nanoseconds(u64),
}

/// The kinds of event. `pid` is the task it is about.
#[derive(Clone, Debug, PartialEq)]
pub enum EventKind {
    /// A task's name and weight become known (before its first other event) or change.
    Task {
        /// The task.
        pid: u32,
        /// Its name.
        name: String,
        /// Its weight as sched_ext counts it (1..=10000, 100 is nice 0).
        weight: u32,
        /// Name of the workload's task that it is an instance or a fork of; `None`: of no workload,
        /// as on a recorded machine. No file has it.
        instance_of: Option<Arc<str>>,
    },
    /// A task goes over to another class. One of which nothing is said is the policy's.
    SchedClass {
        /// The task.
        pid: u32,
        /// The class from now on.
        class: SchedClass,
    },
    /// A task was given a share of its own, which counts instead of its weight.
    Share {
        /// The task.
        pid: u32,
        /// The share; only its ratio to those of others matters.
        share: u64,
    },
    /// A task may use these CPUs only; said of those that were ever tied to some, from a simulator.
    Affinity {
        /// The task.
        pid: u32,
        /// The CPUs.
        cpus: CpuList,
    },
    /// A task was created. It becomes runnable with its first wakeup.
    Fork {
        /// The new task.
        pid: u32,
        /// The task that created it; 0: the workload.
        parent: u32,
    },
    /// A task ended.
    Exit {
        /// The task.
        pid: u32,
    },
    /// A task became runnable.
    Wakeup {
        /// The task.
        pid: u32,
        /// The task that woke it; 0: a timer, or another interrupt.
        waker: u32,
    },
    /// The policy was handed the task (ops.enqueue, or directly dispatched).
    Enqueue {
        /// The task.
        pid: u32,
        /// `SCX_ENQ_*` flags.
        enq_flags: u64,
    },
    /// A task entered a dispatch queue.
    Dispatch {
        /// The task.
        pid: u32,
        /// The queue's id.
        dsq: u64,
    },
    /// The CPU starts a slice of a task, also of the same task again.
    Pick {
        /// The task.
        pid: u32,
        /// Length of the slice.
        slice_ns: u64,
    },
    /// A task starts running after another one (or idle).
    SwitchIn {
        /// The task.
        pid: u32,
    },
    /// A task stops running for another one (or idle).
    SwitchOut {
        /// The task.
        pid: u32,
        /// Why it stops.
        why: OffCpu,
    },
    /// A task moved between CPUs.
    Migrate {
        /// The task.
        pid: u32,
        /// CPU it ran on before.
        from: u32,
        /// CPU it runs on next.
        to: u32,
    },
    /// A callback of the policy ran.
    OpCall {
        /// The callback's name in `sched_ext_ops`.
        op: Cow<'static, str>,
        /// Task it was about; 0: none.
        pid: u32,
        /// What it cost.
        cost: Cost,
    },
    /// Something happened to a request, in the simulator.
    Request(Request),
    /// The policy left: kind, code and reason as the kernel prints them.
    PolicyExit {
        /// `enum scx_exit_kind`.
        kind: u32,
        /// The policy's own exit code.
        code: i64,
        /// Why, in words.
        reason: String,
    },
}

/// Receives events as they happen.
pub trait Sink {
    /// Takes one event; times never go backwards.
    fn event(&mut self, event: &Event);

    /// Whether [`EventKind::OpCall`], [`EventKind::Enqueue`] and [`EventKind::Dispatch`]
    /// are wanted: building them costs time.
    fn wants_detail(&self) -> bool {
        false
    }
}
