// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a scheduler is called for when it is attached to tasks that exist, and when it leaves
//! them: `scx_root_enable_workfn()`, `scx_root_disable()`.

use super::{fair, machine, play, MS};
use crate::common::Native;
use rota_machine::consts::*;
use rota_machine::ops::Op;
use rota_machine::system::System;
use rota_trace::{EventKind, SchedClass};
use rota_vm::host::Host;

const TOLD: [Op; 20] = [
    Op::Init,
    Op::InitTask,
    Op::Enable,
    Op::SetWeight,
    Op::SetCpumask,
    Op::Runnable,
    Op::Enqueue,
    Op::Dequeue,
    Op::Dispatch,
    Op::Running,
    Op::Stopping,
    Op::Quiescent,
    Op::Disable,
    Op::ExitTask,
    Op::CgroupInit,
    Op::CgroupExit,
    Op::UpdateIdle,
    Op::Yield,
    Op::SelectCpu,
    Op::Exit,
];

/// `args->fork` of `ops.init_task()`.
fn is_fork(system: &mut System, args: &[u64]) -> bool {
    system.memory().read(args[1], 1).unwrap() != 0
}

/// A first-in-first-out scheduler that notes its callbacks.
fn teller() -> Native {
    Native::new("teller", &TOLD, |me, system, op, args| {
        me.note(system, op, args);
        let last = me.log.len() - 1;
        match op {
            Op::Init => return system.native_create_dsq(0).map(|ret| ret as u64),
            Op::InitTask if is_fork(system, args) => me.log[last].push_str(" fork"),
            Op::SelectCpu => return Ok(args[1]),
            Op::Enqueue => system.native_insert(args[0], 0, 10 * MS, args[1])?,
            Op::Runnable => me.log[last] += &format!(" {:#x}", args[1]),
            Op::Quiescent => me.log[last] += &format!(" {:#x}", args[1]),
            Op::Dispatch => {
                system.native_move_to_local(me, 0)?;
            }
            _ => {}
        }
        Ok(0)
    })
}

const TASKS: &str = r#"
    "runs": {"run": 100000},
    "waits": {"run": 100000},
    "sleeps": {"delay": 1000, "policy": "SCHED_RR", "phases": {
        "first": {"loop": 1, "run": 100},
        "then": {"policy": "SCHED_OTHER", "sleep": 1000000}}},
    "blocks": {"policy": "SCHED_FIFO", "phases": {
        "first": {"loop": 1, "run": 100},
        "then": {"policy": "SCHED_OTHER", "suspend": "blocks"}}},
    "above": {"policy": "SCHED_FIFO", "loop": -1, "run": 100, "sleep": 1000000}"#;

#[test]
fn running_queued_sleeping_and_blocked_tasks_are_taken_over_in_the_kernel_s_order() {
    // 5 ms: runs runs and waits waits, as their class's slices are of 10
    let (outcome, tape, ext) = play(machine(1, 6, &[(5, true)]), TASKS, teller, &mut fair());
    assert!(!outcome.exit.kind.is_error(), "{}", outcome.exit);
    let pid = |name: &str| tape.pid(name);
    let [r, w, s, b, a] = ["runs-0", "waits-1", "sleeps-2", "blocks-3", "above-4"].map(pid);
    // the audit and hand calculation: DEQUEUE_SAVE | MOVE | NOCLOCK | CLASS, ENQUEUE_ of the same
    let (moved, switched) = (DEQ_SAVE | DEQ_MOVE | DEQ_NOCLOCK, 0x4e);
    let quiet = moved | DEQ_SCHED_CHANGE;
    let mut tasks = [r, w, s, b, a];
    tasks.sort_unstable();
    let mut expected = vec!["init".to_owned(), "cgroup_init".into()];
    expected.extend(tasks.map(|t| format!("init_task {t}")));
    for t in tasks.into_iter().filter(|t| *t != a) {
        expected.extend(["enable", "set_weight", "set_cpumask"].map(|op| format!("{op} {t}")));
        if t == r || t == w {
            expected.push(format!("runnable {t} {switched:#x}"));
        }
        if t == r {
            expected.push(format!("running {t}"));
        }
    }
    // bypass ends: what waits is handed to the scheduler
    expected.push(format!("quiescent {w} {quiet:#x}"));
    expected.push(format!("runnable {w} {moved:#x}"));
    expected.push(format!("enqueue {w}"));
    // the end of the run: bypass first, then one task after the other
    expected.push(format!("dequeue {w}"));
    expected.push(format!("quiescent {w} {quiet:#x}"));
    expected.push(format!("runnable {w} {moved:#x}"));
    expected.push("cgroup_exit".into());
    for t in tasks {
        let leaves = quiet | DEQ_CLASS;
        if t == r {
            expected.push(format!("stopping {t}"));
        }
        if t == r || t == w {
            expected.push(format!("quiescent {t} {leaves:#x}"));
        }
        if t != a {
            expected.push(format!("disable {t}"));
        }
        expected.push(format!("exit_task {t}"));
    }
    expected.push("exit".into());
    assert_eq!(ext.log, expected);
    let class = |of: u32| {
        let told = |e: &rota_trace::Event| match e.kind {
            EventKind::SchedClass { pid, class } if pid == of => Some((e.time_ns / MS, class)),
            _ => None,
        };
        tape.0.iter().filter_map(told).collect::<Vec<_>>()
    };
    assert_eq!(class(r), [(0, SchedClass::Fair), (5, SchedClass::Ext)]);
    assert_eq!(class(a), [(0, SchedClass::Realtime)]);
    // the running one goes on
    assert_eq!(tape.starts(r), [(200_000, 0), (1_100_000, 0)], "after real-time tasks only");
}

#[test]
fn tasks_that_come_later_are_forked() {
    let tasks = r#""early": {"run": 1000}, "late": {"delay": 7000, "run": 1000}"#;
    let (_, _, ext) = play(machine(1, 9, &[(5, true)]), tasks, teller, &mut fair());
    let inits: Vec<_> = ext.log.iter().filter(|l| l.starts_with("init_task")).collect();
    assert_eq!(inits, ["init_task 1001", "init_task 1002 fork"]);
}

/// Sets `p->scx.disallow` of the first task.
fn refuser() -> Native {
    let ops = [Op::InitTask, Op::Enable];
    Native::new("refuser", &ops, |me, system, op, args| {
        me.note(system, op, args);
        if op == Op::InitTask && system.native_pid(args[0]) == 1001 {
            system.native_disallow(args[0]);
        }
        Ok(0)
    })
    .flags(OPS_SWITCH_PARTIAL)
}

#[test]
fn disallow_keeps_a_task_out_of_sched_ext_at_the_load_and_later() {
    let tasks = r#""no": {"policy": "SCHED_EXT", "run": 100000},
        "yes": {"policy": "SCHED_EXT", "run": 100000},
        "other": {"run": 100000}"#;
    let (outcome, tape, ext) = play(machine(1, 20, &[(5, true)]), tasks, refuser, &mut fair());
    assert!(!outcome.exit.kind.is_error(), "{}", outcome.exit);
    let all = ["init_task 1001", "init_task 1002", "init_task 1003", "enable 1002"];
    assert_eq!(ext.log, all);
    assert!(!tape.spans("no-0").is_empty());
    // it asks once more
    let tasks = r#""no": {"phases": {"a": {"loop": 1, "policy": "SCHED_OTHER", "run": 7000},
        "b": {"policy": "SCHED_EXT", "run": 1000}}}"#;
    let text = format!(r#"{{"tasks": {{{tasks}}}}}"#);
    let workload = std::sync::Arc::new(rota_workload::parse("test.json", &text).unwrap());
    let btf = rota_object::btf::reference();
    let config = machine(1, 20, &[(5, true)]);
    let mut machine = rota_machine::run::Machine::new(config, workload, &btf).unwrap();
    machine.with_fair(|_| ());
    let (mut ext, mut fair, mut anew) = (refuser(), fair(), |_: &mut _| Ok(refuser()));
    let mut stage = rota_machine::stage::Stage::new(&mut ext, &mut fair, &mut anew);
    let error = machine.run(&mut stage, &mut crate::common::Tape::default()).unwrap_err();
    assert!(error.to_string().contains("SCHED_EXT is refused (EACCES)"), "{error}");
}

#[test]
fn disallow_of_a_fork_ejects() {
    let (outcome, ..) =
        play(machine(1, 9, &[(0, true)]), r#""a": {"run": 1000}"#, refuser, &mut fair());
    let text = "runtime error (ops.init_task() set task->scx.disallow for a-0[1001] during fork)";
    assert_eq!(outcome.exit.to_string(), text);
}
