// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of streams, step by step. Times are nanoseconds, files microseconds.

use std::sync::Arc;

use super::*;
use crate::parse;
use proptest::prelude::*;

const PUTTER: TaskIx = TaskIx(0);
const TAKER: TaskIx = TaskIx(1);

fn runner(streams: &str, tasks: &str) -> SeededRunner {
    let text = format!("{{\"streams\": {{{streams}}}, \"tasks\": {{{tasks}}}}}");
    let workload = parse("w.json", &text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    SeededRunner::new(Arc::new(workload), 1)
}

fn run(work_ns: u64) -> Step {
    Step::Run { work_ns }
}

fn wakes(task: TaskIx) -> Step {
    Step::Wake { tasks: vec![task], sync: true }
}

#[test]
fn work_is_spread_over_the_calls_which_take_before_it_and_put_after_it() {
    let mut runner = runner(
        r#""in": {"holds": 9}"#,
        r#""a": {"loop": 1, "flow1": {"take": {"in": [9, 3]}, "run": 10},
                 "flow2": {"run": 7, "put": {"out": 5}}}"#,
    );
    // 10 us in three parts: up to 3333, 6666 and 10000 ns.
    let steps: Vec<Step> = (0..5).map(|_| runner.next(PUTTER, 0)).collect();
    assert_eq!(steps, [run(3333), run(3333), run(3334), run(7000), Step::Exit]);
}

#[test]
fn a_taker_waits_for_bytes_and_takes_what_is_there() {
    let mut runner = runner(
        "",
        r#""put": {"loop": 1, "flow1": {"put": {"s": 4}}, "run": 1, "flow2": {"put": {"s": 6}}},
           "take": {"loop": 1, "flow": {"take": {"s": 10}, "run": 2}}"#,
    );
    assert_eq!(runner.next(TAKER, 0), Step::Block);
    assert_eq!(runner.next(PUTTER, 0), wakes(TAKER));
    // Four of ten bytes: it waits again.
    assert_eq!(runner.next(TAKER, 0), Step::Block);
    assert_eq!(runner.next(PUTTER, 0), run(1000));
    assert_eq!(runner.next(PUTTER, 1000), wakes(TAKER));
    assert_eq!(runner.next(TAKER, 1000), run(2000));
}

#[test]
fn a_putter_waits_while_the_stream_is_full_until_enough_has_room() {
    let mut runner = runner(
        r#""s": {"capacity": 10, "refill": 4}"#,
        r#""put": {"loop": 1, "flow": {"put": {"s": [12, 2]}}, "run": 1},
           "take": {"loop": 1, "flow1": {"take": {"s": 3}}, "run1": 1,
                    "flow2": {"take": {"s": 2}}, "run2": 1}"#,
    );
    // 6 bytes, then 4 of 6: it is full.
    assert_eq!(runner.next(PUTTER, 0), Step::Block);
    // Room for 3: not enough.
    assert_eq!(runner.next(TAKER, 0), run(1000));
    assert_eq!(runner.next(TAKER, 1000), wakes(PUTTER));
    assert_eq!(runner.next(PUTTER, 1000), run(1000));
}

#[test]
fn a_call_that_leaves_something_wakes_the_next_that_waits() {
    let mut runner = runner(
        r#""s": {"capacity": 4}"#,
        r#""put": {"instance": 2, "loop": 1, "flow": {"put": {"s": 3}}},
           "take": {"instance": 2, "loop": 1, "flow": {"take": {"s": 3}}}"#,
    );
    let task = TaskIx;
    assert_eq!(runner.next(task(0), 0), Step::Exit);
    // One of three bytes has room.
    assert_eq!(runner.next(task(1), 0), Step::Block);
    assert_eq!(runner.next(task(2), 0), wakes(task(1)));
    assert_eq!(runner.next(task(3), 0), Step::Block);
    assert_eq!(runner.next(task(1), 0), wakes(task(3)));
    assert_eq!(runner.next(task(3), 0), Step::Exit);
}

#[test]
fn tasks_that_wait_for_each_others_bytes_are_a_deadlock() {
    let mut runner = runner(
        "",
        r#""a": {"flow1": {"take": {"x": 1}}, "flow2": {"put": {"y": 1}}},
           "b": {"flow1": {"take": {"y": 1}}, "flow2": {"put": {"x": 1}}}"#,
    );
    assert_eq!(runner.next(PUTTER, 0), Step::Block);
    assert_eq!(runner.next(TAKER, 0), Step::Block);
    let found: Vec<String> = runner.deadlocks().iter().map(ToString::to_string).collect();
    assert_eq!(found, ["a-0 waits for bytes in stream \"x\"; b-1 waits for bytes in stream \"y\""]);
}

#[test]
fn a_task_that_may_still_put_is_no_deadlock() {
    let mut runner = runner(
        r#""s": {"capacity": 1}"#,
        r#""a": {"loop": 1, "flow": {"put": {"s": 2}}},
           "b": {"sleep": 5, "flow": {"take": {"s": 2}}}"#,
    );
    assert_eq!(runner.next(TAKER, 0), Step::Sleep { ns: 5000 });
    assert_eq!(runner.next(PUTTER, 0), Step::Block);
    assert!(runner.deadlocks().is_empty());
}

proptest! {
    /// Whatever the calls are, the bytes that one task puts are those that the other takes, and both
    /// end with all their work done.
    #[test]
    fn all_bytes_arrive_and_all_work_is_done(
        bytes in 1u64..5000,
        (puts, takes) in (1u64..40, 1u64..40),
        (run_a, run_b) in (0u64..50, 0u64..50),
        capacity in 1u64..6000,
        refill in 1u64..6000,
        order in any::<u64>(),
    ) {
        let (puts, takes) = (puts.min(bytes), takes.min(bytes));
        let refill = refill.min(capacity);
        let mut runner = runner(
            &format!(r#""s": {{"capacity": {capacity}, "refill": {refill}}}"#),
            &format!(
                r#""a": {{"loop": 1, "flow": {{"run": {run_a}, "put": {{"s": [{bytes}, {puts}]}}}}}},
                   "b": {{"loop": 1, "flow": {{"take": {{"s": [{bytes}, {takes}]}}, "run": {run_b}}}}}"#
            ),
        );
        let mut worked = [0u64; 2];
        let mut ready = vec![0u32, 1];
        let mut steps = 0u32;
        while !ready.is_empty() {
            let at = (order.rotate_left(steps % 64) as usize) % ready.len();
            steps += 1;
            prop_assert!(steps < 100_000);
            let task = ready[at];
            match runner.next(TaskIx(task), u64::from(steps)) {
                Step::Run { work_ns } => worked[task as usize] += work_ns,
                Step::Block | Step::Exit => _ = ready.remove(at),
                Step::Wake { tasks, .. } => ready.extend(tasks.iter().map(|task| task.0)),
                other => prop_assert!(false, "{other:?}"),
            }
        }
        prop_assert_eq!(worked, [run_a * 1000, run_b * 1000]);
        prop_assert!(runner.blocked().is_empty());
    }
}
