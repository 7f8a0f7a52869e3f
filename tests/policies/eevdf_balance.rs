// SPDX-License-Identifier: MIT OR Apache-2.0
//! On which CPU `eevdf` lets tasks wait, by the rules of Linux 7.2 (kernel/sched/fair.c): times
//! calculated by hand, in ms, with ticks each 4 ms and nothing that takes time but the tasks.

use crate::common::eevdf::{first_on, run as hosted, MS};
use crate::common::hosted::hogs;
use crate::common::Tape;

fn run(cpus: u32, set: &[(&str, &str)], load: &str, ms: u64) -> Tape {
    hosted(cpus, set, load, ms).1
}

#[test]
fn new_tasks_stay_where_they_are_made_while_all_cpus_have_room() {
    // All begin at t 0 on CPU 0. A finds it idle, B finds CPU 1 so. C finds none; but both have
    // room, as a new task counts as one that uses a half of its CPU: it stays. As if it woke up, too.
    // (sched_balance_find_dst_group, select_idle_sibling)
    let first = |set: &[(&str, &str)]| -> Vec<u32> {
        let set = [set, &[("no_balance", "true")]].concat();
        let tape = run(2, &set, &hogs(&[300, 100, 100]), 100);
        (1001..1004).map(|pid| tape.starts(pid)[0].1).collect()
    };
    assert_eq!(first(&[]), [0, 1, 0]);
    assert_eq!(first(&[("no_balance_fork", "true")]), [0, 1, 0]);
}

#[test]
fn new_tasks_leave_a_cpu_with_more_tasks_and_more_load() {
    // p (100) and h (200) are on CPU 0, so p has worked for 60 ms after 180: both CPUs have been in
    // use for longer than the 58 ms after which they have no room. Beside one task on CPU 1 only
    // CPU 0 is overloaded. Two of 100 overload CPU 1, too; 300 is more than 117 % of 200, and not
    // of 300. (group_is_overloaded, sched_balance_find_dst_group)
    let first = |others: u32| {
        let load = format!(
            r#"{{"tasks": {{
            "p": {{"cpus": [0], "loop": 1, "run1": 60000, "fork1": "child", "run2": 1000000}},
            "h": {{"cpus": [0], "share": 200, "run": 1000000}},
            "b": {{"instance": {others}, "cpus": [1], "run": 1000000}},
            "child": {{"instance": 0, "cpus": [0, 1], "loop": 1, "run": 5000}}}}}}"#
        );
        run(2, &[("no_balance", "true")], &load, 400).starts(1003 + others)[0].1
    };
    assert_eq!([1, 2, 3].map(first), [1, 1, 0]);
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
    // use for less than 100 / 117, it has room, and does not pull: from a half, which a new task
    // begins with, with 1.024 ms as a period and 32 to a half, until 1 - 2^(-t / 32.77 ms) / 2 =
    // 0.8547, t = 58.4 ms.
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

#[test]
fn the_load_of_a_dead_task_is_gone_at_once() {
    // d and e take turns of 8 ms on CPU 1, so d has had its 45 ms at 85 or 93, and its half of the
    // use is gone, too: 512 are left, and CPU 1 has room at the look at 96 ms. At 188, 92 later, it
    // has none, and lacks 67 as in the test before last: tasks of 100 are too much. At 232 they
    // count 50, and one moves. Were it all to fade away as a sleeper's, CPU 1 would look at 96, 140
    // and 184: at 140 with 31 to 37 of d's load, so that 42 to 46 are missing, less than 50; at
    // 184 with 12 to 14: 57 to 59 are missing, tasks count 25, and one moves. (task_dead_fair)
    let tape =
        run(3, &[], &three_on_cpu_0(r#""d": {"cpus": [1], "loop": 1, "run": 45000},"#), 1_000);
    let firsts: Vec<_> =
        ["a-0", "a-1", "a-2"].iter().filter_map(|name| first_on(&tape, name, 1)).collect();
    assert!(firsts.iter().all(|at| (232..252).contains(at)), "{firsts:?}");
    assert_eq!(firsts.len(), 1);
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

#[test]
fn who_wakes_up_goes_where_it_was_before_if_that_idles() {
    // All CPUs are in use, so nobody looks around. w wakes on CPU 2 and finds it busy, which notes
    // 2 as where it was; then it works on CPU 1. At 413 ms that is busy, and CPU 2, which it knows,
    // idles since 400. One that was not there waits for c. (recent_used_cpu)
    let wakes = |tied: u32| {
        let load = format!(
            r#"{{"tasks": {{
            "h": {{"cpus": [0], "run": 1000000}},
            "c": {{"cpus": [1], "run": 1000000}},
            "b": {{"cpus": [2], "loop": 1, "run": 400000}},
            "d": {{"cpus": [3], "run": 1000000}},
            "w": {{"loop": 1, "phases": {{
                "first": {{"cpus": [{tied}], "sleep": 10000, "run": 1000}},
                "again": {{"sleep": 20000, "run": 1000}},
                "other": {{"cpus": [1], "run": 1000}},
                "free": {{"cpus": [0, 1, 2, 3], "timer": {{"ref": "t", "period": 413000}},
                    "run": 3000}}}}}}}}}}"#
        );
        let tape = run(4, &[], &load, 440);
        let starts = tape.starts(tape.pid("w-4"));
        starts.into_iter().find(|(at, _)| *at > 400 * MS).unwrap()
    };
    assert_eq!(wakes(2), (413 * MS, 2));
    assert_ne!(wakes(1), (413 * MS, 2));
}

#[test]
fn a_cpu_without_room_hides_those_who_wait_elsewhere() {
    // a-1 waits on CPU 1 for a-0, which has 20 ms to do, when CPU 2 runs out of work at 205 ms. CPU
    // 1 has room still: two of 1024 for 4 ms are less than 1.17 of 1024. With nobody on CPU 0 it
    // is the one with the most tasks, and CPU 2 pulls. CPU 0 has no room since 58 ms, so that is
    // the busiest; but nobody waits there. (update_sd_pick_busiest, sched_balance_find_src_group)
    let pulled = |hog: &str| {
        let load = format!(
            r#"{{"tasks": {{
            {hog}
            "a": {{"instance": 2, "loop": 1, "phases": {{
                "tied": {{"cpus": [1], "run": 1000}},
                "free": {{"cpus": [1, 2], "sleep": 200000, "run": 20000}}}}}},
            "d": {{"cpus": [2], "loop": 1, "run": 205000}}}}}}"#
        );
        first_on(&run(3, &[], &load, 230), "a-1", 2)
    };
    assert_eq!(pulled(""), Some(205));
    assert_eq!(pulled(r#""h": {"cpus": [0], "run": 1000000},"#), None);
}
