// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rates worked out by hand, and what must hold for any tasks.

use super::*;
use proptest::prelude::*;

/// What each of these weights is served in a second.
fn rates(cpus: u32, weights: &[u64]) -> Vec<f64> {
    let mut fluid = Fluid::new(cpus);
    let from: Vec<f64> = weights.iter().map(|w| fluid.join(*w, 0)).collect();
    let served = weights.iter().zip(from);
    served.map(|(w, from)| (fluid.service_ns(*w, 1_000_000_000) - from) / 1e9).collect()
}

fn near(found: &[f64], expected: &[f64]) -> bool {
    found.len() == expected.len()
        && found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9 * b.abs().max(1.0))
}

#[test]
fn one_cpu_is_shared_by_weight() {
    assert!(near(&rates(1, &[3, 2, 1]), &[0.5, 1.0 / 3.0, 1.0 / 6.0]));
}

#[test]
fn nobody_is_faster_than_a_cpu() {
    // 2 CPUs for 10 + 1 + 1: the first can use one only, the others share the second.
    assert!(near(&rates(2, &[10, 1, 1]), &[1.0, 0.5, 0.5]));
    // 3 CPUs for 8 + 4 + 1 + 1: by weight 24/14 and 12/14, so the first is held at 1. Of the
    // other two CPUs 4/6 would be 8/6, so the second is held too, and the last share one CPU.
    assert!(near(&rates(3, &[8, 4, 1, 1]), &[1.0, 1.0, 0.5, 0.5]));
}

#[test]
fn fewer_tasks_than_cpus_all_run() {
    assert!(near(&rates(4, &[500, 1, 1]), &[1.0, 1.0, 1.0]));
}

#[test]
fn coming_and_going_changes_the_rates_from_then_on() {
    let mut fluid = Fluid::new(1);
    let first = fluid.join(1, 0);
    let second = fluid.join(1, 100);
    fluid.leave(1, 300);
    // 100 alone, 200 by halves, 100 alone again.
    assert!((fluid.service_ns(1, 400) - first - 300.0).abs() < 1e-9);
    assert!((fluid.service_ns(1, 300) - second - 100.0).abs() < 1e-9);
}

#[test]
fn service_is_spread_by_rate() {
    let mut fluid = Fluid::new(1);
    let from = [fluid.join(3, 0), fluid.join(1, 0), fluid.join(1, 0)];
    fluid.spread(50.0);
    assert!((fluid.service_ns(3, 0) - from[0] - 30.0).abs() < 1e-9);
    assert!((fluid.service_ns(1, 0) - from[1] - 10.0).abs() < 1e-9);
}

proptest! {
    /// Work conserving, never above one CPU, and fair: a task below one CPU has as much per
    /// weight as any other, and one that is held has no more.
    #[test]
    fn rates_are_the_max_min_fair_ones(
        cpus in 1..9u32,
        weights in proptest::collection::vec(1..200u64, 1..20),
    ) {
        let rates = rates(cpus, &weights);
        let all: f64 = rates.iter().sum();
        prop_assert!((all - f64::from(cpus).min(weights.len() as f64)).abs() < 1e-6, "{}", all);
        prop_assert!(rates.iter().all(|r| *r <= 1.0 + 1e-9));
        let per_weight = |at: usize| rates[at] / weights[at] as f64;
        for a in (0..rates.len()).filter(|a| rates[*a] < 1.0 - 1e-9) {
            for b in 0..rates.len() {
                prop_assert!(per_weight(b) <= per_weight(a) + 1e-9);
            }
        }
    }
}
