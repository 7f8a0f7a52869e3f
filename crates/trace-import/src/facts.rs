// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is known of a trace besides its events.

use crate::format::Format;
use crate::missing::Missing;
use rota_trace::CpuList;
use std::collections::BTreeMap;

/// The kernel's largest `NR_CPUS`.
pub(crate) const MOST_CPUS: u32 = 8192;

/// What a trace says of itself before its events are read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// One more than the highest CPU that there may be; `None`: only the records tell.
    pub cpus: Option<u32>,
    /// The clock of its times, as the kernel or the tool calls it.
    pub clock: Option<String>,
    /// The host's name.
    pub host: Option<String>,
    /// Release of the kernel.
    pub kernel: Option<String>,
    /// Architecture, as `uname -m`.
    pub arch: Option<String>,
    /// The tool that recorded it, and its version.
    pub tool: Option<String>,
    /// The command line of the recording tool.
    pub command: Option<String>,
    /// Records that the trace says were lost, by CPU. Those that are lost in the middle of the
    /// trace are in [`Facts::lost`], too.
    pub lost: BTreeMap<u32, u64>,
}

/// How many records of each tracepoint a trace has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// `sched_switch`
    pub switches: u64,
    /// `sched_waking`
    pub wakings: u64,
    /// `sched_wakeup`
    pub wakeups: u64,
    /// `sched_wakeup_new`
    pub new_wakeups: u64,
    /// `sched_process_fork`
    pub forks: u64,
    /// `sched_process_exit`
    pub exits: u64,
    /// `sched_migrate_task`
    pub migrations: u64,
}

impl Counts {
    /// All of them.
    pub fn total(&self) -> u64 {
        let Self { switches, wakings, wakeups, new_wakeups, forks, exits, migrations } = self;
        switches + wakings + wakeups + new_wakeups + forks + exits + migrations
    }
}

impl Header {
    /// There may be CPUs up to `cpus`, which that is one more than.
    pub(crate) fn has_cpus(&mut self, cpus: u32) -> Result<(), String> {
        if !(1..=MOST_CPUS).contains(&cpus) {
            return Err(format!("{cpus} CPUs: expected 1 to {MOST_CPUS}"));
        }
        self.cpus = Some(self.cpus.unwrap_or(0).max(cpus));
        Ok(())
    }
}

/// Lost records of a CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Times that records were lost.
    pub gaps: u64,
    /// How many, as far as the trace says.
    pub records: u64,
}

/// What a trace tells of a task that no event does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskFacts {
    /// Its last name.
    pub name: String,
    /// The process that it is a thread of.
    pub process: Option<u32>,
    /// The task that created it, or its process.
    pub parent: Option<u32>,
    /// `task_struct.prio` as last seen: below 0 deadline, below 100 real-time, 120 is nice 0.
    pub prio: Option<i32>,
    /// Whether it is the kernel's. By its parent (kthreadd), what the trace says of it, or, where
    /// neither is known, by its name.
    pub kernel_thread: bool,
}

/// What is known of a trace once its events were read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Its format.
    pub format: Format,
    /// What it says of itself.
    pub header: Header,
    /// One more than the highest CPU that there may be.
    pub cpus: u32,
    /// CPUs that records are of.
    pub cpus_seen: CpuList,
    /// Time of its first record on its own clock.
    pub begin_ns: u64,
    /// From the first record to the last.
    pub duration_ns: u64,
    /// Records of the scheduler.
    pub counts: Counts,
    /// Events that were made of them.
    pub events: u64,
    /// Losses, by CPU.
    pub lost: BTreeMap<u32, Lost>,
    /// Records that came after later ones, and got their time.
    pub late: u64,
    /// Switches that did not fit what was known: signs of lost records.
    pub repaired: u64,
    /// Tasks that ran after a sleep that no record ended.
    pub unexplained: u64,
    /// Tasks, by pid. A number that came into use again has the last one's.
    pub tasks: BTreeMap<u32, TaskFacts>,
    /// What it lacks.
    pub missing: Vec<Missing>,
}
