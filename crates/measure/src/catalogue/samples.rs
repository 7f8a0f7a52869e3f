// SPDX-License-Identifier: MIT OR Apache-2.0
//! How many samples the numbers of a run are taken from: from four, p50, p99 and the greatest
//! value are much the same.

use super::parts::{turnaround, wakeups};
use super::requests::sockets;
use super::{deadlines, locks, Run};

/// A statistic of samples says little from fewer than this.
const FEW: u64 = 10;

/// How many samples the metric of this key is taken from; `None`: it is not a statistic of samples.
pub fn samples(key: &str, run: Run<'_>) -> Option<u64> {
    match kind(key)? {
        ("wakeup", _) => Some(wakeups(run).count),
        ("turnaround" | "slowdown", _) => Some(turnaround(run).count),
        ("tardiness", _) => Some(deadlines::of(run)?.jobs),
        ("lock_wait", _) => Some(locks::of(run)?.wait_ns.count),
        ("response", "p99") => {
            let of = sockets(run)?.iter().map(|socket| socket.response_ns);
            of.max_by_key(|response| response.p99).map(|response| response.count)
        }
        ("response", _) => Some(sockets(run)?.iter().map(|s| s.response_ns.count).sum()),
        _ => None,
    }
}

/// Whether so many samples are too few for the metric of this key: a percentile is their greatest
/// value then, or there are fewer than ten.
pub fn is_few(key: &str, samples: u64) -> bool {
    let enough = match kind(key) {
        Some((_, "p95")) => 20,
        Some((_, "p99")) => 100,
        Some((_, "p999")) => 1000,
        _ => FEW,
    };
    samples < enough
}

/// What the samples are, and which number of them is meant.
fn kind(key: &str) -> Option<(&str, &str)> {
    key.rsplit_once('_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requests::RequestsNumbers;
    use crate::{Latencies, Numbers};

    #[test]
    fn percentiles_know_their_samples() {
        let mut four = Latencies::default();
        (1..=4).for_each(|ns| four.record(ns));
        let mut numbers: Numbers = crate::Summary::new(1).finish(0);
        numbers.totals.wakeup_latency_ns = four.numbers(0);
        let requests = RequestsNumbers::default();
        let run = Run { numbers: &numbers, requests: &requests, cpus: 1 };
        assert_eq!(samples("wakeup_p99", run), Some(4));
        assert_eq!(samples("turnaround_max", run), Some(0));
        for key in ["jain", "wakeups", "run_delay_max", "response_p99", "lag_max"] {
            assert_eq!(samples(key, run), None, "{key}");
        }
    }

    #[test]
    fn a_percentile_that_is_the_greatest_value_is_of_few() {
        // By nearest rank, the 99th percentile of 99 values is the 99th of them.
        let mut values = Latencies::default();
        for (ns, few) in [(99, true), (100, false)] {
            (values.count()..ns).for_each(|ns| values.record(ns));
            let numbers = values.numbers(0);
            assert_eq!(numbers.p99 == numbers.max, few);
            assert_eq!(is_few("wakeup_p99", values.count()), few);
        }
        assert!(is_few("wakeup_p50", 9) && !is_few("wakeup_p50", 10));
    }
}
