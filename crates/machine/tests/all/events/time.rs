// SPDX-License-Identifier: MIT OR Apache-2.0
//! `run`, `runtime`, `sleep`, `timer`, `yield`, `delay`.

use super::{play, spans, MS};
use crate::common::{ideal, run, shared_fifo};

#[test]
fn run_and_sleep_alternate() {
    let (_, tape) = play(1, r#""t": {"loop": 3, "run": 3000, "sleep": 2000}"#);
    assert_eq!(spans(&tape, "t-0"), [(0, 3000), (5000, 8000), (10_000, 13_000)]);
}

#[test]
fn a_task_starts_after_its_delay() {
    let (_, tape) = play(1, r#""t": {"delay": 2500, "loop": 1, "run": 1000}"#);
    assert_eq!(spans(&tape, "t-0"), [(2500, 3500)]);
}

#[test]
fn runtime_counts_the_clock_and_run_counts_work() {
    // slices of 2 ms: a 0-2, b 2-4, a 4-6 and 6 ms have passed for it; b does all its 6 ms
    let load = r#"{"tasks": {"a": {"loop": 1, "runtime": 6000}, "b": {"loop": 1, "run": 6000}}}"#;
    let mut fifo = shared_fifo();
    fifo.slice_ns = 2 * MS;
    let (_, tape) = run(ideal(1, 100 * MS), load, &mut fifo);
    assert_eq!(spans(&tape, "a-0"), [(0, 2000), (4000, 6000)]);
    assert_eq!(spans(&tape, "b-1"), [(2000, 4000), (6000, 10_000)]);
}

/// A periodic task, and another that keeps it off the CPU from 35 to 60 ms.
fn late(mode: &str) -> Vec<(u64, u64)> {
    let load = format!(
        r#"{{"tasks": {{
            "t": {{"loop": 6, "run": 10000,
                "timer": {{"ref": "unique", "period": 20000, "mode": "{mode}"}}}},
            "late": {{"loop": 1, "delay": 35000, "run": 25000}}}}}}"#
    );
    let mut fifo = shared_fifo();
    fifo.slice_ns = 100 * MS;
    let (_, tape) = run(ideal(1, 1000 * MS), &load, &mut fifo);
    spans(&tape, "t-0")
}

#[test]
fn a_late_relative_timer_counts_from_now() {
    // due at 40, it runs 60-70: late for 60, so it runs 70-80 at once; next 70 + 20 = 90
    let expected =
        [(0, 10_000), (20_000, 30_000), (60_000, 80_000), (90_000, 100_000), (110_000, 120_000)];
    assert_eq!(late("relative"), expected);
}

#[test]
fn a_late_absolute_timer_stays_on_its_grid() {
    // late for 60 at 70, and for 80 at 80, so three runs follow each other; then 100
    let expected = [(0, 10_000), (20_000, 30_000), (60_000, 90_000), (100_000, 110_000)];
    assert_eq!(late("absolute"), expected);
}

#[test]
fn instances_share_a_timer_unless_it_is_unique() {
    let starts = |name: &str, instance: &str| -> Vec<u64> {
        let task = format!(
            r#""t": {{"instance": 2, "loop": 3, "run": 1000,
                "timer": {{"ref": "{name}", "period": 10000}}}}"#
        );
        spans(&play(2, &task).1, instance).iter().map(|s| s.0 / 1000).collect()
    };
    // one after the other each takes the next expiry: 10, 20, 30, 40
    assert_eq!(starts("tick", "t-0"), [0, 10, 30]);
    assert_eq!(starts("tick", "t-1"), [0, 20, 40]);
    assert_eq!(starts("unique_tick", "t-0"), [0, 10, 20]);
    assert_eq!(starts("unique_tick", "t-1"), [0, 10, 20]);
}

#[test]
fn a_yield_lets_the_next_one_run() {
    let tasks = r#""a": {"loop": 1, "run": 1000, "yield": "", "run1": 1000},
                   "b": {"loop": 1, "run": 3000}"#;
    let (_, tape) = play(1, tasks);
    assert_eq!(spans(&tape, "a-0"), [(0, 1000), (4000, 5000)]);
    assert_eq!(spans(&tape, "b-1"), [(1000, 4000)]);
}

#[test]
fn phases_repeat_inside_the_tasks_rounds() {
    let task = r#""t": {"loop": 2, "phases": {
        "light": {"loop": 2, "run": 1000, "timer": {"ref": "unique", "period": 5000}},
        "heavy": {"run": 4000, "timer": {"ref": "unique", "period": 5000}}}}"#;
    let expected = [
        (0, 1000),
        (5000, 6000),
        (10_000, 14_000),
        (15_000, 16_000),
        (20_000, 21_000),
        (25_000, 29_000),
    ];
    assert_eq!(spans(&play(1, task).1, "t-0"), expected);
}
