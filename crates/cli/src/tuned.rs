// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `rota tune` found: the command fills it, the output prints it.

use rota_measure::catalogue::Measure;
use rota_measure::statistics::Estimate;

/// What was found.
pub(crate) struct Tuned {
    pub(crate) policy: String,
    pub(crate) workload: String,
    pub(crate) measure: &'static Measure,
    pub(crate) maximised: bool,
    pub(crate) betas: Vec<String>,
    pub(crate) best: Point,
    /// All that was tried, by beta and alpha.
    pub(crate) points: Vec<Point>,
    /// Of the best, and of the policy as it ships, with seeds that the search did not see.
    pub(crate) judged: Estimate,
    pub(crate) shipped: Option<Estimate>,
    /// Probability of such a difference between the two if there were none.
    pub(crate) probability: Option<f64>,
    pub(crate) seeds: u32,
    pub(crate) first_seed: u64,
}

/// A setting, and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Point {
    pub(crate) alpha: f64,
    /// Its place among the betas.
    pub(crate) beta: usize,
    /// By seed; `None`: no such number, or the policy was ejected.
    pub(crate) values: Vec<Option<f64>>,
}

impl Point {
    /// The mean; worse than any number if one is missing.
    pub(crate) fn mean(&self) -> f64 {
        let sum: Option<f64> = self.values.iter().copied().sum();
        sum.map_or(f64::INFINITY, |sum| sum / self.values.len() as f64)
    }
}
