// SPDX-License-Identifier: MIT OR Apache-2.0
//! A job: one scenario, for one policy, on one machine.

use crate::step::Step;
use serde::{Deserialize, Serialize};

/// What the guest is to do, as the host planned it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// `scenario/policy`, or the scenario's name alone.
    pub name: String,
    /// What `load` loads.
    pub policy: Option<String>,
    /// Tunables, `name=value`, for each `load`.
    pub set: Vec<String>,
    /// In this order, until one of them fails.
    pub steps: Vec<Step>,
}
