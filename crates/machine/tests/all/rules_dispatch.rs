// SPDX-License-Identifier: MIT OR Apache-2.0
//! Dispatching: what `kernel/sched/ext/ext.c` does with what a scheduler inserts. Texts
//! are the kernel's.

use crate::common::{ideal, run, Handler, Native, Tape};
use rota_machine::consts::*;
use rota_machine::ops::Op;
use rota_machine::run::Outcome;
use rota_machine::system::System;

const MS: u64 = 1_000_000;
const ONE: &str = r#"{"tasks": {"a": {"run": 1000000}}}"#;
const TWO: &str = r#"{"tasks": {"a": {"run": 1000000}, "b": {"run": 1000000}}}"#;
const THREE: &str =
    r#"{"tasks": {"a": {"run": 1000000}, "b": {"run": 1000000}, "c": {"run": 1000000}}}"#;

/// Runs a scheduler for 50 ms on an ideal machine.
fn run_on(cpus: u32, load: &str, ops: &[Op], handler: Handler) -> (Outcome, Tape, Vec<String>) {
    let mut native = Native::new("test", ops, handler);
    let (outcome, tape) = run(ideal(cpus, 50 * MS), load, &mut native);
    (outcome, tape, native.log)
}

/// How a scheduler left.
fn exit_of(cpus: u32, load: &str, ops: &[Op], handler: Handler) -> String {
    run_on(cpus, load, ops, handler).0.exit.to_string()
}

/// A scheduler that keeps its tasks in a list and dispatches them as `dispatch` says.
fn keeper(system: &mut System, me: &mut Native, op: Op, args: &[u64]) {
    match op {
        Op::Enqueue => me.held.push(args[0]),
        Op::Dequeue => me.held.retain(|p| *p != args[0]),
        _ => me.note(system, op, args),
    }
}

#[test]
fn a_direct_dispatch_from_select_cpu_skips_enqueue() {
    // do_enqueue_task(): ddsp_dsq_id is set already
    let load = r#"{"tasks": {"a": {"loop": 3, "run": 1000, "sleep": 1000}}}"#;
    let (_, tape, log) = run_on(2, load, &[Op::SelectCpu, Op::Enqueue], |me, system, op, args| {
        me.note(system, op, args);
        if op == Op::Enqueue {
            return Ok(0);
        }
        system.native_insert(args[0], DSQ_LOCAL, me.slice_ns, 0)?;
        Ok(args[1])
    });
    // the last time to exit
    assert_eq!(log, ["select_cpu 1001"; 4]);
    assert_eq!(tape.cpu_ns(1001, 50 * MS), 3 * MS);
}

#[test]
fn local_means_the_cpu_that_select_cpu_returns() {
    // direct_dispatch(): the queue of task_rq(p), which is where the task was put
    let (_, tape, _) = run_on(4, ONE, &[Op::SelectCpu], |_, system, _, args| {
        system.native_insert(args[0], DSQ_LOCAL, SLICE_INF, 0)?;
        Ok(3)
    });
    assert_eq!(tape.starts(1001), [(0, 3)]);
}

#[test]
fn a_dispatch_to_another_cpus_local_queue_moves_the_task_unseen() {
    // direct_dispatch() defers it, process_ddsp_deferred_locals() moves the task, and
    // deactivate_task() and activate_task() leave it runnable in between
    let ops = [Op::SelectCpu, Op::Enqueue, Op::Runnable, Op::Quiescent, Op::Dequeue, Op::Running];
    let (outcome, tape, log) = run_on(2, ONE, &ops, |me, system, op, args| {
        if me.log.len() < 4 {
            me.note(system, op, args);
        }
        if op == Op::Enqueue {
            system.native_insert(args[0], DSQ_LOCAL_ON | 1, SLICE_INF, args[1])?;
        }
        Ok(0)
    });
    assert_eq!(outcome.exit.to_string(), "unregistered from user space");
    assert_eq!(tape.starts(1001), [(0, 1)]);
    assert_eq!(log, ["select_cpu 1001", "runnable 1001", "enqueue 1001", "running 1001"]);
}

#[test]
fn inserting_twice_for_one_enqueue_is_an_error() {
    // mark_direct_dispatch()
    let exit = exit_of(1, ONE, &[Op::Enqueue], |_, system, _, args| {
        system.native_insert(args[0], DSQ_LOCAL, 1, 0)?;
        system.native_insert(args[0], DSQ_LOCAL, 1, 0)?;
        Ok(0)
    });
    assert_eq!(exit, "runtime error (a-0[1001] already direct-dispatched)");
}

#[test]
fn inserting_another_task_than_the_one_enqueued_is_an_error() {
    // mark_direct_dispatch()
    let exit = exit_of(1, TWO, &[Op::Enqueue], |me, system, _, args| {
        me.held.push(args[0]);
        system.native_insert(me.held[0], DSQ_GLOBAL, 1, 0)?;
        Ok(0)
    });
    let text = "scheduling for b-1[1002] but trying to direct-dispatch a-0[1001]";
    assert_eq!(exit, format!("runtime error ({text})"));
}

#[test]
fn more_insertions_than_the_batch_holds_are_an_error() {
    // scx_dsq_insert_commit()
    let mut greedy = Native::new("test", &[Op::Enqueue, Op::Dispatch], |me, system, op, args| {
        keeper(system, me, op, args);
        for p in me.held.clone() {
            if op == Op::Dispatch {
                me.log.push(format!("{} slots", system.native_nr_slots()?));
                system.native_insert(p, DSQ_LOCAL, 1, 0)?;
            }
        }
        Ok(0)
    })
    .max_batch(2);
    // b and c are still with the scheduler when a's slice ends
    let (outcome, _) = run(ideal(1, 50 * MS), THREE, &mut greedy);
    assert_eq!(outcome.exit.to_string(), "runtime error (dispatch buffer overflow)");
    assert_eq!(greedy.log[greedy.log.len() - 3..], ["2 slots", "1 slots", "0 slots"]);
}

#[test]
fn the_default_batch_holds_32_tasks_and_can_be_cancelled() {
    // SCX_DSP_DFL_MAX_BATCH, scx_bpf_dispatch_nr_slots(), scx_bpf_dispatch_cancel()
    let (outcome, _, log) = run_on(1, TWO, &[Op::Enqueue, Op::Dispatch], |me, system, op, args| {
        keeper(system, me, op, args);
        if let (Op::Dispatch, Some(p)) = (op, me.held.first().copied()) {
            system.native_insert(p, DSQ_LOCAL, 1, 0)?;
            let used = system.native_nr_slots()?;
            system.native_cancel()?;
            me.log.push(format!("{used} {}", system.native_nr_slots()?));
            system.native_cancel()?;
        }
        Ok(0)
    });
    assert_eq!(log.last().unwrap(), "31 32");
    assert_eq!(outcome.exit.to_string(), "runtime error (dispatch buffer underflow)");
}

#[test]
fn inserting_a_task_again_does_nothing() {
    // finish_dispatch(): the second time it is not SCX_OPSS_QUEUED any more
    let ops = [Op::Enqueue, Op::Dequeue, Op::Dispatch];
    let (outcome, tape, _) = run_on(1, TWO, &ops, |me, system, op, args| {
        keeper(system, me, op, args);
        if let (Op::Dispatch, Some(p)) = (op, me.held.first().copied()) {
            system.native_insert(p, DSQ_LOCAL, 10 * MS, 0)?;
            system.native_insert(p, DSQ_GLOBAL, 10 * MS, 0)?;
        }
        Ok(0)
    });
    assert_eq!(outcome.exit.to_string(), "unregistered from user space");
    assert_eq!(tape.picks(0), [1001, 1002, 1001, 1002, 1001]);
}

#[test]
fn inserting_the_running_task_only_gives_it_a_slice() {
    // scx_bpf_dsq_insert() sets the slice, finish_dispatch() finds SCX_OPSS_NONE, and
    // balance_one() keeps a task that has a slice
    let ops = [Op::Enqueue, Op::Dequeue, Op::Dispatch];
    let (outcome, tape, _) = run_on(1, TWO, &ops, |me, system, op, args| {
        keeper(system, me, op, args);
        if op == Op::Dispatch && args[1] != 0 {
            system.native_insert(args[1], DSQ_LOCAL, 10 * MS, 0)?;
        }
        if let (Op::Dispatch, Some(p)) = (op, me.held.first().copied()) {
            system.native_insert(p, DSQ_LOCAL, 10 * MS, 0)?;
        }
        Ok(0)
    });
    assert_eq!(outcome.exit.to_string(), "unregistered from user space");
    assert_eq!(tape.picks(0), [1001, 1001, 1002, 1002, 1001]);
}

#[test]
fn a_move_to_the_local_queue_first_delivers_what_was_inserted() {
    // scx_bpf_dsq_move_to_local(): flush_dispatch_buf()
    let ops = [Op::Init, Op::SelectCpu, Op::Enqueue, Op::Dispatch];
    let (_, tape, log) = run_on(1, THREE, &ops, |me, system, op, args| {
        match op {
            Op::Init => return system.native_create_dsq(0).map(|r| r as u64),
            Op::Enqueue if system.native_pid(args[0]) == 1003 => me.held.push(args[0]),
            Op::Enqueue => system.native_insert(args[0], 0, 10 * MS, 0)?,
            Op::Dispatch => {
                if let Some(p) = me.held.pop() {
                    system.native_insert(p, DSQ_LOCAL, 10 * MS, 0)?;
                }
                let before = system.native_nr_slots()?;
                system.native_move_to_local(me, 0)?;
                me.log.push(format!("{before} {}", system.native_nr_slots()?));
            }
            _ => {}
        }
        Ok(0)
    });
    // 1003 is first on the local queue, and one of the others behind it
    assert_eq!(tape.picks(0)[..2], [1003, 1001]);
    assert_eq!(log[0], "31 32");
}

#[test]
fn a_cpu_takes_the_first_task_that_may_run_on_it() {
    // consume_dispatch_q() passes over the others
    let load =
        r#"{"tasks": {"p": {"instance": 2, "cpus": [1], "run": 1000000}, "f": {"run": 1000000}}}"#;
    let ops = [Op::Init, Op::SelectCpu, Op::Enqueue, Op::Dispatch];
    let (_, tape, log) = run_on(2, load, &ops, |me, system, op, args| match op {
        Op::Init => system.native_create_dsq(5).map(|r| r as u64),
        Op::Enqueue => system.native_insert(args[0], 5, me.slice_ns, args[1]).map(|()| 0),
        Op::Dispatch if args[0] == 0 => {
            let first = system.native_peek(5);
            let before = system.native_nr_queued(5);
            let moved = system.native_move_to_local(me, 5)?;
            me.log.push(format!(
                "{} {before} {moved} {}",
                system.native_pid(first),
                system.native_nr_queued(5)
            ));
            Ok(0)
        }
        Op::Dispatch => system.native_move_to_local(me, 5).map(u64::from),
        _ => Ok(0),
    });
    // at 0 CPU 0 passes over both pinned tasks and takes the third
    let first = log.iter().find(|l| l.contains("true")).unwrap();
    assert_eq!(first, "1001 3 true 2");
    assert_eq!(tape.starts(1003), [(0, 0)]);
}

#[test]
fn a_local_queue_that_the_task_may_not_use_is_an_error() {
    // task_can_run_on_remote_rq(enforce)
    let load = r#"{"tasks": {"pinned": {"cpus": [1], "run": 1000000}}}"#;
    let expected = "runtime error (SCX_DSQ_LOCAL[_ON] target CPU 0 not allowed for pinned-0[1001])";
    let from_enqueue = exit_of(2, load, &[Op::Enqueue], |_, system, _, args| {
        system.native_insert(args[0], DSQ_LOCAL_ON, 1, 0).map(|()| 0)
    });
    assert_eq!(from_enqueue, expected);
    let from_dispatch = exit_of(2, load, &[Op::Enqueue, Op::Dispatch], |me, system, op, args| {
        keeper(system, me, op, args);
        if let (Op::Dispatch, Some(p)) = (op, me.held.first().copied()) {
            system.native_insert(p, DSQ_LOCAL_ON, 1, 0)?;
        }
        Ok(0)
    });
    assert_eq!(from_dispatch, expected);
}

#[test]
fn cpus_that_do_not_exist_are_errors_that_say_where() {
    // scx_cpu_valid()
    let exit = exit_of(2, ONE, &[Op::SelectCpu], |_, _, _, _| Ok(9));
    assert_eq!(exit, "runtime error (invalid CPU 9 from ops.select_cpu())");
    let exit = exit_of(2, ONE, &[Op::Enqueue, Op::SelectCpu], |_, system, op, args| match op {
        Op::Enqueue => system.native_insert(args[0], DSQ_LOCAL_ON | 7, 1, 0).map(|()| 0),
        _ => Ok(0),
    });
    assert_eq!(exit, "runtime error (invalid CPU 7 in SCX_DSQ_LOCAL_ON dispatch verdict)");
    let exit = exit_of(2, ONE, &[Op::Running], |_, system, _, _| {
        system.native_kick(-1, 0);
        Ok(0)
    });
    assert_eq!(exit, "runtime error (invalid CPU -1)");
}

#[test]
fn a_preempting_insertion_ends_the_slice_of_the_one_that_runs() {
    // local_dsq_post_enq(), and wakeup_preempt_scx() does nothing by itself
    let load =
        r#"{"tasks": {"hog": {"run": 1000000}, "b": {"delay": 5000, "loop": 1, "run": 2000}}}"#;
    let (_, tape, _) = run_on(1, load, &[Op::SelectCpu, Op::Enqueue], |_, system, op, args| {
        if op == Op::Enqueue {
            let preempt = if system.native_pid(args[0]) == 1002 { ENQ_PREEMPT } else { 0 };
            system.native_insert(args[0], DSQ_LOCAL, SLICE_INF, args[1] | preempt)?;
        }
        Ok(0)
    });
    assert_eq!(tape.starts(1002), [(5 * MS, 0)]);
    assert_eq!(tape.starts(1001), [(0, 0), (7 * MS, 0)]);
}

#[test]
fn an_insertion_at_the_head_is_first() {
    // dispatch_enqueue(): SCX_ENQ_HEAD
    let ops = [Op::Init, Op::SelectCpu, Op::Enqueue, Op::Dispatch];
    let (_, tape, _) = run_on(1, THREE, &ops, |me, system, op, args| match op {
        Op::Init => system.native_create_dsq(0).map(|r| r as u64),
        Op::Enqueue if system.native_now() == 0 => {
            system.native_insert(args[0], 0, me.slice_ns, ENQ_HEAD).map(|()| 0)
        }
        Op::Enqueue => system.native_insert(args[0], 0, me.slice_ns, 0).map(|()| 0),
        Op::Dispatch => system.native_move_to_local(me, 0).map(u64::from),
        _ => Ok(0),
    });
    assert_eq!(tape.picks(0)[..4], [1003, 1002, 1001, 1003]);
}

#[test]
fn a_slice_of_zero_keeps_what_is_left() {
    // scx_bpf_dsq_insert(): `p->scx.slice ?: 1`
    let (_, tape, _) = run_on(1, TWO, &[Op::SelectCpu, Op::Enqueue], |_, system, op, args| {
        if op == Op::Enqueue {
            let first = system.native_pid(args[0]) == 1001;
            system.native_set_slice(args[0], if first { 7 * MS } else { 0 });
            system.native_insert(args[0], DSQ_GLOBAL, 0, 0)?;
        }
        Ok(0)
    });
    let slices = tape.0.iter().filter_map(|e| match e.kind {
        rota_trace::EventKind::Pick { slice_ns, .. } => Some(slice_ns),
        _ => None,
    });
    assert_eq!(slices.take(3).collect::<Vec<_>>(), [7 * MS, 1, 7 * MS]);
}

#[test]
fn flags_that_are_the_kernels_own_are_refused() {
    // scx_dsq_insert_preamble(), scx_vet_enq_flags()
    let exit = exit_of(1, ONE, &[Op::Enqueue], |_, system, _, args| {
        system.native_insert(args[0], DSQ_GLOBAL, 1, ENQ_DSQ_PRIQ).map(|()| 0)
    });
    assert_eq!(exit, "runtime error (invalid enq_flags 0x200000000000000)");
    let exit = exit_of(1, ONE, &[Op::Enqueue], |_, system, _, args| {
        system.native_insert(args[0], DSQ_GLOBAL, 1, ENQ_IMMED).map(|()| 0)
    });
    assert_eq!(exit, "runtime error (SCX_ENQ_IMMED on a non-local DSQ 0x8000000000000001)");
}

#[test]
fn a_dispatch_that_finds_nothing_eligible_is_left_after_32_rounds() {
    // scx_dispatch_sched(): SCX_DSP_MAX_LOOPS. b may not run here, so inserting it into
    // a queue that this CPU does not look at counts as work done
    let load = r#"{"tasks": {"a": {"loop": 1, "run": 1000, "sleep": 1000, "run": 1000}}}"#;
    let (_, tape, log) = run_on(1, load, &[Op::Dispatch], |me, system, op, args| {
        let before = me.log.iter().filter(|l| **l == format!("at {}", system.native_now())).count();
        if system.native_now() == MS && before < 40 {
            me.log.push(format!("at {}", system.native_now()));
            me.note(system, op, args);
            if args[1] != 0 {
                system.native_insert(args[1], DSQ_LOCAL, 1, 0)?;
            }
        }
        Ok(0)
    });
    // the sleeping task is not the scheduler's to insert: 32 rounds, a kick, one more look
    let with_prev = log.iter().filter(|l| **l == "dispatch").count();
    assert_eq!(with_prev, 33);
    assert_eq!(tape.cpu_ns(1001, 50 * MS), 2 * MS);
}
