// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cpu.max` under `eevdf`: a group has its quota in each period, and waits for the next one.

use crate::common::groups::{expect, hogs, parts, run_for};
use crate::common::plan::cases;
use crate::common::Tape;
use proptest::prelude::*;

const MS: u64 = 1_000_000;
const RUN_MS: u64 = 5_000;
/// Slices end exactly on these machines, but are checked for limits at ticks.
const TICK_MS: u64 = 4;

fn run(cpus: u32, tasks: &str, events: &str) -> Tape {
    run_for("eevdf", cpus, &[], (tasks, events), RUN_MS)
}

fn limit(path: &str, max: &str) -> String {
    format!(r#"{{"at": 0, "cgroup": "{path}", "cpu.max": "{max}"}}"#)
}

#[test]
fn a_group_has_its_quota_of_each_period() {
    // 20 of 100 ms; the other task has the rest. More is debt, so on average it is exact.
    let tasks = [hogs("a", 2, "/a", 100), hogs("b", 1, "/b", 100)].join(", ");
    let tape = run(1, &tasks, &limit("/a", "20000 100000"));
    expect(&parts(&tape, 0, RUN_MS, &[2, 1]), &[0.2, 0.8]);
}

#[test]
fn the_rest_of_a_cpu_is_idle_if_no_other_task_wants_it() {
    let tape = run(1, &hogs("a", 1, "/a", 100), &limit("/a", "30000 100000"));
    expect(&parts(&tape, 0, RUN_MS, &[1]), &[0.3]);
}

#[test]
fn a_quota_is_of_all_cpus_together() {
    // 150 of 100 ms: one and a half of the four CPUs
    let tape = run(4, &hogs("a", 4, "/a", 100), &limit("/a", "150000 100000"));
    expect(&parts(&tape, 0, RUN_MS, &[4]), &[1.5]);
}

#[test]
fn groups_within_are_limited_by_the_outer_one_too() {
    // /a has 40 %; of its groups x has at most 10, and y what is left
    let tasks = [hogs("x", 1, "/a/x", 100), hogs("y", 1, "/a/y", 100)].join(", ");
    let events = [limit("/a", "40000 100000"), limit("/a/x", "10000 100000")].join(", ");
    expect(&parts(&run(1, &tasks, &events), 0, RUN_MS, &[1, 1]), &[0.1, 0.3]);
}

#[test]
fn a_limit_that_is_lifted_limits_no_more() {
    let events = format!(
        r#"{}, {{"at": "2s", "cgroup": "/a", "cpu.max": "max"}}"#,
        limit("/a", "20000 100000")
    );
    let tape = run(1, &hogs("a", 1, "/a", 100), &events);
    expect(&parts(&tape, 0, 2_000, &[1]), &[0.2]);
    expect(&parts(&tape, 2_000, RUN_MS, &[1]), &[1.0]);
}

#[test]
fn what_is_not_used_can_be_used_later_up_to_the_burst() {
    // 10 of 100 ms and a burst of 20. The task sleeps for 250 ms and then wants 30: with the
    // burst all is there at once, without it the task waits for two more periods.
    let task = r#""a": {"loop": 1, "phases": {"wait": {"run": 1000, "sleep": 250000},
        "work": {"loop": 1, "run": 30000}, "end": {"sleep": 100000000}}, "taskgroup": "/a"}"#;
    let burst = format!(
        r#"{}, {{"at": 1, "cgroup": "/a", "cpu.max.burst": 10000}}"#,
        limit("/a", "10000 100000")
    );
    let done_ms = |events: &str| {
        let tape = run(1, task, events);
        (251..RUN_MS).find(|ms| tape.cpu_ns(1001, ms * MS) >= 31 * MS).expect("it ends")
    };
    let (with, without) = (done_ms(&burst), done_ms(&limit("/a", "10000 100000")));
    assert!(with + 100 <= without, "{with} ms with a burst, {without} without");
}

proptest! {
    #![proptest_config(cases(16))]

    /// In no period does a group get more than its quota, the burst and what its queues may hold or
    /// overdraw: a slice of 5 ms and a tick on each CPU, twice, at both ends of the window.
    #[test]
    fn no_window_has_more_than_the_quota_allows(
        cpus in 1..4u32, count in 1..5u32, quota_ms in 5..200u64, period_ms in 20..200u64,
        others in 0..3u32,
    ) {
        let tasks = format!("{}{}", hogs("a", count, "/a", 100), if others > 0 {
            format!(", {}", hogs("b", others, "/b", 300))
        } else { String::new() });
        let events = limit("/a", &format!("{} {}", quota_ms * 1000, period_ms * 1000));
        let tape = run(cpus, &tasks, &events);
        let had = |ms: u64| (1001..1001 + count).map(|pid| tape.cpu_ns(pid, ms * MS)).sum::<u64>();
        let slack = 2 * u64::from(cpus) * (5 + TICK_MS);
        for from in (0..RUN_MS - 4 * period_ms).step_by(37) {
            let ms = 3 * period_ms;
            let bound = (4 * quota_ms + slack) * MS;
            prop_assert!(had(from + ms) - had(from) <= bound, "from {from} ms on");
        }
        // and over the whole run it has what it may, if its tasks and CPUs can use that
        let all = (quota_ms as f64 / period_ms as f64).min(f64::from(count.min(cpus)));
        let found = had(RUN_MS) as f64 / (RUN_MS * MS) as f64;
        let bound = all + (quota_ms + slack) as f64 / RUN_MS as f64;
        prop_assert!(found <= bound, "{found} of {all}");
    }
}
