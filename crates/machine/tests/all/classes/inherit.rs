// SPDX-License-Identifier: MIT OR Apache-2.0
//! Priority inheritance: who holds a mutex that a greater one waits for runs in its place.

use super::MS;
use crate::common::{ideal, run, shared_fifo, Tape};
use rota_trace::{EventKind, SchedClass};

fn play(cpus: u32, inherits: bool, tasks: &str) -> Tape {
    let mut config = ideal(cpus, 500 * MS);
    config.audit = true;
    let load = format!(r#"{{"global": {{"pi_enabled": {inherits}}}, "tasks": {{{tasks}}}}}"#);
    run(config, &load, &mut shared_fifo()).1
}

/// When a task went over to which class, in microseconds.
fn classes(tape: &Tape, name: &str) -> Vec<(u64, SchedClass)> {
    let pid = tape.pid(name);
    let change = |e: &rota_trace::Event| match e.kind {
        EventKind::SchedClass { pid: p, class } if p == pid => Some((e.time_ns / 1000, class)),
        _ => None,
    };
    tape.0.iter().filter_map(change).collect()
}

/// `low` has what `high` wants, and `mid` wants the CPU.
const INVERSION: &str = r#"
    "low": {"loop": 1, "lock": "m", "run": 10000, "unlock": "m", "run1": 5000},
    "mid": {"loop": 1, "policy": "SCHED_FIFO", "priority": 10, "delay": 2000, "run": 50000},
    "high": {"loop": 1, "policy": "SCHED_FIFO", "priority": 20, "delay": 3000,
        "lock": "m", "run": 1000, "unlock": "m"}"#;

#[test]
fn without_inheritance_the_middle_one_keeps_the_highest_waiting() {
    let tape = play(1, false, INVERSION);
    assert_eq!(tape.spans("mid-1"), [(2000, 52_000)]);
    assert_eq!(tape.spans("low-0"), [(0, 2000), (52_000, 60_000), (61_000, 66_000)]);
    assert_eq!(tape.spans("high-2"), [(60_000, 61_000)]);
    assert_eq!(classes(&tape, "low-0"), []);
}

#[test]
fn with_inheritance_the_holder_runs_at_once_until_its_unlock() {
    let tape = play(1, true, INVERSION);
    // low has 8 of its 10 ms left at 3, where high comes to wait
    assert_eq!(tape.spans("low-0"), [(0, 2000), (3000, 11_000), (61_000, 66_000)]);
    assert_eq!(tape.spans("high-2"), [(11_000, 12_000)]);
    assert_eq!(tape.spans("mid-1"), [(2000, 3000), (12_000, 61_000)]);
    let lent = [(3000, SchedClass::Realtime), (11_000, SchedClass::Ext)];
    assert_eq!(classes(&tape, "low-0"), lent);
}

#[test]
fn inheritance_goes_along_a_chain_of_mutexes() {
    // on CPU 1 high waits for b, whose holder waits for a, whose holder mid has taken CPU 0 from
    let tape = play(
        2,
        true,
        r#""first": {"loop": 1, "cpus": [0], "lock": "a", "run": 10000, "unlock": "a"},
           "second": {"loop": 1, "cpus": [1], "delay": 1000, "lock": "b", "lock1": "a",
               "run": 2000, "unlock": "a", "unlock1": "b"},
           "mid": {"loop": 1, "cpus": [0], "policy": "SCHED_FIFO", "delay": 2000, "run": 50000},
           "high": {"loop": 1, "cpus": [1], "policy": "SCHED_FIFO", "priority": 20,
               "delay": 3000, "lock": "b", "run": 1000, "unlock": "b"}"#,
    );
    assert_eq!(tape.spans("first-0"), [(0, 2000), (3000, 11_000)]);
    assert_eq!(tape.spans("second-1"), [(11_000, 13_000)]);
    assert_eq!(tape.spans("high-3"), [(13_000, 14_000)]);
    assert_eq!(tape.spans("mid-2"), [(2000, 3000), (11_000, 60_000)]);
    let lent = |end| [(3000, SchedClass::Realtime), (end, SchedClass::Ext)];
    assert_eq!(classes(&tape, "first-0"), lent(11_000));
    assert_eq!(classes(&tape, "second-1"), lent(13_000));
}

#[test]
fn a_lent_reservation_is_that_of_who_waits() {
    // dl waits at 2 for what low has until 12, and fifo would run before low otherwise. Lent 4 ms
    // of 20, low is not throttled after them, but goes on with a later deadline
    let tape = play(
        1,
        true,
        r#""low": {"loop": 1, "lock": "m", "run": 10000, "unlock": "m"},
           "fifo": {"loop": 1, "policy": "SCHED_FIFO", "delay": 1000, "run": 50000},
           "dl": {"loop": 1, "policy": "SCHED_DEADLINE", "dl-runtime": 4000, "dl-period": 20000,
               "delay": 2000, "lock": "m", "run": 1000, "unlock": "m"}"#,
    );
    assert_eq!(tape.spans("low-0"), [(0, 1000), (2000, 11_000)]);
    assert_eq!(tape.spans("dl-2"), [(11_000, 12_000)]);
    assert_eq!(tape.spans("fifo-1"), [(1000, 2000), (12_000, 61_000)]);
    let lent = [(2000, SchedClass::Deadline), (11_000, SchedClass::Ext)];
    assert_eq!(classes(&tape, "low-0"), lent);
}

#[test]
fn ordinary_tasks_lend_nothing() {
    let tape = play(
        1,
        true,
        r#""low": {"loop": 1, "priority": 19, "lock": "m", "run": 10000, "unlock": "m"},
           "high": {"loop": 1, "priority": -20, "delay": 1000, "lock": "m", "run": 1000,
               "unlock": "m"}"#,
    );
    assert_eq!(classes(&tape, "low-0"), []);
    assert_eq!(tape.spans("high-1"), [(10_000, 11_000)]);
}
