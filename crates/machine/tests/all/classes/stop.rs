// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stoppers that move tasks off the CPU on which they run (`affine_move_task()`,
//! `migration_cpu_stop()`, `balance_push()`), and what a scheduler is told of it.

use super::told::note;
use super::MS;
use crate::common::{ideal, run, Native, Tape};
use rota_machine::ops::Op;

const OPS: [Op; 9] = [
    Op::Running,
    Op::Stopping,
    Op::Runnable,
    Op::Quiescent,
    Op::SetCpumask,
    Op::CpuRelease,
    Op::CpuAcquire,
    Op::CpuOffline,
    Op::CpuOnline,
];

/// What is told at 5 ms, and the run.
fn told(tasks: &str, events: &str) -> (Vec<String>, Tape) {
    let mut native = Native::new("notes", &OPS, |me, system, op, args| {
        note(me, system, op, args);
        Ok(0)
    });
    let mut config = ideal(2, 20 * MS);
    config.audit = true;
    let load = format!("{{\"tasks\": {{{tasks}}}, \"events\": [{events}]}}");
    let (outcome, tape) = run(config, &load, &mut native);
    assert_eq!(outcome.outside, []);
    let at_5 = native.log.iter().filter_map(|line| line.strip_prefix("5 "));
    (at_5.map(str::to_owned).collect(), tape)
}

/// `guard(sched_change)` of the running task 1001.
const CHANGE: [&str; 5] = [
    "stopping 1001 runnable 0",
    "quiescent 1001",
    "set_cpumask 1001",
    "runnable 1001",
    "running 1001",
];

/// Then the stopper takes the CPU from it (`put_prev_task_scx()`, `switch_class()`).
const STOPPED: [&str; 2] = ["stopping 1001 runnable 1", "cpu_release CPU 0 reason 2 for 0"];

#[test]
fn a_running_task_leaves_its_cpu_to_the_stopper_which_moves_it() {
    // move_queued_task() is told neither quiescent nor runnable; balance_one() acquires the CPU
    // before it runs what waits there
    let tasks = r#""a": {"run": 100000}, "b": {"cpus": [0], "run": 100000}"#;
    let (log, tape) = told(tasks, r#"{"at": 5000, "task": "a", "cpus": [1]}"#);
    let after = ["cpu_acquire CPU 0", "running 1002", "running 1001"];
    assert_eq!(log, [&CHANGE[..], &STOPPED, &after].concat());
    assert_eq!(tape.starts(1001), [(0, 0), (5 * MS, 1)]);
}

#[test]
fn a_task_that_moves_itself_leaves_its_cpu_to_the_stopper_too() {
    let tasks = r#""a": {"phases": {"one": {"cpus": [0], "run": 5000},
        "two": {"cpus": [1], "run": 100000}}}"#;
    let (log, tape) = told(tasks, "");
    // balance_one() comes before idle, too
    let after = ["cpu_acquire CPU 0", "running 1001"];
    assert_eq!(log, [&CHANGE[..], &STOPPED, &after].concat());
    assert_eq!(tape.starts(1001), [(0, 0), (5 * MS, 1)]);
}

#[test]
fn a_stopper_that_comes_too_late_moves_nothing() {
    // migration_cpu_stop(): the task may use its CPU again
    let events = r#"{"at": 5000, "task": "a", "cpus": [1]},
        {"at": 5000, "task": "a", "cpus": [0, 1]}"#;
    let (log, tape) = told(r#""a": {"run": 100000}"#, events);
    let after = ["cpu_acquire CPU 0", "running 1001"];
    assert_eq!(log, [&CHANGE[..], &CHANGE, &STOPPED, &after].concat());
    assert_eq!(tape.starts(1001), [(0, 0), (5 * MS, 0)]);
    // and goes on with the slice that it had
    assert_eq!(tape.picks(0), [1001]);
}

#[test]
fn a_cpu_that_goes_offline_is_released_to_its_stopper() {
    let tasks = r#""a": {"cpus": [0], "run": 100000}, "b": {"delay": 1000, "run": 100000}"#;
    let (log, _) = told(tasks, r#"{"at": 5000, "cpu": 1, "online": false}"#);
    let release = "cpu_release CPU 1 reason 2 for 0".to_owned();
    let stopped = "stopping 1002 runnable 1".to_owned();
    let at = |line: &String| log.iter().position(|l| l == line);
    assert!(at(&stopped).is_some() && at(&release) == at(&stopped).map(|i| i + 1), "{log:?}");
}
