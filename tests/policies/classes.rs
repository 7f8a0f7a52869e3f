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

/// Three endless tasks, and a real-time one that has 0.1 ms in each period.
fn beside_often(period_us: u32) -> String {
    let timer = format!(r#""timer": {{"ref": "t", "period": {period_us}}}"#);
    format!(
        r#"{{"tasks": {{"busy": {{"instance": 3, "run": 10000000}},
            "often": {{"policy": "SCHED_FIFO", "loop": -1, "run": 100, {timer}}}}}}}"#
    )
}

#[test]
fn a_real_time_task_that_comes_sooner_than_slices_end_starves_nobody() {
    // Every 5 ms 0.1 leaves 2.94 s of 3 s, every 1 ms it leaves 2.7: a third is 0.98 s and 0.9 s.
    // Half of that is for policies that have long quanta or draw lots.
    for policy in rota_catalog::policies().iter().map(|p| p.name).filter(|name| *name != "fifo") {
        for (period_us, third_ms) in [(5_000, 980), (1_000, 900)] {
            let config = Config::new(Topology::flat(1).unwrap(), 3000 * MS);
            let load = beside_often(period_us);
            let (outcome, tape): (_, Tape) = Hosted::new(policy, &[], config, &load).run();
            assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{policy}: {}", outcome.exit);
            let had = [1001, 1002, 1003].map(|pid| tape.cpu_ns(pid, 3000 * MS) / MS);
            let least = had.iter().min().unwrap();
            assert!(*least > third_ms / 2, "{policy}, each {period_us} us: {had:?} ms");
        }
    }
}

#[test]
fn after_a_real_time_task_the_rules_of_cfs_decide_anew() {
    // Three equal tasks have slices of 6.67 ms, but a real-time one comes each 5 ms for 0.1. After
    // each 4.9 ms who has the least vruntime goes on. They begin at 20, 10 and 6.67 ms: a period of
    // 20 over the tasks there are. So C runs to 11.57, B to 14.9, C to 16.47, B to 19.8, C to 21.37,
    // B to 24.7, A to 24.9; from there in turn. Of 600 in 3 s, A has 594 / 3, B and C three more.
    for policy in ["cfs", "rbpe"] {
        let load = beside_often(5_000);
        let (_, tape): (_, Tape) = Hosted::new(policy, &[], ideal(1, 3001 * MS), &load).run();
        let turns_of = ["busy-0", "busy-1", "busy-2"].map(|name| tape.spans(name));
        assert_eq!(turns_of.each_ref().map(Vec::len), [198, 201, 201], "{policy}");
        let mut turns: Vec<_> = (0..3)
            .flat_map(|at| turns_of[at].iter().map(move |turn| (turn.0, turn.1, at)))
            .collect();
        turns.sort_unstable();
        assert!(turns.iter().all(|(from, to, _)| to - from == 4_900), "{policy}: {turns:?}");
        let first: String = turns[..10].iter().map(|turn| ["A", "B", "C"][turn.2]).collect();
        assert_eq!(first, "CBCBCBACBA", "{policy}");
    }
}
