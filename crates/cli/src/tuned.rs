// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `rota tune` found: the command fills it, the output prints it.

use rota_measure::catalogue::Measure;
use rota_sweep::{Swept, Value};

/// What was found.
#[derive(Debug)]
pub(crate) struct Tuned {
    pub(crate) policy: String,
    pub(crate) workload: String,
    /// Values of the tunables, in their order.
    pub(crate) best: Vec<Value>,
    pub(crate) tried: Tried,
    /// The best and the policy as it ships, with seeds that the search did not see.
    pub(crate) judged: Swept,
    /// Places of the two there.
    pub(crate) at: usize,
    pub(crate) shipped: usize,
    pub(crate) seeds: u32,
    pub(crate) first_seed: u64,
}

/// All that was tried.
#[derive(Debug)]
pub(crate) struct Tried {
    /// Names of the tunables.
    pub(crate) axes: Vec<String>,
    pub(crate) measure: &'static Measure,
    /// By the other tunables, then by the first.
    pub(crate) points: Vec<Point>,
}

/// A setting, and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Point {
    /// Values of the tunables.
    pub(crate) set: Vec<Value>,
    /// By seed; `None`: no such number, or the policy was ejected.
    pub(crate) values: Vec<Option<f64>>,
    /// With one seed at least.
    pub(crate) ejected: bool,
}
