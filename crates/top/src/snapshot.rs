// SPDX-License-Identifier: MIT OR Apache-2.0
//! All that a screen may show, as plain data: a picture of the state at a time.

use crate::numbers::Numbers;
use crate::timeline::Cell;
use std::sync::Arc;

/// The least exit kind that is an ejection (`SCX_EXIT_ERROR`).
const ERROR: u32 = 1024;

/// The state at a time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// The time.
    pub now_ns: u64,
    /// How long before it the numbers begin.
    pub window_ns: u64,
    /// The CPUs, from 0 on.
    pub cpus: Vec<CpuLine>,
    /// Of the timeline as a whole: CPU time that was busy, idle while a task waited, there at all.
    pub sums: (u64, u64, u64),
    /// Tasks that wait for a CPU.
    pub waiting: usize,
    /// Of all tasks together.
    pub all: Numbers,
    /// Tasks that ran lately, or want to.
    pub tasks: Vec<Row>,
    /// Their cgroups.
    pub groups: Vec<Row>,
    /// How the policy left, if it did.
    pub left: Option<Left>,
}

/// A CPU.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CpuLine {
    /// The task that runs there.
    pub runs: Option<Arc<str>>,
    /// It is not there at present.
    pub offline: bool,
    /// The last steps, the latest last.
    pub cells: Vec<Cell>,
}

/// A task or a cgroup.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Its name, or its path.
    pub name: Arc<str>,
    /// The cgroup that it is in.
    pub group: Arc<str>,
    /// Of a task.
    pub pid: Option<u32>,
    /// In the timeline.
    pub letter: Option<u8>,
    /// How many it has.
    pub tasks: usize,
    /// What it got.
    pub numbers: Numbers,
    /// For how long it has been waiting for a CPU, the longest of several.
    pub waits_ns: Option<u64>,
}

/// How a policy left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// When.
    pub at_ns: u64,
    /// `enum scx_exit_kind`.
    pub kind: u32,
    /// Why, in words.
    pub reason: String,
}

impl Left {
    /// Whether the kernel threw it out.
    pub fn is_ejection(&self) -> bool {
        self.kind >= ERROR
    }
}
