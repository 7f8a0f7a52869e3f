// SPDX-License-Identifier: MIT OR Apache-2.0
//! What goes into a workload besides events, and what comes out.

use crate::doubt::Doubt;
use std::collections::{BTreeMap, BTreeSet};

/// What the machine that plays a workload charges to tasks by itself, in nanoseconds. The recorded
/// times have it in them already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Charges {
    /// For each time that a task comes onto a CPU …
    pub switch_ns: u64,
    /// … and more, if the CPU was idle.
    pub idle_exit_ns: u64,
    /// For each move to another CPU.
    pub migration_ns: u64,
    /// For each task that it wakes.
    pub wakeup_ns: u64,
    /// For each task that it forks.
    pub fork_ns: u64,
    /// For each interrupt to another CPU, as for a wakeup there …
    pub ipi_send_ns: u64,
    /// … and for receiving it, before the woken task runs.
    pub ipi_receive_ns: u64,
}

/// What a recorder took of the tasks that it recorded, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// Of each call that moved bytes …
    pub call_ns: u64,
    /// … or of all of these together, where that is known better: the same of each.
    pub calls_ns: Option<u64>,
    /// Of a task each time that it leaves a CPU …
    pub leave_ns: u64,
    /// … or comes onto one.
    pub come_ns: u64,
    /// Of a task that wakes another one.
    pub wakeup_ns: u64,
}

/// How often a recorder took something of a task, besides calls that moved bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) leaves: u16,
    pub(crate) comes: u16,
    pub(crate) wakeups: u16,
}

impl Taken {
    /// If there were so many calls that moved bytes.
    pub(crate) fn of_calls(self, calls: u64) -> Self {
        match self.calls_ns {
            Some(all_ns) => Self { call_ns: all_ns / calls.max(1), calls_ns: None, ..self },
            None => self,
        }
    }

    /// For all of that.
    pub(crate) fn of(&self, told: Told) -> u64 {
        self.leave_ns * u64::from(told.leaves)
            + self.come_ns * u64::from(told.comes)
            + self.wakeup_ns * u64::from(told.wakeups)
    }
}

/// What is known of a recording.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// What the comment at the top of the file says.
    pub about: Vec<String>,
    /// The machine, as the key `machine` of a workload file has it.
    pub machine: Option<serde_json::Value>,
    /// The recording ended because its tasks did: another machine may need more time for them.
    pub ends_itself: bool,
    /// Tasks can come into the recording while they run, as into a cgroup: where nothing woke a task
    /// before it first ran, it came then, and did not wait for a CPU since the begin.
    pub joined: bool,
    /// Pids of threads of the kernel.
    pub kernel_threads: BTreeSet<u32>,
    /// The recorded numbers of the CPUs of the machine, if it has only some of those that were there.
    pub cpus: Option<Vec<u32>>,
    /// How many CPUs were there.
    pub nr_cpus: u32,
    /// What the recorder took of the tasks: it is no work of theirs.
    pub taken: Taken,
}

/// How many sleeps ended by what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// By another recorded task, in the workload too.
    pub tasks: u64,
    /// Waits for bytes, or for room: the workload has what was put and taken in place of them.
    pub streams: u64,
    /// Of these in a call that gives: what it gives to, as a pipe, was full.
    pub full: u64,
    /// By a task that had a lock of the kernel: they keep their length.
    pub locks: u64,
    /// By a timer: they keep their length …
    pub timers: u64,
    /// … but so many of them their time.
    pub ticks: u64,
    /// By something that was asked for, as from a disk: they keep their length.
    pub services: u64,
    /// By something that came from outside: they end at the same time.
    pub arrivals: u64,
    /// By what is not known: they keep their length.
    pub unknown: u64,
}

impl Waits {
    /// All.
    pub fn total(&self) -> u64 {
        self.tasks + self.timers + self.services + self.arrivals + self.unknown
    }
}

/// A workload made of a recording.
#[derive(Clone, Debug)]
pub struct Replay {
    /// The file.
    pub text: String,
    /// The same with what the recorder took, where it took anything: what the recording shows.
    pub with_recorder: Option<String>,
    /// Name of each of its tasks, and the name that the recorded task had.
    pub names: BTreeMap<String, String>,
    /// What its sleeps waited for.
    pub waits: Waits,
    /// Kernel threads that are left out, as they wake no task of the workload.
    pub left_out: u64,
    /// What another scheduler or machine would make different from what is played.
    pub doubts: Vec<Doubt>,
}
