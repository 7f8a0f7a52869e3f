// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tasks that disable migration for a while (`migrate_disable()`, `migrate_disable_switch()`,
//! `migrate_enable()`), and the rules of sched_ext about them.

use crate::common::{ideal, Native, Tape};
use rota_machine::consts::*;
use rota_machine::ops::Op;
use rota_machine::run::{Machine, Outcome, RunError};
use rota_trace::{Event, EventKind};
use std::sync::Arc;

const MS: u64 = 1_000_000;
const CPUS: u32 = 3;
const OPS: [Op; 7] = [
    Op::Init,
    Op::SelectCpu,
    Op::Enqueue,
    Op::Dispatch,
    Op::SetCpumask,
    Op::CpuOffline,
    Op::CpuOnline,
];

/// One queue for all, or the local queue of CPU `held[0]`; notes what is about the first task.
fn keeper() -> Native {
    Native::new("keeper", &OPS, |me, system, op, args| {
        let ms = system.native_now() / MS;
        let about = matches!(op, Op::SelectCpu | Op::Enqueue | Op::SetCpumask);
        if about && system.native_pid(args[0]) == 1001 {
            let may = |cpu: &u32| system.native_may_use(args[0], *cpu);
            let mask: Vec<u32> = (0..CPUS).filter(may).collect();
            let mask = if op == Op::SetCpumask { format!(" {mask:?}") } else { String::new() };
            me.log.push(format!("{ms} {}{mask}", op.name()));
        }
        match op {
            Op::Init => system.native_create_dsq(0).map(|r| r as u64),
            Op::SelectCpu => Ok(u64::from(system.native_task_cpu(args[0]))),
            Op::Enqueue => {
                let dsq = match me.held.first() {
                    Some(cpu) if ms > 0 => DSQ_LOCAL_ON | cpu,
                    _ => 0,
                };
                system.native_insert(args[0], dsq, SLICE_INF, args[1])?;
                let idle = system.native_pick_idle(args[0], 0)?;
                if idle >= 0 {
                    system.native_kick(idle as i32, KICK_IDLE);
                }
                Ok(0)
            }
            Op::Dispatch => system.native_move_to_local(me, 0).map(u64::from),
            _ => Ok(0),
        }
    })
}

fn run(mut native: Native, tasks: &str, events: &str) -> Result<(Native, Outcome, Tape), RunError> {
    let text = format!(r#"{{"tasks": {{{tasks}}}, "events": [{events}]}}"#);
    let load = Arc::new(rota_workload::parse("test.json", &text).unwrap());
    let mut config = ideal(CPUS, 20 * MS);
    config.audit = true;
    let mut machine = Machine::new(config, load, &rota_object::btf::reference())?;
    let mut tape = Tape::default();
    let outcome = machine.run(&mut native, &mut tape)?;
    Ok((native, outcome, tape))
}

/// Disables migration, sleeps from 2 to 4 ms, enables it at 5 ms and sleeps again from 6 to 7.
const SLEEPS: &str = r#""a": {"loop": 1, "phases": {
    "p": {"migrate_disable": true, "run": 2000, "sleep": 2000, "run1": 1000},
    "q": {"migrate_disable": false, "run": 1000, "sleep": 1000, "run1": 1000}}}"#;

#[test]
fn a_task_stays_on_its_cpu_until_it_enables_migration() {
    // migrate_disable_switch() when it first leaves the CPU; select_task_rq() asks nobody, and
    // do_enqueue_task() keeps it in the local queue; __set_cpus_allowed_ptr() at the end
    let (native, outcome, tape) = run(keeper(), SLEEPS, "").unwrap();
    let expected = [
        "0 select_cpu",
        "0 enqueue",
        "2 set_cpumask [0]",
        "5 set_cpumask [0, 1, 2]",
        "7 select_cpu",
        "7 enqueue",
    ];
    assert_eq!(native.log, expected);
    assert_eq!(outcome.counters.enq_skip_migration_disabled, 1);
    assert_eq!(tape.starts(1001)[..2], [(0, 0), (4 * MS, 0)]);
    // so that metrics know which CPUs it could have used
    let affinity = |e: &Event| match &e.kind {
        EventKind::Affinity { cpus, .. } => Some((e.time_ns / MS, cpus.as_str().to_owned())),
        _ => None,
    };
    let told: Vec<_> = tape.0.iter().filter_map(affinity).collect();
    assert_eq!(told, [(2, "0".to_owned()), (5, "0-2".to_owned())]);
}

#[test]
fn a_scheduler_can_ask_for_such_tasks_but_cannot_move_them() {
    // SCX_OPS_ENQ_MIGRATION_DISABLED; the queue's other CPUs pass the task by
    let native = keeper().flags(OPS_ENQ_MIGRATION_DISABLED);
    let tasks = format!(r#"{SLEEPS}, "b": {{"cpus": [0], "delay": 3000, "run": 100000}}"#);
    let (native, outcome, tape) = run(native, &tasks, "").unwrap();
    assert!(native.log.contains(&"4 enqueue".to_owned()), "{:?}", native.log);
    assert_eq!(outcome.counters.enq_skip_migration_disabled, 0);
    // b never gives up CPU 0
    assert_eq!(tape.starts(1001), [(0, 0)]);
}

#[test]
fn a_dispatch_of_such_a_task_to_another_cpu_ejects_the_scheduler() {
    // task_can_run_on_remote_rq()
    let mut native = keeper().flags(OPS_ENQ_MIGRATION_DISABLED);
    native.held = vec![1];
    let (_, outcome, _) = run(native, SLEEPS, "").unwrap();
    let text = "SCX_DSQ_LOCAL[_ON] cannot move migration disabled a-0[1001] from CPU 0 to 1";
    assert_eq!(outcome.exit.message, text);
    assert_eq!(outcome.end_ns, 4 * MS);
}

#[test]
fn an_affinity_that_is_set_meanwhile_waits_for_the_end() {
    // affine_move_task(): the stopper finds that it may not move the task, which leaves its CPU
    // for it all the same; migrate_enable() sends the stopper again
    let tasks = r#""a": {"phases": {"p": {"migrate_disable": true, "run": 6000},
        "q": {"migrate_disable": false, "run": 100000}}}"#;
    let events = r#"{"at": 2000, "task": "a", "cpus": [1]}"#;
    let (native, _, tape) = run(keeper(), tasks, events).unwrap();
    let log: Vec<_> = native.log.iter().filter(|line| line.contains("cpumask")).collect();
    assert_eq!(log, ["2 set_cpumask [1]", "2 set_cpumask [0]", "6 set_cpumask [1]"]);
    assert_eq!(tape.starts(1001), [(0, 0), (2 * MS, 0), (6 * MS, 1)]);
}

#[test]
fn a_cpu_that_goes_offline_waits_for_the_end() {
    // balance_push() leaves the task alone, rq_has_pinned_tasks() holds the CPU
    let tasks = r#""a": {"cpus": [1, 2], "phases": {
            "p": {"migrate_disable": true, "run": 4000, "sleep": 2000, "run1": 2000},
            "q": {"migrate_disable": false, "run": 100000}}}"#;
    let events = r#"{"at": 2000, "cpu": 1, "online": false}"#;
    let (_, outcome, tape) = run(keeper(), tasks, events).unwrap();
    assert_eq!(outcome.exit.to_string(), "unregistered from user space");
    assert_eq!(tape.starts(1001), [(0, 1), (6 * MS, 1), (8 * MS, 2)]);
}

#[test]
fn a_task_that_asks_for_other_cpus_meanwhile_is_refused() {
    let tasks = r#""a": {"phases": {"p": {"cpus": [0], "migrate_disable": true, "run": 1000},
        "q": {"cpus": [1], "run": 1000}}}"#;
    let error = run(keeper(), tasks, "").map(|_| ()).unwrap_err().to_string();
    let text = "task \"a-0\": its cpus leave out CPU 0, with migration disabled (EBUSY)";
    assert_eq!(error, text);
}
