// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lag and fairness of tasks in groups, of whole runs worked out by hand.

use crate::common::{ideal, run, shared_fifo};
use rota_measure::{Numbers, Summary};
use rota_trace::Sink;

const MS: u64 = 1_000_000;

/// One queue, slices of 10 ms, in turns, whatever the groups are.
fn numbers(load: &str, cpus: u32, duration_ns: u64) -> Numbers {
    let (outcome, tape) = run(ideal(cpus, duration_ns), load, &mut shared_fifo());
    let mut summary = Summary::new(cpus);
    tape.0.iter().for_each(|event| summary.event(event));
    summary.finish(outcome.end_ns)
}

fn lags(numbers: &Numbers) -> Vec<i64> {
    numbers.tasks.iter().map(|task| task.lag_ns.map_or(0, |lag| lag.max.max(-lag.min))).collect()
}

/// Two tasks share a CPU in equal parts, 50 of 100 ms each. Groups of 300 and 100 ask for 75 and
/// 25: at the end one is 25 behind, the other 25 ahead. Their parts of the ideal are 2/3 and 2:
/// Jain's index (8/3)² / (2 · (4/9 + 4)) = 0.8.
#[test]
fn a_scheduler_that_knows_no_groups_is_behind_the_ideal_that_does() {
    let load = r#"{"tasks": {
        "a": {"taskgroup": {"path": "/a", "cpu.weight": 300}, "run": 1000000},
        "b": {"taskgroup": {"path": "/b", "cpu.weight": 100}, "run": 1000000}}}"#;
    let found = numbers(load, 1, 100 * MS);
    // At 90 ms, a has had 50 (its slice ended) and b 40: a is 17.5 behind; at 100 25.
    assert_eq!(found.tasks[0].lag_ns.map(|lag| lag.max), Some(25 * MS as i64));
    assert_eq!(found.tasks[1].lag_ns.map(|lag| lag.min), Some(-25 * MS as i64));
    let jain = found.totals.jain.expect("two tasks");
    assert!((jain - 0.8).abs() < 1e-9, "{jain}");
}

/// Two groups of equal weight on two CPUs, one with one task: it should have a CPU, the two others
/// one together. A queue for all gives each of the three about 200 of 300 ms. So a is behind by all
/// the time that it waits, and the parts of the ideal are a/300, b/150 and c/150.
#[test]
fn equal_groups_of_one_and_two_tasks_have_a_cpu_each() {
    let load = r#"{"tasks": {
        "a": {"taskgroup": {"path": "/a"}, "run": 1000000},
        "b": {"instance": 2, "taskgroup": {"path": "/b"}, "run": 1000000}}}"#;
    let found = numbers(load, 2, 300 * MS);
    let [a, b, c] = &found.tasks[..] else { panic!("three tasks") };
    assert!([a, b, c].iter().all(|task| (180 * MS..=220 * MS).contains(&task.cpu_ns)));
    assert_eq!(a.lag_ns.map(|lag| lag.max), Some(a.run_delay_ns as i64));
    let parts = [(a, 300.0), (b, 150.0), (c, 150.0)].map(|(t, ms)| t.cpu_ns as f64 / ms);
    let (sum, squares) = parts.iter().fold((0.0, 0.0), |(s, q), x| (s + x, q + x * x));
    let jain = found.totals.jain.expect("three tasks");
    assert!((jain - sum * sum / (3.0 * squares)).abs() < 1e-9, "{jain}");
    assert!(jain < 0.95, "{jain}");
}

/// All tasks in one group of any weight: the same lags as without groups.
#[test]
fn one_group_is_like_none() {
    let load = |group: &str| {
        format!(
            r#"{{"tasks": {{
            "a": {{"instance": 3, {group} "run": 1000000}},
            "b": {{"instance": 2, {group} "run": 7000, "sleep": 9000}}}}}}"#
        )
    };
    let grouped = load(r#""taskgroup": {"path": "/g", "cpu.weight": 500},"#);
    let (with, without) = (numbers(&grouped, 2, 200 * MS), numbers(&load(""), 2, 200 * MS));
    for (a, b) in lags(&with).iter().zip(lags(&without)) {
        assert!((a - b).abs() <= 1, "{with:?} {without:?}");
    }
    assert_eq!(with.totals.context_switches, without.totals.context_switches);
}

/// /a may use a quarter of a CPU. Alone on it, it gets all of it: 75 of 100 ms ahead.
#[test]
fn a_limit_is_a_part_of_the_ideal() {
    let load = r#"{"tasks": {"a": {"taskgroup": {"path": "/a"}, "run": 1000000}},
        "events": [{"at": 0, "cgroup": "/a", "cpu.max": "25000 100000"}]}"#;
    let found = numbers(load, 1, 100 * MS);
    assert_eq!(found.tasks[0].lag_ns.map(|lag| lag.min), Some(-75 * MS as i64));
}
