// SPDX-License-Identifier: MIT OR Apache-2.0
//! CPUs that run real-time tasks, under the shipped policies: such a CPU is not idle, and tasks
//! that wait there go to others.

use crate::common::eevdf::run as run_eevdf;
use crate::common::hosted::Hosted;
use crate::common::{ideal, Tape};
use rota_machine::exit::ExitKind;

const MS: u64 = 1_000_000;
const EVERY: &[&str] = &[];
/// A task that a higher class replaces keeps its turn there: no other CPU can take it.
const KEEP_TURNS: [&str; 11] =
    ["appease", "fifo", "las", "linux22", "lottery", "o1", "pbs", "sjf", "stride", "vtrr", "wfq"];

fn policies(but: &[&str]) -> impl Iterator<Item = &'static str> {
    let but: Vec<String> = but.iter().map(ToString::to_string).collect();
    rota_catalog::policies()
        .iter()
        .map(|p| p.name)
        .filter(move |name| !but.contains(&name.to_string()))
}

fn set_of(policy: &str) -> &'static [(&'static str, &'static str)] {
    match policy {
        "eevdf" => &[("work_conserving", "true")],
        // a turn of a second, as with the usual weight as share, ends when tasks of servers do
        "wrr" => &[("quantum_ns", "100000")],
        _ => &[],
    }
}

fn run(policy: &str, set: &[(&str, &str)], load: &str, ms: u64) -> Tape {
    let (outcome, tape) = Hosted::new(policy, set, ideal(4, ms * MS), load).run();
    assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{policy}: {}", outcome.exit);
    tape
}

/// Milliseconds of CPU time up to that one.
fn had(tape: &Tape, name: &str, until_ms: u64) -> u64 {
    tape.cpu_ns(tape.pid(name), until_ms * MS) / MS
}

#[test]
fn no_task_wakes_up_behind_a_realtime_task_while_cpus_are_idle() {
    // Two real-time hogs leave two CPUs to two tasks that work 8 of each 34 ms from 100 ms on: in
    // 1,900 ms 56 times, 448 ms. The last time begins after 55 x 34 = 1,870.
    let load = r#"{"tasks": {
        "rt": {"instance": 2, "policy": "SCHED_FIFO", "priority": 2, "run": 20000},
        "n": {"delay": 100000, "instance": 2, "run": 8000, "sleep": 26000}}}"#;
    for policy in policies(EVERY) {
        let tape = run(policy, &[], load, 2000);
        assert_eq!(["n-2", "n-3"].map(|n| had(&tape, n, 2000)), [448; 2], "{policy}");
        assert_eq!(["rt-0", "rt-1"].map(|n| had(&tape, n, 2000)), [2000; 2], "{policy}");
    }
}

/// So many hogs, and from 500 ms on real-time ones for CPUs 0 and 1.
fn hogs_and_realtime(hogs: u32) -> String {
    hogs_and_realtime_from(500_000, hogs)
}

fn hogs_and_realtime_from(us: u32, hogs: u32) -> String {
    format!(
        r#"{{"tasks": {{"n": {{"instance": {hogs}, "run": 100000}},
        "rt": {{"delay": {us}, "instance": 2, "policy": "SCHED_FIFO", "priority": 2,
            "cpus": [0, 1], "run": 20000}},
        "w": {{"instance": 2, "delay": 600000, "run": 1000, "sleep": 5000}}}}}}"#
    )
}

#[test]
fn idle_cpus_take_the_tasks_that_realtime_tasks_replace() {
    // In the middle of turns, of which none ends at 503.3 ms. At once; under eevdf when the ticks
    // after that have sent an idle CPU for each, within two.
    let load = hogs_and_realtime_from(503_300, 2);
    for policy in policies(&KEEP_TURNS) {
        let tape = run(policy, &[], &load, 600);
        let late = if policy == "eevdf" { 8 } else { 0 };
        for hog in ["n-0", "n-1"] {
            let ms = had(&tape, hog, 600);
            assert!((600 - late..=600).contains(&ms), "{policy}: {hog} had {ms} ms");
        }
    }
    for policy in KEEP_TURNS {
        let tape = run(policy, &[], &load, 600);
        assert_eq!(["n-0", "n-1"].map(|hog| had(&tape, hog, 600)), [503; 2], "{policy}");
    }
}

#[test]
fn a_turn_goes_on_after_a_moment_of_a_realtime_task() {
    // ps and eevdf decide anew: there the other one has had less.
    let load = r#"{"tasks": {"a": {"run": 100000}, "b": {"run": 100000},
        "rt": {"delay": 503300, "loop": 1, "policy": "SCHED_FIFO", "priority": 2, "run": 1000}}}"#;
    for policy in policies(&["eevdf", "ps"]) {
        let (outcome, tape) = Hosted::new(policy, &[], ideal(1, 600 * MS), load).run();
        assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{policy}: {}", outcome.exit);
        let runs_at = |ns: u64| {
            let ran = |pid| tape.cpu_ns(pid, ns + 100_000) > tape.cpu_ns(pid, ns);
            ["a-0", "b-1"].into_iter().find(|name| ran(tape.pid(name)))
        };
        let (before, after) = (runs_at(503_100_000), runs_at(504_400_000));
        assert!(before.is_some() && before == after, "{policy}: {before:?}, then {after:?}");
    }
}

#[test]
fn busy_cpus_take_the_tasks_that_realtime_tasks_replace() {
    // Four hogs for two CPUs, which the w have a sixth of each at most: of the 2,500 ms after the
    // first 500 each hog is due 2,500 x 2 x 5/6 / 4 = 1,041 ms, if it were moved at once.
    // Half of that is for long quanta, lots and the time it takes; behind a real-time task a hog has
    // 5 % of it.
    for policy in policies(&KEEP_TURNS) {
        let tape = run(policy, set_of(policy), &hogs_and_realtime(4), 3000);
        for hog in ["n-0", "n-1", "n-2", "n-3"] {
            let ms = had(&tape, hog, 3000);
            assert!(ms > 500 + 1041 / 2, "{policy}: {hog} had {ms} ms");
        }
    }
    let tape = run("eevdf", &[], &hogs_and_realtime(4), 3000);
    assert!((0..4).all(|n| had(&tape, &format!("n-{n}"), 3000) > 500 + 1041 / 2));
}

#[test]
fn the_first_move_of_eevdf_comes_with_the_second_balancing() {
    // CPUs 2 and 3 balance every 4 x 16 ms less a tick, 60 (get_sd_balance_interval). The hogs of
    // CPUs 0 and 1 have loads of 1024 there, and soon hardly any capacity; on average 1024 are due
    // to 512 of it. CPU 2 lacks just under 1024, too little for a task of 1024; at the next time
    // tasks count half. So the first hog waits for one to two intervals.
    // (calculate_imbalance, detach_tasks)
    let tape = run_eevdf(4, &[], &hogs_and_realtime(4), 1000).1;
    let first = ["n-0", "n-1"].iter().filter_map(|name| {
        tape.starts(tape.pid(name)).iter().find(|(at, cpu)| *at > 500 * MS && *cpu > 1).copied()
    });
    let first = first.map(|(at, _)| at / MS).min().unwrap();
    assert!((560..=632).contains(&first), "at {first} ms");
}

#[test]
fn a_realtime_task_takes_capacity_by_its_average() {
    // It runs 10 of each 20 ms. Of 1024, with 32 halves of 1.024 ms, that is at most
    // 1024 / (1 + r) = 566 and at least r of that, 458, with r = 2^(-10 / 32.768) = 0.8094.
    // (___update_load_sum) Both hogs balance at times, CPU 1 without any such task.
    let load = r#"{"tasks": {
        "rt": {"policy": "SCHED_FIFO", "cpus": [0], "run": 10000,
            "timer": {"ref": "t", "period": 20000}},
        "a": {"cpus": [0], "run": 100000}, "b": {"cpus": [1], "run": 100000}}}"#;
    let (mut hosted, _) = run_eevdf(2, &[], load, 2000);
    let taken = hosted.global("cpu_averages", "[0].taken");
    assert!((455..=569).contains(&taken), "{taken}");
    assert_eq!(hosted.global("cpu_averages", "[1].taken"), 0);
}
