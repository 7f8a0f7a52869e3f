// SPDX-License-Identifier: MIT OR Apache-2.0
//! Signals from outside: tasks that are killed, stopped and continued; and cgroups that are
//! written, made and removed.

use crate::common::{ideal, run, shared_fifo, Native, Tape};
use rota_machine::consts::{DSQ_GLOBAL, SLICE_INF};
use rota_machine::ops::Op;
use rota_machine::run::Outcome;
use rota_trace::EventKind;

const MS: u64 = 1_000_000;

fn fifo(cpus: u32, tasks: &str, events: &str) -> (Outcome, Tape) {
    let load = format!("{{\"tasks\": {{{tasks}}}, \"events\": [{events}]}}");
    let mut config = ideal(cpus, 20 * MS);
    config.audit = true;
    let (outcome, tape) = run(config, &load, &mut shared_fifo());
    assert_eq!(outcome.exit.to_string(), "unregistered from user space");
    (outcome, tape)
}

/// When a task ended, in microseconds.
fn end(tape: &Tape, name: &str) -> Option<u64> {
    let pid = tape.pid(name);
    let ends = |e: &rota_trace::Event| e.kind == EventKind::Exit { pid };
    tape.0.iter().find(|e| ends(e)).map(|e| e.time_ns / 1000)
}

#[test]
fn a_killed_task_ends_when_it_next_runs() {
    // one runs, one waits for its CPU until the slice of 10 ms is over, one sleeps there
    let tasks = r#""a": {"cpus": [0], "run": 90000}, "b": {"cpus": [0], "run": 90000},
        "c": {"cpus": [1], "sleep": 90000}"#;
    let events = r#"{"at": 3000, "task": "b", "signal": "SIGKILL"},
        {"at": 4000, "task": "c", "signal": "SIGKILL"},
        {"at": 15000, "task": "a", "signal": "SIGKILL"}"#;
    let (outcome, tape) = fifo(2, tasks, events);
    assert_eq!(outcome.outside, []);
    assert_eq!(end(&tape, "b-1"), Some(10_000));
    assert_eq!(end(&tape, "c-2"), Some(4000));
    assert_eq!(end(&tape, "a-0"), Some(15_000));
    assert_eq!(tape.cpu_ns(tape.pid("a-0"), 20 * MS), 15 * MS);
}

#[test]
fn whoever_a_killed_task_waited_with_is_woken_no_later() {
    // the first that waits is killed, so that the post is for the second
    let tasks = r#""a": {"loop": 1, "sem_wait": "s", "run": 1000},
        "b": {"loop": 1, "sleep": 1000, "sem_wait": "s", "run": 1000},
        "c": {"loop": 1, "sleep": 5000, "sem_post": "s"}"#;
    let (outcome, tape) = fifo(2, tasks, r#"{"at": 3000, "task": "a", "signal": "SIGKILL"}"#);
    assert_eq!(end(&tape, "a-0"), Some(3000));
    assert_eq!(end(&tape, "b-1"), Some(6000));
    assert_eq!(outcome.blocked, []);
}

#[test]
fn a_signal_is_for_all_threads_of_a_process() {
    let tasks = r#""a": {"run": 90000}, "b": {"thread_of": "a", "sleep": 90000},
        "c": {"run": 90000}"#;
    let (_, tape) = fifo(3, tasks, r#"{"at": 3000, "task": "b", "signal": "SIGKILL"}"#);
    let ends = ["a-0", "b-1", "c-2"].map(|name| end(&tape, name));
    assert_eq!(ends, [Some(3000), Some(3000), None]);
}

#[test]
fn a_stopped_task_goes_on_with_what_it_did() {
    let tasks = r#""a": {"loop": 1, "run": 6000}, "b": {"loop": 1, "sleep": 8000, "run": 1000},
        "c": {"loop": 1, "sleep": 3000, "run": 1000}, "d": {"loop": 1, "runtime": 6000}"#;
    let events = r#"
        {"at": 1000, "name": "stop a", "task": "a", "signal": "SIGSTOP"},
        {"after": "stop a", "delay": "4ms", "task": "a", "signal": "SIGCONT"},
        {"at": 2000, "task": "b", "signal": "SIGSTOP"},
        {"at": 5000, "task": "b", "signal": "SIGCONT"},
        {"at": 2000, "task": "c", "signal": "SIGSTOP"},
        {"at": 7000, "task": "c", "signal": "SIGCONT"},
        {"at": 2000, "task": "d", "signal": "SIGSTOP"},
        {"at": 7000, "task": "d", "signal": "SIGCONT"}"#;
    let (outcome, tape) = fifo(4, tasks, events);
    assert_eq!(outcome.outside, []);
    // 1 ms before the stop and 5 ms from its end at 5 ms on
    assert_eq!(tape.spans("a-0"), [(0, 1000), (5000, 10_000)]);
    // nanosleep() is restarted with the time at which it ends: nothing is lost
    assert_eq!(tape.spans("b-1").last(), Some(&(8000, 9000)));
    // its sleep was over while it was stopped
    assert_eq!(tape.spans("c-2").last(), Some(&(7000, 8000)));
    // the clock does not stop
    assert_eq!(end(&tape, "d-3"), Some(7000));
}

#[test]
fn a_stopped_task_that_is_woken_by_another_stays_stopped() {
    let tasks = r#""a": {"loop": 1, "sem_wait": "s", "run": 1000},
        "c": {"loop": 1, "sleep": 5000, "sem_post": "s"}"#;
    let events = r#"{"at": 2000, "task": "a", "signal": "SIGSTOP"},
        {"at": 9000, "task": "a", "signal": "SIGCONT"}"#;
    let (_, tape) = fifo(2, tasks, events);
    assert_eq!(tape.spans("a-0"), [(9000, 10_000)]);
}

#[test]
fn a_stopped_task_can_be_killed() {
    let events = r#"{"at": 2000, "task": "a", "signal": "SIGSTOP"},
        {"at": 9000, "task": "a", "signal": "SIGKILL"}"#;
    let (_, tape) = fifo(1, r#""a": {"run": 90000}, "b": {"run": 90000}"#, events);
    // behind b, which has a slice of 10 ms from 2 ms on
    assert_eq!(end(&tape, "a-0"), Some(12_000));
    assert_eq!(tape.cpu_ns(tape.pid("a-0"), 20 * MS), 2 * MS);
}

/// What a scheduler that has every callback is told of cgroups.
fn told(events: &str) -> (Vec<String>, Vec<String>) {
    let ops = [
        Op::Enqueue,
        Op::CgroupInit,
        Op::CgroupExit,
        Op::CgroupSetWeight,
        Op::CgroupSetBandwidth,
        Op::CgroupSetIdle,
    ];
    let mut native = Native::new("test", &ops, |me, system, op, args| {
        if op == Op::Enqueue {
            return system.native_insert(args[0], DSQ_GLOBAL, SLICE_INF, args[1]).map(|()| 0);
        }
        let path = system.native_cgroup(args[0]).unwrap_or("?").to_owned();
        let rest = if op == Op::CgroupInit { &[] } else { &args[1..] };
        if system.native_now() > 0 {
            me.log.push(format!("{} {path} {rest:?}", op.name()));
        }
        // one group is refused
        Ok(if op == Op::CgroupInit && path == "/no" { -12i64 as u64 } else { 0 })
    });
    let load = format!(
        "{{\"tasks\": {{\"a\": {{\"taskgroup\": \"/x\", \"run\": 90000}}}}, \"events\": [{events}]}}"
    );
    let mut config = ideal(1, 20 * MS);
    config.audit = true;
    let (outcome, _) = run(config, &load, &mut native);
    assert_eq!(outcome.exit.to_string(), "unregistered from user space");
    let results = outcome.outside.iter().map(|h| format!("{}: {}", h.action, h.result));
    let count = native.log.len() - native.log.iter().rev().take_while(|l| is_end(l)).count();
    (native.log[..count].to_vec(), results.collect())
}

/// What the end of the run tells.
fn is_end(line: &str) -> bool {
    line.starts_with("cgroup_exit / ") || line.starts_with("cgroup_exit /x ")
}

#[test]
fn bandwidth_and_idle_are_told_as_the_kernel_does() {
    // scx_group_set_bandwidth() compares, scx_group_set_idle() does not; cpu.max without a period
    // keeps it, and "max" is RUNTIME_INF
    let (log, results) = told(
        r#"{"at": 1, "cgroup": "/x", "cpu.max": "20000 50000"},
           {"at": 2, "cgroup": "/x", "cpu.max": "20000"},
           {"at": 3, "cgroup": "/x", "cpu.max.burst": 5000},
           {"at": 4, "cgroup": "/x", "cpu.max": "4000"},
           {"at": 5, "cgroup": "/x", "cpu.max.burst": 30000},
           {"at": 6, "cgroup": "/x", "cpu.max": "max"},
           {"at": 7, "cgroup": "/x", "cpu.idle": 1},
           {"at": 8, "cgroup": "/x", "cpu.idle": 1},
           {"at": 9, "cgroup": "/x", "cpu.weight": 7}"#,
    );
    let none = u64::MAX;
    let expected = [
        "cgroup_set_bandwidth /x [50000, 20000, 0]".to_owned(),
        "cgroup_set_bandwidth /x [50000, 20000, 5000]".to_owned(),
        format!("cgroup_set_bandwidth /x [50000, {none}, 5000]"),
        "cgroup_set_idle /x [1]".to_owned(),
        "cgroup_set_idle /x [1]".to_owned(),
    ];
    assert_eq!(log, expected);
    let refused = [
        "cgroup /x cpu.max 4000: is refused (EINVAL): the quota is 4000, the burst 5000",
        "cgroup /x cpu.max.burst 30000: is refused (EINVAL): the quota is 20000, the burst 30000",
        // sched_group_set_shares()
        "cgroup /x cpu.weight 7: is refused (EINVAL): cpu.idle is 1",
    ];
    assert_eq!(results, refused);
}

#[test]
fn cgroups_come_and_go() {
    // scx_tg_online(), scx_tg_offline(); css_create() fails if ops.cgroup_init() does
    let (log, results) = told(
        r#"{"at": 1, "cgroup": "/y/z", "create": true},
           {"at": 2, "cgroup": "/y/z", "create": true},
           {"at": 3, "task": "a", "move": "/y/z"},
           {"at": 4, "cgroup": "/y", "destroy": true},
           {"at": 5, "cgroup": "/y/z", "destroy": true},
           {"at": 6, "task": "a", "move": "/x"},
           {"at": 7, "cgroup": "/y/z", "destroy": true},
           {"at": 8, "cgroup": "/y", "destroy": true},
           {"at": 9, "cgroup": "/y", "cpu.weight": 3},
           {"at": 10, "cgroup": "/no", "create": true},
           {"at": 11, "cgroup": "/y/z", "create": true},
           {"at": 12, "cgroup": "/y/z", "destroy": true},
           {"at": 13, "cgroup": "/y", "destroy": true}"#,
    );
    let once = ["cgroup_init /y []", "cgroup_init /y/z []"];
    let away = ["cgroup_exit /y/z []", "cgroup_exit /y []"];
    let mut expected: Vec<&str> = once.into_iter().chain(away).collect();
    expected.push("cgroup_init /no []");
    expected.extend(once.into_iter().chain(away));
    assert_eq!(log, expected);
    let refused = [
        "cgroup /y/z create: is refused (EEXIST)",
        "cgroup /y destroy: is refused (EBUSY): /y/z is in it",
        "cgroup /y/z destroy: is refused (EBUSY): task a-0[1001] is in it",
        "cgroup /y cpu.weight 3: there is no such cgroup then",
        "cgroup /no create: is refused: ops.cgroup_init() returned -12",
    ];
    assert_eq!(results, refused);
}
