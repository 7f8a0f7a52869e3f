// SPDX-License-Identifier: MIT OR Apache-2.0
//! The workload files that come with Rota want the load their comments say.

use std::sync::Arc;

use rota_workload::{parse, SeededRunner, Step, TaskIx, Workload};

const SECOND: u64 = 1_000_000_000;

fn shipped(name: &str) -> Workload {
    let path = format!("{}/../../workloads/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    parse(name, &text).unwrap_or_else(|e| panic!("{e}"))
}

/// Runs every task on a CPU of its own; returns `(task name, start, end)` of all its runs.
fn runs_alone(workload: Workload, end_ns: u64) -> Vec<(String, u64, u64)> {
    let mut runner = SeededRunner::new(Arc::new(workload), 1);
    let mut due: Vec<(TaskIx, u64)> = runner.initial().collect();
    let mut runs = Vec::new();
    while let Some((task, mut now)) = due.pop() {
        while now < end_ns {
            let start = now;
            match runner.next(task, now) {
                Step::Run { work_ns: ns } | Step::Runtime { ns } => {
                    now += ns;
                    runs.push((runner.name(task).to_owned(), start, now));
                }
                Step::Sleep { ns } => now += ns,
                Step::SleepUntil { at_ns } => now = at_ns,
                Step::Fork { child } => due.push((child, now)),
                Step::Yield | Step::Change(_) | Step::Wake { .. } => {}
                Step::Block => unreachable!("no shipped workload waits for another task"),
                Step::Exit => break,
                Step::Stuck(why) => panic!("{why}"),
            }
        }
    }
    runs
}

/// CPUs wanted between two times by tasks whose names pass.
fn demand(runs: &[(String, u64, u64)], from: u64, to: u64, filter: impl Fn(&str) -> bool) -> f64 {
    let inside = |start: u64, end: u64| end.min(to).saturating_sub(start.max(from));
    let wanted = runs.iter().filter(|(name, ..)| filter(name)).map(|(_, s, e)| inside(*s, *e));
    wanted.sum::<u64>() as f64 / (to - from) as f64
}

#[test]
fn web_is_calm_then_overloads_four_cpus() {
    let runs = runs_alone(shipped("web"), 6 * SECOND);
    let others = |name: &str| !name.starts_with("indexer") && !name.starts_with("rotate");
    for round in 0..4 {
        let start = round * (SECOND + SECOND / 2);
        let calm = demand(&runs, start, start + SECOND, others);
        let rush = demand(&runs, start + SECOND, start + SECOND + SECOND / 2, others);
        assert!((calm - 2.56).abs() < 0.06, "round {round}: {calm}");
        assert!((rush - 4.56).abs() < 0.06, "round {round}: {rush}");
    }
    // One rotation a second, each 6 times 10 ms.
    let rotations = demand(&runs, 0, 6 * SECOND, |name| name.starts_with("rotate"));
    assert!((rotations - 0.06).abs() < 0.001, "{rotations}");
    assert!(runs.iter().any(|(name, ..)| name == "rotate-20-0000"));
}

#[test]
fn mix64_wants_91_percent_of_four_cpus() {
    let workload = shipped("mix64");
    assert_eq!(workload.tasks.len(), 64);
    let runs = runs_alone(workload, 2 * SECOND);
    let wanted = demand(&runs, SECOND, 2 * SECOND, |_| true);
    assert!((wanted - 3.63).abs() < 0.03, "{wanted}");
}

#[test]
fn hogs_have_the_weights_of_their_nice_values() {
    let workload = shipped("hogs");
    let nice: Vec<i32> = workload.tasks.iter().map(|t| t.settings.priority).collect();
    assert_eq!(nice, [0, 0, -5, -5, 5, 5, 10, 10]);
    let runs = runs_alone(workload, SECOND);
    assert_eq!(demand(&runs, 0, SECOND, |_| true), 8.0);
}

#[test]
fn shares321_is_the_papers_example() {
    let tasks = shipped("shares321").tasks;
    let shares: Vec<_> = tasks.iter().map(|t| (t.name.as_str(), t.settings.share)).collect();
    assert_eq!(shares, [("A-0", Some(3)), ("B-1", Some(2)), ("C-2", Some(1))]);
}

#[test]
fn random_differs_by_seed_and_wants_what_it_says() {
    let workload = Arc::new(shipped("random"));
    let starts = |seed| SeededRunner::new(workload.clone(), seed).initial().collect::<Vec<_>>();
    assert_eq!(starts(1), starts(1));
    assert_ne!(starts(1), starts(2));
    let runs = runs_alone(shipped("random"), 5 * SECOND);
    let workers = demand(&runs, 0, 5 * SECOND, |name| name.starts_with("worker"));
    assert!((workers - 0.8).abs() < 0.1, "{workers}");
    let jobs = demand(&runs, 0, 5 * SECOND, |name| name.starts_with("job"));
    assert!((1.0..2.5).contains(&jobs), "{jobs}");
}
