// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rates of tasks in groups worked out by hand, and what holds of all.

use super::super::{Claim, Fluid};
use proptest::prelude::*;

/// Rates of tasks, each with its group and weight, in the order of these; groups with their weights
/// and limits.
fn rates(cpus: u32, groups: &[(&str, u64, Option<f64>)], tasks: &[(&str, u64)]) -> Vec<f64> {
    let mut fluid = Fluid::new(cpus);
    for (path, weight, limit) in groups {
        fluid.set_group(path, *weight, *limit, 0);
    }
    let claim = |fluid: &mut Fluid, (path, weight): &(&str, u64)| {
        let group = fluid.group(path);
        Claim { weight: *weight, group, ..Claim::default() }
    };
    let claims: Vec<Claim> = tasks.iter().map(|task| claim(&mut fluid, task)).collect();
    let from: Vec<f64> = claims.iter().map(|claim| fluid.join(*claim, 0)).collect();
    let _ = from;
    claims.iter().map(|claim| fluid.service_ns(*claim, 1000) / 1000.0).collect()
}

fn close(found: &[f64], expected: &[f64]) {
    let is_close = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-9;
    assert!(
        found.len() == expected.len() && found.iter().zip(expected).all(is_close),
        "{found:?} {expected:?}"
    );
}

#[test]
fn groups_share_by_their_weights_however_many_tasks_they_have() {
    // 1 CPU, /a 300 with one task, /b 100 with two: 3/4, 1/8 and 1/8.
    let groups = [("/a", 300, None), ("/b", 100, None)];
    close(&rates(1, &groups, &[("/a", 100), ("/b", 100), ("/b", 100)]), &[0.75, 0.125, 0.125]);
}

#[test]
fn three_levels_with_a_task_beside_a_group() {
    // /u 100 and a task of the root of 100: a half each. In /u: /u/x 300 and a task of 100: 3/8 and
    // 1/8. In /u/x: tasks of 200 and 100: 2/8 and 1/8.
    let groups = [("/u", 100, None), ("/u/x", 300, None)];
    let tasks = [("/", 100), ("/u", 100), ("/u/x", 200), ("/u/x", 100)];
    close(&rates(1, &groups, &tasks), &[0.5, 0.125, 0.25, 0.125]);
}

#[test]
fn what_a_group_cannot_use_goes_to_its_siblings_first() {
    // 4 CPUs. /u 300 is to have 3, /o 100 1. In /u, /u/x has one task, which can use 1 CPU of its
    // 1.5; the three tasks of /u/y have the other 2: 2/3 each. /o: two tasks, a half each.
    let groups = [("/u", 300, None), ("/o", 100, None)];
    let tasks = [("/u/x", 1), ("/u/y", 1), ("/u/y", 1), ("/u/y", 1), ("/o", 1), ("/o", 1)];
    let (third, half) = (2.0 / 3.0, 0.5);
    close(&rates(4, &groups, &tasks), &[1.0, third, third, third, half, half]);
    // With one task in /u, it can use 1 CPU, and /o has 2 of the other 3.
    close(&rates(4, &groups, &[("/u", 1), ("/o", 1), ("/o", 1)]), &[1.0, 1.0, 1.0]);
}

#[test]
fn a_group_that_is_idle_has_no_part() {
    let groups = [("/a", 900, None), ("/b", 100, None)];
    close(&rates(1, &groups, &[("/b", 1), ("/", 100)]), &[0.5, 0.5]);
}

#[test]
fn a_limit_is_a_cap() {
    // 2 CPUs, equal weights; /a may use a quarter of a CPU. /b has three tasks and the rest: 1.75.
    let groups = [("/a", 100, Some(0.25))];
    let tasks = [("/a", 1), ("/b", 1), ("/b", 1), ("/b", 1)];
    let rest = 1.75 / 3.0;
    close(&rates(2, &groups, &tasks), &[0.25, rest, rest, rest]);
}

proptest! {
    /// No CPU is left as long as a task can use it, no task has more than a CPU, and without limits
    /// all tasks in one group have what they would have in none.
    #[test]
    fn all_cpus_are_used(
        cpus in 1..6u32,
        weights in proptest::collection::vec(1..1000u64, 4),
        tasks in proptest::collection::vec((0..5usize, 1..500u64), 1..12)
    ) {
        let paths = ["/", "/a", "/b", "/a/x", "/a/y"];
        let groups: Vec<(&str, u64, Option<f64>)> =
            paths[1..].iter().zip(&weights).map(|(path, weight)| (*path, *weight, None)).collect();
        let placed: Vec<(&str, u64)> = tasks.iter().map(|(at, w)| (paths[*at], *w)).collect();
        let found = rates(cpus, &groups, &placed);
        let all = f64::from(cpus.min(tasks.len() as u32));
        prop_assert!((found.iter().sum::<f64>() - all).abs() < 1e-6, "{:?}", found);
        prop_assert!(found.iter().all(|rate| *rate < 1.0 + 1e-9));
        let together: Vec<(&str, u64)> = tasks.iter().map(|(_, w)| ("/a/x", *w)).collect();
        let alone: Vec<(&str, u64)> = tasks.iter().map(|(_, w)| ("/", *w)).collect();
        let (together, alone) = (rates(cpus, &groups, &together), rates(cpus, &[], &alone));
        prop_assert!(together.iter().zip(&alone).all(|(a, b)| (a - b).abs() < 1e-9));
    }
}
