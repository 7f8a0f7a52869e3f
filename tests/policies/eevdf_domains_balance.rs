// SPDX-License-Identifier: MIT OR Apache-2.0
//! When `eevdf` moves tasks on machines with cores and caches, by the rules of Linux 7.2
//! (kernel/sched/fair.c): times derived by hand, with ticks each 4 ms. All CPUs balance first at
//! the first tick.

use crate::common::eevdf::{run_on, MS};
use crate::common::Tape;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Endless tasks, each on one of these CPUs for 1 ms of work, and then on any of eight.
fn let_go(topology: &str, from: &[u32], ms: u64) -> Tape {
    let task = |(at, cpu): (usize, &u32)| {
        format!(
            r#""t{at}": {{"loop": 1, "phases": {{"tied": {{"cpus": [{cpu}], "run": 1000}},
            "free": {{"cpus": [0, 1, 2, 3, 4, 5, 6, 7], "run": 1000000}}}}}}"#
        )
    };
    let tasks: Vec<String> = from.iter().enumerate().map(task).collect();
    let load = format!(r#"{{"tasks": {{{}}}}}"#, tasks.join(", "));
    run_on((8, topology), &[], &load, ms).1
}

/// Where each task came onto a CPU last before this time.
fn places_at(tape: &Tape, tasks: u32, ms: u64) -> Vec<u32> {
    let last = |pid| {
        let starts = tape.starts(pid);
        starts.iter().rev().find(|(ns, _)| *ns < ms * MS).map_or(0, |(_, cpu)| *cpu)
    };
    (1001..1001 + tasks).map(last).collect()
}

fn cores(places: &[u32]) -> BTreeSet<u32> {
    places.iter().map(|cpu| cpu / 2).collect()
}

#[test]
fn a_running_task_leaves_a_core_with_two_for_an_idle_core() {
    // Nothing waits, so there is nothing to pull: an idle CPU balances the cache's eight CPUs each
    // 8 ms, in vain at 4, 12, 20 and 28 ms. At the fourth time, more than cache_nice_tries + 2, the
    // running task is sent. (need_active_balance)
    let tape = let_go("smt=2,llc=8", &[0, 1], 60);
    assert_eq!(places_at(&tape, 2, 28), [0, 1]);
    assert_eq!(cores(&places_at(&tape, 2, 29)).len(), 2);
}

#[test]
fn four_tasks_on_two_cores_soon_have_a_core_each() {
    // As before, but two idle cores try, and find the same CPU busiest: one task moves at 28 ms,
    // and the next 8 ms later.
    let tape = let_go("smt=2,llc=8", &[0, 1, 2, 3], 80);
    assert_eq!(places_at(&tape, 4, 28), [0, 1, 2, 3]);
    assert_eq!(cores(&places_at(&tape, 4, 29)).len(), 3);
    assert_eq!(cores(&places_at(&tape, 4, 37)).len(), 4);
    // So it remains.
    assert_eq!(cores(&places_at(&tape, 4, 80)).len(), 4);
}

#[test]
fn a_cpu_that_becomes_idle_soon_balances_as_an_idle_one() {
    // Of two cores of two CPUs the second has work until 50 ms. Its CPUs balanced at 4 ms, when busy, and
    // would not do so again before 68. As they are idle it is at the next tick, at 52, and then each 4
    // ms: the fourth time in vain, at 64, a running task is sent. (update_next_balance)
    let endless = |name: &str, cpu: u32| {
        format!(
            r#""{name}": {{"loop": 1, "phases": {{"tied": {{"cpus": [{cpu}], "run": 1000}},
            "free": {{"cpus": [0, 1, 2, 3], "run": 1000000}}}}}}"#
        )
    };
    let short =
        |name: &str, cpu: u32| format!(r#""{name}": {{"loop": 1, "cpus": [{cpu}], "run": 50000}}"#);
    let tasks = [endless("a", 0), endless("b", 1), short("c", 2), short("d", 3)].join(", ");
    let load = format!(r#"{{"tasks": {{{tasks}}}}}"#);
    let tape = run_on((4, "smt=2,llc=4"), &[], &load, 100).1;
    assert_eq!(cores(&places_at(&tape, 2, 64)).len(), 1);
    assert_eq!(cores(&places_at(&tape, 2, 65)).len(), 2);
}

#[test]
fn tasks_that_wait_leave_for_another_cache() {
    // Two wait on the first cache's CPUs, in turns of 8 ms. An idle CPU of the other cache balances
    // both at 4 ms, when those that wait have not run yet and are tied, and again 8 ms later: those
    // that wait since 8 ms are neither tied nor hot then. Six tasks, six CPUs: in the end none
    // waits. (sibling_imbalance: six more, then four)
    let tape = let_go("llc=4", &[0, 0, 1, 1, 2, 3], 200);
    let there = |ms| places_at(&tape, 6, ms).iter().filter(|cpu| **cpu >= 4).count();
    assert_eq!(there(12), 0);
    assert!(there(13) >= 1);
    let places: BTreeSet<u32> = places_at(&tape, 6, 200).into_iter().collect();
    assert_eq!(places.len(), 6);
}

/// Endless tasks that work 1 ms on the first CPU, and then may use the others, too.
fn tied_to(cpus: &[&str], ms: u64) -> Tape {
    let task = |(at, cpus): (usize, &&str)| {
        let first = &cpus[..1];
        format!(
            r#""t{at}": {{"loop": 1, "phases": {{"at_first": {{"cpus": [{first}], "run": 1000}},
            "then": {{"cpus": [{cpus}], "run": 1000000}}}}}}"#
        )
    };
    let tasks: Vec<String> = cpus.iter().enumerate().map(task).collect();
    let load = format!(r#"{{"tasks": {{{}}}}}"#, tasks.join(", "));
    run_on((8, "llc=4"), &[], &load, ms).1
}

/// When the first and the second of them came onto a CPU, in ms and in order.
fn came(tape: &Tape, cpu: u32) -> Vec<(u32, u64)> {
    let first = |pid| {
        let starts = tape.starts(1001 + pid);
        starts.iter().find(|(_, at)| *at == cpu).map(|(ns, _)| (pid, ns / MS))
    };
    (0..2).filter_map(first).collect()
}

#[test]
fn a_tied_task_goes_to_the_cpu_of_the_group_that_it_may_use() {
    // CPU 4 is the first idle one of the second cache, and balances for all of it, at 4 ms and
    // each 8 ms. At 4 ms the first task runs, may use 6, and cannot be moved as it runs; the second
    // did not run yet and is tied to CPU 0. Turns are of 8 ms: at 12 ms the first waits since 8, is
    // not hot, and cannot go to CPU 4, but to 6. (can_migrate_task: LBF_DST_PINNED)
    let tape = tied_to(&["0, 6", "0, 6"], 60);
    assert_eq!(came(&tape, 6), [(0, 12)]);
}

#[test]
fn of_several_cpus_that_a_tied_task_may_use_it_goes_to_the_first() {
    // (cpumask_first_and_and)
    let tape = tied_to(&["0, 5, 7", "0, 5, 7"], 60);
    assert_eq!((came(&tape, 5), came(&tape, 7)), (vec![(0, 12)], vec![]));
}

#[test]
fn a_tied_task_waits_at_a_busy_cpu_of_the_group() {
    // A fourth task has CPU 6, in requests of 6 ms that end at ticks: at 8, 16, 24 and 32 ms. CPU 4
    // balances both caches. At 4 ms the first task runs and is owed nothing, with which it would not
    // go to a busy CPU yet; the others are tied, so the interval of 8 ms doubles. At 20 ms the third
    // runs and is owed time: it could go if it did not run, so that was in vain (nr_balance_failed),
    // and the interval is 8 ms again. At 28 ms it does not matter what they are owed, and the second
    // waits for longest, since 16 ms.
    let tape = tied_to(&["0, 6", "0, 6", "0, 6", "6"], 40);
    assert_eq!(came(&tape, 6), [(1, 32)]);
    // So it is on CPU 0 no more when the others have had their second turns there.
    assert!(tape.starts(1002).iter().all(|(ns, cpu)| *cpu == 6 || *ns < 28 * MS));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]
    #[test]
    fn no_task_runs_outside_its_cpus(
        topology in prop::sample::select(vec!["smt=2,llc=8", "llc=4", "smt=2,llc=4,node=4", "node=2"]),
        tasks in prop::collection::vec(
            (prop::collection::btree_set(0_u32..8, 1..5), 1_u32..8, 1_u32..8), 1..14),
    ) {
        let text = |(at, (cpus, run, sleep)): (usize, &(BTreeSet<u32>, u32, u32))| {
            let cpus: Vec<u32> = cpus.iter().copied().collect();
            format!(r#""t{at}": {{"cpus": {cpus:?}, "run": {run}000, "sleep": {sleep}000}}"#)
        };
        let all: Vec<String> = tasks.iter().enumerate().map(text).collect();
        let load = format!(r#"{{"tasks": {{{}}}}}"#, all.join(", "));
        let tape = run_on((8, topology), &[], &load, 300).1;
        for (pid, (cpus, ..)) in (1001..).zip(&tasks) {
            let starts = tape.starts(pid);
            prop_assert!(!starts.is_empty());
            prop_assert!(starts.iter().all(|(_, cpu)| cpus.contains(cpu)), "{pid} {starts:?}");
        }
    }
}

/// When b, which waits on CPU 0, came to CPU 4 of the other cache, which is idle from 3 ms on, in us.
fn pulled_with_costs(cache_ns: &str, node_ns: &str) -> u64 {
    let set = [
        ("newidle_costs_ns[2]", cache_ns),
        ("newidle_costs_ns[3]", node_ns),
        ("no_balance_fork", "true"),
    ];
    let load = r#"{"tasks": {"e": {"cpus": [4], "loop": 1, "run": 3000},
        "a": {"cpus": [0, 4], "delay": 1000, "run": 100000},
        "b": {"cpus": [0, 4], "delay": 1000, "run": 100000}}}"#;
    let tape = run_on((8, "llc=4"), &set, load, 20).1;
    let starts = tape.starts(tape.pid("b-2"));
    starts.iter().find(|(_, cpu)| *cpu == 4).map_or(0, |(ns, _)| ns / 1000)
}

#[test]
fn a_newly_idle_cpu_goes_up_as_far_as_its_idle_time_pays_for() {
    // CPU 4 expects to idle for 1 ms (twice sysctl_sched_migration_cost). It looks in its cache first,
    // where nothing waits, and among caches if 1 ms is not less than what the first look cost and this
    // one costs. Else it waits for the tick at 4 ms. (sched_balance_newidle)
    assert_eq!(pulled_with_costs("300000", "600000"), 3000);
    assert_eq!(pulled_with_costs("300000", "800000"), 4000);
    assert_eq!(pulled_with_costs("100000", "800000"), 3000);
}
