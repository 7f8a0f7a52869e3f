// SPDX-License-Identifier: MIT OR Apache-2.0
//! Dispatch queues: order, iteration, moves and re-enqueueing as `ext.c` has them.

use crate::common::{ideal, run, Handler, Native, Tape};
use rota_machine::consts::*;
use rota_machine::ops::Op;
use rota_machine::run::Outcome;
use rota_machine::system::System;

const MS: u64 = 1_000_000;
const FIVE: &str = r#"{"tasks": {"t": {"instance": 5, "run": 1000000}}}"#;
const QUEUEING: [Op; 4] = [Op::Init, Op::SelectCpu, Op::Enqueue, Op::Dispatch];

fn run_ops(load: &str, ops: &[Op], handler: Handler) -> (Outcome, Tape, Vec<String>) {
    let mut native = Native::new("test", ops, handler);
    let (outcome, tape) = run(ideal(1, 50 * MS), load, &mut native);
    (outcome, tape, native.log)
}

fn exit_of(ops: &[Op], handler: Handler) -> String {
    run_ops(FIVE, ops, handler).0.exit.to_string()
}

/// Pids in the order in which an iteration gives them.
fn walk(system: &mut System, dsq: u64, flags: u64) -> Vec<u32> {
    assert_eq!(system.native_iter_new(1, dsq, flags), 0);
    let pids = std::iter::from_fn(|| match system.native_iter_next(1) {
        0 => None,
        p => Some(system.native_pid(p)),
    });
    let pids = pids.collect();
    system.native_iter_destroy(1);
    pids
}

/// Queues five tasks with the virtual times `vtimes` and notes the order at the first
/// dispatch.
fn order_of(handler: Handler) -> String {
    let (outcome, _, log) = run_ops(FIVE, &QUEUEING, handler);
    assert_eq!(outcome.exit.to_string(), "unregistered from user space");
    log[0].clone()
}

fn by_vtime(me: &mut Native, system: &mut System, op: Op, args: &[u64], vtimes: [u64; 5]) -> u64 {
    match op {
        Op::Init => system.native_create_dsq(0).unwrap() as u64,
        Op::Enqueue => {
            let at = (system.native_pid(args[0]) - 1001) as usize;
            system.native_insert_vtime(args[0], 0, me.slice_ns, vtimes[at], 0).unwrap();
            0
        }
        Op::Dispatch => {
            let order = walk(system, 0, 0);
            me.log.push(format!("{order:?}"));
            u64::from(system.native_move_to_local(me, 0).unwrap())
        }
        _ => 0,
    }
}

#[test]
fn virtual_times_order_a_queue_and_equal_ones_by_arrival() {
    // scx_dsq_priq_less()
    let order =
        order_of(|me, system, op, args| Ok(by_vtime(me, system, op, args, [30, 10, 20, 10, 5])));
    assert_eq!(order, "[1005, 1002, 1004, 1003, 1001]");
}

#[test]
fn virtual_times_that_wrap_order_by_their_difference() {
    // time_before64(): 2^64 - 1 is before 3
    let order = order_of(|me, system, op, args| {
        Ok(by_vtime(me, system, op, args, [3, u64::MAX, u64::MAX - 9, 0, 1 << 62]))
    });
    assert_eq!(order, "[1003, 1002, 1004, 1001, 1005]");
}

#[test]
fn a_built_in_queue_has_no_virtual_time() {
    // dispatch_enqueue()
    let exit = exit_of(&[Op::Enqueue], |_, system, _, args| {
        system.native_insert_vtime(args[0], DSQ_GLOBAL, 1, 0, 0).map(|()| 0)
    });
    assert_eq!(exit, "runtime error (cannot use vtime ordering for built-in DSQs)");
}

#[test]
fn a_queue_is_ordered_either_by_arrival_or_by_virtual_time() {
    // dispatch_enqueue()
    let exit = exit_of(&QUEUEING[..3], |_, system, op, args| match op {
        Op::Init => system.native_create_dsq(0xab).map(|r| r as u64),
        Op::Enqueue if system.native_pid(args[0]) == 1001 => {
            system.native_insert(args[0], 0xab, 1, 0).map(|()| 0)
        }
        Op::Enqueue => system.native_insert_vtime(args[0], 0xab, 1, 0, 0).map(|()| 0),
        _ => Ok(0),
    });
    let expected = "runtime error (DSQ ID 0x00000000000000ab already had FIFO-enqueued tasks)";
    assert_eq!(exit, expected);
    let exit = exit_of(&QUEUEING[..3], |_, system, op, args| match op {
        Op::Init => system.native_create_dsq(0xab).map(|r| r as u64),
        Op::Enqueue if system.native_pid(args[0]) == 1001 => {
            system.native_insert_vtime(args[0], 0xab, 1, 0, 0).map(|()| 0)
        }
        Op::Enqueue => system.native_insert(args[0], 0xab, 1, 0).map(|()| 0),
        _ => Ok(0),
    });
    let expected = "runtime error (DSQ ID 0x00000000000000ab already had PRIQ-enqueued tasks)";
    assert_eq!(exit, expected);
}

/// A queue 0 of all tasks, and what `look` notes of it at the first dispatch.
fn looked_at(
    me: &mut Native,
    system: &mut System,
    op: Op,
    args: &[u64],
    look: fn(&mut Native, &mut System),
) -> u64 {
    match op {
        Op::Init => {
            system.native_create_dsq(0).unwrap();
            system.native_create_dsq(1).unwrap() as u64
        }
        Op::Enqueue => {
            system.native_insert(args[0], 0, me.slice_ns, args[1]).unwrap();
            0
        }
        Op::Dispatch => {
            if me.log.is_empty() {
                look(me, system);
            }
            let moved = system.native_move_to_local(me, 1).unwrap();
            u64::from(moved || system.native_move_to_local(me, 0).unwrap())
        }
        _ => 0,
    }
}

#[test]
fn an_iteration_can_go_backwards() {
    // SCX_DSQ_ITER_REV
    let order = order_of(|me, system, op, args| {
        Ok(looked_at(me, system, op, args, |me, system| {
            let order = [walk(system, 0, 0), walk(system, 0, DSQ_ITER_REV)];
            me.log.push(format!("{order:?}"));
        }))
    });
    assert_eq!(order, "[[1001, 1002, 1003, 1004, 1005], [1005, 1004, 1003, 1002, 1001]]");
}

#[test]
fn an_iteration_goes_on_after_its_task_is_taken_away() {
    // nldsq_cursor_next_task(): the cursor stands in the list, not on the task
    let order = order_of(|me, system, op, args| {
        Ok(looked_at(me, system, op, args, |me, system| {
            let mut seen = Vec::new();
            assert_eq!(system.native_iter_new(7, 0, 0), 0);
            loop {
                let p = system.native_iter_next(7);
                if p == 0 {
                    break;
                }
                let pid = system.native_pid(p);
                let moved = pid % 2 == 0 && system.native_move(me, 7, p, 1, 0).unwrap();
                seen.push((pid, moved));
            }
            system.native_iter_destroy(7);
            me.log.push(format!("{seen:?} {:?} {:?}", walk(system, 0, 0), walk(system, 1, 0)));
        }))
    });
    assert_eq!(
        order,
        "[(1001, false), (1002, true), (1003, false), (1004, true), (1005, false)] \
         [1001, 1003, 1005] [1002, 1004]"
    );
}

#[test]
fn an_iteration_does_not_see_what_is_queued_after_it_began() {
    // nldsq_cursor_next_task(): u32_before(cursor->priv, p->scx.dsq_seq)
    let order = order_of(|me, system, op, args| {
        Ok(looked_at(me, system, op, args, |me, system| {
            // 1001 and 1002 go to queue 1 and come back, to the end of queue 0
            for (from, to) in [(0, 1), (1, 0)] {
                assert_eq!(system.native_iter_new(1, from, 0), 0);
                for _ in 0..2 {
                    let p = system.native_iter_next(1);
                    assert!(system.native_move(me, 1, p, to, 0).unwrap());
                }
                system.native_iter_destroy(1);
                if to == 1 {
                    assert_eq!(system.native_iter_new(2, 0, 0), 0);
                }
            }
            let first = system.native_iter_next(2);
            let seen = [first, system.native_iter_next(2), system.native_iter_next(2)];
            let after = system.native_iter_next(2);
            let pids = seen.map(|p| system.native_pid(p));
            me.log.push(format!("{pids:?} {after} {:?}", walk(system, 0, 0)));
            system.native_iter_destroy(2);
        }))
    });
    assert_eq!(order, "[1003, 1004, 1005] 0 [1003, 1004, 1005, 1001, 1002]");
}

#[test]
fn a_task_that_came_after_the_iteration_began_cannot_be_moved_by_it() {
    // nldsq_cursor_lost_task()
    let order = order_of(|me, system, op, args| {
        Ok(looked_at(me, system, op, args, |me, system| {
            let first = system.native_peek(0);
            assert_eq!(system.native_iter_new(1, 0, 0), 0);
            assert_eq!(system.native_iter_new(2, 0, 0), 0);
            let there = system.native_move(me, 1, first, 1, 0).unwrap();
            let gone = system.native_move(me, 2, first, 1, 0).unwrap();
            assert_eq!(system.native_iter_new(3, 1, 0), 0);
            let back = system.native_move(me, 3, first, 0, 0).unwrap();
            let late = system.native_move(me, 2, first, 1, 0).unwrap();
            me.log.push(format!("{there} {gone} {back} {late}"));
            (1..=3).for_each(|it| system.native_iter_destroy(it));
        }))
    });
    assert_eq!(order, "true false true false");
}

#[test]
fn iterating_over_what_is_no_queue_of_the_scheduler_is_refused() {
    // bpf_iter_scx_dsq_new()
    let order = order_of(|me, system, op, args| {
        Ok(looked_at(me, system, op, args, |me, system| {
            let none = system.native_iter_new(1, 99, 0);
            let flags = system.native_iter_new(1, 0, 1);
            let next = system.native_iter_next(1);
            me.log.push(format!("{none} {flags} {next} {}", system.native_nr_queued(99)));
        }))
    });
    assert_eq!(order, "-2 -22 0 -2");
}

#[test]
fn queues_are_made_once_and_not_with_the_kernels_ids() {
    // scx_bpf_create_dsq()
    let (_, _, log) = run_ops(FIVE, &[Op::Init], |me, system, _, _| {
        for id in [3, 3, DSQ_GLOBAL] {
            me.log.push(system.native_create_dsq(id)?.to_string());
        }
        Ok(0)
    });
    assert_eq!(log, ["0", "-17", "-22"]);
}

#[test]
fn a_queue_in_use_is_not_destroyed() {
    // destroy_dsq()
    let exit = exit_of(&QUEUEING, |me, system, op, args| {
        Ok(looked_at(me, system, op, args, |_, system| system.native_destroy_dsq(0)))
    });
    let text = "attempting to destroy in-use dsq 0x0000000000000000 (nr=5)";
    assert_eq!(exit, format!("runtime error ({text})"));
    // and after an empty one is, inserting into it is an error
    let exit = exit_of(&QUEUEING, |me, system, op, args| {
        let ret = looked_at(me, system, op, args, |me, _| me.log.push("looked".into()));
        if op == Op::Init {
            system.native_destroy_dsq(1);
        }
        Ok(ret)
    });
    assert_eq!(exit, "runtime error (invalid DSQ ID 0x0000000000000001)");
}

#[test]
fn a_queue_can_be_handed_back_to_enqueue() {
    // reenq_user(): SCX_ENQ_REENQ, and every task that is queued by then only once
    let (outcome, _, log) = run_ops(FIVE, &QUEUEING, |me, system, op, args| {
        if op == Op::Enqueue && args[1] & ENQ_REENQ != 0 {
            let reason = system.native_flags(args[0]) & TASK_REENQ_REASON_MASK;
            let kfunc = reason == TASK_REENQ_KFUNC;
            me.log.push(format!("{} {kfunc}", system.native_pid(args[0])));
        }
        let first = op == Op::Dispatch && me.count == 0;
        if first {
            me.count = 1;
            system.native_reenq(0, 0);
        }
        Ok(looked_at(me, system, op, args, |_, _| {}))
    });
    assert_eq!(outcome.exit.to_string(), "unregistered from user space");
    // the dispatch took 1001 before the request was served
    assert_eq!(log, ["1002 true", "1003 true", "1004 true", "1005 true"]);
}

#[test]
fn only_known_reenqueue_requests_are_served() {
    // scx_bpf_dsq_reenq(), schedule_dsq_reenq()
    let exit = exit_of(&[Op::Running], |_, system, _, _| {
        system.native_reenq(DSQ_LOCAL, 4);
        Ok(0)
    });
    assert_eq!(exit, "runtime error (invalid SCX_REENQ flags 0x4)");
    let exit = exit_of(&[Op::Running], |_, system, _, _| {
        system.native_reenq(DSQ_GLOBAL, 0);
        Ok(0)
    });
    assert_eq!(exit, "runtime error (DSQ 0x8000000000000001 not allowed for reenq)");
}

#[test]
fn an_immediate_task_is_handed_back_if_it_cannot_run_at_once() {
    // dsq_inc_nr(), local_task_should_reenq(). At 0 the first finds the CPU open; the second
    // does not, and as the CPU is now on its way to a task, rq_is_open() says no to both
    let (_, tape, log) = run_ops(FIVE, &[Op::SelectCpu, Op::Enqueue], |me, system, op, args| {
        if op != Op::Enqueue {
            return Ok(0);
        }
        let again = args[1] & ENQ_REENQ != 0;
        let reason = system.native_flags(args[0]) & TASK_REENQ_REASON_MASK;
        if again {
            let immed = reason == TASK_REENQ_IMMED;
            me.log.push(format!("{} {immed}", system.native_pid(args[0])));
        }
        let dsq = if again { DSQ_GLOBAL } else { DSQ_LOCAL };
        let immed = if again { 0 } else { ENQ_IMMED };
        system.native_insert(args[0], dsq, SLICE_INF, immed).map(|()| 0)
    });
    assert_eq!(log, ["1001 true", "1002 true", "1003 true", "1004 true", "1005 true"]);
    assert_eq!(tape.picks(0), [1001]);
}

#[test]
fn an_immediate_task_stays_on_an_idle_cpu() {
    // rq_is_open()
    let load = r#"{"tasks": {"a": {"run": 1000000}}}"#;
    let (_, tape, log) = run_ops(load, &[Op::SelectCpu, Op::Enqueue], |me, system, op, args| {
        me.note(system, op, args);
        if op == Op::Enqueue {
            system.native_insert(args[0], DSQ_LOCAL, SLICE_INF, ENQ_IMMED)?;
        }
        Ok(0)
    });
    // with one CPU there is nothing to select
    assert_eq!(log, ["enqueue 1001"]);
    assert_eq!(tape.starts(1001), [(0, 0)]);
}

#[test]
fn insisting_on_an_immediate_start_is_ended_after_256_rounds() {
    // process_deferred_reenq_locals(): SCX_REENQ_LOCAL_MAX_REPEAT
    let exit = exit_of(&[Op::SelectCpu, Op::Enqueue], |_, system, op, args| match op {
        Op::Enqueue => system.native_insert(args[0], DSQ_LOCAL, SLICE_INF, ENQ_IMMED).map(|()| 0),
        _ => Ok(0),
    });
    assert_eq!(exit, "runtime error (SCX_ENQ_REENQ on SCX_DSQ_LOCAL repeated 257 times)");
}
