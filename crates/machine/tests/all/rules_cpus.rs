// SPDX-License-Identifier: MIT OR Apache-2.0
//! CPUs: kicks, idle tracking and the built-in choice of an idle CPU
//! (`kernel/sched/ext/ext.c`, `idle.c`), ticks.

use crate::common::{ideal, run, Handler, Native, Tape};
use rota_machine::config::Config;
use rota_machine::consts::*;
use rota_machine::cpuset::CpuSet;
use rota_machine::ops::Op;
use rota_machine::system::System;
use rota_machine::topology::Topology;
use rota_trace::EventKind;
use rota_vm::host::Host;

const MS: u64 = 1_000_000;

fn run_on(config: Config, load: &str, ops: &[Op], handler: Handler) -> (Native, Tape) {
    let mut native = Native::new("test", ops, handler);
    let (_, tape) = run(config, load, &mut native);
    (native, tape)
}

fn shaped(cpus: u32, shape: &str) -> Config {
    Config::new(Topology::parse(cpus, shape).unwrap(), 50 * MS).ideal()
}

fn set(cpus: &[u32]) -> CpuSet {
    cpus.iter().copied().collect()
}

/// What `look` notes when the only task is woken, at 5 ms, with all CPUs idle.
fn at_wakeup(config: Config, look: fn(&mut System, u64) -> String) -> String {
    let load = r#"{"tasks": {"a": {"loop": 1, "run": 1000, "sleep": 4000, "run": 1000}}}"#;
    let mut native = Native::new("test", &[Op::SelectCpu], |me, system, _, args| {
        if let (Some(look), 5_000_000) = (me.look, system.native_now()) {
            me.log.push(look(system, args[0]));
        }
        Ok(args[1])
    });
    native.look = Some(look);
    run(config, load, &mut native);
    native.log[0].clone()
}

#[test]
fn a_kick_of_an_idle_cpu_makes_it_look_for_work() {
    // kick_cpus_irq_workfn(). Nobody else would tell CPU 1 of b
    let load = r#"{"tasks": {"a": {"run": 1000000}, "b": {"delay": 5000, "run": 1000000}}}"#;
    let ops = [Op::Init, Op::SelectCpu, Op::Enqueue, Op::Dispatch];
    for (flags, start) in [(0, Some(5 * MS)), (KICK_IDLE, Some(5 * MS)), (u64::MAX, None)] {
        let mut native = Native::new("test", &ops, |me, system, op, args| match op {
            Op::Init => system.native_create_dsq(0).map(|r| r as u64),
            Op::Enqueue => {
                system.native_insert(args[0], 0, SLICE_INF, 0)?;
                if me.count != u64::MAX {
                    system.native_kick(1, me.count);
                }
                Ok(0)
            }
            Op::Dispatch => system.native_move_to_local(me, 0).map(u64::from),
            _ => Ok(0),
        });
        native.count = flags;
        let (_, tape) = run(ideal(2, 50 * MS), load, &mut native);
        assert_eq!(tape.starts(1002).first().map(|s| s.0), start, "kick flags {flags:#x}");
    }
}

#[test]
fn kicks_of_a_busy_cpu_depend_on_their_flags() {
    // kick_one_cpu(): PREEMPT takes the slice away; without it the CPU goes through its
    // scheduler, but a task with a slice goes on. can_skip_idle_kick(): IDLE does nothing
    let load = r#"{"tasks": {"a": {"run": 1000000}, "b": {"delay": 5000, "run": 1000000}}}"#;
    let ops = [Op::Init, Op::SelectCpu, Op::Enqueue, Op::Dispatch];
    let kicks = [(KICK_PREEMPT, 5 * MS), (0, 10 * MS), (KICK_WAIT, 10 * MS), (KICK_IDLE, 10 * MS)];
    for (flags, start) in kicks {
        let mut native = Native::new("test", &ops, |me, system, op, args| match op {
            Op::Init => system.native_create_dsq(0).map(|r| r as u64),
            Op::Enqueue => {
                system.native_insert(args[0], 0, me.slice_ns, 0)?;
                if system.native_now() == 5 * MS {
                    system.native_kick(0, me.count);
                }
                Ok(0)
            }
            Op::Dispatch => system.native_move_to_local(me, 0).map(u64::from),
            _ => Ok(0),
        });
        native.count = flags;
        let (_, tape) = run(ideal(1, 50 * MS), load, &mut native);
        assert_eq!(tape.starts(1002)[0].0, start, "kick flags {flags:#x}");
    }
}

#[test]
fn a_cpu_that_kicks_and_waits_loses_the_time_until_the_other_has_picked() {
    // kick_one_cpu(), kick_sync_wait_bal_cb(): a CPU without a task of sched_ext is not waited for
    let a = r#""a": {"cpus": [0], "loop": 1, "run": 5000, "yield": "", "run": 5000}"#;
    let busy = r#", "b": {"cpus": [1], "run": 100000}"#;
    let cases = [(KICK_WAIT, busy, 10_050), (0, busy, 10_000), (KICK_WAIT, "", 10_000)];
    for (flags, b, end_us) in cases {
        let mut native = Native::new("test", &[Op::Yield], |me, system, _, _| {
            system.native_kick(1, me.count);
            Ok(0)
        });
        native.count = flags;
        let mut config = ideal(2, 50 * MS);
        config.costs.ipi_ns = 50_000;
        let (_, tape) = run(config, &format!(r#"{{"tasks": {{{a}{b}}}}}"#), &mut native);
        let exits = |e: &&rota_trace::Event| matches!(e.kind, EventKind::Exit { pid: 1001 });
        let end = tape.0.iter().find(exits).map(|e| e.time_ns / 1000);
        assert_eq!(end, Some(end_us), "kick flags {flags:#x}, {b}");
    }
}

#[test]
fn an_idle_kick_cannot_preempt() {
    // scx_kick_cpu()
    let load = r#"{"tasks": {"a": {"run": 1000000}}}"#;
    let mut native = Native::new("test", &[Op::Running], |_, system, _, _| {
        system.native_kick(0, KICK_IDLE | KICK_PREEMPT);
        Ok(0)
    });
    let (outcome, _) = run(ideal(1, 50 * MS), load, &mut native);
    let text = "PREEMPT/WAIT cannot be used with SCX_KICK_IDLE";
    assert_eq!(outcome.exit.to_string(), format!("runtime error ({text})"));
}

#[test]
fn select_cpu_prefers_the_previous_cpu() {
    // scx_select_cpu_dfl(): "Use @prev_cpu if it's idle"
    let chosen = at_wakeup(ideal(4, 50 * MS), |system, p| {
        let first = system.native_select_cpu(p, 2, 0).unwrap();
        // claimed now: any other, the next after the last one given out
        let second = system.native_select_cpu(p, 2, 0).unwrap();
        format!("{first:?} {second:?}")
    });
    assert_eq!(chosen, "(2, true) (1, true)");
}

#[test]
fn select_cpu_prefers_whole_idle_cores_and_the_own_cache() {
    // scx_select_cpu_dfl() on two caches of two cores of two CPUs; of several equal ones the
    // next after the one given out last (cpumask_any_and_distribute())
    let chosen = at_wakeup(shaped(8, "smt=2,llc=4"), |system, p| {
        let mut pick = |prev| system.native_select_cpu(p, prev, 0).unwrap();
        let picks = [
            // 5 itself, on a whole core
            pick(5),
            // 4 is idle, but not its sibling: the other whole core of the cache
            pick(4),
            // no whole core in the cache: those of the other one
            pick(4),
            pick(4),
            // no whole core anywhere: 4 itself
            pick(4),
            // its sibling is taken: the same cache
            pick(4),
            // the cache is full: anywhere
            pick(4),
            pick(4),
        ];
        // and then nobody is idle
        assert_eq!(pick(4), (4, false));
        assert!(picks.iter().all(|(_, idle)| *idle));
        format!("{:?}", picks.map(|(cpu, _)| cpu))
    });
    assert_eq!(chosen, "[5, 6, 0, 2, 4, 7, 1, 3]");
}

#[test]
fn the_sibling_of_the_previous_cpu_comes_before_other_half_idle_cores() {
    // scx_select_cpu_dfl(): "Use @prev_cpu's sibling if it's idle"
    let chosen = at_wakeup(shaped(8, "smt=2"), |system, p| {
        for cpu in [1, 2, 4, 7] {
            assert!(system.native_test_and_clear_idle(cpu));
        }
        format!("{:?}", system.native_select_cpu(p, 4, 0).unwrap())
    });
    assert_eq!(chosen, "(5, true)");
}

#[test]
fn a_synchronous_wakeup_stays_near_its_waker() {
    // scx_select_cpu_dfl(): SCX_WAKE_SYNC. The waker is CPU 0: 2 is idle and shares its cache;
    // then it is taken, and the waker's own CPU will do while others are idle
    let chosen = at_wakeup(shaped(8, "llc=4"), |system, p| {
        let near = system.native_select_cpu(p, 2, WAKE_SYNC).unwrap();
        let own = system.native_select_cpu(p, 2, WAKE_SYNC).unwrap();
        // another cache: 5 is idle, but not near
        let far = system.native_select_cpu(p, 5, WAKE_SYNC).unwrap();
        format!("{near:?} {own:?} {far:?}")
    });
    assert_eq!(chosen, "(2, true) (0, true) (0, true)");
}

#[test]
fn select_cpu_and_keeps_to_a_mask() {
    // scx_bpf_select_cpu_and()
    let chosen = at_wakeup(ideal(4, 50 * MS), |system, p| {
        let mask = set(&[1, 3]);
        let mut pick = || system.native_select_cpu_and(p, 0, 0, &mask, 0).unwrap();
        let mut got = [pick(), pick()];
        got.sort_unstable();
        let none = pick();
        format!("{got:?} {none} {:?}", system.native_idle_masks().0.iter().collect::<Vec<_>>())
    });
    // -EBUSY: there is no idle CPU among them any more
    assert_eq!(chosen, "[1, 3] -16 [0, 2]");
}

#[test]
fn claiming_a_cpu_takes_its_whole_core_off_the_idle_cores() {
    // scx_idle_test_and_clear_cpu()
    let seen = at_wakeup(shaped(4, "smt=2"), |system, p| {
        let before = system.native_idle_masks();
        let claimed = [system.native_test_and_clear_idle(3), system.native_test_and_clear_idle(3)];
        let (cpus, cores) = system.native_idle_masks();
        let list = |s: &CpuSet| s.iter().collect::<Vec<_>>();
        let whole = system.native_pick_idle(p, PICK_IDLE_CORE).unwrap();
        let none = system.native_pick_idle(p, PICK_IDLE_CORE).unwrap();
        format!(
            "{:?} {:?} {claimed:?} {:?} {:?} {} {none}",
            list(&before.0),
            list(&before.1),
            list(&cpus),
            list(&cores),
            whole / 2
        )
    });
    assert_eq!(seen, "[0, 1, 2, 3] [0, 1, 2, 3] [true, false] [0, 1, 2] [0, 1] 0 -16");
}

#[test]
fn a_select_cpu_for_another_task_is_an_error() {
    // select_cpu_from_kfunc()
    let load = r#"{"tasks": {"a": {"run": 1000000}, "b": {"run": 1000000}}}"#;
    let mut native = Native::new("test", &[Op::SelectCpu], |me, system, _, args| {
        me.held.push(args[0]);
        system.native_select_cpu(me.held[0], 0, 0).map(|r| u64::from(r.0))
    });
    let (outcome, _) = run(ideal(2, 50 * MS), load, &mut native);
    let text = "select_cpu kfunc called cross-task on a-0[1001]";
    assert_eq!(outcome.exit.to_string(), format!("runtime error ({text})"));
}

#[test]
fn own_idle_tracking_turns_the_built_in_one_off() {
    // scx_idle_enable(): unless SCX_OPS_KEEP_BUILTIN_IDLE
    let load = r#"{"tasks": {"a": {"run": 1000000}}}"#;
    let ops = [Op::UpdateIdle, Op::SelectCpu];
    let handler: Handler = |_, system, op, args| match op {
        Op::SelectCpu => system.native_select_cpu(args[0], 0, 0).map(|r| u64::from(r.0)),
        _ => Ok(0),
    };
    let (outcome, _) = run(ideal(2, 50 * MS), load, &mut Native::new("test", &ops, handler));
    assert_eq!(outcome.exit.to_string(), "runtime error (built-in idle tracking is disabled)");
    let mut keeping = Native::new("test", &ops, handler).flags(OPS_KEEP_BUILTIN_IDLE);
    let (outcome, _) = run(ideal(2, 50 * MS), load, &mut keeping);
    assert_eq!(outcome.exit.to_string(), "unregistered from user space");
}

/// What `ops.update_idle()` said, per CPU: times in us and idleness.
fn idle_log(cpus: u32, load: &str) -> Vec<String> {
    let ops = [Op::UpdateIdle];
    let (native, _) = run_on(ideal(cpus, 20 * MS), load, &ops, |me, system, _, args| {
        me.log.push(format!("{} us: CPU {} {}", system.native_now() / 1000, args[0], args[1] != 0));
        Ok(0)
    });
    // at the start every CPU has just run something else
    let (start, rest) = native.log.split_at(2 * cpus as usize);
    assert!(start.iter().all(|l| l.starts_with("0 us")), "{start:?}");
    rest.to_vec()
}

#[test]
fn update_idle_tells_of_transitions_only() {
    // __scx_update_idle() with do_notify: put_prev_task_idle(), set_next_task_idle()
    let load = r#"{"tasks": {"a": {"loop": 2, "run": 3000, "sleep": 5000}}}"#;
    let log = idle_log(1, load);
    // the last time to exit
    let expected = ["0 us: CPU 0 false", "3000 us: CPU 0 true", "8000 us: CPU 0 false"];
    assert_eq!(log[..3], expected);
    assert_eq!(log[3..5], ["11000 us: CPU 0 true", "16000 us: CPU 0 false"]);
    assert_eq!(log[5..], ["16000 us: CPU 0 true"]);
}

#[test]
fn a_cpu_that_loses_its_task_to_an_affinity_change_becomes_idle() {
    // the stopper ran in between: set_next_task_idle() follows it
    let load = r#"{"tasks": {"a": {"phases": {
        "first": {"cpus": [0], "run": 3000}, "then": {"cpus": [1], "run": 50000}}}}}"#;
    let log = idle_log(2, load);
    assert_eq!(log, ["0 us: CPU 0 false", "3000 us: CPU 0 true", "3000 us: CPU 1 false"]);
}

#[test]
fn a_busy_cpu_ticks_hz_times_a_second() {
    // sched_tick(): at whole multiples of the tick; an idle CPU has none
    let load = r#"{"tasks": {"a": {"loop": 1, "run": 100000, "sleep": 400000, "run": 100500}}}"#;
    for (hz, ticks) in [(100, 20), (250, 50), (1000, 200)] {
        let mut config = Config::new(Topology::flat(2).unwrap(), 1_000 * MS);
        config.costs = rota_machine::config::Costs::none();
        config.hz = hz;
        let (native, _) = run_on(config, load, &[Op::Tick], |me, system, _, args| {
            assert_eq!(system.native_pid(args[0]), 1001);
            me.count += 1;
            Ok(0)
        });
        // in 0-100 and in 500-600.5 ms, both ends of the first one's last tick included
        assert_eq!(native.count, ticks, "{hz} Hz");
    }
}

#[test]
fn a_queued_wakeup_is_enqueued_by_the_cpu_of_the_task() {
    // ttwu_queue_cond(), sched_ttwu_pending(): only with SCX_OPS_ALLOW_QUEUED_WAKEUP, and not on a
    // CPU of the same cache that runs something
    let load = |other| {
        format!(
            r#"{{"tasks": {{
                "a": {{"cpus": [0], "loop": 1, "run": 5000, "resume": "b", "run": 5000}},
                "b": {{"cpus": [1], "loop": 1, "suspend": "b", "run": 1000}}{other}}}}}"#
        )
    };
    let busy = r#", "c": {"cpus": [1], "run": 100000}"#;
    let (here, there) = (vec![0], vec![1]);
    let cases = [
        (0, "", "smt=1", &here),
        (OPS_ALLOW_QUEUED_WAKEUP, "", "smt=1", &there),
        (OPS_ALLOW_QUEUED_WAKEUP, busy, "smt=1", &here),
        (OPS_ALLOW_QUEUED_WAKEUP, busy, "smt=1,llc=1", &there),
    ];
    for (flags, other, topology, expected) in cases {
        let mut native = Native::new("test", &[Op::Enqueue], |me, system, _, args| {
            if system.native_now() == 5 * MS && system.native_pid(args[0]) == 1002 {
                me.log.push(system.cpu().to_string());
            }
            system.native_insert(args[0], DSQ_GLOBAL, SLICE_INF, args[1]).map(|()| 0)
        });
        native = native.flags(flags);
        run(shaped(2, topology), &load(other), &mut native);
        let cpus: Vec<u32> = native.log.iter().map(|cpu| cpu.parse().unwrap()).collect();
        assert_eq!(cpus, *expected, "flags {flags}, {topology}{other}");
    }
}
