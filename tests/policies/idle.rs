// SPDX-License-Identifier: MIT OR Apache-2.0
//! Under the shipped policies nobody waits beside an idle CPU.

use crate::common::hosted::Hosted;
use crate::common::ideal;
use rota_machine::ops::Op;

const US: u64 = 1_000;
const MS: u64 = 1_000_000;

/// Nobody who wakes up preempts, and slices are of some milliseconds, as with the others.
fn set_of(policy: &str) -> &'static [(&'static str, &'static str)] {
    match policy {
        "cfs" | "rbpe" => &[("no_wakeup_preempt", "true")],
        "eevdf" => &[
            ("no_wakeup_preemption", "true"),
            ("base_slice_ns", "5000000"),
            ("work_conserving", "true"),
        ],
        "ps" => &[("quantum_ns", "10000000")],
        _ => &[],
    }
}

#[test]
fn a_wakeup_while_a_cpu_becomes_idle_is_not_lost() {
    // At 10 ms CPU 0 finds nothing to run, 10 us later it is marked idle. Between, x wakes,
    // which ran on CPU 1 before, and CPU 1 has an endless task that keeps it: under fifo for
    // ever, under the others until the end of a quantum at 11 ms. That one comes later than x,
    // as some policies take the latest or draw lots. Not under appease, las and pbs: there the
    // hog makes way for x, which had less CPU time.
    let load = r#"{"tasks": {
        "x": {"loop": 1, "phases": {
            "tied": {"cpus": [1], "run": 1000},
            "free": {"cpus": [0, 1], "sleep": 9005},
            "last": {"run": 5000}}},
        "hog": {"cpus": [1], "delay": 100, "run": 1000000},
        "other": {"cpus": [0], "loop": 1, "run": 10000}}}"#;
    for policy in rota_catalog::policies().iter().map(|p| p.name) {
        if matches!(policy, "appease" | "las" | "pbs") {
            continue;
        }
        let mut config = ideal(2, 30 * MS);
        config.costs.idle_entry_ns = 10 * US;
        config.audit = true;
        let (outcome, tape) = Hosted::new(policy, set_of(policy), config, load).run();
        let starts = tape.starts(1001);
        assert_eq!(starts, [(0, 1), (10 * MS + 10 * US, 0)], "{policy}: {}", outcome.exit);
    }
}

#[test]
fn whom_bytes_wake_does_not_wait_behind_the_waker_while_a_cpu_idles() {
    // R ran on CPU 1, where H is now, and CPU 2 is idle. W says that it sleeps soon as it writes at 10 ms,
    // and goes on: scx_select_cpu_dfl() with SCX_WAKE_SYNC would give CPU 0, and call it idle.
    let load = r#"{"tasks": {
        "W": {"cpus": [0], "loop": 1, "phases": {
            "p": {"run": 10000, "flow": {"put": {"s": 1}}}, "q": {"run": 1000000}}},
        "R": {"loop": 1, "phases": {
            "tied": {"cpus": [1], "run": 1000},
            "free": {"cpus": [0, 1, 2], "flow": {"take": {"s": 1}}, "run": 5000}}},
        "H": {"cpus": [1], "delay": 2000, "run": 1000000}}}"#;
    for policy in rota_catalog::policies().iter().map(|p| p.name) {
        let (outcome, tape) = Hosted::new(policy, set_of(policy), ideal(3, 30 * MS), load).run();
        let starts: Vec<u64> = tape.starts(tape.pid("R-1")).iter().map(|(at, _)| *at).collect();
        assert_eq!(starts[..2], [0, 10 * MS], "{policy}: {}", outcome.exit);
    }
}

#[test]
fn whoever_waits_for_a_busy_cpu_does_not_keep_others_from_idling() {
    // CPU 1 is left to an endless task for which another one waits: CPU 0 must look for that
    // one a few times at most whenever it becomes idle, not for ever.
    let load = r#"{"tasks": {
        "hog": {"cpus": [1], "instance": 2, "run": 1000000},
        "nap": {"cpus": [0], "run": 1000, "sleep": 9000}}}"#;
    for policy in rota_catalog::policies().iter().map(|p| p.name) {
        let (outcome, _) = Hosted::new(policy, set_of(policy), ideal(2, 100 * MS), load).run();
        let dispatch = outcome.counters.callbacks().find(|(op, _)| *op == Op::Dispatch);
        let dispatches = dispatch.map_or(0, |(_, count)| count.calls);
        assert!(dispatches < 100, "{policy}: {dispatches}");
    }
}
