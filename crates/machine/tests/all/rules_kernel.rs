// SPDX-License-Identifier: MIT OR Apache-2.0
//! The rules of sched_ext, seen from schedulers written in Rust.

use crate::common::{ideal, run, shared_fifo, Native, Tape};
use rota_machine::consts::*;
use rota_machine::exit::ExitKind;
use rota_machine::ops::Op;

const MS: u64 = 1_000_000;
const HOGS3: &str = r#"{"tasks": {"a": {"loop": -1, "run": 1000000}, "b": {"loop": -1, "run": 1000000}, "c": {"loop": -1, "run": 1000000}}}"#;

#[test]
fn equal_hogs_take_turns_in_file_order() {
    let (outcome, tape) = run(ideal(1, 100 * MS), HOGS3, &mut shared_fifo());
    assert_eq!(outcome.exit.kind, ExitKind::Unreg);
    assert_eq!(tape.picks(0)[..6], [1001, 1002, 1003, 1001, 1002, 1003]);
    // 10 ms slices in 100 ms: four, three, three
    let times: Vec<u64> = [1001, 1002, 1003].iter().map(|p| tape.cpu_ns(*p, 100 * MS)).collect();
    assert_eq!(times, [40 * MS, 30 * MS, 30 * MS]);
}

#[test]
fn no_cpu_idles_while_a_task_waits() {
    let (_, tape) = run(ideal(2, 100 * MS), HOGS3, &mut shared_fifo());
    let total: u64 = [1001, 1002, 1003].iter().map(|p| tape.cpu_ns(*p, 100 * MS)).sum();
    assert_eq!(total, 200 * MS);
}

#[test]
fn a_tick_ends_a_slice_only_at_its_multiples() {
    // arrange: a 250 Hz tick and 10 ms slices without overheads
    let mut config = ideal(1, 100 * MS);
    config.exact_slices = false;
    // act
    let (_, tape) = run(config, HOGS3, &mut shared_fifo());
    // assert: 10 ms is used up at the 12 ms tick; 8 slices of 12 ms and one of 4 ms
    let times: Vec<u64> = [1001, 1002, 1003].iter().map(|p| tape.cpu_ns(*p, 100 * MS)).collect();
    assert_eq!(times, [36 * MS, 36 * MS, 28 * MS]);
}

#[test]
fn a_slice_of_whole_ticks_lasts_one_tick_more() {
    // the tick's own time is charged to nobody, so 8 ms are not used up 8 ms later but at 12
    let mut config = ideal(1, 96 * MS);
    config.exact_slices = false;
    config.costs.tick_ns = 1000;
    let mut fifo = shared_fifo();
    fifo.slice_ns = 8 * MS;
    let (_, tape) = run(config, HOGS3, &mut fifo);
    let starts: Vec<u64> = tape.starts(1002).iter().map(|s| s.0).collect();
    assert_eq!(starts, [12 * MS, 48 * MS, 84 * MS]);
}

#[test]
fn a_sleeper_wakes_on_time_and_preempts_nobody() {
    let load = r#"{"tasks": {"hog": {"loop": -1, "run": 1000000}, "nap": {"loop": 1, "run": 1000, "sleep": 5000, "run": 1000}}}"#;
    let (_, tape) = run(ideal(1, 100 * MS), load, &mut shared_fifo());
    // hog runs 0-10, nap 10-11, sleeps until 16, waits for the hog's slice to end at 21
    assert_eq!(tape.cpu_ns(1002, 100 * MS), 2 * MS);
    let woken: Vec<u64> = tape
        .0
        .iter()
        .filter(|e| matches!(e.kind, rota_trace::EventKind::Wakeup { pid: 1002, .. }))
        .map(|e| e.time_ns)
        .collect();
    assert_eq!(woken, [0, 16 * MS]);
    let starts: Vec<u64> = tape
        .0
        .iter()
        .filter(|e| matches!(e.kind, rota_trace::EventKind::SwitchIn { pid: 1002 }))
        .map(|e| e.time_ns)
        .collect();
    assert_eq!(starts, [10 * MS, 21 * MS]);
}

#[test]
fn without_any_callback_the_global_queue_serves_all() {
    let mut none = Native::new("minimal", &[], |_, _, _, _| Ok(0));
    let (outcome, tape) = run(ideal(2, 1_000 * MS), HOGS3, &mut none);
    assert_eq!(outcome.exit.kind, ExitKind::Unreg);
    for pid in [1001, 1002, 1003] {
        let share = tape.cpu_ns(pid, 1_000 * MS);
        assert!((600 * MS..=740 * MS).contains(&share), "{pid}: {share}");
    }
}

#[test]
fn a_scheduler_that_drops_a_task_is_ejected_as_a_stall() {
    let ops = [Op::Init, Op::Enqueue, Op::Dispatch];
    let mut lossy = Native::new("lossy", &ops, |me, system, op, args| match op {
        Op::Init => system.native_create_dsq(0).map(|r| r as u64),
        Op::Enqueue if system.native_pid(args[0]) == 1002 => Ok(0),
        Op::Enqueue => system.native_insert(args[0], 0, me.slice_ns, args[1]).map(|()| 0),
        _ => system.native_move_to_local(me, 0).map(u64::from),
    })
    .timeout_ms(1_000);
    let (outcome, _) = run(ideal(1, 10_000 * MS), HOGS3, &mut lossy);
    assert_eq!(outcome.exit.kind, ExitKind::ErrorStall);
    // looked at every 0.5 s, stalled when more than 1 s waited: seen at 1.5 s
    assert_eq!(outcome.exit.message, "b-1[1002] failed to run for 1.500s");
    assert_eq!(outcome.end_ns, 1_500 * MS);
    assert!(outcome.exit.dump.contains("b-1[1002]"), "{}", outcome.exit.dump);
}

#[test]
fn dispatching_to_a_queue_that_does_not_exist_is_an_error() {
    let mut wrong = Native::new("wrong", &[Op::Enqueue], |_, system, _, args| {
        system.native_insert(args[0], 77, 1, args[1]).map(|()| 0)
    });
    let (outcome, _) = run(ideal(1, 100 * MS), HOGS3, &mut wrong);
    assert_eq!(outcome.exit.to_string(), "runtime error (non-existent DSQ 0x4d)");
}

#[test]
fn the_running_task_is_not_queued_while_dispatch_runs() {
    let ops = [Op::Init, Op::Enqueue, Op::Dispatch];
    let mut probe = Native::new("probe", &ops, |me, system, op, args| match op {
        Op::Init => system.native_create_dsq(0).map(|r| r as u64),
        Op::Enqueue => {
            me.log.push(format!("enqueue {}", system.native_pid(args[0])));
            system.native_insert(args[0], 0, me.slice_ns, args[1]).map(|()| 0)
        }
        _ => {
            me.log.push(format!("dispatch prev {}", system.native_pid(args[1])));
            system.native_move_to_local(me, 0).map(u64::from)
        }
    });
    let load =
        r#"{"tasks": {"a": {"loop": -1, "run": 1000000}, "b": {"loop": -1, "run": 1000000}}}"#;
    run(ideal(1, 15 * MS), load, &mut probe);
    let expected = ["dispatch prev 0", "enqueue 1001", "enqueue 1002"];
    assert!(probe.log[..4].iter().any(|l| l == expected[0]), "{:?}", probe.log);
    // at 10 ms: dispatch first, and only then is the task that was running queued again
    let tail = &probe.log[probe.log.len() - 2..];
    assert_eq!(tail, ["dispatch prev 1001", "enqueue 1001"]);
}

#[test]
fn a_lone_task_keeps_its_cpu_with_a_fresh_default_slice() {
    let load = r#"{"tasks": {"a": {"loop": -1, "run": 1000000}}}"#;
    let (outcome, tape) = run(ideal(1, 100 * MS), load, &mut shared_fifo());
    // 10 ms from the scheduler, then 20 ms each from the kernel: at 0, 10, 30, 50, 70, 90
    assert_eq!(tape.picks(0).len(), 6);
    assert_eq!(outcome.counters.dispatch_keep_last, 5);
    let switches =
        tape.0.iter().filter(|e| matches!(e.kind, rota_trace::EventKind::SwitchIn { .. })).count();
    assert_eq!(switches, 1);
}

/// Hands a CPU's last task back to its local queue, and kicks the CPU or does not.
fn enq_last(kicks: bool) -> (Native, Tape) {
    let ops = [Op::Init, Op::Enqueue, Op::Dispatch];
    let mut last = Native::new("last", &ops, |me, system, op, args| match op {
        Op::Init => system.native_create_dsq(0).map(|r| r as u64),
        Op::Enqueue => {
            if args[1] & ENQ_LAST != 0 {
                me.log.push("last".into());
                system.native_insert(args[0], DSQ_LOCAL, me.slice_ns, args[1])?;
                if me.count == 1 {
                    system.native_kick(0, 0);
                }
                return Ok(0);
            }
            system.native_insert(args[0], 0, me.slice_ns, args[1]).map(|()| 0)
        }
        _ => system.native_move_to_local(me, 0).map(u64::from),
    })
    .flags(OPS_ENQ_LAST);
    last.count = u64::from(kicks);
    let load = r#"{"tasks": {"a": {"loop": -1, "run": 1000000}}}"#;
    let (_, tape) = run(ideal(1, 100 * MS), load, &mut last);
    (last, tape)
}

#[test]
fn enq_last_hands_the_last_task_to_the_scheduler() {
    let (last, tape) = enq_last(true);
    assert!(last.log.len() >= 9, "{:?}", last.log);
    assert_eq!(tape.cpu_ns(1001, 100 * MS), 100 * MS);
}

/// `put_prev_task_scx()` comes before `rq->next_class` is the idle class, so that nothing makes the
/// CPU reschedule: "execution may stall" (`SCX_ENQ_LAST`).
#[test]
fn a_last_task_that_is_queued_without_a_kick_waits_on_an_idle_cpu() {
    let (last, tape) = enq_last(false);
    assert_eq!(last.log, ["last"]);
    // one slice
    assert_eq!(tape.cpu_ns(1001, 100 * MS), last.slice_ns);
}

#[test]
fn affinity_is_kept_by_every_cpu() {
    let load = r#"{"tasks": {"pinned": {"loop": -1, "cpus": [1], "run": 1000000}, "free": {"instance": 3, "loop": -1, "run": 1000000}}}"#;
    let (_, tape) = run(ideal(2, 500 * MS), load, &mut shared_fifo());
    assert!(!tape.picks(0).contains(&1001));
    assert!(tape.picks(1).contains(&1001));
    let total: u64 = (1001..=1004).map(|p| tape.cpu_ns(p, 500 * MS)).sum();
    assert_eq!(total, 1_000 * MS);
}

#[test]
fn callbacks_of_a_tasks_life_come_in_the_kernels_order() {
    let ops = [
        Op::InitTask,
        Op::Enable,
        Op::Runnable,
        Op::Enqueue,
        Op::Running,
        Op::Stopping,
        Op::Quiescent,
        Op::Disable,
        Op::ExitTask,
    ];
    let mut life = Native::new("life", &ops, |me, system, op, args| {
        me.log.push(op.name().to_string());
        if op == Op::Enqueue {
            return system.native_insert(args[0], DSQ_GLOBAL, me.slice_ns, args[1]).map(|()| 0);
        }
        Ok(0)
    });
    let load = r#"{"tasks": {"once": {"loop": 1, "run": 1000}}}"#;
    run(ideal(1, 100 * MS), load, &mut life);
    assert_eq!(
        life.log,
        [
            "init_task",
            "enable",
            "runnable",
            "enqueue",
            "running",
            "stopping",
            "quiescent",
            "disable",
            "exit_task"
        ]
    );
}

#[test]
fn the_same_input_gives_the_same_events() {
    let load = r#"{"tasks": {"w": {"instance": 9, "loop": -1, "run": {"dist": "exp", "mean": 700}, "sleep": {"dist": "uniform", "min": 10, "max": 900}}}}"#;
    let mut config = ideal(3, 300 * MS);
    config.costs = rota_machine::config::Costs::typical();
    let (_, one) = run(config.clone(), load, &mut shared_fifo());
    let (_, two) = run(config, load, &mut shared_fifo());
    assert_eq!(one.0, two.0);
    assert!(one.0.len() > 1_000);
}
