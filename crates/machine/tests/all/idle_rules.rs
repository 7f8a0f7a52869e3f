// SPDX-License-Identifier: MIT OR Apache-2.0
//! Idle CPUs: who is told of them, and who gets to them first.

use crate::common::{ideal, run, Native};
use rota_machine::consts::{
    ENQ_LAST, KICK_IDLE, KICK_PREEMPT, OPS_ENQ_LAST, OPS_KEEP_BUILTIN_IDLE,
};
use rota_machine::ops::Op;
use rota_trace::EventKind;

const MS: u64 = 1_000_000;

/// A scheduler that keeps its own idle mask starts it empty and fills it in
/// `ops.update_idle()`, which `__scx_update_idle()` calls on transitions only. On a live
/// machine every CPU soon makes one; here nothing but the workload runs.
#[test]
fn every_cpu_is_reported_idle_before_the_first_task_comes() {
    let ops = [Op::Init, Op::UpdateIdle, Op::SelectCpu, Op::Enqueue, Op::Dispatch];
    let mut own_mask = Native::new("own_mask", &ops, |me, system, op, args| match op {
        Op::Init => system.native_create_dsq(0).map(|r| r as u64),
        Op::UpdateIdle => {
            me.log.push(format!("CPU {} idle: {}", args[0], args[1]));
            Ok(0)
        }
        Op::SelectCpu => {
            me.log.push(format!("task {}", system.native_pid(args[0])));
            Ok(args[1])
        }
        Op::Enqueue => system.native_insert(args[0], 0, me.slice_ns, args[1]).map(|()| 0),
        _ => system.native_move_to_local(me, 0).map(u64::from),
    });
    run(ideal(2, 10 * MS), r#"{"tasks": {"a": {"run": 1000, "sleep": 100000}}}"#, &mut own_mask);
    // CPU 0 runs the task and is idle again; CPU 1 stays idle and is reported no more
    let expected = [
        "CPU 0 idle: 0",
        "CPU 0 idle: 1",
        "CPU 1 idle: 0",
        "CPU 1 idle: 1",
        "task 1001",
        "CPU 0 idle: 0",
        "CPU 0 idle: 1",
    ];
    assert_eq!(own_mask.log, expected);
}

/// `pick_task_idle()` refreshes the built-in mask when an idle CPU finds nothing to do,
/// without telling `ops.update_idle()`: a CPU that was claimed by
/// `scx_idle_test_and_clear_cpu()` and then got no task can be claimed again.
#[test]
fn a_cpu_claimed_in_vain_can_be_claimed_again() {
    let ops = [Op::Init, Op::SelectCpu, Op::Enqueue, Op::Dispatch];
    let mut claims = Native::new("claims", &ops, |me, system, op, args| match op {
        Op::Init => system.native_create_dsq(0).map(|r| r as u64),
        Op::SelectCpu => Ok(0),
        Op::Enqueue => {
            // claims CPU 1 and wakes it, but the task goes to CPU 0
            me.log.push(format!("claimed: {}", system.native_test_and_clear_idle(1)));
            system.native_kick(1, 0);
            system.native_insert(args[0], 0, me.slice_ns, args[1]).map(|()| 0)
        }
        _ if args[0] == 1 => Ok(0),
        _ => system.native_move_to_local(me, 0).map(u64::from),
    });
    let load = r#"{"tasks": {"a": {"loop": 3, "run": 1000, "sleep": 1000}}}"#;
    run(ideal(2, 10 * MS), load, &mut claims);
    // three times to run, once to end
    assert_eq!(claims.log, ["claimed: true"; 4]);
}

/// CPUs that are asked to schedule at the same time do so in parallel; one that they kick
/// gets there after them (`kick_cpus_irq_workfn()` runs once the pick is over). Else each
/// of them would make CPU 0 preempt a task that has not run yet.
#[test]
fn a_cpu_kicked_by_a_pick_comes_after_those_asked_before() {
    let ops = [Op::Init, Op::SelectCpu, Op::Enqueue, Op::Dispatch];
    let mut central = Native::new("central", &ops, |me, system, op, args| match op {
        Op::Init => system.native_create_dsq(0).map(|r| r as u64),
        Op::SelectCpu => Ok(0),
        Op::Enqueue => system.native_insert(args[0], 0, me.slice_ns, args[1]).map(|()| 0),
        _ => {
            me.log.push(format!("CPU {} at {}", args[0], system.native_now()));
            if args[0] != 0 {
                system.native_kick(0, KICK_PREEMPT);
            }
            system.native_move_to_local(me, 0).map(u64::from)
        }
    });
    let load = r#"{"tasks": {"hog": {"instance": 4, "run": 1000000}}}"#;
    let (_, tape) = run(ideal(3, 5 * MS), load, &mut central);
    assert_eq!(central.log, ["CPU 0 at 0", "CPU 1 at 0", "CPU 2 at 0", "CPU 0 at 0"]);
    let started: Vec<u32> = tape
        .0
        .iter()
        .filter_map(|e| match e.kind {
            EventKind::SwitchIn { pid } => Some(pid),
            _ => None,
        })
        .collect();
    assert_eq!(started, [1001, 1002, 1003, 1004]);
}

/// `scx_kick_cpu()` drops `SCX_KICK_IDLE` of a busy CPU only if it gets that CPU's lock,
/// which a callback about a task of the CPU holds already. So a CPU that hands its last
/// task to `ops.enqueue()` can be told there to look again once it is idle.
#[test]
fn the_last_task_of_a_cpu_runs_on_when_its_enqueue_kicks_the_cpu() {
    let ops = [Op::Init, Op::Enqueue, Op::Dispatch];
    let mut last = Native::new("last", &ops, |me, system, op, args| match op {
        Op::Init => system.native_create_dsq(0).map(|r| r as u64),
        Op::Enqueue => {
            system.native_insert(args[0], 0, me.slice_ns, args[1])?;
            if args[1] & ENQ_LAST != 0 {
                system.native_kick(system.native_task_cpu(args[0]) as i32, KICK_IDLE);
            }
            Ok(0)
        }
        _ => system.native_move_to_local(me, 0).map(u64::from),
    })
    .flags(OPS_ENQ_LAST);
    let load = r#"{"tasks": {"a": {"loop": -1, "run": 1000, "yield": ""}}}"#;
    let (_, tape) = run(ideal(1, 100 * MS), load, &mut last);
    assert_eq!(tape.cpu_ns(1001, 100 * MS), 100 * MS);
}

/// A CPU is marked idle in `set_next_task_idle()`, some time after `ops.dispatch()` gave it
/// nothing. Who looks for an idle CPU in between finds none, and `ops.update_idle()` comes
/// after the mark (`__scx_update_idle()`).
#[test]
fn a_cpu_on_its_way_to_idle_is_found_when_it_is_there() {
    let ops = [Op::Init, Op::UpdateIdle, Op::Enqueue, Op::Dispatch];
    let mut looks = Native::new("looks", &ops, |me, system, op, args| match op {
        Op::Init => system.native_create_dsq(0).map(|r| r as u64),
        Op::UpdateIdle => {
            if args == [0, 1] && system.native_now() > 0 {
                let (at, marked) = (system.native_now(), system.native_test_and_clear_idle(0));
                me.log.push(format!("CPU 0 idle at {at}, marked: {marked}"));
            }
            Ok(0)
        }
        Op::Enqueue => {
            let (pid, found) = (system.native_pid(args[0]), system.native_test_and_clear_idle(0));
            me.log.push(format!("{pid} at {}: {found}", system.native_now()));
            system.native_insert(args[0], 0, me.slice_ns, args[1]).map(|()| 0)
        }
        _ => system.native_move_to_local(me, 0).map(u64::from),
    })
    .flags(OPS_KEEP_BUILTIN_IDLE);
    let load = r#"{"tasks": {
        "a": {"cpus": [0], "loop": 1, "run": 1000},
        "b": {"cpus": [1], "loop": 1, "sleep": 1005, "run": 1000}}}"#;
    let mut config = ideal(2, 2 * MS);
    config.costs.idle_entry_ns = 10_000;
    run(config, load, &mut looks);
    let expected = [
        "1001 at 0: true",
        "1002 at 0: false",
        "1002 at 1005000: false",
        "CPU 0 idle at 1010000, marked: true",
    ];
    assert_eq!(looks.log, expected);
}
