// SPDX-License-Identifier: MIT OR Apache-2.0
//! `SCHED_FIFO` and `SCHED_RR`.

use super::{cpus, play, play_in_ticks, MS};
use crate::common::{ideal, run, shared_fifo};

#[test]
fn fifo_takes_the_cpu_from_sched_ext_at_once_and_keeps_it_until_it_sleeps() {
    let tape = play(
        1,
        r#""hog": {"loop": 1, "run": 40000},
           "rt": {"loop": 2, "policy": "SCHED_FIFO", "delay": 3000, "run": 15000, "sleep": 5000}"#,
    );
    assert_eq!(tape.spans("rt-1"), [(3000, 18_000), (23_000, 38_000)]);
    assert_eq!(tape.spans("hog-0"), [(0, 3000), (18_000, 23_000), (38_000, 70_000)]);
}

#[test]
fn the_higher_priority_runs_and_the_preempted_one_comes_before_its_equals() {
    let tape = play(
        1,
        r#""low": {"loop": 1, "policy": "SCHED_FIFO", "priority": 10, "run": 30000},
           "peer": {"loop": 1, "policy": "SCHED_FIFO", "priority": 10, "delay": 5000, "run": 10000},
           "high": {"loop": 1, "policy": "SCHED_RR", "priority": 11, "delay": 10000, "run": 10000}"#,
    );
    assert_eq!(tape.spans("low-0"), [(0, 10_000), (20_000, 40_000)]);
    assert_eq!(tape.spans("high-2"), [(10_000, 20_000)]);
    assert_eq!(tape.spans("peer-1"), [(40_000, 50_000)]);
}

#[test]
fn round_robin_alternates_every_100_ms_among_equals_and_fifo_does_not() {
    let tasks = |policy: &str| {
        let task = |name: &str, delay: u32| {
            format!(
                r#""{name}": {{"loop": 1, "policy": "{policy}", "delay": {delay}, "run": 150000}}"#
            )
        };
        [task("a", 0), task("b", 1000)].join(", ")
    };
    for play in [play, play_in_ticks] {
        // 25 ticks of 4 ms are 100 ms too
        let rr = play(1, &tasks("SCHED_RR"));
        assert_eq!(rr.spans("a-0"), [(0, 100_000), (200_000, 250_000)]);
        assert_eq!(rr.spans("b-1"), [(100_000, 200_000), (250_000, 300_000)]);
        let fifo = play(1, &tasks("SCHED_FIFO"));
        assert_eq!(fifo.spans("a-0"), [(0, 150_000)]);
        assert_eq!(fifo.spans("b-1"), [(150_000, 300_000)]);
    }
}

#[test]
fn a_fifo_task_that_yields_goes_behind_its_equals_only() {
    let tape = play(
        1,
        r#""a": {"loop": 1, "policy": "SCHED_FIFO", "run": 5000, "yield": "", "run1": 5000},
           "b": {"loop": 1, "policy": "SCHED_FIFO", "run": 5000},
           "low": {"loop": 1, "policy": "SCHED_FIFO", "priority": 9, "run": 5000}"#,
    );
    assert_eq!(tape.spans("a-0"), [(0, 5000), (10_000, 15_000)]);
    assert_eq!(tape.spans("b-1"), [(5000, 10_000)]);
    assert_eq!(tape.spans("low-2"), [(15_000, 20_000)]);
}

#[test]
fn the_two_highest_of_three_run_on_two_cpus() {
    let tape = play(
        2,
        r#""a": {"loop": 1, "policy": "SCHED_FIFO", "priority": 10, "run": 10000},
           "b": {"loop": 1, "policy": "SCHED_FIFO", "priority": 20, "delay": 1000, "run": 10000},
           "c": {"loop": 1, "policy": "SCHED_FIFO", "priority": 30, "delay": 2000, "run": 4000}"#,
    );
    // each comes to CPU 0 and pushes out who is there: a at 1 and then waits from 2 on, as b has
    // to go to CPU 1. c is done at 6, and CPU 0 pulls a
    assert_eq!(tape.spans("a-0"), [(0, 2000), (6000, 14_000)]);
    assert_eq!(cpus(&tape, "a-0"), [0, 1, 0]);
    assert_eq!(tape.spans("b-1"), [(1000, 11_000)]);
    assert_eq!(cpus(&tape, "b-1"), [0, 1]);
    assert_eq!(tape.spans("c-2"), [(2000, 6000)]);
}

#[test]
fn a_task_that_may_not_move_waits_for_its_cpu() {
    let tape = play(
        2,
        r#""high": {"loop": 1, "policy": "SCHED_FIFO", "priority": 20, "cpus": [0], "run": 10000},
           "tied": {"loop": 1, "policy": "SCHED_FIFO", "cpus": [0], "delay": 1000, "run": 1000},
           "free": {"loop": 1, "policy": "SCHED_FIFO", "delay": 2000, "run": 1000}"#,
    );
    assert_eq!(tape.spans("tied-1"), [(10_000, 11_000)]);
    assert_eq!(tape.spans("free-2"), [(2000, 3000)]);
    assert_eq!(cpus(&tape, "free-2"), [1]);
}

#[test]
fn a_class_may_change_from_phase_to_phase() {
    // of sched_ext, the two would share the CPU in slices of 10 ms
    let tape = play(
        1,
        r#""other": {"loop": 1, "run": 30000},
           "t": {"loop": 1, "phases": {
               "ext": {"run": 5000},
               "rt": {"policy": "SCHED_FIFO", "run": 25000},
               "again": {"policy": "SCHED_OTHER", "run": 5000}}}"#,
    );
    // ext 10 to 15, real-time to 40; then its slice is gone, and the other one goes first
    assert_eq!(tape.spans("other-0"), [(0, 10_000), (40_000, 50_000), (55_000, 65_000)]);
    assert_eq!(tape.spans("t-1"), [(10_000, 40_000), (50_000, 55_000)]);
}

#[test]
fn a_real_time_task_whose_cpus_change_moves_at_once() {
    let tape = play(
        2,
        r#""t": {"loop": 1, "policy": "SCHED_FIFO", "phases": {
               "here": {"cpus": [0], "run": 5000}, "there": {"cpus": [1], "run": 5000}}},
           "hog": {"cpus": [1], "loop": 1, "run": 20000}"#,
    );
    assert_eq!(tape.spans("t-0"), [(0, 10_000)]);
    assert_eq!(cpus(&tape, "t-0"), [0, 1]);
    assert_eq!(tape.spans("hog-1"), [(0, 5000), (10_000, 25_000)]);
}

#[test]
fn a_waiting_task_keeps_its_place_when_its_cpus_change() {
    // do_set_cpus_allowed() passes DEQUEUE_SAVE alone: move_entity() is false. CPU 1 is another's,
    // and on CPU 0 first waits before second.
    let mut config = ideal(2, 20 * MS);
    config.audit = true;
    let load = r#"{"tasks": {
            "other": {"policy": "SCHED_FIFO", "priority": 50, "cpus": [1], "run": 100000},
            "runs": {"policy": "SCHED_FIFO", "cpus": [0], "loop": 1, "run": 4000},
            "first": {"policy": "SCHED_FIFO", "cpus": [0, 1], "delay": 1000, "loop": 1, "run": 1000},
            "second": {"policy": "SCHED_FIFO", "cpus": [0], "delay": 1000, "loop": 1, "run": 1000}},
        "events": [{"at": "2ms", "task": "first", "cpus": [0]}]}"#;
    let tape = run(config, load, &mut shared_fifo()).1;
    assert_eq!(tape.spans("first-2"), [(4000, 5000)]);
    assert_eq!(tape.spans("second-3"), [(5000, 6000)]);
}
