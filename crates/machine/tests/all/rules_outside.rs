// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a scheduler is told of changes from outside, of tasks that run, wait and sleep, in the
//! kernel's order.

use crate::common::{ideal, run, Native, Tape};
use rota_machine::consts::*;
use rota_machine::ops::Op;
use rota_machine::run::{Machine, Outcome, RunError};
use rota_machine::system::System;
use rota_trace::EventKind;
use std::sync::Arc;

const MS: u64 = 1_000_000;

/// Callbacks about tasks and cgroups.
const OPS: [Op; 13] = [
    Op::Init,
    Op::Enqueue,
    Op::Dequeue,
    Op::Dispatch,
    Op::Runnable,
    Op::Running,
    Op::Stopping,
    Op::Quiescent,
    Op::SetWeight,
    Op::SetCpumask,
    Op::CgroupPrepMove,
    Op::CgroupMove,
    Op::CgroupSetWeight,
];

fn detail(system: &System, op: Op, args: &[u64]) -> String {
    let group = |p: u64| system.native_cgroup(p).unwrap_or("?").to_string();
    match op {
        Op::Enqueue | Op::Dequeue | Op::Runnable | Op::Quiescent => format!(" {:#x}", args[1]),
        Op::Stopping => format!(" {}", args[1] != 0),
        Op::SetWeight => format!(" {}", args[1]),
        Op::CgroupPrepMove | Op::CgroupMove => format!(" {} {}", group(args[1]), group(args[2])),
        Op::CgroupSetWeight => format!(" {} {}", group(args[0]), args[1]),
        _ => String::new(),
    }
}

/// Keeps tasks in a queue of its own, so that they are in its custody; notes with times what is
/// about the task with pid 1002, or about a cgroup.
fn keeper() -> Native {
    Native::new("keeper", &OPS, |me, system, op, args| {
        let of_cgroup = op == Op::CgroupSetWeight;
        if of_cgroup || op != Op::Init && op != Op::Dispatch && system.native_pid(args[0]) == 1002 {
            let at_us = system.native_now() / 1000;
            me.log.push(format!("{at_us} {}{}", op.name(), detail(system, op, args)));
        }
        match op {
            Op::Init => system.native_create_dsq(0).map(|r| r as u64),
            Op::Enqueue => system.native_insert(args[0], 0, SLICE_INF, args[1]).map(|()| 0),
            Op::Dispatch => system.native_move_to_local(me, 0).map(u64::from),
            _ => Ok(0),
        }
    })
}

fn under_keeper(cpus: u32, tasks: &str, events: &str) -> (Vec<String>, Outcome, Tape) {
    let load = format!("{{\"tasks\": {{{tasks}}}, \"events\": [{events}]}}");
    let mut config = ideal(cpus, 20 * MS);
    config.audit = true;
    let mut native = keeper();
    let (outcome, tape) = run(config, &load, &mut native);
    assert_eq!(outcome.exit.to_string(), "unregistered from user space");
    (native.log, outcome, tape)
}

/// What is told at 5 ms of the second task, about which the event is.
fn told(tasks: &str, event: &str) -> Vec<String> {
    let (log, outcome, _) = under_keeper(1, tasks, &format!("{{\"at\": 5000, {event}}}"));
    assert_eq!(outcome.outside, []);
    log.iter().filter_map(|line| line.strip_prefix("5000 ")).map(str::to_owned).collect()
}

const SAVE: u64 = DEQ_SAVE | DEQ_NOCLOCK;
/// The second of these waits, sleeps.
const WAITS: &str = r#""a": {"run": 50000}, "b": {"taskgroup": "/x", "run": 50000}"#;
const SLEEPS: &str =
    r#""a": {"sleep": 100, "run": 50000}, "b": {"taskgroup": "/x", "sleep": 50000}"#;
/// And is in a group, too, so that another exists.
const GROUPS: &str = r#", "c": {"taskgroup": "/y", "delay": 90000, "run": 1}"#;

/// Around what happens within a change of a task that waits in the scheduler's custody
/// (`dequeue_task_scx()`, `enqueue_task_scx()`).
fn waiting(extra: u64, within: &str) -> Vec<String> {
    let deq = SAVE | extra | DEQ_SCHED_CHANGE;
    let enq = ENQ_RESTORE | ENQ_NOCLOCK | extra;
    vec![
        format!("dequeue {deq:#x}"),
        format!("quiescent {deq:#x}"),
        within.to_owned(),
        format!("runnable {enq:#x}"),
        format!("enqueue {enq:#x}"),
    ]
}

#[test]
fn a_waiting_task_is_taken_out_and_put_back_for_a_new_nice_value() {
    // set_user_nice(): guard(sched_change), reweight_task_scx()
    let told = told(WAITS, r#""task": "b", "nice": 5"#);
    assert_eq!(told, waiting(0, "set_weight 33"));
}

#[test]
fn a_sleeping_task_s_new_nice_value_is_told_alone() {
    assert_eq!(told(SLEEPS, r#""task": "b", "nice": 5"#), ["set_weight 33"]);
    assert_eq!(told(SLEEPS, r#""task": "b-1", "weight": 1234"#), ["set_weight 1234"]);
}

#[test]
fn a_mask_of_a_waiting_task_is_told_within_the_change() {
    // __do_set_cpus_allowed(), set_cpus_allowed_scx()
    let tasks = r#""a": {"cpus": [0], "run": 50000}, "b": {"cpus": [0], "run": 50000}"#;
    let event = r#"{"at": 5000, "task": "b", "cpus": [1]}"#;
    let (log, outcome, tape) = under_keeper(2, tasks, event);
    assert_eq!(outcome.outside, []);
    let at_5: Vec<_> = log.iter().filter_map(|line| line.strip_prefix("5000 ")).collect();
    let mut expected = waiting(0, "set_cpumask");
    // migration_cpu_stop(), move_queued_task(): told neither quiescent nor runnable
    expected.push(format!("dequeue {:#x}", DEQ_NOCLOCK | DEQ_SCHED_CHANGE));
    expected.push(format!("enqueue {ENQ_MIGRATED:#x}"));
    assert_eq!(at_5[..7], expected[..]);
    assert_eq!(tape.starts(1002), [(5 * MS, 1)]);
    let waits_no_more = tape.cpu_ns(1002, 20 * MS);
    assert_eq!(waits_no_more, 15 * MS);
}

#[test]
fn a_sleeping_task_wakes_where_its_new_mask_lets_it() {
    let tasks = r#""a": {"cpus": [0], "sleep": 100, "run": 50000},
        "b": {"cpus": [0], "sleep": 9000, "run": 90000}"#;
    let (log, _, tape) = under_keeper(2, tasks, r#"{"at": 5000, "task": "b", "cpus": [1]}"#);
    assert!(log.contains(&"5000 set_cpumask".to_owned()), "{log:?}");
    assert_eq!(log.iter().filter(|line| line.starts_with("5000 ")).count(), 1);
    assert_eq!(tape.starts(1002).last(), Some(&(9 * MS, 1)));
}

#[test]
fn a_waiting_task_moves_to_another_cgroup_within_the_change() {
    // scx_cgroup_can_attach(), sched_move_task(), scx_cgroup_move_task()
    let tasks = format!("{WAITS}{GROUPS}");
    let mut expected = vec!["cgroup_prep_move /x /y".to_owned()];
    expected.extend(waiting(DEQ_MOVE, "cgroup_move /x /y"));
    assert_eq!(told(&tasks, r#""task": "b", "move": "/y""#), expected);
}

#[test]
fn a_sleeping_task_moves_to_another_cgroup_at_once() {
    let tasks = format!("{SLEEPS}{GROUPS}");
    let expected = ["cgroup_prep_move /x /y", "cgroup_move /x /y"];
    assert_eq!(told(&tasks, r#""task": "b", "move": "/y""#), expected);
}

#[test]
fn a_cgroup_s_weight_is_told_if_it_is_another() {
    // scx_group_set_weight()
    assert_eq!(told(WAITS, r#""cgroup": "/x", "cpu.weight": 300"#), ["cgroup_set_weight /x 300"]);
    assert!(told(WAITS, r#""cgroup": "/x", "cpu.weight": 100"#).is_empty());
}

#[test]
fn what_a_phase_does_not_name_stays_as_it_was_set_from_outside() {
    // rt-app sets an affinity again only if a phase has another one
    let tasks = r#""a": {"phases": {"one": {"run": 2000}, "two": {"run": 2000}}},
        "b": {"cpus": [0], "loop": 2, "phases": {
            "one": {"run": 4000}, "two": {"priority": 5, "run": 4000}}}"#;
    let events = r#"{"at": 0, "task": "b", "cpus": [1]}, {"at": 1000, "task": "b", "weight": 77}"#;
    let (log, outcome, tape) = under_keeper(2, tasks, events);
    assert_eq!(outcome.outside, []);
    assert_eq!(tape.starts(1002).last().map(|(_, cpu)| *cpu), Some(1));
    let weights: Vec<_> = log.iter().filter(|line| line.contains("set_weight")).collect();
    assert_eq!(weights, ["0 set_weight 100", "1000 set_weight 77", "4000 set_weight 77"]);
}

#[test]
fn events_follow_each_other_at_one_instant_however_ties_are_broken() {
    for seed in 0..20 {
        let load = r#"{"tasks": {"a": {"run": 50000}, "b": {"run": 50000}}, "events": [
            {"after": "one", "task": "b", "nice": 2, "name": "two"},
            {"after": "two", "task": "b", "nice": 3},
            {"at": 5000, "task": "b", "nice": 1, "name": "one"}]}"#;
        let mut config = ideal(1, 20 * MS);
        (config.seed, config.shuffle_ties, config.audit) = (seed, true, true);
        let (_, tape) = run(config, load, &mut keeper());
        let what = |e: &rota_trace::Event| match &e.kind {
            EventKind::Outside { what } => Some((e.time_ns, what.clone())),
            _ => None,
        };
        let found: Vec<_> = tape.0.iter().filter_map(what).collect();
        let expected = [1, 2, 3].map(|nice| (5 * MS, format!("task b nice {nice}")));
        assert_eq!(found, expected, "seed {seed}");
    }
}

#[test]
fn a_task_that_is_moved_on_its_way_to_sleep_goes_to_sleep_on_the_other_cpu() {
    // migration_cpu_stop(), __schedule(SM_PREEMPT): one that is about to block stays queued
    let tasks = r#""a": {"loop": 3, "run": 5000, "sleep": 3000}"#;
    let events = r#"{"at": 5000, "task": "a", "cpus": [1]}"#;
    for seed in 0..20 {
        let load = format!("{{\"tasks\": {{{tasks}}}, \"events\": [{events}]}}");
        let mut config = ideal(2, 30 * MS);
        (config.seed, config.shuffle_ties, config.audit) = (seed, true, true);
        let (outcome, tape) = run(config, &load, &mut keeper());
        assert_eq!(outcome.outside, []);
        let exits = |e: &&rota_trace::Event| matches!(e.kind, EventKind::Exit { .. });
        let exit = tape.0.iter().find(exits).map(|e| (e.time_ns, e.cpu));
        assert_eq!(exit, Some((24 * MS, Some(1))), "seed {seed}");
    }
}

#[test]
fn an_event_without_effect_says_so() {
    let tasks =
        r#""a": {"policy": "SCHED_FIFO", "loop": 1, "run": 9000}, "b": {"loop": 1, "run": 1000}"#;
    let events = r#"{"at": 5000, "task": "a", "nice": 1},
        {"at": 15000, "task": "b", "nice": 1, "name": "late"}"#;
    let (_, outcome, _) = under_keeper(1, tasks, events);
    let found: Vec<_> = outcome
        .outside
        .iter()
        .map(|h| format!("{} {}: {}", h.at_ns / MS, h.event, h.result))
        .collect();
    let expected = [
        "5 test.json:1:110: event: a-0[1001]: a nice value has no effect under SCHED_FIFO",
        "15 test.json:2:9: event \"late\": no task \"b\" lives then",
    ];
    assert_eq!(found, expected);
}

/// Why a machine with two CPUs and a run of 20 ms refuses an event.
fn refused(event: &str) -> RunError {
    let load = format!("{{\"tasks\": {{\"a\": {{\"run\": 1}}}}, \"events\": [{event}]}}");
    let workload = Arc::new(rota_workload::parse("test.json", &load).unwrap());
    match Machine::new(ideal(2, 20 * MS), workload, &rota_object::btf::reference()) {
        Err(error) => error,
        Ok(_) => panic!("{event} was accepted"),
    }
}

#[test]
fn an_event_that_does_not_fit_the_machine_or_the_run_is_refused() {
    let cpu = refused(r#"{"at": 1, "task": "a", "cpus": [0, 2]}"#).to_string();
    assert!(cpu.contains("event: names CPU 2, but the machine has CPUs 0 to 1"), "{cpu}");
    let late = refused(r#"{"at": "20ms", "name": "x", "task": "a", "nice": 1}"#).to_string();
    assert!(late.contains("event \"x\": happens at 0.02 s, but the run ends at 0.02 s"), "{late}");
}
