// SPDX-License-Identifier: MIT OR Apache-2.0
//! How many instructions a scheduler may execute in a second of simulated time, whatever executes
//! them and however often that is called.

use crate::common::{ideal, run};
use rota_machine::config::Config;
use rota_machine::exit::ExitKind;
use rota_machine::ops::{Op, OpRet, Ops, OpsParams};
use rota_machine::run::Outcome;
use rota_machine::system::System;
use rota_machine::tracing::{Moment, Place, Places, Stopped};
use rota_vm::error::Fault;
use rota_vm::host::Host;

const MS: u64 = 1_000_000;
const HOG: &str = r#"{"tasks": {"a": {"run": 1000000}}}"#;

/// A scheduler that leaves all to the kernel, with callbacks that cost something.
struct Dear {
    params: OpsParams,
    /// Instructions of each callback that it has.
    ops: Vec<(Op, u64)>,
    /// Of a timer, which starts itself again at once; 0: there is none.
    timer: u64,
    /// Of what watches a tracepoint; 0: nothing does.
    watcher: u64,
    /// A callback that faults.
    faults: Option<Op>,
    /// What was called.
    called: Vec<&'static str>,
}

impl Dear {
    fn new(ops: &[(Op, u64)]) -> Self {
        let params = OpsParams {
            name: "dear".into(),
            flags: 0,
            dispatch_max_batch: 0,
            timeout_ms: 0,
            exit_dump_len: 0,
            hotplug_seq: 0,
        };
        Dear { params, ops: ops.to_vec(), timer: 0, watcher: 0, faults: None, called: Vec::new() }
    }

    fn calls(&self, name: &str) -> usize {
        self.called.iter().filter(|called| **called == name).count()
    }
}

impl Ops for Dear {
    fn params(&self) -> &OpsParams {
        &self.params
    }

    fn has(&self, op: Op) -> bool {
        op == Op::Init || self.ops.iter().any(|(own, _)| *own == op)
    }

    fn call(&mut self, system: &mut System, op: Op, _: &[u64]) -> Result<OpRet, Fault> {
        self.called.push(op.name());
        if self.faults == Some(op) {
            return Err(Fault::denied("no"));
        }
        if op == Op::Init && self.timer > 0 {
            system.timer_start(1, Host::now_ns(system), None);
        }
        let cost = self.ops.iter().find(|(own, _)| *own == op);
        Ok(OpRet { value: 0, instructions: cost.map_or(0, |(_, cost)| *cost) })
    }

    fn run_timer(&mut self, system: &mut System, timer: u64) -> Result<OpRet, Fault> {
        self.called.push("timer");
        system.timer_start(timer, Host::now_ns(system), None);
        Ok(OpRet { value: 0, instructions: self.timer })
    }

    fn watched(&self) -> Places {
        let socket = [Place::SkDataReady, Place::SockRecvLength, Place::SockSendLength];
        socket.into_iter().filter(|_| self.watcher > 0).collect()
    }

    fn pass(&mut self, _: &mut System, _: (Place, Moment), _: &[u64]) -> Result<u64, Stopped> {
        self.called.push("tracepoint");
        Ok(self.watcher)
    }

    fn release_owner(&mut self, _: &mut System, _: u64) {}
}

/// A run of 3 s with so many instructions for each CPU and second.
fn spend(cpus: u32, each: u64, load: &str, dear: &mut Dear) -> Outcome {
    let config = Config { budget_per_second: each, ..ideal(cpus, 3_000 * MS) };
    run(config, load, dear).0
}

#[test]
fn a_second_is_as_long_as_any_other_and_begins_anew() {
    // A tick every 4 ms: 249 before 1 s, and 250 in each second after that, of 100 instructions.
    // Init is in the first second, too.
    let ops = [(Op::Tick, 100), (Op::Init, 100)];
    let outcome = spend(1, 25_000, HOG, &mut Dear::new(&ops));
    assert_eq!((outcome.exit.kind, outcome.end_ns), (ExitKind::Unreg, 3_000 * MS));
    let outcome = spend(1, 24_999, HOG, &mut Dear::new(&ops));
    assert_eq!((outcome.exit.kind, outcome.end_ns), (ExitKind::Error, 996 * MS));
    assert_eq!(
        outcome.exit.message,
        "executed 25000 instructions between 0s and 1s of simulated time: at most 24999 are \
         allowed, 24999 for each of 1 CPU; --budget-per-second allows more"
    );
    let without_init = [(Op::Tick, 100)];
    let outcome = spend(1, 24_999, HOG, &mut Dear::new(&without_init));
    assert_eq!((outcome.exit.kind, outcome.end_ns), (ExitKind::Error, 1_996 * MS));
    assert!(outcome.exit.message.contains("between 1s and 2s"), "{}", outcome.exit);
}

#[test]
fn each_cpu_adds_its_part() {
    // The last tick of the second is that of CPU 1 at 1996 ms.
    let load = r#"{"tasks": {"a": {"instance": 2, "cpus": [0, 1], "run": 1000000}}}"#;
    let ops = [(Op::Tick, 100)];
    let outcome = spend(2, 25_000, load, &mut Dear::new(&ops));
    assert_eq!(outcome.exit.kind, ExitKind::Unreg);
    let outcome = spend(2, 24_999, load, &mut Dear::new(&ops));
    assert_eq!((outcome.exit.kind, outcome.end_ns), (ExitKind::Error, 1_996 * MS));
    let expected =
        "executed 50000 instructions between 1s and 2s of simulated time: at most 49998 \
                    are allowed, 24999 for each of 2 CPUs; ";
    assert!(outcome.exit.message.starts_with(expected), "{}", outcome.exit);
}

#[test]
fn many_callbacks_at_one_instant_are_too_many() {
    // A thousand tasks come at 0: 50 callbacks are allowed, and the next is the last.
    let load = r#"{"tasks": {"a": {"instance": 1000, "run": 1000000}}}"#;
    let mut dear = Dear::new(&[(Op::InitTask, 100)]);
    let outcome = spend(1, 5_000, load, &mut dear);
    assert_eq!((outcome.exit.kind, outcome.end_ns), (ExitKind::Error, 0));
    assert_eq!(dear.calls("init_task"), 51);
}

#[test]
fn an_ejected_scheduler_is_not_called_for_the_rest_of_a_crowd() {
    // A thousand tasks come, and the last one at the barrier wakes 999 others in one step. So many
    // are allowed that five of them go through the scheduler.
    let load = r#"{"tasks": {"a": {"instance": 1000, "barrier": "b", "run": 1000000}}}"#;
    let mut dear = Dear::new(&[(Op::SelectCpu, 1_000)]);
    let outcome = spend(2, 1_005_000 / 2, load, &mut dear);
    assert_eq!((outcome.exit.kind, outcome.end_ns), (ExitKind::Error, 0));
    // and one too many
    assert_eq!(dear.calls("select_cpu"), 1_006);
}

#[test]
fn leaving_has_as_much_as_a_second_and_then_nothing_is_called() {
    let load = r#"{"tasks": {"a": {"instance": 20, "run": 1000000}}}"#;
    let ops = [(Op::InitTask, 1_000), (Op::ExitTask, 1_000), (Op::Exit, 1)];
    let mut dear = Dear::new(&ops);
    let outcome = spend(1, 10_000, load, &mut dear);
    // init_task: ten and one; exit_task: one more than the ten that are allowed
    assert_eq!((dear.calls("init_task"), dear.calls("exit_task")), (11, 11));
    assert_eq!(dear.calls("exit"), 0);
    assert!(outcome.exit.dump.contains("not all callbacks were made"), "{}", outcome.exit.dump);
    // with ten tasks there is enough for all of it
    let load = r#"{"tasks": {"a": {"instance": 9, "run": 1000000}}}"#;
    let mut dear = Dear::new(&ops);
    let outcome = spend(1, 10_000, load, &mut dear);
    assert_eq!((dear.calls("exit_task"), dear.calls("exit")), (9, 1));
    assert_eq!((outcome.exit.kind, outcome.exit.dump.as_str()), (ExitKind::Unreg, ""));
}

#[test]
fn timers_count() {
    // One that starts itself at once expires every microsecond.
    let mut dear = Dear::new(&[]);
    dear.timer = 100;
    let outcome = spend(1, 5_000, HOG, &mut dear);
    assert_eq!((dear.calls("timer"), outcome.end_ns), (51, 50_000));
    assert!(outcome.exit.message.starts_with("executed 5100 instructions"), "{}", outcome.exit);
}

#[test]
fn tracepoints_count() {
    let load = r#"{"sockets": {"s": "tcp"},
        "customers": {"c": {"to": "s", "every": 1000, "demand": 10}},
        "tasks": {"server": {"recv": "s", "run": {"request": 1}, "reply": "s"}}}"#;
    let mut dear = Dear::new(&[]);
    dear.watcher = 100;
    let outcome = spend(1, 5_000, load, &mut dear);
    assert_eq!((outcome.exit.kind, dear.calls("tracepoint")), (ExitKind::Error, 51));
}

#[test]
fn what_runs_before_the_first_task_counts() {
    let mut dear = Dear::new(&[(Op::Init, 5_001), (Op::InitTask, 0)]);
    let outcome = spend(1, 5_000, HOG, &mut dear);
    assert_eq!((outcome.exit.kind, outcome.end_ns), (ExitKind::Error, 0));
    assert_eq!(dear.called, ["init"]);
}

#[test]
fn what_faults_while_it_leaves_is_taken_for_a_whole_budget() {
    // Nobody knows when it was stopped: 10 million instructions each, so that the fifth is one too
    // many for 40 million.
    let load = r#"{"tasks": {"a": {"instance": 20, "run": 1000000}}}"#;
    let mut dear = Dear::new(&[(Op::ExitTask, 0)]);
    dear.faults = Some(Op::ExitTask);
    let outcome = spend(1, 40_000_000, load, &mut dear);
    assert_eq!((outcome.exit.kind, dear.calls("exit_task")), (ExitKind::Unreg, 5));
}
