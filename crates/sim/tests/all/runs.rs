// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs as callers of the library make them.

use rota_machine::config::{Config, DEFAULT_HZ};
use rota_machine::kernel::Kernel;
use rota_machine::topology::Topology;
use rota_manifest::{Run, Setup, Step};
use rota_sim::{Measured, Policy, SimError, Simulation, Watchers};
use rota_trace::{CsvSink, Event, EventKind, Sink};
use rota_workload::Workload;
use std::sync::Arc;

const SECOND_NS: u64 = 1_000_000_000;

fn policy(name: &str, hz: u32) -> Policy {
    let object = rota_catalog::find(name).expect("ships").object;
    Policy::link(name, object, &Kernel::default().with_hz(hz)).expect("links")
}

fn workload(text: &str) -> Arc<Workload> {
    Arc::new(rota_workload::parse("load.json", text).expect("legal"))
}

/// Two that never sleep.
fn hogs() -> Arc<Workload> {
    workload(r#"{"tasks": {"hog": {"instance": 2, "run": 1000000}}}"#)
}

fn one_cpu() -> Config {
    Config::new(Topology::flat(1).expect("a CPU"), SECOND_NS)
}

fn csv(simulation: Simulation) -> (Measured, Vec<u8>) {
    let mut trace = CsvSink::new(Vec::new());
    let watchers = Watchers { sinks: vec![&mut trace], figures: None };
    let measured = simulation.measure(watchers).expect("a run");
    (measured, trace.finish().expect("in memory"))
}

/// Turns of round robin, from which the length of a tick can be told.
#[derive(Default)]
struct Slices(Vec<u64>);

impl Sink for Slices {
    fn event(&mut self, event: &Event) {
        if let EventKind::Pick { .. } = event.kind {
            self.0.push(event.time_ns);
        }
    }
}

#[test]
fn a_seed_gives_the_same_run_and_another_one_another() {
    let load = workload(
        r#"{"tasks": {"t": {"instance": 3, "run": {"dist": "exp", "mean": 900}, "sleep": 500}}}"#,
    );
    let run = |seed| {
        let config = Config { seed, ..one_cpu() };
        csv(Simulation::new(&policy("rr", DEFAULT_HZ), &load, config)).1
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

/// Slices of 1 ms end at the next tick, which is that of the kernel for which the policy is linked:
/// whoever says it twice cannot contradict themselves.
#[test]
fn a_machine_ticks_as_the_kernel_for_which_the_policy_is_linked() {
    for (hz, tick_ns) in [(100, 10_000_000), (1000, 1_000_000)] {
        let mut policy = policy("rr", hz);
        policy.set("quantum_ns", "1000000").expect("a tunable");
        let config = Config { hz: 250, ..one_cpu() };
        let mut slices = Slices::default();
        let mut loaded = Simulation::new(&policy, &hogs(), config).load().expect("loads");
        loaded.run(&mut slices).expect("a run");
        let mut turns: Vec<u64> = slices.0.windows(2).map(|pair| pair[1] - pair[0]).collect();
        turns.sort_unstable();
        let median = turns[turns.len() / 2];
        // Costs of a switch and a tick are microseconds.
        assert!(median.abs_diff(tick_ns) < 100_000, "{hz} Hz: {median} ns");
    }
}

#[test]
fn another_machine_of_a_loaded_policy_runs_as_the_first_did() {
    let (policy, load) = (policy("wfq", DEFAULT_HZ), hogs());
    let mut first = Simulation::new(&policy, &load, one_cpu()).load().expect("loads");
    let trace = |loaded: &mut rota_sim::Loaded| {
        let mut trace = CsvSink::new(Vec::new());
        loaded.run(&mut trace).expect("a run");
        trace.finish().expect("in memory")
    };
    let before = trace(&mut first);
    let mut second = first.another(&load, one_cpu()).expect("loads");
    assert_eq!(trace(&mut second), before);
}

#[test]
fn what_is_wrong_is_told_by_kind_and_by_name() {
    let junk = Policy::link("junk", b"not an ELF file", &Kernel::default());
    assert!(junk.is_err_and(|error| error.object == "junk"));

    let mut rr = policy("rr", DEFAULT_HZ);
    let error = rr.set("quantum", "1").expect_err("no such variable").to_string();
    assert!(error.contains("quantum"), "{error}");

    let run = Run { program: "no_such_program".into(), ..Run::default() };
    let setup = Setup { steps: vec![Step::Run(run)], ..Setup::default() };
    let simulation = Simulation::new(&rr, &hogs(), one_cpu()).with_setup(&setup);
    let error = simulation.load().expect_err("no such program");
    assert!(matches!(error, SimError::Step { .. }) && !error.is_of_workload(), "{error}");

    let load = workload(r#"{"tasks": {"t": {"cpus": [7], "run": 1000}}}"#);
    let error = Simulation::new(&rr, &load, one_cpu()).load().expect_err("no CPU 7");
    assert!(error.is_of_workload() && error.to_string().contains("\"t-0\""), "{error}");
}

#[test]
fn instances_and_forks_are_counted_with_their_task_whatever_it_is_called() {
    let load = workload(
        r#"{"tasks": {
            "a": {"instance": 2, "loop": 3, "run": 1000, "sleep": 1000},
            "a-1": {"instance": 1, "loop": 2, "phases": {
                "one": {"run": 1000, "fork": "x-0-0001"}
            }},
            "x-0-0001": {"instance": 0, "loop": 1, "run": 1000}
        }}"#,
    );
    let measured = csv(Simulation::new(&policy("rr", DEFAULT_HZ), &load, one_cpu())).0;
    let mut groups: Vec<(&str, u64)> =
        measured.groups.iter().map(|group| (group.name.as_str(), group.tasks)).collect();
    groups.sort_unstable();
    assert_eq!(groups, [("a", 2), ("a-1", 1), ("x-0-0001", 2)]);
}
