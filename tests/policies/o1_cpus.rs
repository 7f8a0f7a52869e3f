// SPDX-License-Identifier: MIT OR Apache-2.0
//! How the CPUs of Linux 2.6's O(1) scheduler pull tasks from each other. The first of the
//! tasks find idle CPUs at 0, and all others begin on CPU 0, where they are started.

use crate::common::hosted::Hosted;
use crate::common::{ideal, Tape};
use rota_machine::exit::ExitKind;

const MS: u64 = 1_000_000;

fn o1(set: &[(&str, &str)], cpus: u32, ms: u64, tasks: &[&str]) -> (Hosted, Tape) {
    let load = format!(r#"{{"tasks": {{{}}}}}"#, tasks.join(", "));
    let mut hosted = Hosted::new("o1", set, ideal(cpus, ms * MS), &load);
    let (outcome, tape) = hosted.run();
    assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{}", outcome.exit);
    (hosted, tape)
}

/// CPU times of endless tasks in ms.
fn hogs(set: &[(&str, &str)], cpus: u32, ms: u64, tasks: u32) -> (Hosted, Vec<u64>) {
    let load = format!(r#""t": {{"instance": {tasks}, "run": 1000000}}"#);
    let (hosted, tape) = o1(set, cpus, ms, &[&load]);
    let used = (1001..1001 + tasks).map(|pid| tape.cpu_ns(pid, ms * MS) / MS).collect();
    (hosted, used)
}

/// All have the same within a slice of each and the time until a balance.
fn assert_equal_shares(used: &[u64], share: u64) {
    assert!(used.iter().all(|ms| ms.abs_diff(share) <= 300), "{share}: {used:?}");
}

#[test]
fn two_cpus_share_four_tasks_equally_once_one_has_moved() {
    // 3 and 1 at first: half of the difference
    let (hosted, used) = hogs(&[], 2, 10_000, 4);
    assert_equal_shares(&used, 5_000);
    assert_eq!(hosted.stat("moved"), 1);
}

#[test]
fn four_cpus_share_eight_tasks_equally_once_four_have_moved() {
    // 5, 1, 1, 1: two go to one CPU, then 3, 3, 1, 1: one to each of the other two
    let (hosted, used) = hogs(&[], 4, 10_000, 8);
    assert_equal_shares(&used, 5_000);
    assert_eq!(hosted.stat("moved"), 4);
}

#[test]
fn without_balance_a_busy_cpu_takes_nobody() {
    let (hosted, used) = hogs(&[("no_balance", "true")], 2, 9_000, 4);
    assert_eq!(used, [3_000, 9_000, 3_000, 3_000]);
    assert_eq!(hosted.stat("moved"), 0);
}

#[test]
fn three_tasks_on_two_cpus_are_no_reason_to_move_any() {
    // A difference of one: half of that is none
    let (hosted, used) = hogs(&[], 2, 10_000, 3);
    assert_eq!(used, [5_000, 10_000, 5_000]);
    assert_eq!(hosted.stat("moved"), 0);
}

#[test]
fn balance_ns_is_the_time_between_two_looks() {
    // CPU 0 looks at the first tick, at 4 ms, in vain, and CPU 1 takes one of three. D, E and F
    // come to CPU 0 then: 5 and 2, so that the next look takes one, half of the difference
    let late = |name: &str, us: u32| format!(r#""{name}": {{"delay": {us}, "run": 1000000}}"#);
    let load = [late("D", 5_000), late("E", 6_000), late("F", 6_000)];
    let [d, e, f] = load.each_ref().map(String::as_str);
    let hog = r#""A": {"instance": 4, "run": 1000000}"#;
    for (balance_ns, moved) in [("10000000", 2), ("200000000", 1)] {
        let (hosted, _) = o1(&[("balance_ns", balance_ns)], 2, 190, &[hog, d, e, f]);
        assert_eq!(hosted.stat("moved"), moved, "{balance_ns}");
    }
}

#[test]
fn a_cpu_with_nothing_to_run_pulls_a_task_at_once() {
    // B ends at 50 on CPU 1, and C waits on CPU 0 behind A, which has 100 ms
    let b = r#""B": {"loop": 1, "run": 50000}"#;
    let (hosted, tape) =
        o1(&[], 2, 60, &[r#""A": {"run": 1000000}"#, b, r#""C": {"run": 1000000}"#]);
    assert_eq!(tape.starts(1003), [(50 * MS, 1)]);
    assert_eq!(hosted.stat("pulled"), 1);
}

#[test]
fn the_expired_are_pulled_before_the_active() {
    // On CPU 0 A (100 ms) and C (nice 5, 75 ms) wait for each other, D (nice 10, 50 ms) is
    // last. At 120 B leaves CPU 1: A has expired, C runs. D is active, A goes
    let tasks = [
        r#""A": {"run": 1000000}"#,
        r#""B": {"priority": -10, "loop": 1, "run": 120000}"#,
        r#""C": {"priority": 5, "run": 1000000}"#,
        r#""D": {"priority": 10, "run": 1000000}"#,
    ];
    let (_, tape) = o1(&[("no_balance", "true")], 2, 130, &tasks);
    assert_eq!(tape.starts(1001).last(), Some(&(120 * MS, 1)));
    assert_eq!(tape.starts(1004), []);
}

#[test]
fn who_ran_a_moment_ago_is_not_pulled_by_a_busy_cpu() {
    // A, C, D on CPU 0, B on CPU 1; slices of 1 ms, so nobody waits for more than 3. All have
    // run within 4 ms before a tick
    let set = |hot| [("timeslice_ns", "1000000"), ("cache_hot_ns", hot)];
    let (hosted, _) = hogs(&set("10000000"), 2, 1_000, 4);
    assert_eq!(hosted.stat("moved"), 0);
    let (hosted, _) = hogs(&set("0"), 2, 1_000, 4);
    assert_eq!(hosted.stat("moved"), 1);
}

#[test]
fn a_task_that_may_not_use_a_cpu_is_not_pulled_there() {
    let tied = r#""t": {"instance": 3, "cpus": [0], "run": 1000000}"#;
    let (hosted, tape) = o1(&[], 2, 3_000, &[tied, r#""free": {"run": 1000000}"#]);
    let used = [1001, 1002, 1003, 1004].map(|pid| tape.cpu_ns(pid, 3_000 * MS) / MS);
    assert_eq!(used, [1_000, 1_000, 1_000, 3_000]);
    assert_eq!([hosted.stat("moved"), hosted.stat("pulled")], [0, 0]);
}
