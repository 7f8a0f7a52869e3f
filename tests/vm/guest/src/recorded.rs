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
    /// Times that something else than the workload interrupted a slice that then went on; these
    /// are no switches in the report.
    pub interruptions: u64,
    /// How long all of them took; in the report it is CPU time of the interrupted task.
    pub interrupted_ns: u64,
    /// Records that were lost, or did not fit each other: there should be none.
    pub lost: u64,
}
