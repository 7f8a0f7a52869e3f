// SPDX-License-Identifier: MIT OR Apache-2.0
//! `lock` and `unlock`: who waits how long, and who waits for ever.

use super::{blocked, deadlocks, play, play_file, spans, wakeups};

#[test]
fn a_mutex_keeps_others_out_until_it_is_free() {
    let tasks = r#""a": {"loop": 1, "lock": "m", "run": 4000, "unlock": "m", "run1": 1000},
        "b": {"loop": 1, "delay": 1000, "lock": "m", "run": 2000, "unlock": "m"}"#;
    let (outcome, tape) = play(2, tasks);
    assert_eq!(spans(&tape, "a-0"), [(0, 5000)]);
    assert_eq!(spans(&tape, "b-1"), [(4000, 6000)]);
    assert_eq!(wakeups(&tape, "b-1"), [4000]);
    assert_eq!(blocked(&outcome), [""; 0]);
}

/// A task that frees a mutex and locks it again at once, and one that waits for it since 0.5 ms.
const GREEDY: &str = r#""tasks": {"greedy": {"loop": 2, "lock": "m", "run": 2000, "unlock": "m"},
    "waits": {"loop": 1, "delay": 500, "lock": "m", "run": 1000, "unlock": "m"}}"#;

#[test]
fn whoever_comes_first_takes_a_free_mutex() {
    // free at 2: the greedy one has it again before the woken one is on its CPU
    let (_, tape) = play_file(2, &format!("{{{GREEDY}}}"));
    assert_eq!(spans(&tape, "greedy-0"), [(0, 4000)]);
    assert_eq!(wakeups(&tape, "waits-1"), [2000, 4000]);
    assert_eq!(spans(&tape, "waits-1"), [(4000, 5000)]);
}

#[test]
fn with_priority_inheritance_a_mutex_is_handed_over() {
    let (_, tape) = play_file(2, &format!("{{\"global\": {{\"pi_enabled\": true}}, {GREEDY}}}"));
    assert_eq!(spans(&tape, "greedy-0"), [(0, 2000), (3000, 5000)]);
    assert_eq!(spans(&tape, "waits-1"), [(2000, 3000)]);
}

#[test]
fn waiting_tasks_get_a_mutex_in_the_order_they_came() {
    let tasks = r#""a": {"loop": 1, "lock": "m", "run": 3000, "unlock": "m"},
        "b": {"loop": 1, "delay": 2000, "lock": "m", "run": 1000, "unlock": "m"},
        "c": {"loop": 1, "delay": 1000, "lock": "m", "run": 1000, "unlock": "m"}"#;
    let (_, tape) = play(3, tasks);
    assert_eq!(spans(&tape, "c-2"), [(3000, 4000)]);
    assert_eq!(spans(&tape, "b-1"), [(4000, 5000)]);
}

#[test]
fn anybody_may_free_a_mutex() {
    let tasks = r#""holds": {"loop": 1, "lock": "m", "run": 5000},
        "waits": {"loop": 1, "delay": 1000, "lock": "m", "run": 1000},
        "frees": {"loop": 1, "delay": 2000, "unlock": "m"}"#;
    let (_, tape) = play(3, tasks);
    assert_eq!(spans(&tape, "waits-1"), [(2000, 3000)]);
}

#[test]
fn a_deadlock_is_named_with_its_circle() {
    let tasks = r#""a": {"lock": "m", "run": 2000, "lock": "n", "unlock": "n", "unlock": "m"},
        "b": {"lock": "n", "run": 1000, "lock": "m", "unlock": "m", "unlock": "n"},
        "idle": {"run": 1000, "sleep": 1000}"#;
    let (outcome, tape) = play(3, tasks);
    assert_eq!((spans(&tape, "a-0"), spans(&tape, "b-1")), (vec![(0, 2000)], vec![(0, 1000)]));
    assert_eq!(blocked(&outcome), ["a-0: mutex \"n\"", "b-1: mutex \"m\""]);
    assert_eq!(
        deadlocks(&outcome),
        ["a-0 holds mutex \"m\" and waits for mutex \"n\"; \
          b-1 holds mutex \"n\" and waits for mutex \"m\""]
    );
}

#[test]
fn a_task_can_wait_for_itself() {
    let (outcome, _) = play(1, r#""a": {"lock": "m", "run": 1000, "lock1": "m"}"#);
    assert_eq!(deadlocks(&outcome), ["a-0 holds mutex \"m\" and waits for mutex \"m\""]);
}

#[test]
fn a_circle_may_go_through_other_events() {
    let tasks = r#""a": {"lock": "m", "run": 1000, "barrier": "x", "unlock": "m"},
        "b": {"run": 2000, "lock": "m", "barrier": "x", "unlock": "m"},
        "c": {"run": 3000, "sem_wait": "s", "lock": "m", "unlock": "m"},
        "d": {"run": 3000, "lock": "m", "sem_post": "s", "unlock": "m"}"#;
    let (outcome, _) = play(4, tasks);
    let expected = "a-0 holds mutex \"m\" and waits at barrier \"x\"; b-1 waits for mutex \"m\"";
    assert_eq!(deadlocks(&outcome), [expected]);
    assert_eq!(blocked(&outcome).len(), 4, "c and d wait for the circle, but are not in it");
}

#[test]
fn waiting_for_one_who_can_still_come_is_no_deadlock() {
    let tasks = r#""a": {"suspend": "", "run": 1000, "resume": "b"},
        "b": {"suspend": "", "run": 1000, "resume": "a"},
        "late": {"loop": 1, "delay": 5000000, "resume": "a", "run": 1}"#;
    let (outcome, _) = play(1, tasks);
    assert_eq!((blocked(&outcome).len(), deadlocks(&outcome).len()), (2, 0));
    let (never, _) = play(1, tasks.split(",\n        \"late\"").next().unwrap());
    assert_eq!(deadlocks(&never), ["a-0 is suspended; b-1 is suspended"]);
}
