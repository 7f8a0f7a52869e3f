// SPDX-License-Identifier: MIT OR Apache-2.0
//! What all formats come down to: records of the kernel's scheduler tracepoints.

use crate::error::Fault;
use crate::facts::Header;

/// A task's name, as the kernel has it: zeros after its end. All zeros: not known.
pub(crate) type Comm = [u8; 16];

/// A record. A task 0 is the idle task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) time_ns: u64,
    pub(crate) cpu: u32,
    pub(crate) what: What,
}

/// A task as a record names it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) pid: u32,
    pub(crate) comm: Comm,
    /// `task_struct.prio`: 100 + 20 + nice for ordinary tasks.
    pub(crate) prio: Option<i32>,
}

/// Why the task that ran before a switch left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    Runnable,
    /// `deep`: uninterruptibly.
    Sleep {
        deep: bool,
    },
    Exit,
}

/// The task that ran where something woke a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Waker {
    pub(crate) pid: u32,
    /// An interrupt did it, not the task; `None`: the trace does not say.
    pub(crate) interrupt: Option<bool>,
}

/// The kinds of record, each a tracepoint of the kernel unless said otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// `sched_switch`
    Switch { prev: Named, left: Left, next: Named },
    /// `sched_waking`
    Waking { task: Named, by: Waker },
    /// `sched_wakeup`
    Wakeup { task: Named, by: Waker },
    /// `sched_wakeup_new`
    WakeupNew { task: Named, by: Waker },
    /// `sched_process_fork`
    Fork { parent: u32, child: u32, comm: Comm },
    /// `sched_process_exit`
    Exit { pid: u32 },
    /// `sched_migrate_task`
    Migrate { pid: u32 },
    /// `task_rename`, or perf's own record of a name.
    Name { pid: u32, comm: Comm },
    /// The process of a thread and its parent, from perf's own records.
    Process { pid: u32, process: u32, parent: Option<u32> },
    /// So many records were lost just before; `None`: the trace does not say how many.
    Lost { count: Option<u64> },
}

/// Gives the records of a trace in the order of their times, nearly.
pub(crate) trait Records {
    /// The next one; `None`: that was all.
    fn next(&mut self) -> Result<Option<Record>, Fault>;

    /// What the end of the trace tells.
    fn finish(&mut self, _header: &mut Header) {}
}

/// A name's first 15 bytes.
pub(crate) fn comm(name: &[u8]) -> Comm {
    let mut comm = [0; 16];
    let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len()).min(15);
    comm[..end].copy_from_slice(&name[..end]);
    comm
}

/// Interrupts, by `TRACE_FLAG_HARDIRQ`, `_SOFTIRQ` and `_NMI` of `common_flags`
/// (`include/linux/trace_events.h`).
pub(crate) fn in_interrupt(common_flags: u64) -> bool {
    common_flags & (0x08 | 0x10 | 0x40) != 0
}
