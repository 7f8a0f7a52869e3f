// SPDX-License-Identifier: MIT OR Apache-2.0
//! What holds for every mix of classes beside a policy. The machine audits its own books at each instant: no task
//! is lost or in two places, nobody of a higher class waits behind a lesser one, and what is
//! reserved is the sum over all tasks.

use crate::common::hosted::Hosted;
use crate::common::plan::cases;
use crate::common::replay::{check, Rules};
use crate::common::{ideal, Tape};
use proptest::prelude::*;
use rota_machine::config::Config;
use rota_machine::exit::ExitKind;
use rota_machine::topology::Topology;
use rota_measure::Summary;
use rota_trace::Sink;

const MS: u64 = 1_000_000;

/// One phase: a class, what it does, whether it holds a mutex meanwhile.
#[derive(Clone, Debug)]
struct Phase {
    policy: u32,
    priority: u32,
    run: u32,
    sleep: u32,
    yields: bool,
    mutex: Option<u32>,
}

fn phase() -> impl Strategy<Value = Phase> {
    let mutex = prop::option::weighted(0.4, 0..2u32);
    (0..6u32, 1..5u32, 1..6_000u32, 0..6_000u32, any::<bool>(), mutex).prop_map(
        |(policy, priority, run, sleep, yields, mutex)| {
            // a reservation is small, and who is throttled keeps nobody waiting
            let reserved = policy == 5;
            let run = if reserved { run % 1_800 + 1 } else { run };
            let mutex = mutex.filter(|_| !reserved);
            Phase { policy, priority, run, sleep, yields, mutex }
        },
    )
}

fn phase_text(at: usize, phase: &Phase) -> String {
    let priority = phase.priority;
    let class = match phase.policy {
        0..=2 => r#""policy": "SCHED_OTHER""#.to_string(),
        3 => format!(r#""policy": "SCHED_FIFO", "priority": {priority}"#),
        4 => format!(r#""policy": "SCHED_RR", "priority": {priority}"#),
        _ => {
            let runtime = 300 * priority;
            format!(r#""policy": "SCHED_DEADLINE", "dl-runtime": {runtime}, "dl-period": 20000"#)
        }
    };
    let mut parts = vec![class];
    parts.extend(phase.mutex.map(|m| format!(r#""lock": "m{m}""#)));
    parts.push(format!(r#""run": {}, "sleep": {}"#, phase.run, phase.sleep));
    parts.extend(phase.yields.then(|| r#""yield": """#.to_string()));
    parts.push(r#""run1": 100"#.to_string());
    parts.extend(phase.mutex.map(|m| format!(r#""unlock": "m{m}""#)));
    format!(r#""p{at}": {{{}}}"#, parts.join(", "))
}

/// Tasks that end after some rounds.
fn load(tasks: &[(u32, Vec<Phase>)], inherits: bool) -> String {
    let task = |(n, (loops, phases)): (usize, &(u32, Vec<Phase>))| {
        let phases: Vec<String> =
            phases.iter().enumerate().map(|(at, p)| phase_text(at, p)).collect();
        format!(r#""t{n}": {{"loop": {loops}, "phases": {{{}}}}}"#, phases.join(", "))
    };
    let tasks: Vec<String> = tasks.iter().enumerate().map(task).collect();
    let global = format!(r#""global": {{"pi_enabled": {inherits}}}"#);
    format!(r#"{{{global}, "tasks": {{{}}}}}"#, tasks.join(",\n"))
}

fn config(cpus: u32, form: u32, seed: u64) -> Config {
    let mut config = match form {
        0 => ideal(cpus, 3000 * MS),
        _ => Config::new(Topology::flat(cpus).unwrap(), 3000 * MS),
    };
    config.seed = seed;
    config.audit = true;
    config
}

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn every_mix_of_classes_obeys_and_ends(
        tasks in prop::collection::vec((1..4u32, prop::collection::vec(phase(), 1..4)), 1..9),
        (cpus, form, seed, inherits) in (1..4u32, 0..2u32, any::<u64>(), any::<bool>()),
    ) {
        let load = load(&tasks, inherits);
        let realtime = |p: &Phase| (3..5).contains(&p.policy);
        let all_realtime = tasks.iter().all(|(_, phases)| phases.iter().all(realtime));
        for policy in ["fifo", "wfq", "vtrr"] {
            let run = || Hosted::new(policy, &[], config(cpus, form, seed), &load).run();
            let (outcome, tape): (_, Tape) = run();
            prop_assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{}: {}", policy, outcome.exit);
            let rules = Rules {
                cpus,
                end_ns: 3000 * MS,
                may_use: &|_, _| true,
                // a task that is put aside waits on its CPU's own queue, and a throttled one must
                // wait: only where all are real-time does no CPU idle beside anybody
                always_may_use: &|_, _| all_realtime,
                longest_wait_ns: 3000 * MS,
                heard_after_ns: 0,
            };
            prop_assert_eq!(&run().1 .0, &tape.0, "two runs differ");
            let mut summary = Summary::new(cpus);
            tape.0.iter().for_each(|event| summary.event(event));
            let report = summary.finish(3000 * MS);
            let busy_ns: u64 = report.tasks.iter().map(|t| t.cpu_ns).sum();
            prop_assert_eq!(busy_ns + report.totals.idle_ns, 3000 * MS * u64::from(cpus));
            for (task, (loops, phases)) in report.tasks.iter().zip(&tasks) {
                prop_assert!(task.finished_ns.is_some(), "{}: {} did not end\n{}", policy, task.name, load);
                let due: u64 = phases.iter().map(|p| u64::from(p.run + 100) * 1000).sum();
                if form == 0 {
                    prop_assert_eq!(task.cpu_ns, due * u64::from(*loops), "{}: {}", policy, task.name);
                }
            }
            prop_assert_eq!(check(&tape.0, &rules), Ok(()), "{}\n{}", policy, load);
        }
    }
}
