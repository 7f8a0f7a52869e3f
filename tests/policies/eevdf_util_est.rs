// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a task used before it slept, and where `eevdf` counts on it, as Linux 7.2 does
//! (util_est_update of kernel/sched/fair.c): numbers derived by hand.

use crate::common::eevdf::run_noting;

/// w has CPU 0 to itself for a second, and then for 5 ms at 2 s, 3.005 s and 4.01 s. After the first
/// time its use is all, 1024. Each time in between 1024 x (1 - 2^(-5 / 32.768)) = 103 of it is new.
const SEDATE: &str = r#""w": {"cpus": [0], "loop": 1, "run0": 1000000,
    "sleep0": 1000000, "run1": 5000, "sleep1": 1000000, "run2": 5000, "sleep2": 1000000, "run3": 1}"#;

/// A global variable, as of the last decision before this time.
fn noted(variable: &'static str, path: &str, ms: u64, set: &[(&str, &str)], others: &str) -> u64 {
    let load = format!(r#"{{"tasks": {{{SEDATE}{others}}}}}"#);
    run_noting(variable, 4, set, &load, ms).0.noted(path)
}

fn needs(ms: u64, others: &str) -> u64 {
    noted("client_averages", "[1].expected", ms, &[], others)
}

#[test]
fn what_a_task_needs_is_what_it_used_and_falls_by_a_quarter() {
    assert_eq!(needs(1_500, ""), 1024);
    // 1024 - (1024 - 103) / 4 = 793, and 793 - (793 - 103) / 4 = 620.5.
    let [once, twice] = [needs(2_500, ""), needs(3_500, "")];
    assert!(once.abs_diff(793) <= 2, "{once}");
    assert!(twice.abs_diff(620) <= 3, "{twice}");
}

#[test]
fn what_a_task_needs_does_not_fall_if_it_had_to_wait() {
    // h is first, for its slice of 6 ms, to a tick: w is awake for longer than it runs.
    let h = r#", "h": {"cpus": [0], "loop": 1, "delay": 1999000, "run": 20000}"#;
    assert_eq!(needs(2_500, h), 1024);
}

#[test]
fn a_cpu_counts_on_what_the_tasks_that_are_awake_there_need() {
    let of_cpu = |ms| noted("cpu_averages", "[0].expected", ms, &[], "");
    assert_eq!(of_cpu(1_500), 0);
    // It runs since 2 s.
    assert_eq!(of_cpu(2_004), 1024);
    assert_eq!(of_cpu(2_500), 0);
}

#[test]
fn balancing_sees_a_big_task_that_has_just_come() {
    // CPU 0 balances at its first tick, at 2004 ms, and w ends at 2005. All CPUs together were used
    // for 1024 x (1 - 2^(-4 / 32.768)) = 83 of 1024 by then, but w needs 1024. (cpu_util_cfs)
    let used = |set: &[(&str, &str)]| noted("survey", "used", 2_006, set, "");
    let [without, with] = [used(&[("no_util_est", "true")]), used(&[])];
    assert!(without.abs_diff(83) <= 1, "{without}");
    assert_eq!(with, 1024);
}
