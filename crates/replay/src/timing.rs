// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sleeps until a timer runs out: for a length of time, or until a time.
//!
//! A task that sleeps until the next of a row of times keeps its period, however late it comes. The
//! kernel tells it of `clock_nanosleep` with `TIMER_ABSTIME`. A loop that computes what is left until
//! its next time, or that reads a periodic timer, is known by what it does: times from one wakeup to
//! the next are alike, and the sleeps are not, as the work between them is not.

use crate::cause::Wait;
use crate::life::{Life, Step};
use std::collections::{BTreeMap, BTreeSet};

/// Fewer sleeps than this show no period.
const LEAST: usize = 8;
/// Wakeups are alike if they are off their period by no more than this part of it …
const LIKE: u64 = 20;
/// … and by so many times less than sleeps are off their usual length.
const STEADIER: u64 = 4;

/// Decides for each sleep of a life; returns how many are until a time.
pub(crate) fn settle(life: &mut Life) -> u64 {
    let mut sleeps: BTreeMap<Wait, Vec<(u64, u64)>> = BTreeMap::new();
    for step in &life.steps {
        if let Step::Timed { call, from_ns, to_ns, .. } = step {
            sleeps.entry(call.clone()).or_default().push((*from_ns, *to_ns));
        }
    }
    let periodic = sleeps.into_iter().filter(|(call, sleeps)| has_period(call, sleeps));
    let periodic: BTreeSet<Wait> = periodic.map(|(call, _)| call).collect();
    let mut until = 0;
    for step in &mut life.steps {
        let Step::Timed { call, from_ns, to_ns, absolute } = step else { continue };
        *step = if *absolute || periodic.contains(call) {
            until += 1;
            Step::Tick { timer: call.clone(), to_ns: *to_ns }
        } else {
            Step::Sleep(to_ns.saturating_sub(*from_ns))
        };
    }
    until
}

/// Whether the ends of sleeps in a call are steadier than their lengths. A `read` has no time limit:
/// the timer is a file, and steady enough if it has a period.
fn has_period(call: &str, sleeps: &[(u64, u64)]) -> bool {
    if sleeps.len() < LEAST {
        return false;
    }
    let gaps: Vec<u64> =
        sleeps.windows(2).map(|pair| pair[1].1.saturating_sub(pair[0].1)).collect();
    let lengths: Vec<u64> = sleeps.iter().map(|(from, to)| to.saturating_sub(*from)).collect();
    let (period, spread) = middle_and_spread(gaps);
    let (_, of_lengths) = middle_and_spread(lengths);
    let steadier = call == "read" || spread.saturating_mul(STEADIER) < of_lengths;
    steadier && spread <= period / LIKE
}

/// The median, and the median of how far values are off it.
fn middle_and_spread(mut values: Vec<u64>) -> (u64, u64) {
    let median = |values: &mut Vec<u64>| {
        values.sort_unstable();
        values[values.len() / 2]
    };
    let middle = median(&mut values);
    let mut off: Vec<u64> = values.iter().map(|value| value.abs_diff(middle)).collect();
    (middle, median(&mut off))
}
