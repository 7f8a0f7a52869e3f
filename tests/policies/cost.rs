// SPDX-License-Identifier: MIT OR Apache-2.0
//! What calls of a policy cost. The dearest, on several CPUs and with tasks that are tied to
//! one: no callback may walk through all of them to find somebody to run.

use crate::common::hosted::Hosted;
use crate::common::ideal;
use rota_machine::config::Config;
use rota_machine::exit::ExitKind;
use rota_trace::{Cost, Event, EventKind, Sink};
use std::collections::BTreeMap;

const MS: u64 = 1_000_000;

/// The most instructions of one call, of those after the start, and of which callback.
#[derive(Default)]
struct Dearest {
    instructions: u64,
    op: String,
}

impl Sink for Dearest {
    fn event(&mut self, event: &Event) {
        if let EventKind::OpCall { op, cost: Cost::Instructions(n), .. } = &event.kind {
            if event.time_ns > 0 && *n > self.instructions {
                *self = Self { instructions: *n, op: op.to_string() };
            }
        }
    }
}

/// CPU 0 has `tied` endless tasks that are tied to it. CPU 1 finds nothing to do every 2 ms, CPUs 2
/// and 3 are busy with less, so that they look for tasks at ticks. Some that are not tied come, too.
fn dearest(policy: &str, tied: u32) -> Dearest {
    let load = format!(
        r#"{{"tasks": {{
            "tied": {{"instance": {tied}, "cpus": [0], "run": 1000000}},
            "naps": {{"cpus": [1], "loop": -1, "run": 900, "sleep": 1100}},
            "busy": {{"instance": 2, "cpus": [2, 3], "run": 1000000}},
            "free": {{"instance": 3, "loop": -1, "run": 700, "sleep": 900}}
        }}}}"#
    );
    let mut dearest = Dearest::default();
    let config = Config { detail: true, ..ideal(4, 500 * MS) };
    let outcome = Hosted::new(policy, &[], config, &load).run_into(&mut dearest);
    assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{policy}: {}", outcome.exit);
    dearest
}

#[test]
fn the_dearest_call_grows_with_the_logarithm_of_tasks_at_most() {
    // Policies with a queue for each CPU; who looks into one queue for all passes those tied.
    for policy in ["cfs", "eevdf", "o1"] {
        let [few, many] = [64, 4_096].map(|tied| dearest(policy, tied));
        // twice as many levels of a tree; all tasks are 64 times as many
        assert!(
            few.instructions > 0 && many.instructions <= 2 * few.instructions,
            "{policy}: {} {} with 64 tasks, {} {} with 4096",
            few.op,
            few.instructions,
            many.op,
            many.instructions
        );
    }
}

/// Instructions of each callback, and how often it was called, after the start.
#[derive(Default)]
struct Costs(BTreeMap<String, (u64, u64)>);

impl Sink for Costs {
    fn event(&mut self, event: &Event) {
        if let EventKind::OpCall { op, cost: Cost::Instructions(n), .. } = &event.kind {
            if event.time_ns > 10 * MS {
                let (all, calls) = self.0.entry(op.to_string()).or_default();
                (*all, *calls) = (*all + n, *calls + 1);
            }
        }
    }
}

/// A process with so many threads that sleep, one that makes threads, which end, and one that sleeps
/// and wakes up; beside them two busy processes, with CPUs enough for all.
fn with_siblings(policy: &str, set: &[(&str, &str)], siblings: u32) -> Costs {
    let load = format!(
        r#"{{"tasks": {{
            "p": {{"loop": -1, "run": 100, "fork": "child", "sleep": 900}},
            "child": {{"instance": 0, "thread_of": "p", "loop": 1, "run": 50}},
            "asleep": {{"instance": {siblings}, "thread_of": "p", "sleep": 100000000}},
            "naps": {{"thread_of": "p", "loop": -1, "run": 300, "sleep": 700}},
            "other": {{"instance": 2, "run": 1000000}}
        }}}}"#
    );
    let mut costs = Costs::default();
    let config = Config { detail: true, ..ideal(6, 500 * MS) };
    let outcome = Hosted::new(policy, set, config, &load).run_into(&mut costs);
    assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{policy}: {}", outcome.exit);
    costs
}

#[test]
fn forks_ends_and_sleeps_cost_the_same_with_a_thousand_siblings() {
    for policy in ["pfs", "tfps"] {
        for set in [&[][..], &[("active_only", "true")], &[("by", "user")]] {
            let [few, many] = [10, 1_000].map(|n| with_siblings(policy, set, n).0);
            for op in ["init_task", "enable", "enqueue", "stopping", "quiescent", "exit_task"] {
                let [few, many] = [&few, &many].map(|costs| {
                    let (all, calls) = costs.get(op).copied().unwrap_or_default();
                    assert!(calls >= 200, "{op}: {calls} calls");
                    all as f64 / calls as f64
                });
                assert!((many / few - 1.0).abs() < 0.1, "{policy} {op}: {few}, {many}");
            }
        }
    }
}
