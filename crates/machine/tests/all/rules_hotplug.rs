// SPDX-License-Identifier: MIT OR Apache-2.0
//! CPUs that go offline and come back while tasks run (`sched_cpu_deactivate()`,
//! `handle_hotplug()`).

use crate::common::{ideal, run, Native, Tape};
use rota_machine::consts::*;
use rota_machine::exit::ExitKind;
use rota_machine::ops::Op;
use rota_machine::run::Outcome;

const MS: u64 = 1_000_000;
const OPS: [Op; 12] = [
    Op::Init,
    Op::Enqueue,
    Op::Dispatch,
    Op::Dequeue,
    Op::Runnable,
    Op::Running,
    Op::Stopping,
    Op::Quiescent,
    Op::SetCpumask,
    Op::UpdateIdle,
    Op::CpuOffline,
    Op::CpuOnline,
];

/// One queue for all; notes with times what is about CPU 1 and about the task with pid 1002.
fn keeper(ops: &[Op]) -> Native {
    Native::new("keeper", ops, |me, system, op, args| {
        let detail = match op {
            Op::CpuOffline | Op::CpuOnline => format!("{}", args[0]),
            Op::UpdateIdle if args[0] == 1 => format!("1 {}", args[1] != 0),
            Op::Init | Op::Dispatch | Op::UpdateIdle => String::new(),
            _ if system.native_pid(args[0]) != 1002 => String::new(),
            Op::Enqueue | Op::Dequeue | Op::Runnable | Op::Quiescent => format!("{:#x}", args[1]),
            _ => "b".into(),
        };
        if !detail.is_empty() && system.native_now() > 0 {
            me.log.push(format!("{} {} {detail}", system.native_now() / MS, op.name()));
        }
        match op {
            Op::Init => system.native_create_dsq(0).map(|r| r as u64),
            Op::Enqueue => system.native_insert(args[0], 0, SLICE_INF, args[1]).map(|()| 0),
            Op::Dispatch => system.native_move_to_local(me, 0).map(u64::from),
            _ => Ok(0),
        }
    })
    .flags(OPS_KEEP_BUILTIN_IDLE)
}

fn under(mut native: Native, tasks: &str, events: &str) -> (Vec<String>, Outcome, Tape) {
    let load = format!("{{\"tasks\": {{{tasks}}}, \"events\": [{events}]}}");
    let mut config = ideal(2, 20 * MS);
    config.audit = true;
    let (outcome, tape) = run(config, &load, &mut native);
    (native.log, outcome, tape)
}

const DOWN: &str = r#"{"at": 5000, "cpu": 1, "online": false}"#;
const DOWN_AND_UP: &str = r#"{"at": 5000, "cpu": 1, "online": false, "name": "down"},
    {"after": "down", "delay": "5ms", "cpu": 1, "online": true}"#;
const TWO: &str = r#""a": {"run": 90000}, "b": {"run": 90000}"#;

#[test]
fn a_scheduler_without_hotplug_callbacks_is_to_be_restarted() {
    let ops = &OPS[..OPS.len() - 2];
    let (_, outcome, _) = under(keeper(ops), TWO, DOWN);
    let exit = outcome.exit;
    assert_eq!(exit.kind, ExitKind::UnregKern);
    assert_eq!(exit.message, "cpu 1 going offline, exiting scheduler");
    // SCX_ECODE_ACT_RESTART | SCX_ECODE_RSN_HOTPLUG
    assert_eq!(exit.code, (1 << 48) | (1 << 32));
    assert_eq!(outcome.end_ns, 5 * MS);
}

#[test]
fn a_task_is_pushed_off_a_cpu_that_goes() {
    let (log, outcome, tape) = under(keeper(&OPS), TWO, DOWN_AND_UP);
    assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{}", outcome.exit);
    assert_eq!(outcome.outside, []);
    // ops.cpu_offline() first, as the task leaves when its CPU next goes through schedule():
    // the stopper puts it back, __migrate_task() moves it, which is no end of its being runnable
    let at_5: Vec<&str> = log.iter().filter_map(|line| line.strip_prefix("5 ")).collect();
    let expected = [
        "cpu_offline 1".to_owned(),
        "stopping b".to_owned(),
        format!("enqueue {ENQ_MIGRATED:#x}"),
        "update_idle 1 true".to_owned(),
    ];
    assert_eq!(at_5, expected);
    let at_10: Vec<&str> = log.iter().filter_map(|line| line.strip_prefix("10 ")).collect();
    // and the CPU takes the task from the queue once it is back
    let expected = ["update_idle 1 false", "cpu_online 1", "update_idle 1 true"];
    assert_eq!(at_10[..3], expected);
    assert_eq!(tape.starts(1002), [(0, 1), (10 * MS, 1)]);
    assert_eq!(tape.cpu_ns(1002, 20 * MS), 15 * MS);
}

#[test]
fn a_waiting_task_leaves_the_scheduler_s_custody_and_runs_elsewhere() {
    // rq_offline_scx() re-enqueues it to the local DSQ, from which the CPU picks and pushes it
    let tasks = r#""a": {"cpus": [1], "run": 90000}, "b": {"cpus": [1], "run": 90000}"#;
    let (log, outcome, tape) = under(keeper(&OPS), tasks, DOWN);
    assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{}", outcome.exit);
    let at_5: Vec<&str> = log.iter().filter_map(|line| line.strip_prefix("5 ")).collect();
    let move_ = DEQ_SAVE | DEQ_MOVE | DEQ_NOCLOCK;
    let expected = [
        format!("dequeue {:#x}", move_ | DEQ_SCHED_CHANGE),
        format!("quiescent {:#x}", move_ | DEQ_SCHED_CHANGE),
        format!("runnable {:#x}", ENQ_RESTORE | ENQ_MOVE | ENQ_NOCLOCK),
        "cpu_offline 1".to_owned(),
        "running b".to_owned(),
        "stopping b".to_owned(),
    ];
    assert_eq!(at_5[..6], expected);
    // select_fallback_rq() finds no CPU that is there: set_cpus_allowed_force()
    assert!(at_5.contains(&"set_cpumask b"), "{at_5:?}");
    assert_eq!(tape.starts(1001).last(), Some(&(5 * MS, 0)));
    let both = tape.cpu_ns(1001, 20 * MS) + tape.cpu_ns(1002, 20 * MS);
    assert_eq!(both, 20 * MS);
}

#[test]
fn a_sleeping_task_wakes_on_a_cpu_that_is_there() {
    let tasks = r#""a": {"cpus": [0], "sleep": 90000}, "b": {"sleep": 1000, "run": 1000}"#;
    let (_, outcome, tape) = under(keeper(&OPS), tasks, DOWN);
    assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{}", outcome.exit);
    let later = |(at, _): &&(u64, u32)| *at > 5 * MS;
    let starts = tape.starts(1002);
    assert!(starts.iter().filter(later).count() >= 5);
    assert!(starts.iter().filter(later).all(|(_, cpu)| *cpu == 0), "{starts:?}");
}

#[test]
fn tasks_above_leave_the_cpu_too() {
    let tasks = r#""a": {"policy": "SCHED_FIFO", "run": 90000}, "b": {"policy": "SCHED_RR", "run": 1000, "sleep": 1000},
        "c": {"run": 90000}"#;
    let (_, outcome, tape) = under(keeper(&OPS), tasks, DOWN_AND_UP);
    assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{}", outcome.exit);
    for pid in [1001, 1002, 1003] {
        let on_1 = |(at, cpu): &(u64, u32)| *cpu == 1 && (5 * MS..10 * MS).contains(at);
        assert!(!tape.starts(pid).iter().any(on_1), "{pid}");
    }
}

#[test]
fn the_last_cpu_stays_and_a_cpu_goes_once() {
    let events = r#"{"at": 1000, "cpu": 0, "online": true}, {"at": 2000, "cpu": 0, "online": false},
        {"at": 3000, "cpu": 1, "online": false}"#;
    let (_, outcome, _) = under(keeper(&OPS), TWO, events);
    let results: Vec<_> = outcome.outside.iter().map(|h| h.result.as_str()).collect();
    assert_eq!(results, ["CPU 0 is online already", "is refused (EBUSY): CPU 1 is the last one"]);
}

#[test]
fn a_scheduler_for_other_cpus_is_not_enabled() {
    // check_hotplug_seq()
    let (_, outcome, _) = under(keeper(&OPS).hotplug_seq(3), TWO, DOWN);
    assert_eq!(outcome.exit.kind, ExitKind::UnregKern);
    assert_eq!(outcome.exit.message, "expected hotplug seq 3 did not match actual 0");
    assert_eq!(outcome.exit.code, (1 << 48) | (1 << 32));
}
