// SPDX-License-Identifier: MIT OR Apache-2.0
//! What was recorded while a workload was played.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A workload played under a policy, and what the scheduler did meanwhile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recorded {
    /// The numbers of `rota sim --json`: `tasks` and `totals`.
    pub report: Value,
    /// Whose slices the CPUs began, CPU by CPU, as indices into the tasks of the report.
    pub picks: Vec<Vec<u32>>,
    /// When each CPU took a task first, since the start; 0: it did not.
    #[serde(default)]
    pub first_ns: Vec<u64>,
    /// What else ran on the CPUs.
    pub interruptions: Vec<Interruption>,
    /// How long after a tick a CPU that ends a slice there switches, as a rule.
    pub tick_ns: u64,
    /// How long a wakeup took to another CPU that was idle, on average, if there were any.
    pub crossing_ns: Option<u64>,
    /// When the first CPU, which wakes the tasks at the start, ran one of them, if it did within the
    /// first tick.
    #[serde(default)]
    pub start_ns: u64,
    /// CPU time that a fork took, on average.
    pub fork_ns: u64,
    /// How the fair class is set, if it scheduled the workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fair: Option<Fair>,
    /// All that happened, as CSV, if that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    /// Records that were lost, or did not fit each other: there should be none.
    pub lost: u64,
}

/// How the kernel's fair class is set: what `/sys/kernel/debug/sched` says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fair {
    /// The slice of who asks for none, with this machine's number of CPUs.
    pub base_slice_ns: u64,
    /// Its features, those that are off with `NO_` before them.
    pub features: Vec<String>,
    /// When it preempts: `full` or `lazy`.
    pub preempt: String,
    /// What it cost a CPU that became idle to look for work, as measured, on average over the CPUs;
    /// `None`: there is one CPU.
    #[serde(default)]
    pub newidle_cost_ns: Option<u64>,
}

/// A time at which a CPU ran something else than the workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interruption {
    /// Which one.
    pub cpu: u32,
    /// From when on, since the start.
    pub at_ns: u64,
    /// For how long.
    pub for_ns: u64,
}
