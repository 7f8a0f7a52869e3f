// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the machine itself takes is paid before the task on a CPU does anything, work or not.

use crate::common::{ideal, run, shared_fifo, Tape};
use rota_machine::config::Config;
use rota_trace::EventKind;

const US: u64 = 1_000;
const MS: u64 = 1_000_000;

/// Two tasks hand a token to and fro, without any work. The second one comes when the first waits.
const TOKEN: &str = r#"{"tasks": {
    "a": {"sem_post": "there", "sem_wait": "back"},
    "b": {"delay": 10, "sem_wait": "there", "sem_post": "back"} }}"#;

/// 1 us for a switch, 0.8 for a wakeup, 1.5 for leaving idle, and nothing else.
fn costs(cpus: u32, duration_ns: u64) -> Config {
    let mut config = ideal(cpus, duration_ns);
    config.costs.context_switch_ns = 1_000;
    config.costs.wakeup_ns = 800;
    config.costs.idle_exit_ns = 1_500;
    config
}

/// When a task was woken by another one.
fn woken_at(tape: &Tape, name: &str) -> Vec<u64> {
    let woken = tape.pid(name);
    let wakes = |event: &rota_trace::Event| match event.kind {
        EventKind::Wakeup { pid, waker } if pid == woken && waker != 0 => Some(event.time_ns),
        _ => None,
    };
    tape.0.iter().filter_map(wakes).collect()
}

fn differences(times: &[u64]) -> Vec<u64> {
    times.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

/// ```text
/// a posts: 0.8 | a waits, switch to b: 1.0 | b posts: 0.8 | b waits, switch to a: 1.0 | a posts …
/// ```
/// So a round takes 3.6 us.
#[test]
fn a_token_on_one_cpu_takes_the_time_of_its_switches_and_wakeups() {
    let (_, tape) = run(costs(1, 36 * MS), TOKEN, &mut shared_fifo());

    let woken = woken_at(&tape, "b-1");
    assert!((9_990..=10_000).contains(&woken.len()), "{}", woken.len());
    assert!(differences(&woken).iter().all(|ns| *ns == 3_600), "{:?}", differences(&woken));
    // 1.8 us each
    let cpu_ns = |name| tape.cpu_ns(tape.pid(name), 36 * MS);
    assert!(cpu_ns("a-0").abs_diff(18 * MS) < 10 * US, "{}", cpu_ns("a-0"));
    assert!(cpu_ns("b-1").abs_diff(18 * MS) < 10 * US, "{}", cpu_ns("b-1"));
}

/// ```text
/// CPU 0: a posts: 0.8 | a waits, idle                  | leaves idle 1.5, switch 1.0 | a posts …
/// CPU 1: leaves idle 1.5, switch to b 1.0 | b posts: 0.8 | b waits, idle
/// ```
/// So a round takes 5 us, as nobody waits for the poster's 0.8.
#[test]
fn a_token_between_two_cpus_takes_the_time_of_the_ways_out_of_idleness() {
    let (_, tape) = run(costs(2, 50 * MS), TOKEN, &mut shared_fifo());

    let woken = woken_at(&tape, "b-1");
    assert!((9_990..=10_000).contains(&woken.len()), "{}", woken.len());
    assert!(differences(&woken).iter().all(|ns| *ns == 5_000), "{:?}", differences(&woken));
    // of each round 0.8 us after and 2.5 before the post
    let cpu_ns = |name| tape.cpu_ns(tape.pid(name), 50 * MS);
    assert!(cpu_ns("a-0").abs_diff(33 * MS) < 20 * US, "{}", cpu_ns("a-0"));
    assert!(cpu_ns("b-1").abs_diff(33 * MS) < 20 * US, "{}", cpu_ns("b-1"));
}

/// From 100 us on: 1.0 for the switch, 10 of work, 0.8 for the wakeup of b; then a sleeps.
#[test]
fn a_task_sleeps_once_the_wakeup_before_is_paid() {
    let load = r#"{"tasks": {
        "a": {"delay": 100, "run": 10, "sem_post": "there", "sleep": 1000},
        "b": {"sem_wait": "there"} }}"#;
    let mut config = costs(1, MS);
    config.costs.idle_exit_ns = 0;

    let (_, tape) = run(config, load, &mut shared_fifo());

    let a = tape.pid("a-0");
    let left = tape
        .0
        .iter()
        .find(|event| matches!(event.kind, EventKind::SwitchOut { pid, .. } if pid == a));
    assert_eq!(left.map(|event| event.time_ns), Some(111_800));
}

/// `run` takes as long as it did: what the machine takes comes before it, and no later step waits.
#[test]
fn work_after_a_switch_begins_when_that_is_paid() {
    let load = r#"{"tasks": {"a": {"run": 10, "sleep": 100}}}"#;

    let (_, tape) = run(costs(1, MS), load, &mut shared_fifo());

    // 1.5 out of idleness, 1.0 for the switch, 10 of work
    assert_eq!(tape.spans("a-0")[..2], [(0, 12), (112, 125)]);
}

/// `runtime` is time of the task, so it begins once the CPU is the task's: 1.5, 1.0, and 10.
#[test]
fn runtime_begins_when_the_switch_is_paid() {
    let load = r#"{"tasks": {"a": {"runtime": 10, "sleep": 100}}}"#;

    let (_, tape) = run(costs(1, MS), load, &mut shared_fifo());

    let a = tape.pid("a-0");
    let left = tape
        .0
        .iter()
        .find(|event| matches!(event.kind, EventKind::SwitchOut { pid, .. } if pid == a));
    assert_eq!(left.map(|event| event.time_ns), Some(12_500));
}

/// Four forks of a task without work are 0.8 us apart, and so is its end from the last one.
#[test]
fn forks_and_ends_wait_for_what_the_fork_before_takes() {
    let load = r#"{"tasks": {
        "a": {"loop": 1, "fork": "b", "fork1": "b", "fork2": "b"},
        "b": {"instance": 0, "loop": 1, "sleep": 10} }}"#;
    let mut config = costs(1, MS);
    config.costs.idle_exit_ns = 0;

    let (_, tape) = run(config, load, &mut shared_fifo());

    let a = tape.pid("a-0");
    let forks = tape.0.iter().filter_map(|event| match event.kind {
        EventKind::Fork { parent, .. } if parent == a => Some(event.time_ns),
        EventKind::Exit { pid } if pid == a => Some(event.time_ns),
        _ => None,
    });
    // the switch, then 0.8 us for each wakeup of a child
    assert_eq!(forks.collect::<Vec<_>>(), [1_000, 1_800, 2_600, 3_400]);
}
