// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the tests of groups have in common: hogs in groups, and which part of the CPU they had.

use super::hosted::Hosted;
use super::{ideal, Tape};
use rota_machine::exit::ExitKind;

const MS: u64 = 1_000_000;

/// A run of tasks, and of events after them if there are any, on ideal CPUs.
pub(crate) fn run_for(
    policy: &str,
    cpus: u32,
    set: &[(&str, &str)],
    (tasks, events): (&str, &str),
    ms: u64,
) -> Tape {
    let load = format!(r#"{{"tasks": {{{tasks}}}, "events": [{events}]}}"#);
    let (outcome, tape) = Hosted::new(policy, set, ideal(cpus, ms * MS), &load).run();
    assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{}", outcome.exit);
    tape
}

/// Endless tasks in a group of this path and weight.
pub(crate) fn hogs(name: &str, count: u32, path: &str, weight: u32) -> String {
    format!(
        r#""{name}": {{"instance": {count}, "run": 1000000,
            "taskgroup": {{"path": "{path}", "cpu.weight": {weight}}}}}"#
    )
}

/// Parts of the CPU time from `from_ms` on, of so many tasks each, in the order of the workload.
pub(crate) fn parts(tape: &Tape, from_ms: u64, to_ms: u64, counts: &[u32]) -> Vec<f64> {
    let mut pid = 1001;
    let mut part = |count: &u32| {
        let pids = pid..pid + count;
        pid += count;
        let ran = |pid| tape.cpu_ns(pid, to_ms * MS) - tape.cpu_ns(pid, from_ms * MS);
        pids.map(ran).sum::<u64>() as f64 / ((to_ms - from_ms) * MS) as f64
    };
    counts.iter().map(&mut part).collect()
}

#[track_caller]
pub(crate) fn expect(found: &[f64], due: &[f64]) {
    assert_eq!(found.len(), due.len());
    for (found_one, due_one) in found.iter().zip(due) {
        assert!((found_one - due_one).abs() < 0.01, "{found:?}, expected {due:?}");
    }
}
