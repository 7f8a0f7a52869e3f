// SPDX-License-Identifier: MIT OR Apache-2.0
//! `wait`, `signal`, `broad` and `sync`.

use super::{blocked, deadlocks, play, spans, wakeups};

/// Two tasks that wait for a condition from 0 and 0.1 ms on and hold the mutex while they work.
const WAITERS: &str = r#""w": {"loop": 1, "lock": "m", "wait": {"ref": "c", "mutex": "m"},
        "run": 1000, "unlock": "m"},
    "v": {"loop": 1, "delay": 100, "lock": "m", "wait": {"ref": "c", "mutex": "m"},
        "run": 1000, "unlock": "m"},"#;

#[test]
fn a_signal_wakes_the_first_that_waits() {
    // v gets the mutex while w waits, so waiting freed it
    let (_, tape) =
        play(3, &format!(r#"{WAITERS} "s": {{"loop": 2, "run": 3000, "signal": "c"}}"#));
    assert_eq!(spans(&tape, "w-0"), [(3000, 4000)]);
    assert_eq!(spans(&tape, "v-1"), [(6000, 7000)]);
}

#[test]
fn a_broadcast_wakes_all_and_the_mutex_lets_one_after_the_other_go_on() {
    let (_, tape) = play(3, &format!(r#"{WAITERS} "s": {{"loop": 1, "run": 3000, "broad": "c"}}"#));
    assert_eq!(spans(&tape, "w-0"), [(3000, 4000)]);
    assert_eq!(spans(&tape, "v-1"), [(4000, 5000)]);
    assert_eq!(wakeups(&tape, "v-1"), [3000, 4000], "the condition, then the mutex");
}

#[test]
fn a_signal_is_forgotten() {
    let tasks = r#""s": {"loop": 1, "run": 1000, "signal": "c"},
        "w": {"loop": 1, "run": 2000, "lock": "m", "wait": {"ref": "c", "mutex": "m"}, "run1": 1}"#;
    let (outcome, tape) = play(2, tasks);
    assert_eq!(spans(&tape, "w-1"), [(0, 2000)]);
    assert_eq!(blocked(&outcome), ["w-1: condition \"c\""]);
    assert_eq!(deadlocks(&outcome), [""; 0], "nobody is left who could signal");
}

#[test]
fn a_woken_waiter_waits_for_the_mutex_of_its_signaller() {
    // signalled at 1, but the mutex is free only at 3
    let tasks = r#""w": {"loop": 1, "lock": "m", "wait": {"ref": "c", "mutex": "m"}, "run": 500},
        "s": {"loop": 1, "run": 1000, "lock": "m", "signal": "c", "run1": 2000, "unlock": "m"}"#;
    let (_, tape) = play(2, tasks);
    assert_eq!(wakeups(&tape, "w-0"), [1000, 3000]);
    assert_eq!(spans(&tape, "w-0"), [(3000, 3500)]);
}

#[test]
fn sync_wakes_the_other_and_waits() {
    // b signals at 3 and waits; a works 3-8 and signals back; b works 8-9
    let tasks = r#""a": {"loop": 1, "lock": "m", "wait": {"ref": "c", "mutex": "m"}, "unlock": "m",
            "run": 5000, "lock1": "m", "signal": "c", "unlock1": "m"},
        "b": {"loop": 1, "run": 3000, "lock": "m", "sync": {"ref": "c", "mutex": "m"},
            "unlock": "m", "run1": 1000}"#;
    let (outcome, tape) = play(2, tasks);
    assert_eq!(spans(&tape, "a-0"), [(3000, 8000)]);
    assert_eq!(spans(&tape, "b-1"), [(0, 3000), (8000, 9000)]);
    assert_eq!(blocked(&outcome), [""; 0]);
}

#[test]
fn names_may_be_left_out() {
    let tasks = r#""w": {"loop": 1, "wait": {}, "run": 1000},
        "s": {"loop": 1, "run": 2000, "signal": "unknown"}"#;
    let (_, tape) = play(2, tasks);
    assert_eq!(spans(&tape, "w-0"), [(2000, 3000)]);
}
