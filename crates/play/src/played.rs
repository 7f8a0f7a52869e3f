// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the player tells of a run.

use crate::account::Account;
use serde::{Deserialize, Serialize};

/// When a workload was played, and by which threads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Played {
    /// When the tasks started, on the monotonic clock.
    pub start_ns: u64,
    /// How long it lasted.
    pub duration_ns: u64,
    /// Time between two ticks; the start is one.
    pub period_ns: u64,
    /// CPU time that a fork took, on average.
    pub fork_ns: u64,
    /// The tasks in the order in which they came into being.
    pub tasks: Vec<PlayedTask>,
}

/// A task of the workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlayedTask {
    /// `<task>-<index>`; the kernel keeps its first 15 bytes.
    pub name: String,
    /// Its name in the file.
    pub instance_of: String,
    /// Its thread id; 0: it was forked, and did not run before the end.
    pub tid: u32,
    /// What it had after the warm-up; `None`: nothing was to be counted, or the kernel does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub had: Option<Account>,
}
