// SPDX-License-Identifier: MIT OR Apache-2.0
//! Time goes on whatever a scheduler does, and `bpf_timer`s keep to it.

use crate::common::{ideal, run, shared_fifo, Native};
use rota_machine::config::Config;
use rota_machine::consts::*;
use rota_machine::exit::ExitKind;
use rota_machine::ops::{Op, OpRet, Ops, OpsParams};
use rota_machine::system::System;
use rota_machine::topology::Topology;
use rota_trace::EventKind;
use rota_vm::error::Fault;
use rota_vm::host::Host;

const MS: u64 = 1_000_000;
const TWO: &str = r#"{"tasks": {"a": {"run": 1000000}, "b": {"run": 1000000}}}"#;

#[test]
fn a_cpu_that_kicks_itself_while_idle_lets_time_pass() {
    // one look takes a microsecond once it had 64 and 4 per CPU for free
    let load = r#"{"tasks": {"a": {"delay": 1000, "run": 500, "sleep": 500}}}"#;
    let mut polling = Native::new("test", &[Op::Dispatch], |me, system, _, args| {
        me.count += 1;
        system.native_kick(args[0] as i32, 0);
        Ok(0)
    });
    let (outcome, tape) = run(ideal(1, 10 * MS), load, &mut polling);
    assert_eq!(outcome.exit.kind, ExitKind::Unreg);
    // idle for 5.5 of 10 ms: one look per microsecond
    assert!((5_400..6_500).contains(&polling.count), "{}", polling.count);
    assert_eq!(tape.cpu_ns(1001, 10 * MS), 9 * MS / 2);
}

#[test]
fn tasks_that_preempt_each_other_for_ever_still_get_on() {
    // every task that is queued takes the slice of the one that runs
    let mut jealous = Native::new("test", &[Op::Enqueue, Op::SelectCpu], |me, system, op, args| {
        if op == Op::Enqueue {
            me.count += 1;
            system.native_insert(args[0], DSQ_GLOBAL, MS / 10, 0)?;
            system.native_kick(0, KICK_PREEMPT);
        }
        Ok(0)
    });
    let (outcome, tape) = run(ideal(1, 10 * MS), TWO, &mut jealous);
    assert_eq!(outcome.exit.kind, ExitKind::Unreg);
    let times = [tape.cpu_ns(1001, 10 * MS), tape.cpu_ns(1002, 10 * MS)];
    assert_eq!(times[0] + times[1], 10 * MS);
    assert!(times.iter().all(|t| *t > 4 * MS), "{times:?}");
    // a switch per microsecond
    assert!(jealous.count < 11_000, "{}", jealous.count);
}

#[test]
fn slices_below_a_microsecond_do_not_stop_the_run() {
    let mut tiny = Native::new("test", &[Op::Enqueue], |_, system, _, args| {
        system.native_insert(args[0], DSQ_GLOBAL, 1, 0).map(|()| 0)
    });
    let (outcome, tape) = run(ideal(1, 10 * MS), TWO, &mut tiny);
    assert_eq!(outcome.exit.kind, ExitKind::Unreg);
    assert!(outcome.counters.decisions < 11_000, "{}", outcome.counters.decisions);
    assert_eq!(tape.cpu_ns(1001, 10 * MS) + tape.cpu_ns(1002, 10 * MS), 10 * MS);
}

#[test]
fn a_scheduler_that_hands_tasks_back_for_ever_is_ejected() {
    let mut circular = Native::new("test", &[Op::Init, Op::Enqueue], |_, system, op, args| {
        if op == Op::Init {
            return system.native_create_dsq(0).map(|r| r as u64);
        }
        system.native_insert(args[0], 0, MS, 0)?;
        system.native_reenq(0, REENQ_ANY);
        Ok(0)
    });
    let (outcome, _) = run(ideal(1, 10 * MS), TWO, &mut circular);
    let text = "soft lockup - CPU 0 stuck handing tasks back";
    assert_eq!(outcome.exit.to_string(), format!("runtime error ({text})"));
    assert_eq!(outcome.end_ns, 0);
}

/// A scheduler with timers: what each of its callbacks does.
struct Timed {
    params: OpsParams,
    /// Calls in `ops.init()`: timer, time, CPU.
    start: Vec<(u64, u64, Option<u32>)>,
    /// Started again by the first expiry of another: from, to, after.
    restart: Vec<(u64, u64, u64)>,
    /// Expiries: time in us, CPU, timer.
    fired: Vec<(u64, u32, u64)>,
    /// Cancelled by the first expiry.
    cancel: Option<u64>,
}

impl Timed {
    fn new(start: &[(u64, u64, Option<u32>)]) -> Self {
        let params = OpsParams {
            name: "timed".into(),
            flags: 0,
            dispatch_max_batch: 0,
            timeout_ms: 0,
            exit_dump_len: 0,
            hotplug_seq: 0,
        };
        let (fired, restart, cancel) = (Vec::new(), Vec::new(), None);
        Self { params, start: start.to_vec(), restart, fired, cancel }
    }
}

impl Ops for Timed {
    fn params(&self) -> &OpsParams {
        &self.params
    }

    fn has(&self, op: Op) -> bool {
        op == Op::Init
    }

    fn call(&mut self, system: &mut System, _: Op, _: &[u64]) -> Result<OpRet, Fault> {
        for (timer, at_ns, cpu) in &self.start {
            system.timer_start(*timer, Host::now_ns(system) + at_ns, *cpu);
        }
        Ok(OpRet { value: 0, instructions: 1 })
    }

    fn run_timer(&mut self, system: &mut System, timer: u64) -> Result<OpRet, Fault> {
        self.fired.push((system.native_now() / 1000, Host::cpu(system), timer));
        for (from, to, after_ns) in &self.restart {
            if *from == timer {
                system.timer_start(*to, Host::now_ns(system) + after_ns, None);
            }
        }
        if let Some(other) = self.cancel.take() {
            assert!(system.timer_cancel(other));
            assert!(!system.timer_cancel(other));
        }
        Ok(OpRet { value: 0, instructions: 1 })
    }

    fn release_owner(&mut self, _: &mut System, _: u64) {}
}

#[test]
fn timers_fire_in_order_of_time_on_their_cpus() {
    let mut ops = Timed::new(&[(1, 7 * MS, Some(1)), (2, 3 * MS, None), (3, 5 * MS, Some(3))]);
    run(ideal(4, 20 * MS), TWO, &mut ops);
    assert_eq!(ops.fired, [(3_000, 0, 2), (5_000, 3, 3), (7_000, 1, 1)]);
}

#[test]
fn starting_a_timer_again_moves_it_and_cancelling_ends_it() {
    // bpf_timer_start(), bpf_timer_cancel()
    let mut ops = Timed::new(&[(1, 2 * MS, None), (2, 4 * MS, None), (3, 6 * MS, None)]);
    ops.restart = vec![(1, 2, 10 * MS)];
    ops.cancel = Some(3);
    run(ideal(1, 20 * MS), TWO, &mut ops);
    assert_eq!(ops.fired, [(2_000, 0, 1), (12_000, 0, 2)]);
}

#[test]
fn a_timer_that_starts_itself_at_once_lets_time_pass() {
    let mut ops = Timed::new(&[(1, 9 * MS, None), (2, 9 * MS, None)]);
    ops.restart = vec![(1, 2, 0), (2, 1, 0)];
    run(ideal(1, 10 * MS), TWO, &mut ops);
    // the last millisecond of the run: both timers become one, one expiry per microsecond
    assert!((1_000..=1_002).contains(&ops.fired.len()), "{}", ops.fired.len());
}

#[test]
fn all_wakeups_of_an_instant_come_before_any_pick_and_in_file_order() {
    let nap = r#"{"run": 1000, "timer": {"ref": "unique", "period": 8000}}"#;
    let load = format!(r#"{{"tasks": {{"c": {nap}, "a": {nap}, "d": {nap}, "b": {nap}}}}}"#);
    let (_, tape) = run(ideal(2, 30 * MS), &load, &mut shared_fifo());
    for at_ns in [0, 8 * MS, 16 * MS, 24 * MS] {
        let now = tape.0.iter().filter(|e| e.time_ns == at_ns);
        let order = now.filter_map(|e| match e.kind {
            EventKind::Wakeup { pid, .. } => Some(pid),
            EventKind::SwitchIn { .. } => Some(0),
            _ => None,
        });
        assert_eq!(order.collect::<Vec<_>>(), [1001, 1002, 1003, 1004, 0, 0], "at {at_ns}");
    }
}

#[test]
fn overheads_delay_work_and_count_as_cpu_time() {
    // round figures of Costs::typical(): 1.2 us for a switch, 1.5 us to leave idle, 5 us to
    // refill caches behind another last-level cache; callbacks of one instruction are free
    let load = r#"{"tasks": {"a": {"loop": 1, "phases": {
        "here": {"cpus": [0], "run": 1000}, "there": {"cpus": [1], "run": 1000}}}}}"#;
    let config = Config::new(Topology::parse(2, "llc=1").unwrap(), 50 * MS);
    let (_, tape) = run(config, load, &mut shared_fifo());
    let first_ns = 1_000_000 + 1_200 + 1_500;
    let second_ns = first_ns + 5_000;
    assert_eq!(tape.starts(1001), [(0, 0), (first_ns, 1)]);
    assert_eq!(tape.cpu_ns(1001, 50 * MS), first_ns + second_ns);
}
