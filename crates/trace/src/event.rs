// SPDX-License-Identifier: MIT OR Apache-2.0
//! One event of a run, equal in form from the simulator and from a kernel.

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

/// The kinds of event.
#[derive(Clone, Debug, PartialEq)]
pub enum EventKind {
    /// A task's name and weight become known (before its first other event) or change.
    Task { pid: u32, name: String, weight: u32 },
    /// A task was created by another (0: by the workload).
    Fork { pid: u32, parent: u32 },
    /// A task ended.
    Exit { pid: u32 },
    /// A task became runnable; `waker` is 0 for a timer.
    Wakeup { pid: u32, waker: u32 },
    /// The policy was handed the task (ops.enqueue, or directly dispatched).
    Enqueue { pid: u32, enq_flags: u64 },
    /// A task entered a dispatch queue.
    Dispatch { pid: u32, dsq: u64 },
    /// The CPU starts a slice of a task, also of the same task again.
    Pick { pid: u32, slice_ns: u64 },
    /// A task starts running after another one (or idle).
    SwitchIn { pid: u32 },
    /// A task stops running for another one (or idle).
    SwitchOut { pid: u32, why: OffCpu },
    /// A task moved between CPUs.
    Migrate { pid: u32, from: u32, to: u32 },
    /// A callback of the policy ran, with its cost in instructions (kfunc cost included).
    OpCall { op: &'static str, pid: u32, instructions: u64 },
    /// The policy left: kind, code and reason as the kernel prints them.
    PolicyExit { kind: u32, code: i64, reason: String },
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
