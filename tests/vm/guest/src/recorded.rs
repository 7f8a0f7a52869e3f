// SPDX-License-Identifier: MIT OR Apache-2.0
//! What was recorded while a workload was played.

use rota_kernel::Fair;
use rota_play::Interruption;
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
    /// CPU time of the scheduler's own program, if it was one's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program_ns: Option<u64>,
    /// How the fair class is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fair: Option<Fair>,
    /// Part of the cores that idled while another had two tasks, if [`Play::core`] asks for it.
    ///
    /// [`Play::core`]: crate::step::Play::core
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubled: Option<f64>,
    /// Why the policy left meanwhile, in the words of `rota run`, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<String>,
    /// All that happened, as CSV, if that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    /// Records that were lost, or did not fit each other: there should be none.
    pub lost: u64,
}
