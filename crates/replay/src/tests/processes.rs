// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads and the processes that they are of.

use super::*;

#[test]
fn a_thread_of_a_process_that_was_forked_is_a_thread_of_it() {
    let fork = |time_us, pid, parent| (time_us, 0, EventKind::Fork { pid, parent });
    let at = |time_us: u64, (_, cpu, kind): (u64, u32, EventKind)| (time_us, cpu, kind);
    let found = replay(
        &[
            named(1, "sh"),
            on(0, 0, 1),
            at(10, named(2, "make")),
            fork(10, 2, 1),
            wakeup(10, 2, 1),
            off(20, 0, 1, OffCpu::Sleep),
            on(20, 0, 2),
            at(30, named(3, "worker")),
            at(30, process(3, 2)),
            fork(30, 3, 2),
            wakeup(30, 3, 2),
            off(40, 0, 2, OffCpu::Exit),
            on(40, 0, 3),
            off(60, 0, 3, OffCpu::Exit),
        ],
        &Facts::default(),
    );
    assert_eq!(task(&found, "make-2")[0], "\"instance\" : 0, \"loop\" : 1");
    assert_eq!(
        task(&found, "worker-3")[0],
        "\"instance\" : 0, \"thread_of\" : \"make-2\", \"loop\" : 1"
    );
    assert_eq!(found.doubts, []);
}

#[test]
fn a_thread_that_nothing_forked_cannot_join_a_process_that_was_forked() {
    let fork = (10, 0, EventKind::Fork { pid: 2, parent: 1 });
    let found = replay(
        &[
            named(1, "sh"),
            on(0, 0, 1),
            (10, 0, named(2, "make").2),
            fork,
            wakeup(10, 2, 1),
            off(20, 0, 1, OffCpu::Sleep),
            on(20, 0, 2),
            off(30, 0, 2, OffCpu::Sleep),
            (30, 0, named(3, "worker").2),
            (30, 0, process(3, 2).2),
            on(30, 0, 3),
            off(60, 0, 3, OffCpu::Exit),
        ],
        &Facts::default(),
    );
    assert_eq!(task(&found, "worker-3")[0], "\"loop\" : 1");
    assert_eq!(found.doubts, [Doubt::Alone(1)]);
}

/// make forks gcc and works 3 us more before it waits, in the same call as the kernel does not let anything
/// interrupt that; gcc wakes it after 60 us, and works for 100 us.
fn vforked(between: &[(u64, u32, EventKind)], uninterruptible: bool) -> Replay {
    let fork = (10, 0, EventKind::Fork { pid: 2, parent: 1 });
    let mut events =
        vec![named(1, "make"), on(0, 0, 1), (10, 0, named(2, "gcc").2), fork, wakeup(10, 2, 1)];
    events.extend(between.iter().cloned());
    events.extend([
        block(13, 1, "vfork", uninterruptible),
        off(13, 0, 1, OffCpu::Sleep),
        on(13, 0, 2),
        wakeup(73, 1, 2),
        off(173, 0, 2, OffCpu::Exit),
        on(173, 0, 1),
        off(193, 0, 1, OffCpu::Exit),
    ]);
    replay(&events, &Facts::default())
}

#[test]
fn a_task_that_waits_in_the_call_in_which_it_forked_does_both_at_once() {
    assert_eq!(
        task(&vforked(&[], true), "make-1"),
        [
            r#""loop" : 1"#,
            r#""run1" : 10, "vfork2" : { "fork" : "gcc-2", "run" : 3, "sem_wait" : "make-1 vfork" }"#,
            r#""run3" : 20"#
        ]
    );
}

#[test]
fn a_task_that_a_signal_can_wake_has_left_the_call_in_which_it_forked() {
    let apart = r#""run3" : 3, "sem_wait4" : "make-1 vfork""#;
    assert_eq!(task(&vforked(&[], false), "make-1")[2], apart);
}

#[test]
fn a_task_that_woke_another_one_since_it_forked_has_left_the_call() {
    let other = [(11, 0, named(3, "other").2), wakeup(12, 3, 1)];
    let found = vforked(&other, true);
    assert!(!found.text.contains("vfork2"), "{}", found.text);
    assert!(task(&found, "make-1")[1].ends_with(r#""fork2" : "gcc-2""#), "{}", found.text);
}

/// The child wakes whom it will after 100 us, and is gone 7 us later; it is seen to end at `ends_us`.
fn ended(ends_us: u64, parent: u32) -> Replay {
    let fork = (0, 0, EventKind::Fork { pid: 2, parent });
    let mut events = vec![
        named(1, "sh"),
        named(3, "init"),
        on(0, 1, parent),
        named(2, "child"),
        fork,
        wakeup(0, 2, parent),
        on(0, 0, 1),
        block(5, 1, "wait4", false),
        off(5, 0, 1, OffCpu::Sleep),
        on(5, 0, 2),
        (ends_us, 0, EventKind::Exit { pid: 2 }),
        wakeup(105, 1, 2),
        off(112, 0, 2, OffCpu::Exit),
        on(112, 0, 1),
        off(122, 0, 1, OffCpu::Exit),
    ];
    events.sort_by_key(|(time_us, ..)| *time_us);
    replay(&events, &Facts::default())
}

#[test]
fn what_a_task_wakes_on_its_way_out_wakes_up_as_it_is_gone() {
    assert_eq!(task(&ended(90, 3), "child-2")[1..], [r#""run1" : 107, "exit2" : "sh-1 wait4""#]);
}

#[test]
fn what_a_task_woke_before_it_came_to_its_end_can_preempt_it() {
    let apart = [r#""run1" : 100, "sem_post2" : "sh-1 wait4""#, r#""run3" : 7"#];
    assert_eq!(task(&ended(106, 3), "child-2")[1..], apart);
}
