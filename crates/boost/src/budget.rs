// SPDX-License-Identifier: MIT OR Apache-2.0
//! How much CPU time may be boosted: a bucket per process and one per user. A bucket fills at a
//! rate, up to what it takes in some seconds. Who has emptied one is not boosted until it is
//! half full again.

use std::collections::HashMap;
use std::hash::Hash;

/// A bucket holds what its rate gives in this time.
const DEPTH_NS: f64 = 4e9;

#[derive(Clone, Debug)]
struct Bucket {
    left_ns: f64,
    at_ns: u64,
    empty: bool,
}

/// The buckets of one kind.
#[derive(Clone, Debug)]
pub struct Budget<K> {
    /// CPUs.
    rate: f64,
    buckets: HashMap<K, Bucket>,
}

impl<K: Copy + Eq + Hash> Budget<K> {
    /// Each holder may use as much as this number of CPUs, in the long run.
    pub fn new(cpus: f64) -> Self {
        Self { rate: cpus.max(0.0), buckets: HashMap::new() }
    }

    fn bucket(&mut self, who: K, now_ns: u64) -> &mut Bucket {
        let full = self.rate * DEPTH_NS;
        let fresh = || Bucket { left_ns: full, at_ns: now_ns, empty: false };
        let bucket = self.buckets.entry(who).or_insert_with(fresh);
        let since = now_ns.saturating_sub(bucket.at_ns) as f64;
        bucket.left_ns = (bucket.left_ns + since * self.rate).min(full);
        bucket.at_ns = bucket.at_ns.max(now_ns);
        if bucket.left_ns >= full / 2.0 {
            bucket.empty = false;
        }
        bucket
    }

    /// May it be boosted?
    pub fn allows(&mut self, who: K, now_ns: u64) -> bool {
        self.rate > 0.0 && !self.bucket(who, now_ns).empty
    }

    /// It was boosted and used this much; `false` if that was the rest.
    pub fn spend(&mut self, who: K, now_ns: u64, cpu_ns: u64) -> bool {
        let bucket = self.bucket(who, now_ns);
        bucket.left_ns -= cpu_ns as f64;
        if bucket.left_ns <= 0.0 {
            bucket.empty = true;
        }
        !bucket.empty
    }

    /// Part of the bucket that is left, 0 to 1.
    pub fn left(&mut self, who: K, now_ns: u64) -> f64 {
        let full = self.rate * DEPTH_NS;
        (self.bucket(who, now_ns).left_ns / full).clamp(0.0, 1.0)
    }

    /// Forgets who has a full bucket.
    pub fn tidy(&mut self, now_ns: u64) {
        let rate = self.rate;
        self.buckets.retain(|_, b| {
            let since = now_ns.saturating_sub(b.at_ns) as f64;
            b.left_ns + since * rate < rate * DEPTH_NS
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn an_empty_bucket_must_be_half_full_again() {
        // Half a CPU: 2 s are in it. All of a CPU empties it after 4 s.
        let mut budget = Budget::new(0.5);
        let mut now = 0;
        assert!(budget.allows(1, now));
        while budget.spend(1, now, 50 * MS) {
            now += 50 * MS;
        }
        assert_eq!(now, 3_900 * MS, "2 s + half of the time so far, 50 ms ahead");
        assert!(!budget.allows(1, now + 1_899 * MS), "overdrawn by nothing, half is 1 s: 2 s");
        assert!(budget.allows(1, now + 2_001 * MS));
        assert!(budget.allows(2, now), "others have their own");
    }

    #[test]
    fn no_budget_is_no_boost() {
        assert!(!Budget::new(0.0).allows(1, 0));
        assert!(!Budget::new(-1.0).allows(1, 1 << 40));
    }

    proptest! {
        /// In the long run nobody is allowed more than the rate, plus one bucket and one spell.
        #[test]
        fn boosted_time_is_bounded_by_the_rate(rate in 0.05f64..2.0, greed in 1u64..=50) {
            let mut budget = Budget::new(rate);
            let (mut now, mut spent) = (0u64, 0u64);
            for _ in 0..4000 {
                now += 50 * MS;
                if budget.allows(7, now) {
                    budget.spend(7, now, greed * MS);
                    spent += greed * MS;
                }
            }
            let most = rate * (now as f64 + DEPTH_NS) + 50e6;
            prop_assert!(spent as f64 <= most, "{spent} of {most}");
            budget.tidy(now + 100_000 * MS);
            prop_assert!(budget.buckets.is_empty());
        }
    }
}
