// SPDX-License-Identifier: MIT OR Apache-2.0
//! CPUs whose tick stops while nothing needs it: when `ops.tick()` is called there.
//! (`sched_can_stop_tick()`, `scx_can_stop_tick()`, `sched_tick_remote()`)

use crate::common::{ideal, run, Native};
use rota_machine::config::Config;
use rota_machine::consts::*;
use rota_machine::ops::Op;
use rota_machine::run::{Machine, RunError};
use std::sync::Arc;

const MS: u64 = 1_000_000;
const OPS: [Op; 5] = [Op::Init, Op::Enqueue, Op::Dispatch, Op::SelectCpu, Op::Tick];

/// Gives every task this slice, in one queue; notes the milliseconds of its ticks.
fn ticking<const SLICE_NS: u64>() -> Native {
    Native::new("ticking", &OPS, |me, system, op, args| match op {
        Op::Init => system.native_create_dsq(0).map(|r| r as u64),
        Op::SelectCpu => Ok(args[1]),
        Op::Enqueue => system.native_insert(args[0], 0, SLICE_NS, args[1]).map(|()| 0),
        Op::Dispatch => system.native_move_to_local(me, 0).map(u64::from),
        _ => {
            me.log.push(format!("{}", system.native_now() / MS));
            Ok(0)
        }
    })
}

/// 250 ticks a second; CPU 1 can stop its own.
fn full(duration_ns: u64) -> Config {
    Config { nohz_full: vec![1], audit: true, ..ideal(2, duration_ns) }
}

/// The ticks of tasks on CPU 1.
fn ticks_of<const SLICE_NS: u64>(duration_ns: u64, tasks: &str) -> Vec<u64> {
    let mut native = ticking::<SLICE_NS>();
    let (outcome, _) = run(full(duration_ns), &format!("{{\"tasks\": {{{tasks}}}}}"), &mut native);
    assert_eq!(outcome.exit.to_string(), "unregistered from user space");
    native.log.iter().map(|ms| ms.parse().unwrap()).collect()
}

#[test]
fn an_infinite_slice_stops_the_tick_but_for_one_a_second() {
    let alone = r#""a": {"cpus": [1], "run": 10000000}"#;

    assert_eq!(ticks_of::<SLICE_INF>(3_500 * MS, alone), [1000, 2000, 3000]);
}

#[test]
fn a_finite_slice_needs_the_tick() {
    let alone = r#""a": {"cpus": [1], "run": 10000000}"#;

    assert_eq!(ticks_of::<20_000_000>(22 * MS, alone), [4, 8, 12, 16, 20]);
}

/// The other CPU's task has the same infinite slice, and ticks.
#[test]
fn a_cpu_that_is_not_named_always_ticks() {
    let other = r#""a": {"cpus": [0], "run": 10000000}"#;

    assert_eq!(ticks_of::<SLICE_INF>(13 * MS, other), [4, 8, 12]);
}

/// The second task has a finite slice of 20 ms, and the CPU from 60 to 79 ms, after the first one has
/// stopped the tick.
#[test]
fn a_finite_slice_brings_the_tick_back() {
    let mut native = Native::new("mixed", &OPS, |me, system, op, args| match op {
        Op::Init => system.native_create_dsq(0).map(|r| r as u64),
        Op::SelectCpu => Ok(args[1]),
        Op::Enqueue => {
            let first = system.native_pid(args[0]) == 1001;
            let slice_ns = if first { SLICE_INF } else { 20 * MS };
            system.native_insert(args[0], 0, slice_ns, args[1]).map(|()| 0)
        }
        Op::Dispatch => system.native_move_to_local(me, 0).map(u64::from),
        _ => {
            let (pid, ms) = (system.native_pid(args[0]), system.native_now() / MS);
            me.log.push(format!("{pid} {ms}"));
            Ok(0)
        }
    });
    let load = r#"{"tasks": {"inf": {"cpus": [1], "loop": 1, "run": 50000},
        "fin": {"cpus": [1], "delay": 60000, "loop": 1, "run": 19000}}}"#;

    run(full(100 * MS), load, &mut native);

    assert_eq!(native.log, ["1002 64", "1002 68", "1002 72", "1002 76"]);
}

/// One task of SCHED_RR needs no tick, two do: their turns of 100 ms end at ticks.
#[test]
fn two_tasks_of_sched_rr_take_turns_by_the_tick() {
    let load = r#"{"tasks": {"r": {"instance": 2, "cpus": [1], "policy": "SCHED_RR", "priority": 9,
        "run": 10000000}}}"#;

    let (_, tape) = run(full(450 * MS), load, &mut ticking::<SLICE_INF>());

    let starts = |pid| tape.starts(pid).iter().map(|(ns, _)| ns / MS).collect::<Vec<u64>>();
    assert_eq!((starts(1001), starts(1002)), (vec![0, 200, 400], vec![100, 300]));
}

#[test]
fn a_cpu_that_the_machine_lacks_or_none_left_to_tick_is_an_error() {
    let why = |nohz_full: Vec<u32>| {
        let load = r#"{"tasks": {"a": {"run": 1}}}"#;
        let load = Arc::new(rota_workload::parse("w.json", load).unwrap());
        let config = Config { nohz_full, ..ideal(2, MS) };
        let kernel = rota_machine::kernel::Kernel::default();
        match Machine::new(config, load, kernel.btf()) {
            Err(RunError::Kernel(why)) => why,
            other => panic!("{:?}", other.map(|_| ())),
        }
    };

    assert_eq!(why(vec![2]), "nohz_full names CPU 2, but the machine has CPUs 0 to 1");
    assert_eq!(why(vec![0, 1]), "nohz_full has every CPU: one at least has to tick for the others");
}
