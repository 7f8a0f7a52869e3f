// SPDX-License-Identifier: MIT OR Apache-2.0
//! `SCHED_BATCH` and `SCHED_IDLE` under `eevdf`, as kernel/sched/fair.c of Linux 7.2 has them, and
//! under `cfs`, as sched_fair.c of 2.6.24. Nothing takes time but the tasks.

use crate::common::hosted::Hosted;
use crate::common::{ideal, Tape};
use rota_machine::config::{Config, Costs};
use rota_machine::exit::ExitKind;
use rota_machine::topology::Topology;

const MS: u64 = 1_000_000;

/// With ticks each 4 ms.
fn run(policy: &str, cpus: u32, set: &[(&str, &str)], load: &str, ms: u64) -> Tape {
    let mut config = Config::new(Topology::flat(cpus).unwrap(), ms * MS);
    config.costs = Costs::none();
    let (outcome, tape) = Hosted::new(policy, set, config, load).run();
    assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{}", outcome.exit);
    tape
}

/// When the task had the CPU first after that time, in µs from there.
fn wait_us(tape: &Tape, name: &str, from_ms: u64) -> u64 {
    let from = from_ms * 1000;
    tape.spans(name).iter().map(|(start, _)| *start).find(|start| *start >= from).unwrap() - from
}

/// A hog, and a task that wakes up at 101 ms and asks for a slice of 0.2 ms.
fn woken(hog: &str, woken: &str) -> String {
    format!(
        r#"{{"tasks": {{
        "hog": {{"policy": "{hog}", "run": 10000000}},
        "w": {{"policy": "{woken}", "dl-runtime": 200, "delay": 101000, "loop": 1, "run": 100,
            "sleep": 100000, "run1": 100}}}}}}"#
    )
}

#[test]
fn a_batch_task_that_wakes_up_waits_for_the_next_decision() {
    // The second time w comes at 201.1 ms, with a shorter slice than the hog's 8 ms, for which a
    // task preempts one that run to parity protects. As a batch task it does not, and comes when
    // the hog's protection ends: the first tick from then on is not before 204 ms.
    let set = [("base_slice_ns", "8000000")];
    let wait = |policy: &str| {
        wait_us(&run("eevdf", 1, &set, &woken("SCHED_OTHER", policy), 300), "w-1", 201)
    };
    assert_eq!(wait("SCHED_OTHER"), 100, "as it wakes up");
    assert!(wait("SCHED_BATCH") >= 3_000, "{}", wait("SCHED_BATCH"));
    assert!(wait("SCHED_IDLE") >= 3_000, "{}", wait("SCHED_IDLE"));
}

#[test]
fn an_idle_task_makes_way_for_every_other_at_once() {
    // The hog has just begun to run, so run to parity would protect it, for as short a slice, too.
    let set = [("base_slice_ns", "200000"), ("tunable_scaling", "none")];
    for other in ["SCHED_OTHER", "SCHED_BATCH"] {
        let tape = run("eevdf", 1, &set, &woken("SCHED_IDLE", other), 300);
        assert_eq!(wait_us(&tape, "w-1", 101), 0, "{other}, new");
        assert_eq!(wait_us(&tape, "w-1", 201), 100, "{other}, woken");
    }
}

#[test]
fn a_cpu_with_idle_tasks_only_counts_as_idle_for_others() {
    // w begins where it is made, on CPU 0, behind the hog. Of its ten wakeups none finds a CPU
    // idle; but CPU 1 runs a task of SCHED_IDLE, which w replaces there: at once from the second
    // wakeup on, as its timer is on that CPU then. Of the hog's policy it is one more hog.
    let load = |low: &str| {
        format!(
            r#"{{"tasks": {{
            "hog": {{"cpus": [0], "run": 10000000}},
            "low": {{"cpus": [1], "policy": "{low}", "run": 10000000}},
            "w": {{"delay": 1000, "loop": 10, "sleep": 10000, "run": 1000}}}}}}"#
        )
    };
    let tape = run("eevdf", 2, &[("no_balance", "true")], &load("SCHED_IDLE"), 200);
    let starts = tape.starts(tape.pid("w-2"));
    assert!(starts.iter().skip(1).all(|(_, cpu)| *cpu == 1), "{starts:?}");
    // Ten rounds of 11 ms, the first with one wait for a tick of another CPU, 4 ms at most.
    let took = tape.spans("w-2").last().unwrap().1 - starts[0].0 / 1000;
    assert!((110_000..=114_000).contains(&took), "{took}");
}

#[test]
fn two_cpus_give_idle_tasks_what_their_weight_is_worth_only() {
    // Weights 3 and 1024: of 10 s, 10 × 3 / 1027 = 29 ms.
    let load = r#"{"tasks": {"hog": {"run": 10000000},
        "low": {"policy": "SCHED_IDLE", "run": 10000000}}}"#;
    let tape = run("eevdf", 1, &[], load, 10_000);
    let had = tape.cpu_ns(tape.pid("low-1"), 10_000 * MS) / MS;
    assert!((21..=37).contains(&had), "{had} ms, with ticks of 4");
}

#[test]
fn cfs_lets_no_batch_task_preempt() {
    // A hog runs, in slices of 20 ms while it is alone. w is new at 101 ms, and sleeps at 112.1 for
    // 103 ms. A task that slept begins 20 ms before the hog, more than the 10 ms from which it
    // preempts (place_entity, check_preempt_wakeup): at 215.1. As a batch task it waits for the end
    // of a slice that began at 212.1.
    let wait = |policy: &str| {
        let load = woken("SCHED_OTHER", policy).replace("100000", "103000");
        let (_, tape): (_, Tape) = Hosted::new("cfs", &[], ideal(1, 300 * MS), &load).run();
        wait_us(&tape, "w-1", 215)
    };
    assert_eq!(wait("SCHED_OTHER"), 100);
    assert!(wait("SCHED_BATCH") >= 7_000, "{}", wait("SCHED_BATCH"));
}

#[test]
fn a_batch_task_that_yields_is_the_last_under_cfs() {
    // (yield_task_fair) It works for 1 ms, and then goes behind both hogs, which have half of 20
    // ms or a third in turn; so at most 1 of each 1 + 2 x 6.67 ms is its own, of 3 s 209 ms. One
    // of SCHED_OTHER goes on while it is the first: a third, 1 s.
    let had = |policy: &str| {
        let load = format!(
            r#"{{"tasks": {{"hog": {{"instance": 2, "run": 10000000}},
            "y": {{"policy": "{policy}", "run": 1000, "yield": ""}}}}}}"#
        );
        let (_, tape): (_, Tape) = Hosted::new("cfs", &[], ideal(1, 3000 * MS), &load).run();
        tape.cpu_ns(tape.pid("y-2"), 3000 * MS) / MS
    };
    assert!((950..=1050).contains(&had("SCHED_OTHER")), "{}", had("SCHED_OTHER"));
    assert!((100..=220).contains(&had("SCHED_BATCH")), "{}", had("SCHED_BATCH"));
}
