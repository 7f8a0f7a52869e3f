// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a scheduler is told of the classes above it, in the kernel's order (`switch_class()`,
//! `balance_one()`, `switching_to_scx()`, `switched_from_scx()`).

use super::MS;
use crate::common::{ideal, run, Native};
use rota_machine::consts::*;
use rota_machine::ops::Op;
use rota_machine::system::System;
use rota_vm::host::Host;

/// Notes a callback: its task or CPU, and of a release why and for whom.
pub(super) fn note(me: &mut Native, system: &mut System, op: Op, args: &[u64]) {
    let at = system.native_now() / MS;
    let what = match op {
        Op::CpuRelease => {
            // struct scx_cpu_release_args { enum scx_cpu_preempt_reason reason; task }
            let reason = system.memory().read(args[1], 4).unwrap();
            let task = system.memory().read(args[1] + 8, 8).unwrap();
            format!("CPU {} reason {reason} for {}", args[0], system.native_pid(task))
        }
        Op::CpuAcquire => format!("CPU {}", args[0]),
        Op::Stopping => format!("{} runnable {}", system.native_pid(args[0]), args[1]),
        _ => system.native_pid(args[0]).to_string(),
    };
    me.log.push(format!("{at} {} {what}", op.name()));
}

fn told(ops: &[Op], cpus: u32, tasks: &str) -> Vec<String> {
    let mut native = Native::new("notes", ops, |me, system, op, args| {
        note(me, system, op, args);
        Ok(0)
    });
    let mut config = ideal(cpus, 30 * MS);
    config.audit = true;
    run(config, &format!("{{\"tasks\": {{{tasks}}}}}"), &mut native);
    let end = native.log.iter().position(|line| line.starts_with("30 "));
    native.log.truncate(end.unwrap_or(native.log.len()));
    native.log
}

#[test]
fn a_cpu_is_released_after_its_task_stopped_and_acquired_before_the_next_one_runs() {
    let ops = [Op::Running, Op::Stopping, Op::CpuRelease, Op::CpuAcquire];
    let log = told(
        &ops,
        1,
        r#""ext": {"run": 100000},
           "rt": {"loop": 1, "policy": "SCHED_FIFO", "delay": 5000, "run": 4000},
           "dl": {"loop": 1, "policy": "SCHED_DEADLINE", "dl-runtime": 2000, "dl-period": 10000,
               "delay": 6000, "run": 2000, "sleep": 10000, "run1": 1000}"#,
    );
    // ext is 1001. The release tells once who took the CPU from sched_ext: 1002, and not that
    // 1003 took it from that one; at 18 it is 1003
    let expected = [
        "0 running 1001",
        "5 stopping 1001 runnable 1",
        "5 cpu_release CPU 0 reason 0 for 1002",
        "11 cpu_acquire CPU 0",
        "11 running 1001",
        "18 stopping 1001 runnable 1",
        "18 cpu_release CPU 0 reason 1 for 1003",
        "19 cpu_acquire CPU 0",
        "19 running 1001",
    ];
    assert_eq!(log, expected);
}

#[test]
fn an_idle_cpu_that_a_higher_class_takes_is_not_released() {
    // switch_class() comes with putting a task of sched_ext back
    let ops = [Op::UpdateIdle, Op::CpuRelease, Op::CpuAcquire];
    let log =
        told(&ops, 1, r#""rt": {"loop": 1, "policy": "SCHED_FIFO", "delay": 5000, "run": 4000}"#);
    assert!(!log.iter().any(|line| line.contains("cpu_")), "{log:?}");
}

#[test]
fn a_change_of_class_disables_and_enables_the_task() {
    let ops = [
        Op::InitTask,
        Op::Enable,
        Op::Disable,
        Op::ExitTask,
        Op::Runnable,
        Op::Quiescent,
        Op::Running,
        Op::Stopping,
        Op::SetWeight,
        Op::SetCpumask,
        Op::CpuRelease,
    ];
    let log = told(
        &ops,
        1,
        r#""t": {"loop": 1, "phases": {
            "rt": {"policy": "SCHED_FIFO", "run": 5000},
            "ext": {"policy": "SCHED_OTHER", "run": 5000},
            "rt2": {"policy": "SCHED_RR", "run": 5000}}}"#,
    );
    // of the class above, only its birth and death are known. Running on as real-time at 10 is no
    // switch, and no release
    let expected = [
        "0 init_task 1001",
        "5 enable 1001",
        "5 set_weight 1001",
        "5 set_cpumask 1001",
        "5 runnable 1001",
        "5 running 1001",
        "10 stopping 1001 runnable 0",
        "10 quiescent 1001",
        "10 disable 1001",
        "15 exit_task 1001",
    ];
    assert_eq!(log, expected);
}

#[test]
fn a_cpu_that_a_higher_class_has_is_not_idle() {
    // the real-time task is on CPU 0 from 0 to 20; the kick at 5 says nothing to it
    let ops = [Op::SelectCpu, Op::Enqueue];
    let mut native = Native::new("looks", &ops, |me, system, op, args| {
        if op == Op::SelectCpu {
            let claims = [0, 1].map(|cpu| system.native_test_and_clear_idle(cpu));
            me.log.push(format!("{claims:?}"));
            system.native_kick(0, KICK_PREEMPT);
            return Ok(1);
        }
        system.native_insert(args[0], DSQ_LOCAL, SLICE_INF, args[1]).map(|()| 0)
    });
    let load = r#"{"tasks": {"rt": {"loop": 1, "policy": "SCHED_FIFO", "cpus": [0], "run": 20000},
        "ext": {"loop": 1, "delay": 5000, "run": 5000}}}"#;
    let (_, tape) = run(ideal(2, 30 * MS), load, &mut native);
    assert_eq!(native.log, ["[false, true]"]);
    assert_eq!(tape.spans("rt-0"), [(0, 20_000)]);
    assert_eq!(tape.spans("ext-1"), [(5000, 10_000)]);
}

#[test]
fn a_release_is_the_time_to_hand_waiting_tasks_back() {
    // at 5 the real-time task takes CPU 0 from a, which the scheduler then sends to CPU 1
    let ops = [Op::Enqueue, Op::CpuRelease];
    let mut native = Native::new("moves", &ops, |me, system, op, args| match op {
        Op::CpuRelease => {
            system.native_reenq(DSQ_LOCAL_ON, REENQ_ANY);
            Ok(0)
        }
        _ => {
            me.log.push(format!("{} {}", system.native_now() / MS, args[1] & ENQ_REENQ != 0));
            let cpu = u64::from(args[1] & ENQ_REENQ != 0);
            system.native_insert(args[0], DSQ_LOCAL_ON | cpu, SLICE_INF, args[1]).map(|()| 0)
        }
    });
    let load = r#"{"tasks": {"a": {"loop": 1, "run": 20000},
        "rt": {"loop": 1, "policy": "SCHED_FIFO", "cpus": [0], "delay": 5000, "run": 10000}}}"#;
    let (_, tape) = run(ideal(2, 50 * MS), load, &mut native);
    assert_eq!(tape.spans("a-0"), [(0, 20_000)]);
    assert_eq!(tape.starts(1001).iter().map(|s| s.1).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(native.log.last().map(String::as_str), Some("5 true"));
}
