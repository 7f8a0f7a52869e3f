// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tasks that wake each other: suspend and resume, semaphores, barriers.

use crate::common::{ideal, run, shared_fifo, Native, Tape};
use rota_machine::consts::*;
use rota_machine::ops::Op;
use rota_machine::run::Machine;
use rota_trace::{EventKind, OffCpu};

const MS: u64 = 1_000_000;

/// `(time, pid, waker)` of every wakeup by another task.
fn wakeups(tape: &Tape) -> Vec<(u64, u32, u32)> {
    let wakeup = |e: &rota_trace::Event| match e.kind {
        EventKind::Wakeup { pid, waker } if waker != 0 => Some((e.time_ns, pid, waker)),
        _ => None,
    };
    tape.0.iter().filter_map(wakeup).collect()
}

#[test]
fn a_resumed_task_knows_its_waker_and_its_time() {
    let load = r#"{"tasks": {
        "server": {"loop": 2, "suspend": "", "run": 1000},
        "client": {"loop": 2, "run": 2000, "resume": "server", "sleep": 3000}}}"#;
    let (outcome, tape) = run(ideal(1, 100 * MS), load, &mut shared_fifo());
    // client runs 0-2 and sleeps to 5, server runs 2-3; client 5-7, server 7-8
    assert_eq!(wakeups(&tape), [(2 * MS, 1001, 1002), (7 * MS, 1001, 1002)]);
    let starts: Vec<u64> = tape.starts(1001).iter().map(|s| s.0).collect();
    assert_eq!(starts, [0, 2 * MS, 7 * MS]);
    assert_eq!(outcome.blocked, []);
}

#[test]
fn a_resume_that_nobody_waits_for_is_forgotten() {
    let load = r#"{"tasks": {
        "early": {"loop": 1, "resume": "late", "run": 1000},
        "late": {"loop": 1, "run": 1000, "suspend": "late", "run": 1000}}}"#;
    let (outcome, tape) = run(ideal(1, 100 * MS), load, &mut shared_fifo());
    assert_eq!(tape.cpu_ns(1002, 100 * MS), MS);
    let blocked: Vec<String> =
        outcome.blocked.iter().map(|(name, awaits)| format!("{name}: {awaits}")).collect();
    assert_eq!(blocked, ["late-1: suspended"]);
}

#[test]
fn a_resume_wakes_every_instance_in_the_order_they_came() {
    let load = r#"{"tasks": {
        "w": {"instance": 3, "loop": 1, "suspend": "", "run": 1000},
        "boss": {"loop": 1, "run": 1000, "resume": "w"}}}"#;
    let (_, tape) = run(ideal(1, 100 * MS), load, &mut shared_fifo());
    assert_eq!(wakeups(&tape), [1001, 1002, 1003].map(|pid| (MS, pid, 1004)));
}

#[test]
fn a_semaphore_remembers_posts_and_whoever_comes_first_takes_one() {
    // as the C library does it: the poster takes its own post back before the woken one runs
    let load = r#"{"tasks": {
        "waits": {"loop": 1, "sem_wait": "s", "run": 1000},
        "posts": {"loop": 1, "run": 1000, "sem_post": "s", "sem_wait": "s", "sleep": 1000,
            "run1": 2000, "sem_post1": "s", "sem_post2": "s", "sem_wait2": "s"}}}"#;
    let (outcome, tape) = run(ideal(1, 100 * MS), load, &mut shared_fifo());
    assert_eq!(wakeups(&tape), [(MS, 1001, 1002), (4 * MS, 1001, 1002)]);
    // at 1 ms it was woken in vain and waits again; at 4 ms one of two posts is left
    let starts: Vec<u64> = tape.starts(1001).iter().map(|s| s.0).collect();
    assert_eq!(starts, [0, MS, 4 * MS]);
    assert_eq!(tape.cpu_ns(1001, 100 * MS), MS);
    assert_eq!(outcome.blocked, []);
}

#[test]
fn the_last_one_at_a_barrier_wakes_the_others() {
    let load = r#"{"tasks": {
        "a": {"instance": 2, "loop": 2, "run": 1000, "barrier": "all"},
        "b": {"loop": 2, "run": 5000, "barrier": "all"}}}"#;
    let (_, tape) = run(ideal(1, 100 * MS), load, &mut shared_fifo());
    // a-0 0-1, a-1 1-2, b 2-7 and on with its second round until its slice is over: 12;
    // a-0 12-13, a-1 13-14 come too late: b was there first
    let expected = [(7 * MS, 1001, 1003), (7 * MS, 1002, 1003)];
    assert_eq!(wakeups(&tape)[..2], expected);
    assert_eq!(wakeups(&tape)[2..].len(), 2, "the second round wakes two as well");
}

#[test]
fn a_task_woken_before_it_left_its_cpu_just_goes_on() {
    // both come to the barrier at the same instant, on two CPUs
    let load = r#"{"tasks": {"a": {"instance": 2, "loop": 50, "run": 1000, "barrier": "b"}}}"#;
    let mut config = ideal(2, 60 * MS);
    config.audit = true;
    let (outcome, tape) = run(config, load, &mut shared_fifo());
    let exits = tape.0.iter().filter(|e| matches!(e.kind, EventKind::Exit { .. })).count();
    assert_eq!((exits, outcome.blocked.len()), (2, 0));
    assert_eq!(tape.cpu_ns(1001, 60 * MS) + tape.cpu_ns(1002, 60 * MS), 100 * MS);
}

#[test]
fn a_woken_task_that_preempts_its_waker_runs_first() {
    // the policy gives every woken task the CPU: the waker goes on after it
    let ops = [Op::Init, Op::SelectCpu, Op::Enqueue, Op::Dispatch];
    let mut eager = Native::new("eager", &ops, |me, system, op, args| match op {
        Op::Init => system.native_create_dsq(0).map(|r| r as u64),
        Op::Enqueue if args[1] & ENQ_WAKEUP != 0 => {
            system.native_insert(args[0], DSQ_LOCAL, me.slice_ns, ENQ_PREEMPT)?;
            Ok(0)
        }
        Op::Enqueue => system.native_insert(args[0], 0, me.slice_ns, 0).map(|()| 0),
        Op::Dispatch => system.native_move_to_local(me, 0).map(u64::from),
        _ => Ok(0),
    });
    let load = r#"{"tasks": {
        "urgent": {"loop": 1, "suspend": "", "run": 3000},
        "worker": {"loop": 1, "run": 2000, "resume": "urgent", "fork": "child", "run": 2000},
        "child": {"instance": 0, "loop": 1, "run": 1000}}}"#;
    let (_, tape) = run(ideal(1, 100 * MS), load, &mut eager);
    let starts: Vec<u64> = tape.starts(1001).iter().map(|s| s.0).collect();
    assert_eq!(starts, [0, 2 * MS]);
    let forked = tape.0.iter().find(|e| matches!(e.kind, EventKind::Fork { pid: 1003, .. }));
    assert_eq!(forked.map(|e| e.time_ns), Some(5 * MS), "the waker was still in its resume");
}

#[test]
fn ping_pong_switches_at_every_turn() {
    let load = r#"{"tasks": {
        "ping": {"run": 1000, "sem_post": "pong", "sem_wait": "ping"},
        "pong": {"sem_wait": "pong", "run": 1000, "sem_post": "ping"}}}"#;
    let (outcome, tape) = run(ideal(1, 100 * MS), load, &mut shared_fifo());
    let sleeps = |pid| {
        let asleep = EventKind::SwitchOut { pid, why: OffCpu::Sleep };
        tape.0.iter().filter(|e| e.kind == asleep).count()
    };
    // ping stops at 1, 3 … 99 ms, pong at 2, 4 … 98: at its first turn it finds a post
    assert_eq!((sleeps(1001), sleeps(1002)), (50, 49));
    assert_eq!(tape.cpu_ns(1001, 100 * MS), 50 * MS);
    assert_eq!(outcome.blocked.len(), 1, "one of the two always waits");
}

#[test]
fn waiting_for_each_other_at_one_instant_is_an_error() {
    let load = r#"{"tasks": {
        "a": {"sem_post": "b", "sem_wait": "a"}, "b": {"sem_post": "a", "sem_wait": "b"}}}"#;
    let workload = rota_workload::parse("w.json", load).unwrap().into();
    let btf = rota_object::btf::reference();
    let mut machine = Machine::new(ideal(1, MS), workload, &btf).unwrap();
    let error = machine.run(&mut shared_fifo(), &mut Tape::default()).unwrap_err();
    assert!(error.to_string().contains("without using any time"), "{error}");
}

#[test]
fn pipes_and_sockets_tell_that_the_waker_sleeps_soon_and_nothing_else_does() {
    // wake_up_interruptible_sync_poll() in anon_pipe_read(), anon_pipe_write() and
    // sock_def_readable(); futexes and timers wake without WF_SYNC
    let flags_of = |load: &str| {
        let ops = [Op::SelectCpu, Op::Enqueue];
        let mut native = Native::new("test", &ops, |me, system, op, args| match op {
            Op::SelectCpu => {
                me.held.push(args[2]);
                Ok(0)
            }
            _ => system.native_insert(args[0], DSQ_GLOBAL, MS, 0).map(|()| 0),
        });
        run(ideal(2, 100 * MS), load, &mut native);
        native.held.retain(|flags| *flags != WAKE_FORK);
        native.held
    };
    let two = |waits: &str, wakes: &str| {
        flags_of(&format!(
            r#"{{"streams": {{"full": {{"capacity": 1, "holds": 1}}}}, "tasks": {{
                "waits": {{"loop": 1, {waits}, "run": 1000}},
                "wakes": {{"loop": 1, "run": 2000, {wakes}, "run2": 1000}}}}}}"#
        ))
    };

    let sync = WAKE_TTWU | WAKE_SYNC;
    assert_eq!(two(r#""flow": {"take": {"s": 1}}"#, r#""flow": {"put": {"s": 1}}"#), [sync]);
    assert_eq!(two(r#""flow": {"put": {"full": 1}}"#, r#""flow": {"take": {"full": 1}}"#), [sync]);
    assert_eq!(two(r#""sem_wait": "s""#, r#""sem_post": "s""#), [WAKE_TTWU]);
    assert_eq!(two(r#""suspend": """#, r#""resume": "waits""#), [WAKE_TTWU]);
    assert_eq!(two(r#""sleep": 1000"#, r#""sleep": 1"#), [WAKE_TTWU, WAKE_TTWU]);
    // A network's interrupt wakes as a sender does.
    let served = r#"{"sockets": {"s": "tcp"},
        "customers": {"c": {"to": "s", "every": 20000, "demand": 1000, "count": 2}},
        "tasks": {"server": {"recv": "s", "run": {"request": 1}, "reply": "s"}}}"#;
    assert_eq!(flags_of(served), [sync, sync]);
}
