// SPDX-License-Identifier: MIT OR Apache-2.0
//! What holds for every policy on every machine under every load, tried with random
//! ones. The machine audits its own books at each instant (`Config::audit`).

use crate::common::hardware::{hardware, of, worked};
use crate::common::hosted::Hosted;
use crate::common::plan::{cases, plan, Plan};
use crate::common::replay::{check, obeys as obeyed, Rules};
use crate::common::Tape;
use proptest::prelude::*;
use rota_machine::exit::ExitKind;
use rota_machine::run::Outcome;
use rota_measure::Summary;
use rota_trace::{Event, Sink};
use std::sync::Arc;

const MS: u64 = 1_000_000;

/// Rounds of a task, and what it runs and sleeps in each, in us.
type Work = (u32, Vec<(u32, u32)>);

/// Runs something else in the middle of a run.
struct Interrupted<'a> {
    tape: Tape,
    at_event: usize,
    meanwhile: &'a mut dyn FnMut(),
}

impl Sink for Interrupted<'_> {
    fn event(&mut self, event: &Event) {
        self.tape.event(event);
        if self.tape.0.len() == self.at_event {
            (self.meanwhile)();
        }
    }
}

/// A policy with settings.
type Subject = (&'static str, &'static [(&'static str, &'static str)]);

/// Settings that take other ways than the defaults.
const VARIANTS: [Subject; 6] = [
    ("pbs", &[("mode", "constant")]),
    ("pbs", &[("alpha", "-0.5"), ("beta", "inf"), ("epsilon", "0.5")]),
    ("pbs", &[("alpha", "50"), ("beta", "-inf"), ("gamma", "0.1")]),
    ("las", &[("since", "wakeup")]),
    ("pfs", &[("active_only", "true")]),
    ("pfs", &[("scope", "queue"), ("by", "cgroup")]),
];

/// Nobody waits beside an idle CPU under any policy, but for the kernel's own balancing.
fn set_of(policy: &str) -> &'static [(&'static str, &'static str)] {
    match policy {
        "eevdf" => &[("work_conserving", "true")],
        _ => &[],
    }
}

fn run(policy: Subject, plan: &Plan, duration_ns: u64, sink: &mut dyn Sink) -> Outcome {
    let (config, load) = (plan.config(duration_ns), plan.workload());
    Hosted::new(policy.0, policy.1, config, &load).run_into(sink)
}

/// Runs a policy twice, the second run in the middle of the first, and checks both.
fn obeys(policy: Subject, plan: &Plan, duration_ns: u64) -> Result<(), String> {
    let mut inner = Tape::default();
    let mut run_inner = || drop(run(policy, plan, duration_ns, &mut inner));
    let mut outer = Interrupted { tape: Tape::default(), at_event: 40, meanwhile: &mut run_inner };
    let outcome = run(policy, plan, duration_ns, &mut outer);
    let tape = outer.tape;
    if outcome.exit.kind != ExitKind::Unreg {
        return Err(format!("ejected: {}", outcome.exit));
    }
    if tape.0.len() >= 40 && tape.0 != inner.0 {
        return Err("two runs differ".into());
    }
    obeyed(plan, &tape.0, duration_ns)
}

/// Every policy, some of them in other ways, too.
fn policies() -> impl Iterator<Item = Subject> {
    rota_catalog::policies().iter().map(|p| (p.name, set_of(p.name))).chain(VARIANTS)
}

/// Endless tasks with these shares.
fn hogs(shares: &[u64]) -> String {
    let task = |(n, s): (usize, &u64)| format!(r#""t{n}": {{"share": {s}, "run": 1000000}}"#);
    let tasks: Vec<String> = shares.iter().enumerate().map(task).collect();
    format!(r#"{{"tasks": {{{}}}}}"#, tasks.join(", "))
}

#[test]
fn a_cpu_that_runs_somebody_else_strands_nobody() {
    // x wakes at 20 ms and is given the idle CPU 1, where it ran before; so does y, which is
    // tied to CPU 1 and comes first by its share. Then x must not wait while CPU 0 idles
    let load = r#"{"tasks": {
        "x": {"share": 1, "loop": 1, "phases": {
            "tied": {"cpus": [1], "run": 1000, "timer": {"ref": "unique1", "period": 10000}},
            "free": {"run": 1000, "timer": {"ref": "unique2", "period": 20000}},
            "last": {"run": 5000}}},
        "y": {"share": 2, "cpus": [1], "run": 1000, "timer": {"ref": "unique", "period": 20000}}}}"#;
    for name in rota_catalog::policies().iter().map(|p| p.name) {
        let (_, tape) = Hosted::new(name, &[], crate::common::ideal(2, 30 * MS), load).run();
        let starts = tape.starts(1001);
        assert!(starts.iter().any(|(at, _)| *at == 20 * MS), "{name}: {starts:?}");
    }
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn every_policy_obeys_under_random_loads(plan in plan()) {
        for policy in policies() {
            if let Err(what) = obeys(policy, &plan, 150 * MS) {
                return Err(TestCaseError::fail(format!("{policy:?}: {what}\n{}", plan.workload())));
            }
        }
    }
}

proptest! {
    #![proptest_config(cases(50))]

    #[test]
    fn work_is_done_once_under_every_policy_on_any_hardware(
        plan in plan(),
        hardware in hardware(),
    ) {
        let mut config = plan.config(150 * MS);
        let hardware = of(&plan, hardware);
        config.hardware = Some(Arc::new(hardware.clone()));
        for policy in rota_catalog::policies().iter().map(|p| p.name) {
            let hosted = &mut Hosted::new(policy, &[], config.clone(), &plan.workload());
            let mut tape = Tape::default();
            let outcome = hosted.run_into(&mut tape);
            prop_assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{}: {}", policy, outcome.exit);
            for (done, expected) in worked(&plan, &hardware, &tape).map_err(TestCaseError::fail)? {
                prop_assert_eq!(done, expected, "{}: {}", policy, plan.workload());
            }
        }
    }

    #[test]
    fn eevdf_as_linux_balances_is_audited_under_random_loads(plan in plan()) {
        let (config, load) = (plan.config(150 * MS), plan.workload());
        let (outcome, _) = Hosted::new("eevdf", &[], config, &load).run();
        prop_assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{}\n{}", outcome.exit, load);
    }
}

proptest! {
    #![proptest_config(cases(30))]

    #[test]
    fn nobody_waits_longer_than_two_rounds_of_shares(
        shares in prop::collection::vec(1..7u64, 1..13),
        cpus in 1..5u32,
    ) {
        // fifo lets its first tasks run for ever, by design
        for policy in ["rr", "wrr", "wfq", "stride", "vtrr"] {
            let mut config = crate::common::ideal(cpus, 500 * MS);
            config.audit = true;
            let set = [("quantum_ns", "1000000")];
            let (outcome, tape) = Hosted::new(policy, &set, config, &hogs(&shares)).run();
            prop_assert_eq!(outcome.exit.kind, ExitKind::Unreg);
            let rules = Rules {
                cpus,
                end_ns: 500 * MS,
                may_use: &|_, _| true,
                always_may_use: &|_, _| true,
                longest_wait_ns: 2 * shares.iter().sum::<u64>() * MS,
                heard_after_ns: 0,
            };
            prop_assert_eq!(check(&tape.0, &rules), Ok(()), "{}", policy);
        }
    }

    #[test]
    fn a_finished_task_has_run_exactly_its_work(
        work in prop::collection::vec((1..4u32, prop::collection::vec((1..3_000u32, 0..3_000u32), 1..4)), 1..8),
        cpus in 1..5u32,
        exact_slices in any::<bool>(),
        shuffle_ties in any::<bool>(),
    ) {
        // arrange: tasks that run and sleep a few times; all end within 250 ms
        let step = |run, nap| format!(r#""run": {run}, "sleep": {nap}, "yield": """#);
        let task = |(n, (loops, steps)): (usize, &Work)| {
            let steps: Vec<String> =
                steps.iter().map(|(run, nap)| step(*run, *nap)).collect();
            format!(r#""t{n}": {{"weight": {}, "loop": {loops}, {}}}"#, n + 1, steps.join(", "))
        };
        let tasks: Vec<String> = work.iter().enumerate().map(task).collect();
        let load = format!(r#"{{"tasks": {{{}}}}}"#, tasks.join(", "));
        let mut config = crate::common::ideal(cpus, 400 * MS);
        config.exact_slices = exact_slices;
        config.shuffle_ties = shuffle_ties;
        config.audit = true;
        for name in rota_catalog::policies().iter().map(|p| p.name) {
            // act
            let (_, tape) = Hosted::new(name, &[], config.clone(), &load).run();
            let mut summary = Summary::new(cpus);
            tape.0.iter().for_each(|event| summary.event(event));
            // assert
            // Lots may have let another come first.
            let mut tasks = summary.finish(400 * MS).tasks;
            tasks.sort_by_key(|task| task.name.clone());
            for (task, (loops, steps)) in tasks.iter().zip(&work) {
                let due: u64 = steps.iter().map(|(run, _)| u64::from(*run) * 1000).sum();
                prop_assert!(task.finished_ns.is_some(), "{}: {} did not end", name, task.name);
                prop_assert_eq!(task.cpu_ns, due * u64::from(*loops), "{}: {}", name, task.name);
            }
        }
    }
}
