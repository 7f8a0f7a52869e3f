// SPDX-License-Identifier: MIT OR Apache-2.0
//! Core scheduling: `pick_next_task()` with cookies, `scx_prio_less()`, `sched_core_balance()`.

mod laws;

use crate::common::{run, shared_fifo, Native, Tape};
use rota_machine::config::Config;
use rota_machine::consts::*;
use rota_machine::exit::ExitKind;
use rota_machine::ops::Op;
use rota_machine::topology::Topology;
use rota_trace::EventKind;

const MS: u64 = 1_000_000;

fn smt(cpus: u32, for_ms: u64) -> Config {
    let mut config = Config::new(Topology::new(cpus, 2, cpus, cpus).unwrap(), for_ms * MS).ideal();
    config.audit = true;
    config
}

/// The only instance of a task.
fn whole(tape: &Tape, name: &str) -> String {
    let known = |event: &rota_trace::Event| match &event.kind {
        EventKind::Task { name: whole, instance_of: Some(of), .. } if **of == *name => {
            Some(whole.clone())
        }
        _ => None,
    };
    tape.0.iter().find_map(known).unwrap()
}

/// When tasks ran, in milliseconds, up to the end of the run.
fn spans<const N: usize>(tape: &Tape, end_ms: u64, names: [&str; N]) -> [Vec<(u64, u64)>; N] {
    names.map(|name| {
        let pid = tape.pid(&whole(tape, name));
        let mut spans: Vec<(u64, u64)> = Vec::new();
        for event in &tape.0 {
            match event.kind {
                EventKind::SwitchIn { pid: p } if p == pid => {
                    spans.push((event.time_ns, end_ms * MS));
                }
                EventKind::SwitchOut { pid: p, .. } if p == pid => {
                    spans.last_mut().unwrap().1 = event.time_ns;
                }
                _ => {}
            }
        }
        spans.retain(|(from, to)| to > from);
        assert!(spans.iter().all(|(from, to)| from % MS == 0 && to % MS == 0), "{spans:?}");
        spans.into_iter().map(|(from, to)| (from / MS, to / MS)).collect()
    })
}

/// Time that CPUs were forced to idle, in milliseconds, by CPU.
fn forced_ms(tape: &Tape, cpus: usize, end_ns: u64) -> Vec<u64> {
    let (mut since, mut sum) = (vec![None; cpus], vec![0; cpus]);
    for event in &tape.0 {
        if let (EventKind::ForcedIdle { forced }, Some(cpu)) = (&event.kind, event.cpu) {
            let from = std::mem::replace(&mut since[cpu as usize], forced.then_some(event.time_ns));
            sum[cpu as usize] += from.map_or(0, |from| event.time_ns - from);
        }
    }
    let open = since.iter().zip(&mut sum);
    open.for_each(|(from, sum)| *sum += from.map_or(0, |from| end_ns - from));
    sum.iter().map(|ns| ns / MS).collect()
}

/// As [`shared_fifo`]; the task with the smaller pid comes first in a core.
fn oldest_first() -> Native {
    let ops = [Op::Init, Op::Enqueue, Op::Dispatch, Op::CoreSchedBefore, Op::Dequeue];
    Native::new("oldest", &ops, |me, system, op, args| match op {
        Op::CoreSchedBefore => {
            Ok(u64::from(system.native_pid(args[0]) < system.native_pid(args[1])))
        }
        Op::Dequeue => {
            me.log.push(format!("{} {:#x}", system.native_pid(args[0]), args[1]));
            Ok(0)
        }
        Op::Init => system.native_create_dsq(0).map(|r| r as u64),
        Op::Enqueue => system.native_insert(args[0], 0, me.slice_ns, args[1]).map(|_| 0),
        Op::Dispatch => system.native_move_to_local(me, 0).map(u64::from),
        _ => Ok(0),
    })
}

#[test]
fn tasks_with_different_cookies_take_turns_on_a_core() {
    // Each has an idle CPU, and SCX_SLICE_DFL, 20 ms. core_sched_at is 0 of both (scx_prio_less()),
    // so CPU 1, which is the last to select, keeps its own b. When b has used up its slice,
    // update_curr_scx() gives it a later stamp than a has, and so on in turn
    let load = r#"{"tasks": {"a": {"core_cookie": "A", "run": 1000000},
        "b": {"core_cookie": "B", "run": 1000000}}}"#;
    let (outcome, tape) = run(smt(2, 80), load, &mut shared_fifo());
    assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{}", outcome.exit);
    let [a, b] = spans(&tape, 80, ["a", "b"]);
    assert_eq!((&a[..], &b[..]), (&[(20, 40), (60, 80)][..], &[(0, 20), (40, 60)][..]));
    // whenever one runs, the other's CPU is forced to idle
    assert_eq!(forced_ms(&tape, 2, 80 * MS), [40, 40]);
}

#[test]
fn tasks_with_the_same_cookie_and_tasks_without_run_together() {
    for cookie in [r#""core_cookie": "A","#, ""] {
        let load = format!(
            r#"{{"tasks": {{"a": {{{cookie} "run": 1000000}}, "b": {{{cookie} "run": 1000000}},
            "c": {{"delay": 1000, "loop": 1, "core_cookie": "C", "run": 1000}}}}}}"#
        );
        let (_, tape) = run(smt(2, 50), &load, &mut shared_fifo());
        // c waits until the slices of 20 ms end; then it is the oldest, and alone
        let [a, b, c] = spans(&tape, 50, ["a", "b", "c"]);
        assert_eq!(c, [(20, 21)], "{cookie}");
        assert_eq!((&a[..], &b[..]), (&[(0, 20), (21, 50)][..], &[(0, 20), (21, 50)][..]));
    }
}

#[test]
fn a_sibling_gets_the_task_that_fits_wherever_it_waits() {
    // CPU 1 would run b. a comes first in the core, so sched_core_find() has it run c, which waits
    // in the scheduler's queue: set_next_task_scx() takes it out, SCX_DEQ_CORE_SCHED_EXEC
    let load = r#"{"tasks": {"a": {"core_cookie": "A", "cpus": [0], "run": 1000000},
        "b": {"core_cookie": "B", "cpus": [1], "run": 1000000},
        "c": {"core_cookie": "A", "cpus": [1], "run": 1000000}}}"#;
    let mut oldest = oldest_first();
    let (outcome, tape) = run(smt(2, 50), load, &mut oldest);
    assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{}", outcome.exit);
    let [a, b, c] = spans(&tape, 50, ["a", "b", "c"]);
    assert_eq!((&a[..], &b[..], &c[..]), (&[(0, 50)][..], &[][..], &[(0, 50)][..]));
    let taken = format!("{} {DEQ_CORE_SCHED_EXEC:#x}", tape.pid(&whole(&tape, "c")));
    assert!(oldest.log.contains(&taken), "{:?}", oldest.log);
    assert_eq!(forced_ms(&tape, 2, 50 * MS), [0, 0]);
}

#[test]
fn a_forced_idle_cpu_takes_a_task_that_fits_from_another_core() {
    // sched_core_balance(), when CPU 1 picks for w at 15 ms: x waits on CPU 2 behind y, and may use
    // CPU 1 from 10 ms on
    let load = r#"{"tasks": {"a": {"core_cookie": "A", "cpus": [0], "run": 1000000},
        "y": {"cpus": [2], "run": 1000000},
        "x": {"core_cookie": "A", "cpus": [2], "run": 1000000},
        "w": {"delay": 15000, "core_cookie": "B", "cpus": [1], "run": 1000000}},
        "events": [{"at": 10000, "task": "x", "cpus": [1, 2]}]}"#;
    let mut local = oldest_first();
    local.slice_ns = SLICE_INF;
    let (outcome, tape) = run(smt(4, 40), load, &mut local);
    assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{}", outcome.exit);
    assert_eq!(tape.starts(tape.pid(&whole(&tape, "x"))), [(15 * MS, 1)]);
    assert_eq!(spans(&tape, 40, ["w"])[0], []);
}

#[test]
fn a_cookie_can_change_and_is_handed_on_to_forks() {
    // b runs first, as in the first test. sched_core_update_cookie() reschedules its CPU at 5 ms,
    // and a fits from then on. b gives its cookie to its child (sched_core_fork()), and itself none
    // at 12 ms
    let load = r#"{"tasks": {"a": {"core_cookie": "A", "run": 1000000},
        "b": {"phases": {"p": {"core_cookie": "B", "run": 7000, "fork": "child", "run1": 5000},
            "q": {"core_cookie": "", "run": 1000000}}},
        "child": {"instance": 0, "run": 1000000}},
        "events": [{"at": 5000, "task": "b", "core_cookie": "A"}]}"#;
    let (outcome, tape) = run(smt(2, 30), load, &mut shared_fifo());
    assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{}", outcome.exit);
    assert_eq!(outcome.outside.len(), 0);
    let told = |name: &str| {
        let pid = tape.pid(&whole(&tape, name));
        let cookies = tape.0.iter().filter_map(|e| match &e.kind {
            EventKind::CoreCookie { pid: p, cookie } if *p == pid => {
                Some((e.time_ns / MS, cookie.to_string()))
            }
            _ => None,
        });
        cookies.collect::<Vec<_>>()
    };
    let text = |all: &[(u64, &str)]| all.iter().map(|(at, c)| (*at, c.to_string())).collect();
    let (b, child): (Vec<_>, Vec<_>) = (text(&[(0, "B"), (5, "A"), (12, "")]), text(&[(7, "A")]));
    assert_eq!((told("b"), told("child")), (b, child));
    let [a, _] = spans(&tape, 30, ["a", "b"]);
    assert_eq!(a[0].0, 5);
}

#[test]
fn it_is_over_once_no_task_has_a_cookie() {
    // As in the first test, b runs until 20 ms, from 12 ms on without a cookie, which a has still.
    // When a has done its work of 5 ms, b goes on, and c finds the other CPU idle
    let load = r#"{"tasks": {"a": {"loop": 1, "core_cookie": "A", "run": 5000},
        "b": {"phases": {"p": {"core_cookie": "B", "run": 12000},
            "q": {"core_cookie": "", "run": 1000000}}},
        "c": {"delay": 30000, "run": 1000000}}}"#;
    let (outcome, tape) = run(smt(2, 40), load, &mut shared_fifo());
    assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{}", outcome.exit);
    let [a, b, c] = spans(&tape, 40, ["a", "b", "c"]);
    assert_eq!((&a[..], &b[..]), (&[(20, 25)][..], &[(0, 20), (25, 40)][..]));
    assert_eq!(c, [(30, 40)]);
    assert_eq!(forced_ms(&tape, 2, 40 * MS), [20, 5]);
}

#[test]
fn a_real_time_task_comes_first_and_alone() {
    // prio_less(): MAX_RT_PRIO and below is before sched_ext, whatever ops.core_sched_before() says
    let load = r#"{"tasks": {"a": {"core_cookie": "A", "run": 1000000},
        "r": {"policy": "SCHED_FIFO", "core_cookie": "R", "cpus": [1], "loop": 1, "delay": 5000,
            "run": 3000}}}"#;
    let (outcome, tape) = run(smt(2, 20), load, &mut oldest_first());
    assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{}", outcome.exit);
    let [a, r] = spans(&tape, 20, ["a", "r"]);
    assert_eq!((&a[..], &r[..]), (&[(0, 5), (8, 20)][..], &[(5, 8)][..]));
}

#[test]
fn cookies_need_smt() {
    let load = r#"{"tasks": {"a": {"core_cookie": "A", "run": 1000}}}"#;
    let load = std::sync::Arc::new(rota_workload::parse("test.json", load).unwrap());
    let config = crate::common::ideal(2, MS);
    let btf = rota_object::btf::reference();
    let error = rota_machine::run::Machine::new(config, load, &btf).err().unwrap().to_string();
    assert_eq!(
        error,
        "task \"a-0\": a core_cookie needs cores with SMT siblings, as smt=2 (ENODEV)"
    );
}
