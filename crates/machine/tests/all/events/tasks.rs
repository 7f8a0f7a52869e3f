// SPDX-License-Identifier: MIT OR Apache-2.0
//! `fork`, and what `resume` and `suspend` do with names.

use super::{blocked, play, spans};

#[test]
fn a_fork_starts_at_once() {
    let tasks = r#""p": {"loop": 1, "run": 2000, "fork": "c", "run1": 3000, "fork1": "c"},
        "c": {"instance": 0, "loop": 1, "run": 1000}"#;
    let (_, tape) = play(2, tasks);
    assert_eq!(spans(&tape, "p-0"), [(0, 5000)]);
    assert_eq!(spans(&tape, "c-1-0000"), [(2000, 3000)]);
    assert_eq!(spans(&tape, "c-2-0001"), [(5000, 6000)]);
}

#[test]
fn a_forked_task_waits_for_the_rest_of_its_delay() {
    let tasks = r#""p": {"loop": 1, "run": 2000, "fork": "c"},
        "c": {"instance": 0, "delay": 7000, "loop": 1, "run": 1000}"#;
    assert_eq!(spans(&play(1, tasks).1, "c-1-0000"), [(7000, 8000)]);
}

#[test]
fn a_task_that_suspends_another_suspends_itself() {
    // as rt-app since 2025: the value means nothing
    let tasks = r#""a": {"loop": 1, "run": 1000, "suspend": "b", "run1": 1000},
        "b": {"loop": 1, "run": 3000, "resume": "b", "run1": 1000, "resume1": "a"}"#;
    let (outcome, tape) = play(2, tasks);
    assert_eq!(spans(&tape, "a-0"), [(0, 1000), (4000, 5000)]);
    assert_eq!(spans(&tape, "b-1"), [(0, 4000)]);
    assert_eq!(blocked(&outcome), [""; 0]);
}
