// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rates worked out by hand, and what must hold for any tasks.

use super::*;
use proptest::prelude::*;

/// A task's weight, and the CPUs that it may use.
type Task<'a> = (u64, &'a [u32]);

fn free(weight: u64) -> Claim {
    Claim { weight, ..Claim::default() }
}

/// What each of these tasks is served in a second. They come one after the other, and one more
/// comes and goes before.
fn tied_rates(cpus: u32, tasks: &[Task<'_>]) -> Vec<f64> {
    let mut fluid = Fluid::new(cpus);
    let mut claim = |(weight, to): &Task<'_>| Claim {
        weight: *weight,
        tie: fluid.tie(to.iter().copied()),
        ..Claim::default()
    };
    let claims: Vec<Claim> = tasks.iter().map(&mut claim).collect();
    let guest = claim(&(3, &[0]));
    fluid.join(guest, 0);
    let from: Vec<f64> = claims.iter().map(|claim| fluid.join(*claim, 0)).collect();
    fluid.leave(guest, 0);
    let served = claims.iter().zip(from);
    served.map(|(claim, from)| (fluid.service_ns(*claim, 1_000_000_000) - from) / 1e9).collect()
}

/// What each of these weights is served in a second.
fn rates(cpus: u32, weights: &[u64]) -> Vec<f64> {
    let mut fluid = Fluid::new(cpus);
    let from: Vec<f64> = weights.iter().map(|w| fluid.join(free(*w), 0)).collect();
    let served = weights.iter().zip(from);
    served.map(|(w, from)| (fluid.service_ns(free(*w), 1_000_000_000) - from) / 1e9).collect()
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
    let first = fluid.join(free(1), 0);
    let second = fluid.join(free(1), 100);
    fluid.leave(free(1), 300);
    // 100 alone, 200 by halves, 100 alone again.
    assert!((fluid.service_ns(free(1), 400) - first - 300.0).abs() < 1e-9);
    assert!((fluid.service_ns(free(1), 300) - second - 100.0).abs() < 1e-9);
}

#[test]
fn service_is_spread_by_rate() {
    let mut fluid = Fluid::new(1);
    let from = [fluid.join(free(3), 0), fluid.join(free(1), 0), fluid.join(free(1), 0)];
    fluid.spread(Claim::default(), 50.0);
    assert!((fluid.service_ns(free(3), 0) - from[0] - 30.0).abs() < 1e-9);
    assert!((fluid.service_ns(free(1), 0) - from[1] - 10.0).abs() < 1e-9);
}

#[test]
fn tied_tasks_share_their_cpus_and_free_ones_go_elsewhere() {
    // Two on CPU 0 share it; the free one has CPU 1.
    assert!(near(&tied_rates(2, &[(1, &[0]), (1, &[0]), (1, &[0, 1])]), &[0.5, 0.5, 1.0]));
    // Three at home on CPU 0 have a third each. The other two CPUs are for the two that may use
    // all three, and for them only.
    let tasks: [Task<'_>; 5] = [(1, &[0]), (1, &[0]), (1, &[0]), (1, &[]), (1, &[])];
    assert!(near(&tied_rates(3, &tasks), &[1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0, 1.0, 1.0]));
}

#[test]
fn a_free_task_takes_part_where_there_is_most() {
    // One task on CPU 0, two on CPU 1, and a free one: a level of 2/4 would be fair if all could
    // use both CPUs, and is possible: a half on CPU 0 and a half of the free one beside it.
    let tasks: [Task<'_>; 4] = [(1, &[0]), (1, &[1]), (1, &[1]), (1, &[])];
    assert!(near(&tied_rates(2, &tasks), &[0.5, 0.5, 0.5, 0.5]));
    // With three on CPU 1 the fair 2/5 is not possible there: a third each. CPU 0 is for two.
    let tasks: [Task<'_>; 5] = [(1, &[0]), (1, &[1]), (1, &[1]), (1, &[1]), (1, &[])];
    let third = 1.0 / 3.0;
    assert!(near(&tied_rates(2, &tasks), &[0.5, third, third, third, 0.5]));
}

#[test]
fn chains_of_cpus_carry_load_along() {
    // Four tasks on CPUs 0 and 1, one on 1 and 2, one on 2 and 3. The last can go to CPU 3 and the
    // one before to CPU 2, so the four have CPUs 0 and 1 for themselves.
    let four: Task<'_> = (1, &[0, 1]);
    let tasks = [four, four, four, four, (1, &[1, 2]), (1, &[2, 3])];
    assert!(near(&tied_rates(4, &tasks), &[0.5, 0.5, 0.5, 0.5, 1.0, 1.0]));
    // Weights count within a set: 3 : 1 on CPUs 0 and 1, and nobody above one CPU.
    assert!(near(&tied_rates(4, &[(6, &[0]), (2, &[0]), (9, &[])]), &[0.75, 0.25, 1.0]));
}

#[test]
fn what_a_tied_task_leaves_is_for_its_rivals() {
    let mut fluid = Fluid::new(2);
    let (left, right) = (fluid.tie([0].into_iter()), fluid.tie([1].into_iter()));
    let [left, right] = [left, right].map(|tie| Claim { weight: 1, tie, ..Claim::default() });
    let from = [fluid.join(left, 0), fluid.join(right, 0)];
    fluid.spread(left, 50.0);
    assert!((fluid.service_ns(left, 0) - from[0] - 50.0).abs() < 1e-9);
    assert!((fluid.service_ns(right, 0) - from[1]).abs() < 1e-9);
    // A free one competes with both, and so they do with each other.
    let rivals = [left, right, free(1)];
    let from = rivals.map(|claim| fluid.join(claim, 0));
    fluid.spread(left, 50.0);
    let mut gained =
        rivals.iter().zip(from).map(|(claim, from)| fluid.service_ns(*claim, 0) - from);
    assert!(gained.all(|ns| ns > 5.0));
}

proptest! {
    /// Checked against all sets of CPUs: no set of tasks has more than the CPUs that it may use,
    /// and who is below one CPU is in a set that has all of its CPUs, and has as much
    /// per weight as anybody there. Exactly the max-min fair rates are such (Bertsekas and
    /// Gallager, *Data Networks*, §6.5.2: every session has a bottleneck).
    #[test]
    fn rates_of_tied_tasks_are_the_max_min_fair_ones(
        cpus in 1..6u32,
        tasks in proptest::collection::vec((1..50u64, 1..32u32), 1..9),
    ) {
        let list = |mask: u32| (0..cpus).filter(|cpu| mask >> cpu & 1 == 1).collect::<Vec<u32>>();
        let masks: Vec<u32> = tasks.iter().map(|(_, mask)| match mask & ((1 << cpus) - 1) {
            0 => (1 << cpus) - 1,
            mask => mask,
        }).collect();
        let lists: Vec<Vec<u32>> = masks.iter().map(|mask| list(*mask)).collect();
        let given: Vec<Task<'_>> =
            tasks.iter().zip(&lists).map(|((weight, _), list)| (*weight, list.as_slice())).collect();
        let rates = tied_rates(cpus, &given);
        prop_assert!(rates.iter().all(|rate| (-1e-9..=1.0 + 1e-9).contains(rate)), "{:?}", rates);
        let per_weight = |at: usize| rates[at] / tasks[at].0 as f64;
        let mut has_bottleneck: Vec<bool> = rates.iter().map(|rate| *rate > 1.0 - 1e-9).collect();
        for set in 1..1u32 << cpus {
            let inside: Vec<usize> = (0..tasks.len()).filter(|at| masks[*at] & !set == 0).collect();
            let used: f64 = inside.iter().map(|at| rates[*at]).sum();
            prop_assert!(used <= f64::from(set.count_ones()) + 1e-6, "{:b}: {:?}", set, rates);
            if used > f64::from(set.count_ones()) - 1e-6 {
                let most = inside.iter().map(|at| per_weight(*at)).fold(0.0, f64::max);
                for at in inside {
                    has_bottleneck[at] |= per_weight(at) >= most - 1e-9;
                }
            }
        }
        prop_assert!(has_bottleneck.iter().all(|has| *has), "{:?} {:?}", given, rates);
    }

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

#[test]
fn what_others_take_is_not_shared_out() {
    // three equal tasks on two CPUs: 2/3 each until 30, 1/3 while one is taken, 2/3 again from 60
    let mut fluid = Fluid::new(2);
    (0..3).for_each(|_| assert_eq!(fluid.join(free(1), 0), 0.0));
    fluid.take_cpu(30);
    fluid.give_cpu(60);
    assert!((fluid.service_ns(free(1), 90) - 50.0).abs() < 1e-9);
}

#[test]
fn with_all_cpus_taken_a_lag_goes_by_weight() {
    let mut fluid = Fluid::new(1);
    fluid.join(free(1), 0);
    fluid.join(free(3), 0);
    fluid.take_cpu(0);
    fluid.spread(Claim::default(), 8.0);
    assert_eq!((fluid.service_ns(free(1), 50), fluid.service_ns(free(3), 50)), (2.0, 6.0));
}
