// SPDX-License-Identifier: MIT OR Apache-2.0
//! Times of a window, counted against a limit: memory for each step of it, not for each time.

use crate::condition::{Comparison, Statistic};
use rota_measure::Latencies;
use std::collections::VecDeque;

/// The window slides by this.
pub(crate) const STEP_NS: u64 = 50_000_000;

/// Times, compared with a limit.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) all: u64,
    below: u64,
    equal: u64,
    sum_ns: u128,
}

impl Counts {
    pub(crate) fn add(&mut self, ns: u64, limit_ns: u64) {
        self.all += 1;
        self.below += u64::from(ns < limit_ns);
        self.equal += u64::from(ns == limit_ns);
        self.sum_ns += u128::from(ns);
    }

    pub(crate) fn merge(&mut self, other: &Counts) {
        self.all += other.all;
        self.below += other.below;
        self.equal += other.equal;
        self.sum_ns += other.sum_ns;
    }

    /// Whether the statistic compares so with the limit. Of no times nothing is true.
    pub(crate) fn hold(&self, of: Statistic, comparison: Comparison, limit_ns: u64) -> bool {
        if self.all == 0 {
            return false;
        }
        // The value of nearest rank is above the limit if too few are not.
        let (below, at_most) = match of {
            Statistic::Mean => {
                let limit = u128::from(limit_ns) * u128::from(self.all);
                (self.sum_ns < limit, self.sum_ns <= limit)
            }
            Statistic::Permille(permille) => self.ranked(self.rank(permille)),
            Statistic::Max => self.ranked(self.all),
        };
        match comparison {
            Comparison::Above => !at_most,
            Comparison::AtLeast => !below,
            Comparison::Below => below,
            Comparison::AtMost => at_most,
        }
    }

    /// Is the time of this rank below the limit, and not above it?
    fn ranked(&self, rank: u64) -> (bool, bool) {
        (self.below >= rank, self.below + self.equal >= rank)
    }

    fn rank(&self, permille: u32) -> u64 {
        let rank = (u128::from(self.all) * u128::from(permille)).div_ceil(1000);
        u64::try_from(rank).unwrap_or(u64::MAX).max(1)
    }
}

/// The times of the last steps.
#[derive(Clone, Debug, Default)]
pub(crate) struct Steps {
    steps: VecDeque<Step>,
}

#[derive(Clone, Debug)]
struct Step {
    number: u64,
    counts: Counts,
    times: Latencies,
    longest: Option<Longest>,
}

/// A time, and the task that had it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Longest {
    /// The time.
    pub ns: u64,
    /// The task.
    pub pid: u32,
    /// Its name then.
    pub name: String,
}

impl Steps {
    /// A time that ended at `now_ns`, of a task.
    pub(crate) fn add(&mut self, now_ns: u64, ns: u64, (pid, name): (u32, &str), limit_ns: u64) {
        let number = now_ns / STEP_NS;
        if self.steps.back().is_none_or(|step| step.number < number) {
            let (counts, times) = (Counts::default(), Latencies::default());
            self.steps.push_back(Step { number, counts, times, longest: None });
        }
        if let Some(step) = self.steps.back_mut() {
            step.counts.add(ns, limit_ns);
            step.times.record(ns);
            if step.longest.as_ref().is_none_or(|longest| longest.ns < ns) {
                step.longest = Some(Longest { ns, pid, name: name.to_owned() });
            }
        }
    }

    /// Forgets what is older than the window at `now_ns`.
    pub(crate) fn forget(&mut self, now_ns: u64, window_ns: u64) {
        let oldest = now_ns.saturating_sub(window_ns) / STEP_NS;
        while self.steps.front().is_some_and(|step| step.number < oldest) {
            self.steps.pop_front();
        }
    }

    pub(crate) fn counts(&self) -> Counts {
        let mut all = Counts::default();
        self.steps.iter().for_each(|step| all.merge(&step.counts));
        all
    }

    pub(crate) fn times(&self) -> Latencies {
        let mut all = Latencies::default();
        self.steps.iter().for_each(|step| all.merge(&step.times));
        all
    }

    pub(crate) fn longest(&self) -> Option<&Longest> {
        self.steps.iter().filter_map(|step| step.longest.as_ref()).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Counting gives the same answers as sorting.
        #[test]
        fn counts_agree_with_the_sorted_times(
            mut times in prop::collection::vec(1u64..20, 1..40),
            permille in 1u32..1000,
            limit in 1u64..20,
        ) {
            let mut counts = Counts::default();
            times.iter().for_each(|ns| counts.add(*ns, limit));
            times.sort_unstable();
            let rank = (times.len() * permille as usize).div_ceil(1000).max(1);
            for (statistic, value) in [
                (Statistic::Permille(permille), times[rank - 1]),
                (Statistic::Max, times[times.len() - 1]),
            ] {
                for (comparison, holds) in [
                    (Comparison::Above, value > limit),
                    (Comparison::AtLeast, value >= limit),
                    (Comparison::Below, value < limit),
                    (Comparison::AtMost, value <= limit),
                ] {
                    prop_assert_eq!(counts.hold(statistic, comparison, limit), holds);
                }
            }
        }
    }

    #[test]
    fn a_mean_is_compared_exactly() {
        let mut counts = Counts::default();
        [1, 2, 4].iter().for_each(|ns| counts.add(*ns, 2));
        // 7/3 is above 2 and below 3.
        assert!(counts.hold(Statistic::Mean, Comparison::Above, 2));
        assert!(counts.hold(Statistic::Mean, Comparison::Below, 3));
        assert!(!Counts::default().hold(Statistic::Mean, Comparison::Below, 3));
    }
}
