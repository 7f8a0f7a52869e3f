// SPDX-License-Identifier: MIT OR Apache-2.0
//! Unloads and ejections: the fair class goes on, and another scheduler can come.

use super::{fair, machine, play, MS};
use crate::common::{shared_fifo, Native};
use rota_machine::exit::ExitKind;
use rota_machine::ops::Op;
use rota_trace::EventKind;

const TASKS: &str = r#""a": {"run": 1000000}, "b": {"run": 1000000},
    "c": {"loop": -1, "run": 300, "sleep": 1700}"#;

#[test]
fn load_unload_and_load_again() {
    let script = [(10, true), (60, false), (80, true)];
    let (outcome, tape, _) = play(machine(1, 140, &script), TASKS, shared_fifo, &mut fair());
    let exits: Vec<_> = outcome.exits.iter().map(|e| (e.at_ns / MS, e.exit.kind)).collect();
    assert_eq!(exits, [(60, ExitKind::Unreg), (140, ExitKind::Unreg)]);
    assert_eq!(outcome.exit.kind, ExitKind::Unreg);
    assert_eq!(outcome.end_ns, 140 * MS);
    // picks are the scheduler's decisions: none outside its time
    let picks: Vec<u64> = tape.timed_picks(0).iter().map(|(at_ns, _)| at_ns / MS).collect();
    let inside = |at: &u64| (10..60).contains(at) || (80..140).contains(at);
    assert!(!picks.is_empty() && picks.iter().all(inside), "{picks:?}");
    assert!(picks.iter().any(|at| *at < 60) && picks.iter().any(|at| *at >= 80), "{picks:?}");
    // and the CPU was never idle
    let cpu_ns: u64 =
        ["a-0", "b-1", "c-2"].map(|n| tape.cpu_ns(tape.pid(n), 140 * MS)).iter().sum();
    assert_eq!(cpu_ns, 140 * MS);
}

/// Ejects itself when it has dispatched for the fifth time.
fn failing() -> Native {
    Native::new("failing", &[Op::Init, Op::Enqueue, Op::Dispatch], |me, system, op, args| {
        match op {
            Op::Init => return system.native_create_dsq(0).map(|ret| ret as u64),
            Op::Enqueue => system.native_insert(args[0], 0, MS, args[1])?,
            Op::Dispatch => {
                me.count += 1;
                if me.count == 5 {
                    system.native_error("five");
                }
                system.native_move_to_local(me, 0)?;
            }
            _ => {}
        }
        Ok(0)
    })
}

#[test]
fn after_an_ejection_the_fair_class_goes_on_and_another_load_works() {
    let script = [(0, true), (150, true)];
    for cpus in [1, 2] {
        let (outcome, tape, _) = play(machine(cpus, 300, &script), TASKS, failing, &mut fair());
        let kinds: Vec<_> = outcome.exits.iter().map(|e| e.exit.kind).collect();
        assert_eq!(kinds, [ExitKind::ErrorBpf, ExitKind::ErrorBpf]);
        assert_eq!(outcome.exit.to_string(), "scx_bpf_error (five)");
        assert!(outcome.exits[0].at_ns < 150 * MS && outcome.exits[1].at_ns > 150 * MS);
        assert_eq!(outcome.end_ns, 300 * MS);
        let told = tape.0.iter().filter(|e| matches!(e.kind, EventKind::PolicyExit { .. })).count();
        assert_eq!(told, 2);
        let busy = ["a-0", "b-1"].map(|n| tape.cpu_ns(tape.pid(n), 300 * MS));
        assert!(busy.iter().sum::<u64>() > 250 * MS, "{busy:?}");
    }
}

#[test]
fn a_scheduler_that_refuses_its_load_leaves_the_fair_class_as_it_is() {
    let refuses = || Native::new("refuses", &[Op::Init], |_, _, _, _| Ok(-22i64 as u64));
    let (outcome, tape, _) = play(machine(1, 30, &[(10, true)]), TASKS, refuses, &mut fair());
    assert_eq!(outcome.exit.to_string(), "runtime error (ops.init() failed (-22))");
    assert_eq!(outcome.end_ns, 30 * MS);
    assert!(tape.picks(0).is_empty());
}

#[test]
fn a_second_load_at_a_time_is_busy() {
    let (outcome, ..) =
        play(machine(1, 30, &[(10, true), (20, true)]), TASKS, shared_fifo, &mut fair());
    assert_eq!(outcome.exits.len(), 1);
    assert_eq!(outcome.exits[0].at_ns, 30 * MS);
}

#[test]
fn a_stall_is_counted_from_the_attach() {
    let stalls = || Native::new("stalls", &[Op::Enqueue], |_, _, _, _| Ok(0)).timeout_ms(2000);
    let mut config = machine(1, 12_000, &[(5000, true)]);
    config.audit = false;
    let (outcome, ..) = play(config, TASKS, stalls, &mut fair());
    assert_eq!(outcome.exit.kind, ExitKind::ErrorStall);
    // 20 ms of slice for the task that ran, then all wait; noticed at a whole second after that
    let at_ms = outcome.exits[0].at_ns / MS;
    assert_eq!(at_ms, 8000, "{}", outcome.exit);
}
