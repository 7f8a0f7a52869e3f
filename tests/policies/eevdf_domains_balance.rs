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
