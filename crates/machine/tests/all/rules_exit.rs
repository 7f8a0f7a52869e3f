// SPDX-License-Identifier: MIT OR Apache-2.0
//! How schedulers come and go: refused, ejected, stalled (`scx_root_enable_workfn()`,
//! `scx_watchdog_workfn()`, `scx_bypass()`, `scx_root_disable()`).

use crate::common::{ideal, run, shared_fifo, Handler, Native, Tape};
use rota_machine::consts::*;
use rota_machine::exit::{ExitInfo, ExitKind};
use rota_machine::ops::Op;
use rota_trace::EventKind;

const MS: u64 = 1_000_000;
const ONE: &str = r#"{"tasks": {"a": {"run": 1000000}}}"#;

fn run_for(ms: u64, load: &str, native: &mut Native) -> (ExitInfo, u64, Tape) {
    let (outcome, tape) = run(ideal(1, ms * MS), load, native);
    (outcome.exit, outcome.end_ns, tape)
}

fn exit_of(ops: &[Op], handler: Handler) -> String {
    run_for(50, ONE, &mut Native::new("test", ops, handler)).0.to_string()
}

#[test]
fn the_watchdog_counts_from_when_the_task_became_runnable() {
    // check_rq_for_timeouts(): a timeout of 1 s, looked at every 0.5 s; b waits from 0.7 s
    // on, which is not over 1 s at 1.5 s, and 1.3 s at 2.0 s
    let load = r#"{"tasks": {"a": {"run": 1000000}, "b": {"delay": 700000, "run": 1000}}}"#;
    let ops = [Op::Enqueue];
    let mut lossy = Native::new("lossy", &ops, |_, system, _, args| {
        if system.native_pid(args[0]) == 1001 {
            system.native_insert(args[0], DSQ_GLOBAL, SLICE_INF, args[1])?;
        }
        Ok(0)
    })
    .timeout_ms(1_000);
    let (exit, end_ns, _) = run_for(10_000, load, &mut lossy);
    assert_eq!(exit.kind, ExitKind::ErrorStall);
    assert_eq!(exit.message, "b-1[1002] failed to run for 1.300s");
    assert_eq!(end_ns, 2_000 * MS);
}

#[test]
fn running_for_an_instant_satisfies_the_watchdog() {
    // set_next_task_scx(): clr_task_runnable(reset_runnable_at). Slices of 0.9 s, a timeout
    // of 1 s: everybody waits for 0.9 s at a time, for 10 s
    let load = r#"{"tasks": {"a": {"instance": 2, "run": 1000000}}}"#;
    let mut slow = shared_fifo().timeout_ms(1_000);
    slow.slice_ns = 900 * MS;
    let (exit, _, _) = run_for(10_000, load, &mut slow);
    assert_eq!(exit.kind, ExitKind::Unreg, "{exit}");
}

#[test]
fn a_scheduler_that_cannot_start_says_why() {
    // scx_root_enable_workfn(), ops_sanitize_err()
    let exit = exit_of(&[Op::Init], |_, _, _, _| Ok(-12i64 as u64));
    assert_eq!(exit, "runtime error (ops.init() failed (-12))");
    let exit = exit_of(&[Op::Init], |_, _, _, _| Ok(5));
    assert_eq!(exit, "runtime error (ops.init() returned an invalid errno 5)");
    let exit = exit_of(&[Op::CgroupInit], |_, _, _, _| Ok(-12i64 as u64));
    assert_eq!(exit, "runtime error (ops.cgroup_init() failed (-12))");
    let exit = exit_of(&[Op::InitTask], |_, _, _, _| Ok(-12i64 as u64));
    assert_eq!(exit, "runtime error (ops.init_task() failed (-12) for a-0[1001])");
}

#[test]
fn a_scheduler_that_cannot_start_gets_no_task_but_is_told_to_exit() {
    let mut refusing =
        Native::new("test", &[Op::Init, Op::InitTask, Op::Exit], |me, system, op, args| {
            me.note(system, op, args);
            Ok(if op == Op::Init { -1i64 as u64 } else { 0 })
        });
    let (_, end_ns, tape) = run_for(50, ONE, &mut refusing);
    assert_eq!(refusing.log, ["init", "exit"]);
    assert_eq!((end_ns, tape.0.len()), (0, 1));
}

#[test]
fn flags_that_contradict_the_callbacks_are_refused() {
    // validate_ops(), bpf_scx_init_member()
    let refused = |ops: &[Op], flags| {
        let mut native = Native::new("test", ops, |_, _, _, _| Ok(0)).flags(flags);
        run_for(50, ONE, &mut native).0.message
    };
    let text = "SCX_OPS_ENQ_LAST requires ops.enqueue() to be implemented";
    assert_eq!(refused(&[], OPS_ENQ_LAST), text);
    assert_eq!(refused(&[Op::Enqueue], OPS_ENQ_LAST | OPS_ENQ_EXITING), "");
    let text = "SCX_OPS_BUILTIN_IDLE_PER_NODE requires CPU idle selection enabled";
    assert_eq!(refused(&[Op::UpdateIdle], OPS_BUILTIN_IDLE_PER_NODE), text);
    let keep = OPS_BUILTIN_IDLE_PER_NODE | OPS_KEEP_BUILTIN_IDLE;
    assert_eq!(refused(&[Op::UpdateIdle], keep), "");
}

#[test]
fn an_ejected_scheduler_gives_its_tasks_back_in_order() {
    // scx_bypass(): tasks that wait go through dequeue and enqueue, to the bypass queue;
    // scx_cgroup_exit(); scx_root_disable(): every task in order of its fork
    let load = r#"{"tasks": {
        "runs": {"run": 1000000}, "waits": {"run": 1000000},
        "sleeps": {"delay": 5000, "loop": 1, "run": 0, "sleep": 1000000}}}"#;
    let ops = [
        Op::Enqueue,
        Op::Dequeue,
        Op::Runnable,
        Op::Running,
        Op::Stopping,
        Op::Quiescent,
        Op::Disable,
        Op::ExitTask,
        Op::CgroupExit,
        Op::Exit,
    ];
    let mut failing = Native::new("test", &ops, |me, system, op, args| {
        let sleeper = system.native_pid(args[0]) == 1003;
        match op {
            Op::Enqueue if system.native_pid(args[0]) != 1002 => {
                let flags = if sleeper { ENQ_PREEMPT } else { 0 };
                system.native_insert(args[0], DSQ_LOCAL, SLICE_INF, flags)?;
            }
            Op::Quiescent if sleeper => system.native_error("enough"),
            _ => {}
        }
        me.note(system, op, args);
        Ok(0)
    });
    let (exit, end_ns, tape) = run_for(50, load, &mut failing);
    assert_eq!(exit.to_string(), "scx_bpf_error (enough)");
    assert_eq!(end_ns, 5 * MS);
    let last = tape.0.last().unwrap();
    assert!(matches!(last.kind, EventKind::PolicyExit { kind: 1025, code: 0, .. }), "{last:?}");
    let from = failing.log.iter().position(|l| l == "quiescent 1003").unwrap() + 1;
    let expected = [
        // the machine finishes the instant: the task that was preempted runs again
        "running 1001",
        // bypass
        "dequeue 1002",
        "quiescent 1002",
        "runnable 1002",
        "cgroup_exit",
        "stopping 1001",
        "quiescent 1001",
        "disable 1001",
        "exit_task 1001",
        "quiescent 1002",
        "disable 1002",
        "exit_task 1002",
        "disable 1003",
        "exit_task 1003",
        "exit",
    ];
    assert_eq!(failing.log[from..], expected);
}

#[test]
fn the_first_error_is_the_one_that_counts() {
    // scx_claim_exit()
    let exit = exit_of(&[Op::Running], |_, system, _, _| {
        system.native_error("first");
        system.native_exit(3, "second");
        Ok(0)
    });
    assert_eq!(exit, "scx_bpf_error (first)");
}

#[test]
fn a_scheduler_may_leave_with_a_code() {
    // scx_bpf_exit()
    let mut leaving = Native::new("test", &[Op::Stopping], |_, system, _, _| {
        system.native_exit(42, "bye");
        Ok(0)
    });
    let load = r#"{"tasks": {"a": {"run": 4000, "sleep": 1000}}}"#;
    let (exit, end_ns, _) = run_for(50, load, &mut leaving);
    assert_eq!((exit.kind, exit.code), (ExitKind::UnregBpf, 42));
    assert_eq!(exit.to_string(), "unregistered from BPF (bye)");
    assert_eq!(end_ns, 4 * MS);
}

#[test]
fn messages_are_cut_at_the_kernels_length() {
    // SCX_EXIT_MSG_LEN: 1024 bytes, the last one a zero; here cut before a two-byte letter
    let mut talking = Native::new("test", &[Op::Running], |_, system, _, _| {
        system.native_error(&format!("{}é", "x".repeat(1022)));
        Ok(0)
    });
    let (exit, _, _) = run_for(50, ONE, &mut talking);
    assert_eq!(exit.message, "x".repeat(1022));
}

#[test]
fn kernel_functions_are_refused_where_the_verifier_would() {
    // scx_kfunc_context_filter()
    let exit = exit_of(&[Op::Running], |_, system, _, args| {
        system.native_insert(args[0], DSQ_LOCAL, 1, 0).map(|()| 0)
    });
    let text = "ops.running(): scx_bpf_dsq_insert() may not be called from ops.running()";
    assert_eq!(exit, format!("runtime error ({text})"));
    let exit = exit_of(&[Op::Enqueue], |me, system, _, _| {
        system.native_move_to_local(me, 0).map(u64::from)
    });
    let text = "ops.enqueue(): scx_bpf_dsq_move_to_local() may not be called from ops.enqueue()";
    assert_eq!(exit, format!("runtime error ({text})"));
    let exit =
        exit_of(&[Op::Dispatch], |_, system, _, _| system.native_create_dsq(1).map(|r| r as u64));
    let text = "ops.dispatch(): scx_bpf_create_dsq() may not be called from ops.dispatch()";
    assert_eq!(exit, format!("runtime error ({text})"));
}

#[test]
fn a_task_tied_to_one_cpu_is_not_asked_for_another() {
    // select_task_rq(): only if p->nr_cpus_allowed > 1
    let load = r#"{"tasks": {"tied": {"cpus": [1], "run": 1000, "sleep": 1000}}}"#;
    let mut native = Native::new("test", &[Op::SelectCpu, Op::Enqueue], |me, system, op, args| {
        me.note(system, op, args);
        if op == Op::Enqueue {
            system.native_insert(args[0], DSQ_LOCAL, SLICE_INF, 0)?;
        }
        Ok(0)
    });
    let (outcome, tape) = run(ideal(2, 10 * MS), load, &mut native);
    assert_eq!(outcome.exit.kind, ExitKind::Unreg);
    assert!(native.log.iter().all(|l| l == "enqueue 1001"), "{:?}", native.log);
    assert_eq!(tape.starts(1001)[1], (2 * MS, 1));
}
