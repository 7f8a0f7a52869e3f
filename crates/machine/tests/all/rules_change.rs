// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a scheduler is told when a task's properties change, in the kernel's order
//! (`sched_change_begin()`, `sched_change_end()`, `ext.c`).

use crate::common::{ideal, run, Handler, Native, Tape};
use rota_machine::consts::*;
use rota_machine::ops::Op;
use rota_machine::system::System;
use rota_vm::error::Fault;

const MS: u64 = 1_000_000;

/// Every callback about tasks and cgroups.
const ALL: [Op; 19] = [
    Op::Enqueue,
    Op::Dequeue,
    Op::Runnable,
    Op::Running,
    Op::Stopping,
    Op::Quiescent,
    Op::Yield,
    Op::SetWeight,
    Op::SetCpumask,
    Op::InitTask,
    Op::ExitTask,
    Op::Enable,
    Op::Disable,
    Op::CgroupInit,
    Op::CgroupExit,
    Op::CgroupPrepMove,
    Op::CgroupMove,
    Op::CgroupCancelMove,
    Op::CgroupSetWeight,
];

/// Notes a callback with what its arguments mean.
fn describe(me: &mut Native, system: &mut System, op: Op, args: &[u64]) {
    let group = |p: u64| system.native_cgroup(p).unwrap_or("?").to_string();
    let detail = match op {
        Op::Enqueue | Op::Dequeue | Op::Runnable | Op::Quiescent => format!(" {:#x}", args[1]),
        Op::Stopping => format!(" {}", args[1] != 0),
        Op::SetWeight => format!(" {}", args[1]),
        Op::CgroupInit | Op::CgroupExit => format!(" {}", group(args[0])),
        Op::CgroupPrepMove | Op::CgroupMove => {
            format!(" {} {}", group(args[1]), group(args[2]))
        }
        _ => String::new(),
    };
    me.log.push(format!("{}{detail}", op.name()));
}

fn global(me: &mut Native, system: &mut System, op: Op, args: &[u64]) -> Result<u64, Fault> {
    describe(me, system, op, args);
    if op == Op::Enqueue {
        system.native_insert(args[0], DSQ_GLOBAL, SLICE_INF, args[1])?;
    }
    Ok(0)
}

fn log_of(cpus: u32, load: &str, handler: Handler) -> (Vec<String>, Tape) {
    let mut native = Native::new("test", &ALL, handler);
    let (outcome, tape) = run(ideal(cpus, 20 * MS), load, &mut native);
    assert_eq!(outcome.exit.to_string(), "unregistered from user space");
    (native.log, tape)
}

/// The callbacks of a change: what comes after the first `running` and before the end.
fn change(log: &[String]) -> &[String] {
    let from = log.iter().position(|l| l == "running").unwrap() + 1;
    let to = log.iter().rposition(|l| l == "running").unwrap() + 1;
    &log[from..to]
}

#[test]
fn a_new_nice_value_stops_the_task_and_starts_it_again() {
    // set_user_nice(): sched_change with DEQUEUE_SAVE | DEQUEUE_NOCLOCK, reweight_task_scx()
    let load = r#"{"tasks": {"a": {"phases": {
        "first": {"run": 3000}, "then": {"priority": 5, "run": 50000}}}}}"#;
    let (log, tape) = log_of(1, load, global);
    let save = DEQ_SAVE | DEQ_NOCLOCK;
    let expected = [
        "stopping false".to_string(),
        format!("quiescent {:#x}", save | DEQ_SCHED_CHANGE),
        "set_weight 33".to_string(),
        format!("runnable {:#x}", ENQ_RESTORE | ENQ_NOCLOCK),
        "running".to_string(),
    ];
    assert_eq!(change(&log), expected);
    // it kept its CPU throughout
    assert_eq!(tape.starts(1001), [(0, 0)]);
}

#[test]
fn a_nice_value_of_the_same_weight_is_told_too() {
    // reweight_task_scx() does not compare: nice 17 and 18 are 23 and 18, both of weight 2
    let load = r#"{"tasks": {"a": {"phases": {
        "first": {"priority": 17, "run": 3000}, "then": {"priority": 18, "run": 50000}}}}}"#;
    let (log, _) = log_of(1, load, global);
    assert_eq!(log.iter().filter(|l| *l == "set_weight 2").count(), 2, "{log:?}");
}

#[test]
fn a_task_keeps_running_where_its_new_mask_allows_it() {
    // __set_cpus_allowed_ptr(): set_cpus_allowed_scx() within the change, no migration
    let load = r#"{"tasks": {"a": {"phases": {
        "first": {"run": 3000}, "then": {"cpus": [0], "run": 50000}}}}}"#;
    let (log, tape) = log_of(2, load, global);
    let names: Vec<&str> = change(&log).iter().map(|l| l.split(' ').next().unwrap()).collect();
    assert_eq!(names, ["stopping", "quiescent", "set_cpumask", "runnable", "running"]);
    assert_eq!(tape.starts(1001), [(0, 0)]);
}

#[test]
fn a_task_leaves_a_cpu_that_its_new_mask_forbids() {
    // migration_cpu_stop(): the stopper preempts the task (put_prev_task_scx() leaves it on
    // the local queue, it has a slice), move_queued_task() moves it: neither quiescent nor
    // runnable, and ops.enqueue() with ENQUEUE_MIGRATED
    let load = r#"{"tasks": {"a": {"phases": {
        "first": {"cpus": [0], "run": 3000}, "then": {"cpus": [1], "run": 50000}}}}}"#;
    let (log, tape) = log_of(2, load, global);
    let save = DEQ_SAVE | DEQ_NOCLOCK;
    let expected = [
        "stopping false".to_string(),
        format!("quiescent {:#x}", save | DEQ_SCHED_CHANGE),
        "set_cpumask".to_string(),
        format!("runnable {:#x}", ENQ_RESTORE | ENQ_NOCLOCK),
        "running".to_string(),
        "stopping true".to_string(),
        format!("enqueue {ENQ_MIGRATED:#x}"),
        "running".to_string(),
    ];
    assert_eq!(change(&log), expected);
    assert_eq!(tape.starts(1001), [(0, 0), (3 * MS, 1)]);
    assert_eq!(tape.cpu_ns(1001, 20 * MS), 20 * MS);
}

#[test]
fn a_mask_that_stays_the_same_is_not_told() {
    // __set_cpus_allowed_ptr_locked(): cpumask_equal()
    let load = r#"{"tasks": {"a": {"phases": {
        "first": {"run": 3000}, "then": {"cpus": [0, 1], "run": 3000}}}}}"#;
    let (log, _) = log_of(2, load, global);
    assert!(!log.contains(&"set_cpumask".to_string()), "{log:?}");
}

#[test]
fn a_move_to_another_cgroup_is_prepared_and_then_done() {
    // scx_cgroup_can_attach(), sched_move_task() and scx_cgroup_move_task(); cgroups are
    // announced parents first, and taken away children first
    let load = r#"{"tasks": {"a": {"taskgroup": "/x", "phases": {
        "first": {"taskgroup": "/x", "run": 3000}, "then": {"taskgroup": "/y/z", "run": 50000}}}}}"#;
    let (log, _) = log_of(1, load, global);
    let inits = ["cgroup_init /", "cgroup_init /x", "cgroup_init /y", "cgroup_init /y/z"];
    assert_eq!(log[..4], inits);
    let mv = DEQ_SAVE | DEQ_MOVE | DEQ_NOCLOCK;
    let expected = [
        "cgroup_prep_move /x /y/z".to_string(),
        "stopping false".to_string(),
        format!("quiescent {:#x}", mv | DEQ_SCHED_CHANGE),
        "cgroup_move /x /y/z".to_string(),
        format!("runnable {:#x}", ENQ_RESTORE | ENQ_MOVE | ENQ_NOCLOCK),
        "running".to_string(),
    ];
    assert_eq!(change(&log), expected);
    let exits: Vec<&String> = log.iter().filter(|l| l.starts_with("cgroup_exit")).collect();
    assert_eq!(exits, ["cgroup_exit /x", "cgroup_exit /y/z", "cgroup_exit /y", "cgroup_exit /"]);
}

#[test]
fn a_task_that_moved_to_another_cgroup_goes_through_its_scheduler() {
    // sched_move_task(): resched_curr(). Otherwise the end of the slice would be seen by the
    // next tick only, at 4 ms
    let load = r#"{"tasks": {"a": {"phases": {
        "first": {"run": 3000}, "then": {"taskgroup": "/y", "run": 50000}}}}}"#;
    let mut native =
        Native::new("test", &[Op::CgroupMove, Op::Dispatch], |me, system, op, args| {
            if op == Op::CgroupMove {
                system.native_set_slice(args[0], 0);
            } else if args[1] != 0 {
                me.log.push(format!("{} us", system.native_now() / 1000));
                system.native_set_slice(args[1], SLICE_INF);
            }
            Ok(0)
        });
    let mut config = ideal(1, 20 * MS);
    config.exact_slices = false;
    run(config, load, &mut native);
    assert_eq!(native.log, ["3000 us"]);
}

#[test]
fn a_refused_move_leaves_the_task_in_its_cgroup() {
    // scx_cgroup_can_attach(): -EPERM from ops.cgroup_prep_move() fails the move, no more
    let load = r#"{"tasks": {"a": {"phases": {
        "first": {"run": 3000}, "then": {"taskgroup": "/y", "run": 50000}}}}}"#;
    let (log, _) = log_of(1, load, |me, system, op, args| {
        describe(me, system, op, args);
        match op {
            Op::CgroupPrepMove => Ok(-1i64 as u64),
            Op::Enqueue => {
                system.native_insert(args[0], DSQ_GLOBAL, SLICE_INF, args[1]).map(|()| 0)
            }
            _ => Ok(0),
        }
    });
    assert!(log.contains(&"cgroup_prep_move / /y".to_string()), "{log:?}");
    assert!(!log.iter().any(|l| l.starts_with("cgroup_move")), "{log:?}");
}

#[test]
fn a_yield_without_a_callback_gives_up_the_slice() {
    // yield_task_scx()
    let load = r#"{"tasks": {"a": {"run": 3000, "yield": ""}, "b": {"run": 50000}}}"#;
    let mut native = Native::new("test", &[], |_, _, _, _| Ok(0));
    let (_, tape) = run(ideal(1, 50 * MS), load, &mut native);
    assert_eq!(tape.picks(0)[..4], [1001, 1002, 1001, 1002]);
    assert_eq!(tape.starts(1001)[..2], [(0, 0), (23 * MS, 0)]);
}

#[test]
fn a_yield_callback_decides_whether_the_task_goes_on() {
    // yield_task_scx(): the slice stays as it is, and balance_one() keeps the task
    let load = r#"{"tasks": {"a": {"run": 3000, "yield": ""}, "b": {"run": 50000}}}"#;
    let mut native = Native::new("test", &[Op::Yield], |me, _, _, args| {
        me.log.push(format!("{}", args[1]));
        Ok(0)
    });
    let (_, tape) = run(ideal(1, 50 * MS), load, &mut native);
    // to nobody in particular
    assert!(native.log.iter().all(|to| to == "0") && native.log.len() >= 6, "{:?}", native.log);
    assert_eq!(tape.starts(1002)[0], (20 * MS, 0));
}

#[test]
fn a_forked_task_is_announced_before_it_is_woken() {
    // scx_fork(), scx_post_fork(), wake_up_new_task()
    let load = r#"{"tasks": {
        "a": {"loop": 1, "run": 1000, "fork": "b", "run": 9000},
        "b": {"instance": 0, "loop": 1, "run": 1000}}}"#;
    let (log, tape) = log_of(1, load, global);
    let fork = log.iter().rposition(|l| l == "init_task").unwrap();
    let expected = ["init_task", "enable", "set_weight 100", "runnable 0x80008", "enqueue 0x80008"];
    assert_eq!(log[fork..fork + 5], expected);
    assert_eq!(tape.starts(1002), [(10 * MS, 0)]);
}

/// Callbacks about the task that has the mutex, once it runs.
fn inherited(load: &str) -> Vec<String> {
    let mut native = Native::new("test", &ALL, |me, system, op, args| {
        if args.first().is_some_and(|p| system.native_pid(*p) == 1001) {
            describe(me, system, op, args);
        }
        if op == Op::Enqueue {
            system.native_insert(args[0], DSQ_GLOBAL, SLICE_INF, args[1])?;
        }
        Ok(0)
    });
    let (outcome, _) = run(ideal(2, 20 * MS), load, &mut native);
    assert_eq!(outcome.exit.to_string(), "unregistered from user space");
    let first = native.log.iter().position(|l| l == "running").unwrap() + 1;
    native.log.split_off(first)
}

#[test]
fn a_loan_of_priority_ends_with_the_flags_of_rt_mutex_setprio() {
    // The holder runs on while a real-time task waits on the other CPU: it leaves sched_ext at 2
    // ms, and comes back when it unlocks at 4. DEQUEUE_SAVE | DEQUEUE_MOVE | DEQUEUE_NOCLOCK |
    // DEQUEUE_CLASS, without ENQUEUE_HEAD: that is for new priorities that are real-time ones.
    let log = inherited(
        r#"{"global": {"pi_enabled": true}, "tasks": {
            "low": {"cpus": [0], "lock": "m", "run": 4000, "unlock": "m", "run1": 50000},
            "high": {"cpus": [1], "policy": "SCHED_FIFO", "delay": 2000, "loop": 1, "lock": "m",
                "run": 1000, "unlock": "m"}}}"#,
    );
    let class = DEQ_SAVE | DEQ_MOVE | DEQ_NOCLOCK | DEQ_CLASS;
    let expected = [
        "stopping false".to_owned(),
        format!("quiescent {:#x}", class | DEQ_SCHED_CHANGE),
        "disable".into(),
        "enable".into(),
        "set_weight 100".into(),
        "set_cpumask".into(),
        format!("runnable {class:#x}"),
        "running".into(),
    ];
    assert_eq!(log[..expected.len()], expected);
}
