// SPDX-License-Identifier: MIT OR Apache-2.0
//! `pfs` and `tfps` with families other than processes: of a user, a session, a cgroup. Parts are
//! calculated by hand.

use crate::common::hosted::Hosted;
use crate::common::{ideal, Tape};
use rota_machine::exit::ExitKind;
use rota_trace::EventKind;

const MS: u64 = 1_000_000;

/// Endless processes: name, how many, and keys of their own.
fn run(policy: &str, set: &[(&str, &str)], cpus: u32, tasks: &[(&str, u32, &str)]) -> Tape {
    let task = |(name, count, keys): &(&str, u32, &str)| {
        format!(r#""{name}": {{"instance": {count}, "loop": -1, "run": 100000{keys}}}"#)
    };
    let tasks: Vec<String> = tasks.iter().map(task).collect();
    let load = format!(r#"{{"tasks": {{{}}}}}"#, tasks.join(", "));
    let (outcome, tape) = Hosted::new(policy, set, ideal(cpus, 10_000 * MS), &load).run();
    assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{}", outcome.exit);
    assert_eq!(outcome.unfilled_reads, [], "fields of the kernel that nothing fills");
    tape
}

/// Whether the tasks of a name have together that part of the machine.
#[track_caller]
fn has(tape: &Tape, cpus: u32, name: &str, part: f64) {
    let mut pids: Vec<u32> = Vec::new();
    for event in &tape.0 {
        if let EventKind::Task { pid, instance_of, .. } = &event.kind {
            if instance_of.as_deref() == Some(name) && !pids.contains(pid) {
                pids.push(*pid);
            }
        }
    }
    let ran: u64 = pids.iter().map(|pid| tape.cpu_ns(*pid, 10_000 * MS)).sum();
    let found = ran as f64 / (f64::from(cpus) * 10_000.0 * MS as f64);
    assert!((found - part).abs() <= 0.02 * part, "{name}: {found}, due {part}");
}

#[test]
fn users_have_equal_parts_however_many_processes_they_have() {
    // Root has 2 processes, user 7 has 6, user 8 has 4 of which two ask for nice 5. A third each;
    // that of user 8 is divided as 1024 to 335, and it weighs the mean of them, 679.5.
    let set = [("by", "user")];
    let tasks = [("root", 2, ""), ("seven", 6, r#", "uid": 7"#)];
    for cpus in [1, 2] {
        let tape = run("pfs", &set, cpus, &tasks);
        has(&tape, cpus, "root", 0.5);
        has(&tape, cpus, "seven", 0.5);
    }
    let eight = [
        ("root", 2, ""),
        ("plain", 2, r#", "uid": 8"#),
        ("nice", 2, r#", "uid": 8, "priority": 5"#),
    ];
    let tape = run("pfs", &set, 1, &eight);
    let all = 1024.0 + 679.5;
    has(&tape, 1, "root", 1024.0 / all);
    has(&tape, 1, "plain", 679.5 / all * 1024.0 / 1359.0);
    has(&tape, 1, "nice", 679.5 / all * 335.0 / 1359.0);
}

#[test]
fn sessions_have_equal_parts() {
    let tasks = [
        ("one", 1, r#", "session": 5"#),
        ("five", 5, r#", "session": 6"#),
        ("first", 3, ""), // that of who starts the workload
    ];
    for cpus in [1, 3] {
        let tape = run("pfs", &[("by", "session")], cpus, &tasks);
        for name in ["one", "five", "first"] {
            has(&tape, cpus, name, 1.0 / 3.0);
        }
    }
}

#[test]
fn cgroups_have_equal_parts_whatever_they_weigh_if_they_are_families() {
    let tasks = [
        ("two", 2, r#", "taskgroup": "/a""#),
        ("six", 6, r#", "taskgroup": {"path": "/b", "cpu.weight": 300}"#),
    ];
    for cpus in [1, 2] {
        let tape = run("pfs", &[("by", "cgroup")], cpus, &tasks);
        has(&tape, cpus, "two", 0.5);
        has(&tape, cpus, "six", 0.5);
    }
}

#[test]
fn tfps_counts_a_users_threads_up_to_the_number_of_cpus() {
    // on two CPUs 1:2 for one process and for five
    let tasks = [("one", 1, r#", "uid": 1"#), ("five", 5, r#", "uid": 2"#)];
    let tape = run("tfps", &[("by", "user")], 2, &tasks);
    has(&tape, 2, "one", 1.0 / 3.0);
    has(&tape, 2, "five", 2.0 / 3.0);
}
