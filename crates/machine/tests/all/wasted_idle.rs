// SPDX-License-Identifier: MIT OR Apache-2.0
//! Idle time that tasks could have used, of whole runs.

use crate::common::{ideal, plan, run, shared_fifo, Native, Tape};
use proptest::prelude::*;
use rota_machine::consts::DSQ_LOCAL_ON;
use rota_machine::ops::Op;
use rota_measure::{Numbers, Summary};
use rota_trace::Sink;

const MS: u64 = 1_000_000;

fn numbers(tape: &Tape, cpus: u32, end_ns: u64) -> Numbers {
    let mut summary = Summary::new(cpus);
    tape.0.iter().for_each(|event| summary.event(event));
    summary.finish(end_ns)
}

/// Puts every task on CPU 0.
fn only_cpu_0() -> Native {
    let ops = [Op::SelectCpu, Op::Enqueue, Op::CpuOnline, Op::CpuOffline];
    Native::new("cpu0", &ops, |me, system, op, args| {
        if op == Op::Enqueue {
            system.native_insert(args[0], DSQ_LOCAL_ON, me.slice_ns, args[1])?;
        }
        Ok(0)
    })
}

#[test]
fn a_scheduler_that_uses_one_cpu_wastes_the_other_one() {
    // Two hogs, CPU 0 runs one at a time, CPU 1 none: 1 CPU is wasted for all of 100 ms.
    let load = r#"{"tasks": {"hog": {"instance": 2, "run": 1000000}}}"#;
    let (outcome, tape) = run(ideal(2, 100 * MS), load, &mut only_cpu_0());
    let found = numbers(&tape, 2, outcome.end_ns);
    assert_eq!(found.totals.wasted_idle_ns, 100 * MS);
    let cpus: Vec<u64> = found.cpus.iter().map(|cpu| cpu.wasted_idle_ns).collect();
    assert_eq!(cpus, [0, 100 * MS]);
    // Whichever waits, CPU 1 is idle: all of each one's run delay.
    for task in &found.tasks {
        assert_eq!(task.wasted_wait_ns, task.run_delay_ns);
    }
    assert_eq!(found.tasks.iter().map(|task| task.wasted_wait_ns).sum::<u64>(), 100 * MS);
}

#[test]
fn a_cpu_is_not_wasted_for_tasks_that_are_tied_to_another_or_while_it_is_offline() {
    let tied = r#"{"tasks": {"hog": {"instance": 2, "cpus": [0], "run": 1000000}}}"#;
    let (outcome, tape) = run(ideal(2, 100 * MS), tied, &mut only_cpu_0());
    assert_eq!(numbers(&tape, 2, outcome.end_ns).totals.wasted_idle_ns, 0);
    // CPU 1 is there until 30 ms and from 80 ms on: 50 of 100 ms.
    let unplugged = r#"{"tasks": {"hog": {"instance": 2, "run": 1000000}},
        "events": [{"at": 30000, "cpu": 1, "online": false},
                   {"at": 80000, "cpu": 1, "online": true}]}"#;
    let (outcome, tape) = run(ideal(2, 100 * MS), unplugged, &mut only_cpu_0());
    assert_eq!(outcome.end_ns, 100 * MS);
    assert_eq!(numbers(&tape, 2, outcome.end_ns).totals.wasted_idle_ns, 50 * MS);
}

#[test]
fn a_task_that_its_reservation_holds_back_wastes_nothing() {
    // 2 of each 10 ms, which are used up at once: idle for 8 of each 10 ms, and that is right.
    let load = r#"{"tasks": {"dl": {"policy": "SCHED_DEADLINE", "dl-runtime": 2000,
        "dl-period": 10000, "run": 1000000}}}"#;
    let (outcome, tape) = run(ideal(1, 100 * MS), load, &mut shared_fifo());
    let found = numbers(&tape, 1, outcome.end_ns);
    assert_eq!((found.totals.idle_ns, found.totals.wasted_idle_ns), (80 * MS, 0));
}

proptest! {
    #![proptest_config(plan::cases(64))]
    /// A scheduler with one queue for all CPUs that wakes an idle one for each task wastes nothing.
    #[test]
    fn one_queue_for_all_wastes_nothing(
        cpus in 1..5u32,
        tasks in proptest::collection::vec((1..4u32, 1..9_000u32, 1..9_000u32, 0..9_000u32), 1..6)
    ) {
        let task = |(at, (count, run, sleep, delay)): (usize, &(u32, u32, u32, u32))| format!(
            "\"t{at}\": {{\"instance\": {count}, \"delay\": {delay}, \"run\": {run}, \
             \"sleep\": {sleep}}}"
        );
        let tasks: Vec<String> = tasks.iter().enumerate().map(task).collect();
        let load = format!("{{\"tasks\": {{{}}}}}", tasks.join(", "));
        let (outcome, tape) = run(ideal(cpus, 100 * MS), &load, &mut shared_fifo());
        let found = numbers(&tape, cpus, outcome.end_ns);
        prop_assert_eq!(found.totals.wasted_idle_ns, 0);
        prop_assert!(found.tasks.iter().all(|task| task.wasted_wait_ns == 0));
        prop_assert!(found.cpus.iter().map(|cpu| cpu.idle_ns).sum::<u64>() == found.totals.idle_ns);
    }
}
