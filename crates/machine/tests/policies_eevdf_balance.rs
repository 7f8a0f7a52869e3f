// SPDX-License-Identifier: MIT OR Apache-2.0
//! On which CPU `eevdf` lets tasks wait, by the rules of Linux 7.2 (kernel/sched/fair.c): times
//! calculated by hand, in ms, with ticks each 4 ms and nothing that takes time but the tasks.

mod common;

use common::hosted::{hogs, Hosted};
use common::Tape;
use rota_machine::config::{Config, Costs};
use rota_machine::exit::ExitKind;
use rota_machine::topology::Topology;

const MS: u64 = 1_000_000;
/// All slices are of 6 ms, and each CPU that becomes idle looks for work.
const SET: [(&str, &str); 4] = [
    ("base_slice_ns", "6000000"),
    ("tunable_scaling", "none"),
    ("no_place_deadline_initial", "true"),
    ("no_ni_random", "true"),
];

fn run(cpus: u32, set: &[(&str, &str)], load: &str, ms: u64) -> Tape {
    let mut config = Config::new(Topology::flat(cpus).unwrap(), ms * MS);
    config.costs = Costs::none();
    let set = [&SET, set].concat();
    let (outcome, tape) = Hosted::new("eevdf", &set, config, load).run();
    assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{}", outcome.exit);
    tape
}

/// When the task came onto that CPU first, in ms.
fn first_on(tape: &Tape, name: &str, cpu: u32) -> Option<u64> {
    let starts = tape.starts(tape.pid(name));
    starts.iter().find(|(_, at)| *at == cpu).map(|(ns, _)| ns / MS)
}

#[test]
fn new_tasks_go_where_least_load_is_and_those_that_wake_up_stay() {
    // All begin at t 0 on CPU 0. A (weight 300) finds it idle, B (100) finds CPU 1 so. C finds
    // none: new, it goes where 100 are, as 300 are more than 117 % of that. As if it woke up,
    // it stays on CPU 0. (sched_balance_find_dst_group, select_idle_sibling)
    let first = |set: &[(&str, &str)]| -> Vec<u32> {
        let set = [set, &[("no_balance", "true")]].concat();
        let tape = run(2, &set, &hogs(&[300, 100, 100]), 100);
        (1001..1004).map(|pid| tape.starts(pid)[0].1).collect()
    };
    assert_eq!(first(&[]), [0, 1, 1]);
    assert_eq!(first(&[("no_balance_fork", "true")]), [0, 1, 0]);
}

/// Three tasks that CPUs 0 and 1 can have, on CPU 0 at first, and others.
fn three_on_cpu_0(others: &str) -> String {
    format!(
        r#"{{"tasks": {{
        "a": {{"instance": 3, "loop": 1, "phases": {{
            "tied": {{"cpus": [0], "run": 1000}},
            "free": {{"cpus": [0, 1], "run": 1000000}}}}}},
        {others}
        "e": {{"cpus": [1], "run": 1000000}},
        "f": {{"cpus": [2], "run": 1000000}}}}}}"#
    )
}

#[test]
fn a_busy_cpu_pulls_what_the_average_lacks_once_it_has_no_room() {
    // Loads are 300, 100 and 100, 500 / 3 on average: 67 are missing on CPU 1. While that was in
    // use for less than 100 / 117, it has room, and does not pull: from nothing, with 1.024 ms
    // as a period and 32 to a half, until 1 - 2^(-t / 32.77 ms) = 0.8547, t = 91.2 ms.
    // It looks at 4 ms first. Balanced: then after 2 x 3 ms, 16 times that as it is busy, less
    // one tick, 92 ms, at 96. No task weighs 67 or less; so it looks after 3 ms x 16 less a tick,
    // 44, at 140, and tasks count half, 50: one moves.
    // (group_has_capacity, calculate_imbalance, get_sd_balance_interval, detach_tasks)
    let tape = run(3, &[], &three_on_cpu_0(""), 1_000);
    let firsts: Vec<_> =
        ["a-0", "a-1", "a-2"].iter().filter_map(|name| first_on(&tape, name, 1)).collect();
    assert!(firsts.iter().all(|at| (140..160).contains(at)), "{firsts:?}");
    assert_eq!(firsts.len(), 1);
}

#[test]
fn a_cpu_with_the_average_load_pulls_nothing() {
    // 300 on CPU 0, 200 on CPU 1 with d, and 100: 200 on average, which CPU 1 has. So three
    // share CPU 0 for good, though CPU 1 has two thirds of the load only. (calculate_imbalance)
    let tape = run(3, &[], &three_on_cpu_0(r#""d": {"cpus": [1], "run": 1000000},"#), 1_000);
    assert!(["a-0", "a-1", "a-2"].iter().all(|name| first_on(&tape, name, 1).is_none()));
}

/// Two hogs on CPU 0 that can leave it after 1 ms of work, and x, for so long on CPU 1.
fn two_beside(x_us: u64) -> Tape {
    let load = format!(
        r#"{{"tasks": {{
        "a": {{"instance": 2, "loop": 1, "phases": {{
            "tied": {{"cpus": [0], "run": 1000}},
            "free": {{"cpus": [0, 1], "run": 1000000}}}}}},
        "x": {{"cpus": [1], "loop": 1, "run": {x_us}}}}}}}"#
    );
    run(2, &[], &load, 30)
}

#[test]
fn who_ran_a_moment_ago_is_not_pulled_at_once() {
    // a-0 runs until its slice of 6 ms is over, so to the tick at 8, then a-1 does. CPU 1 has
    // nothing more to do at 10 ms, and pulls a-0, which waits since 8. At 8.2 ms a-0 is hot, for
    // 0.5 ms: CPU 1 idles until a tick of CPU 0, at 12, sends it to look again.
    // (sched_balance_newidle, task_hot, nohz_balancer_kick)
    assert_eq!(first_on(&two_beside(10_000), "a-0", 1), Some(10));
    assert_eq!(first_on(&two_beside(8_200), "a-0", 1), Some(12));
}

#[test]
fn who_wakes_up_looks_at_few_cpus_when_all_were_in_use() {
    // Four CPUs were used in full for 400 ms, so 1024 - 1024 x 1.17^2 < 0 of 1024 are worth a
    // look. h runs on CPU 0 to the tick at 8 ms, then w for 1 ms, which sleeps until 413. CPU 3
    // idles since 400, but w does not look, and waits for h. With no_sis_util it goes there.
    // (update_idle_cpu_scan, select_idle_cpu)
    let load = r#"{"tasks": {
        "h": {"cpus": [0], "run": 1000000},
        "w": {"loop": 1, "phases": {
            "tied": {"cpus": [0], "run": 1000},
            "free": {"cpus": [0, 3], "sleep": 404000, "run": 3000}}},
        "b": {"cpus": [1], "run": 1000000},
        "c": {"cpus": [2], "run": 1000000},
        "d": {"cpus": [3], "loop": 1, "run": 400000}}}"#;
    let wakes = |set: &[(&str, &str)]| {
        let tape = run(4, set, load, 440);
        let starts = tape.starts(tape.pid("w-1"));
        starts.into_iter().find(|(at, _)| *at > 400 * MS).unwrap()
    };
    assert_eq!(wakes(&[("no_sis_util", "true")]), (413 * MS, 3));
    assert_ne!(wakes(&[]), (413 * MS, 3));
}
