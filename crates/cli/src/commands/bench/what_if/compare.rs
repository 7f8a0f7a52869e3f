// SPDX-License-Identifier: MIT OR Apache-2.0
//! Live and predicted: medians of the runs, and how far apart they are.

use super::question::Question;
use crate::commands::bench::median::median;
use serde::Serialize;

/// A question and its answers.
#[derive(Debug, Serialize)]
pub(super) struct Answer {
    pub(super) question: String,
    /// Of the command, or of the first of two.
    pub(super) completion_ns: Values,
    /// Of all of its tasks together.
    pub(super) p99_wakeup_ns: Values,
}

/// Of each run.
#[derive(Debug, Default, Serialize)]
pub(super) struct Values {
    pub(super) live: Vec<u64>,
    pub(super) predicted: Vec<u64>,
    pub(super) live_median: u64,
    pub(super) predicted_median: u64,
    /// Whether they are as near as the goal asks.
    pub(super) within: bool,
    /// How many live runs are as near to the median of the other live ones: no guess can be
    /// expected to be nearer than the program is to itself.
    pub(super) live_within: usize,
}

/// Largest errors that are goals.
const COMPLETION_GOAL: f64 = 0.10;
const P99_GOAL: f64 = 0.25;
/// Two latencies within this are the same: what a CPU takes to leave idleness differs by more.
const SAME_NS: u64 = 50_000;

/// Numbers of all runs of a question.
#[derive(Debug, Default)]
pub(super) struct Runs {
    pub(super) live_ns: Vec<u64>,
    pub(super) live_p99_ns: Vec<u64>,
    pub(super) predicted_ns: Vec<u64>,
    pub(super) predicted_p99_ns: Vec<u64>,
}

impl Answer {
    pub(super) fn of(question: Question, cpus: u32, runs: Runs) -> Self {
        Self {
            question: question.text(cpus),
            completion_ns: Values::new(runs.live_ns, runs.predicted_ns, COMPLETION_GOAL, 0),
            p99_wakeup_ns: Values::new(runs.live_p99_ns, runs.predicted_p99_ns, P99_GOAL, SAME_NS),
        }
    }
}

impl Values {
    fn new(live: Vec<u64>, predicted: Vec<u64>, goal: f64, same_ns: u64) -> Self {
        let [live_median, predicted_median] = [&live, &predicted].map(|all| median(all));
        let is_near = |value: u64, to: u64| {
            value.abs_diff(to) as f64 <= (goal * to as f64).max(same_ns as f64)
        };
        let is_as_others = |run: &usize| {
            let mut others = live.clone();
            let this = others.remove(*run);
            !others.is_empty() && is_near(this, median(&others))
        };
        let live_within = (0..live.len()).filter(is_as_others).count();
        let within = is_near(predicted_median, live_median);
        Self { live, predicted, live_median, predicted_median, within, live_within }
    }

    /// How many live runs are near the others, of how many; with one there are no others.
    pub(super) fn again(&self) -> String {
        match self.live.len() {
            0 | 1 => "-".into(),
            runs => format!("{} of {runs}", self.live_within),
        }
    }

    /// Predicted ÷ live - 1, in percent.
    pub(super) fn error(&self) -> String {
        match self.live_median {
            0 => "-".into(),
            live => format!("{:+.0}%", (self.predicted_median as f64 / live as f64 - 1.0) * 100.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_within_a_part_of_the_live_median() {
        let near = Values::new(vec![90, 100, 400], vec![110, 1, 900], 0.10, 0);
        let far = Values::new(vec![100], vec![111], 0.10, 0);

        assert_eq!((near.live_median, near.predicted_median), (100, 110));
        assert!(near.within && !far.within);
        assert_eq!((near.error().as_str(), far.error().as_str()), ("+10%", "+11%"));
    }

    /// Of 100, 104 and 130 the other two have the lower medians 104, 100 and 100.
    #[test]
    fn live_runs_are_compared_with_each_other() {
        let three = Values::new(vec![100, 104, 130], vec![200], 0.10, 0);
        let one = Values::new(vec![100], vec![100], 0.10, 0);

        assert_eq!((three.live_within, three.again().as_str()), (2, "2 of 3"));
        assert_eq!((one.live_within, one.again().as_str()), (0, "-"));
    }

    #[test]
    fn short_latencies_are_the_same() {
        assert!(Values::new(vec![5_000], vec![54_000], P99_GOAL, SAME_NS).within);
        assert!(!Values::new(vec![5_000], vec![56_000], P99_GOAL, SAME_NS).within);
    }
}
