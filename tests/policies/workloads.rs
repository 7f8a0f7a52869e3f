// SPDX-License-Identifier: MIT OR Apache-2.0
//! The workload files that come with Rota run under every policy, and do what they say.

use crate::common::hosted::Hosted;
use crate::common::{ideal, Tape};
use rota_machine::config::Config;
use rota_machine::exit::ExitKind;
use rota_machine::run::Outcome;
use rota_machine::topology::Topology;
use rota_measure::{RequestNumbers, Requests, RequestsNumbers};
use rota_trace::{EventKind, Sink};
use std::path::PathBuf;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1000 * MS;

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../workloads"))
}

fn text(name: &str) -> String {
    std::fs::read_to_string(folder().join(format!("{name}.json"))).unwrap()
}

fn run(policy: &str, config: Config, workload: &str) -> (Outcome, Tape) {
    let (outcome, tape) = Hosted::new(policy, &[], config, workload).run();
    assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{policy}: {}", outcome.exit);
    (outcome, tape)
}

fn requests(tape: &Tape, end_ns: u64) -> RequestsNumbers {
    let mut requests = Requests::default();
    tape.0.iter().for_each(|event| requests.event(event));
    requests.finish(end_ns)
}

fn class<'a>(report: &'a RequestsNumbers, name: &str) -> &'a RequestNumbers {
    report.classes.iter().find(|c| c.name.as_deref() == Some(name)).unwrap()
}

/// Names of all files, without `.json`.
fn names() -> Vec<String> {
    let files = std::fs::read_dir(folder()).unwrap().map(|file| file.unwrap().path());
    let json = files.filter(|path| path.extension().is_some_and(|e| e == "json"));
    let mut names: Vec<String> =
        json.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    names.sort_unstable();
    names
}

#[test]
fn every_workload_runs_under_every_policy() {
    let names = names();
    assert!(names.len() >= 15, "{names:?}");
    for name in names {
        for policy in rota_catalog::policies() {
            let mut config = Config::new(Topology::flat(4).unwrap(), 150 * MS);
            config.audit = name != "hackbench";
            let (outcome, tape) = run(policy.name, config, &text(&name));
            assert_eq!(outcome.end_ns, 150 * MS, "{name} under {}", policy.name);
            assert!(outcome.deadlocks.is_empty(), "{name} under {}", policy.name);
            let ran = tape.0.iter().any(|e| matches!(e.kind, EventKind::SwitchIn { .. }));
            assert!(ran, "{name} under {}", policy.name);
        }
    }
}

#[test]
fn every_workload_says_what_it_is_for_and_is_in_the_manual() {
    let manual = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/workload-library.md");
    let manual = std::fs::read_to_string(manual).unwrap();
    for name in names() {
        let text = text(&name);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].contains("SPDX-License-Identifier"), "{name}");
        let described = lines[1] == "/*" && lines[2].len() > 40 && lines[3].starts_with(" *");
        assert!(described, "{name}: lines 3 and 4 describe it");
        let row = format!("| [`{name}.json`](../workloads/{name}.json)");
        assert!(manual.contains(&row), "{name} is not in the manual");
    }
}

#[test]
fn a_build_runs_every_compiler_and_then_the_linker() {
    let (_, tape) = run("fifo", ideal(4, 8 * SECOND), &text("build"));
    let mut names = std::collections::HashMap::new();
    let mut ends = Vec::new();
    for event in &tape.0 {
        match &event.kind {
            EventKind::Task { pid, instance_of, .. } => {
                names.insert(*pid, instance_of.clone().unwrap());
            }
            EventKind::Exit { pid } => ends.push((names[pid].clone(), event.time_ns)),
            _ => {}
        }
    }
    let count = |name: &str| ends.iter().filter(|(n, _)| **n == *name).count();
    assert_eq!((count("cc"), count("as"), count("ld"), count("make")), (120, 120, 1, 1));
    // The linker is last, alone, for 300 ms. Work of 6.1 s on average takes four CPUs 1.5 s;
    // the mean of 120 lognormal draws has a standard deviation of 9 %.
    let (last, end_ns) = ends.last().unwrap();
    assert_eq!(&**last, "ld");
    let others = end_ns - 300 * MS;
    assert!((SECOND..2 * SECOND).contains(&others), "{others}");
    assert!(ends[..ends.len() - 1].iter().all(|(_, at)| *at <= others));
}

#[test]
fn every_message_of_hackbench_is_received_once() {
    let (_, tape) = run("rr", ideal(4, 5 * SECOND), &text("hackbench"));
    let report = requests(&tape, 5 * SECOND);
    assert_eq!(report.classes.len(), 4);
    for class in &report.classes {
        assert_eq!((class.arrived, class.answered, class.open), (40_000, 40_000, 0));
    }
}

#[test]
fn webserver_wants_what_it_says() {
    // With as many CPUs as tasks nobody waits for one: slowdown is 1 but for requests that find
    // all 24 web threads or all 8 of the database busy.
    let (_, tape) = run("fifo", ideal(40, 10 * SECOND), &text("webserver"));
    let report = requests(&tape, 10 * SECOND);
    let rate = |name: &str| class(&report, name).answered_per_s.unwrap();
    // Poisson: standard deviation of the feed's rate sqrt(2000) / 10 = 4.5/s.
    assert!((rate("feed") - 200.0).abs() < 20.0, "{}", rate("feed"));
    // Windows 1..2, 4..5, 7..8 of 10 s.
    assert!((rate("rush") - 150.0).abs() < 20.0, "{}", rate("rush"));
    // 80 users / (300 ms + 6.2 ms).
    assert!((rate("users") - 261.0).abs() < 25.0, "{}", rate("users"));
    let feed = class(&report, "feed");
    assert!((feed.demand_mean_ns.unwrap() / 2e6 - 1.0).abs() < 0.1);
    assert!(feed.slowdown.p50.unwrap() < 1.001, "{:?}", feed.slowdown);
}
