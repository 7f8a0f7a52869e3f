// SPDX-License-Identifier: MIT OR Apache-2.0
//! The first slice under o1 and linux22 of a task that is made known with its parent's nice value
//! and given its own before it runs, as in Linux: it has the slice of its own. A task that ran
//! before keeps what it has of a slice.

use crate::common::hosted::Hosted;
use crate::common::{ideal, Tape};
use rota_machine::exit::ExitKind;
use rota_machine::ops::{Op, OpRet, Ops, OpsParams};
use rota_machine::policy::BpfOps;
use rota_machine::system::System;
use rota_trace::EventKind;
use rota_vm::error::Fault;
use rota_vm::host::Host;

const MS: u64 = 1_000_000;
const NICE_0: u32 = 120;

/// Makes tasks known with nice 0, as children of a parent that has it.
struct Forked<'a> {
    ops: &'a mut BpfOps,
    static_prio_at: u64,
}

impl Ops for Forked<'_> {
    fn params(&self) -> &OpsParams {
        self.ops.params()
    }

    fn has(&self, op: Op) -> bool {
        self.ops.has(op)
    }

    fn call(&mut self, system: &mut System, op: Op, args: &[u64]) -> Result<OpRet, Fault> {
        if op != Op::InitTask {
            return self.ops.call(system, op, args);
        }
        let addr = args[0] + self.static_prio_at;
        let own = system.memory().get_u32(addr);
        system.memory().set_u32(addr, NICE_0);
        let result = self.ops.call(system, op, args);
        system.memory().set_u32(addr, own);
        result
    }

    fn run_timer(&mut self, system: &mut System, timer: u64) -> Result<OpRet, Fault> {
        self.ops.run_timer(system, timer)
    }

    fn release_owner(&mut self, system: &mut System, addr: u64) {
        self.ops.release_owner(system, addr);
    }
}

/// The picks of a task as `(ms, ms of its slice)`, in so many ms.
fn slices(policy: &str, ms: u64, task: &str) -> Vec<(u64, u64)> {
    let load = format!(r#"{{"tasks": {{"A": {task}}}}}"#);
    let mut hosted = Hosted::new(policy, &[], ideal(1, ms * MS), &load);
    let static_prio =
        rota_object::btf::reference().member_at("task_struct", "static_prio").unwrap();
    let static_prio_at = u64::from(static_prio.offset());
    let mut tape = Tape::default();
    let mut forked = Forked { ops: &mut hosted.ops, static_prio_at };
    let outcome = hosted.machine.run(&mut forked, &mut tape).unwrap();
    assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{}", outcome.exit);
    let pick = |event: &rota_trace::Event| match event.kind {
        EventKind::Pick { slice_ns, .. } => Some((event.time_ns / MS, slice_ns / MS)),
        _ => None,
    };
    tape.0.iter().filter_map(pick).collect()
}

fn hog(nice: i32) -> String {
    format!(r#"{{"priority": {nice}, "run": 1000000}}"#)
}

#[test]
fn o1_gives_the_first_slice_by_the_nice_value_before_the_first_run() {
    // (140 - P) * 20 for P below 120, else (140 - P) * 5: of nice -20, -1, 0, 10 and 19
    for (nice, slice) in [(-20, 800), (-1, 420), (0, 100), (10, 50), (19, 5)] {
        assert_eq!(slices("o1", 1, &hog(nice)), [(0, slice)], "nice {nice}");
    }
}

#[test]
fn linux22_gives_the_first_quantum_by_the_nice_value_before_the_first_run() {
    // 20 - nice ticks of 10 ms and one more
    for (nice, quantum) in [(-20, 410), (-1, 220), (0, 210), (10, 110), (19, 20)] {
        assert_eq!(slices("linux22", 1, &hog(nice)), [(0, quantum)], "nice {nice}");
    }
}

/// Has nice 0 for 10 ms, and 19 from then on.
const GROWS_NICE: &str = r#"{"loop": 1, "phases": {
    "first": {"priority": 0, "run": 10000}, "then": {"priority": 19, "run": 1000000}}}"#;

#[test]
fn who_has_run_keeps_what_is_left_of_its_slice() {
    // o1: 90 of the 100 ms of nice 0 are left at 10 ms; at 100 begins a slice of 5
    let o1 = slices("o1", 104, GROWS_NICE);
    assert_eq!(o1.first(), Some(&(0, 100)));
    assert_eq!(o1.last(), Some(&(100, 5)), "{o1:?}");
    // linux22: all 210 ms, then quanta of 20
    let linux22 = slices("linux22", 215, GROWS_NICE);
    assert_eq!(linux22.first(), Some(&(0, 210)));
    assert_eq!(linux22.last(), Some(&(210, 20)), "{linux22:?}");
}
