// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shipped policies that come, go and come again, or take only some tasks, around eevdf as the
//! fair class.

use rota_machine::config::Config;
use rota_machine::exit::ExitKind;
use rota_machine::kernel::Kernel;
use rota_machine::topology::Topology;
use rota_sim::{Measured, Policy, SimError, Simulation, Watchers};
use rota_trace::CsvSink;
use rota_workload::Workload;
use std::sync::Arc;

const MS: u64 = 1_000_000;

fn link(name: &str, kernel: &Kernel) -> Policy {
    let object = rota_catalog::find(name).expect("ships").object;
    Policy::link(name, object, kernel).expect("links")
}

fn workload(text: &str) -> Arc<Workload> {
    Arc::new(rota_workload::parse("load.json", text).expect("legal"))
}

fn config(cpus: u32, ms: u64) -> Config {
    let mut config = Config::new(Topology::flat(cpus).expect("CPUs"), ms * MS);
    config.audit = true;
    config
}

fn run(policy: &Policy, load: &Arc<Workload>, config: Config) -> (Measured, Vec<u8>) {
    let simulation = Simulation::new(policy, load, config);
    let simulation = simulation.with_fair(&link("eevdf", policy.kernel()));
    let mut trace = CsvSink::new(Vec::new());
    let watchers = Watchers { sinks: vec![&mut trace], figures: None };
    let measured = simulation.measure(watchers).expect("a run");
    (measured, trace.finish().expect("in memory"))
}

fn cpu_ms(measured: &Measured, task: &str) -> u64 {
    let of = measured.numbers.tasks.iter().filter(|t| t.name.starts_with(task));
    of.map(|t| t.cpu_ns).sum::<u64>() / MS
}

/// Busy, interactive, pinned, forking and exiting tasks, in groups, with nice values and shares.
const MIXED: &str = r#""tasks": {
    "hog": {"instance": 3, "priority": 5, "run": 100000},
    "web": {"instance": 3, "taskgroup": "/web", "run": {"dist": "exp", "mean": 900}, "sleep": 2000},
    "tied": {"cpus": [1], "share": 300, "run": 3000, "sleep": 500},
    "child": {"instance": 0, "loop": 3, "run": 700, "sleep": 300},
    "makes": {"loop": 30, "run": 200, "fork": "child", "sleep": 5000},
    "above": {"policy": "SCHED_FIFO", "run": 300, "sleep": 7000}}"#;

#[test]
fn every_shipped_policy_can_be_loaded_unloaded_and_loaded_again() {
    let text = format!(
        r#"{{{MIXED}, "events": [
            {{"at": "20ms", "scheduler": "load"}}, {{"at": "50ms", "scheduler": "unload"}},
            {{"at": "60ms", "scheduler": "load"}}, {{"at": "70ms", "scheduler": "load"}}]}}"#
    );
    let load = workload(&text);
    let kernel = Kernel::default();
    for shipped in rota_catalog::policies() {
        let policy = link(shipped.name, &kernel);
        let (measured, trace) = run(&policy, &load, config(2, 100));
        let name = shipped.name;
        let outcome = &measured.outcome;
        let exits: Vec<_> = outcome.exits.iter().map(|e| (e.at_ns / MS, e.exit.kind)).collect();
        assert_eq!(exits, [(50, ExitKind::Unreg), (100, ExitKind::Unreg)], "{name}");
        assert!(outcome.outside[0].result.contains("EBUSY"), "{name}");
        let busy = cpu_ms(&measured, "");
        assert!(busy >= 190, "{name}: {busy} of 200 ms");
        if ["fifo", "eevdf", "vtrr"].contains(&name) {
            assert_eq!(run(&policy, &load, config(2, 100)).1, trace, "{name}: the same again");
        }
    }
}

#[test]
fn after_an_ejection_the_fair_class_has_all_tasks() {
    let policy = link("fifo", &Kernel::default());
    let text = format!(r#"{{{MIXED}}}"#);
    // 100 instructions in a second are too few for any policy
    let config = Config { budget_per_second: 100, ..config(2, 200) };
    let (measured, _) = run(&policy, &workload(&text), config);
    assert_eq!(measured.outcome.exits.len(), 1);
    assert_eq!(measured.outcome.exit.kind, ExitKind::Error);
    assert_eq!(measured.outcome.end_ns, 200 * MS);
    // of 400 ms
    assert!(cpu_ms(&measured, "") >= 390);
}

#[test]
fn below_hogs_of_sched_other_a_partial_policy_has_5_percent_from_7_0_on() {
    let load = workload(
        r#"{"tasks": {"hog": {"instance": 2, "run": 100000},
            "ext": {"policy": "SCHED_EXT", "instance": 2, "run": 100000}}}"#,
    );
    // of 4 s: 50 ms before the end of each second
    for (release, expected) in [("6.19", 0..=0), ("7.0", 180..=210), ("7.2", 180..=210)] {
        let kernel = Kernel::bundled(release).expect("bundled");
        for name in ["fifo", "rr", "wfq", "eevdf"] {
            let mut policy = link(name, &kernel);
            policy.make_partial().expect("has flags");
            assert!(policy.is_partial());
            let mut config = config(1, 4000);
            config.watchdog = false;
            let (measured, _) = run(&policy, &load, config);
            assert!(!measured.outcome.exit.kind.is_error(), "{}", measured.outcome.exit);
            let ms = cpu_ms(&measured, "ext");
            assert!(expected.contains(&ms), "{name} on {release}: {ms} ms");
        }
    }
}

#[test]
fn a_partial_policy_leaves_what_the_fair_class_does_as_it_is() {
    let load = workload(
        r#"{"tasks": {"a": {"instance": 2, "run": 100000}, "b": {"priority": 3, "run": 100000}}}"#,
    );
    let kernel = Kernel::default();
    let mut policy = link("fifo", &kernel);
    policy.make_partial().expect("has flags");
    let used = |m: &Measured| m.numbers.tasks.iter().map(|t| t.cpu_ns).collect::<Vec<_>>();
    let costs = rota_machine::config::Costs::none();
    let config = Config { costs, ..config(1, 1000) };
    let below = used(&run(&policy, &load, config.clone()).0);
    let alone = Simulation::new(&link("eevdf", &kernel), &load, config);
    let alone = used(&alone.measure(Watchers::default()).expect("a run"));
    assert_eq!(below, alone, "as the same policy as a scheduler has it");
}

/// 250 ticks and some slices in a second: the fair class does not look for work again and again on
/// a CPU that runs sched_ext, also while other tasks of its own wait elsewhere.
#[test]
fn a_cpu_of_sched_ext_does_not_keep_the_fair_class_looking() {
    let ext = r#""a": {"policy": "SCHED_EXT", "cpus": [1], "run": 1000000}"#;
    let hogs = r#", "hog": {"instance": 2, "cpus": [0], "run": 1000000}"#;
    for others in ["", hogs] {
        let mut policy = link("rr", &Kernel::default());
        policy.make_partial().expect("has flags");

        let (measured, _) =
            run(&policy, &workload(&format!(r#"{{"tasks": {{{ext}{others}}}}}"#)), config(2, 1000));

        let events = measured.outcome.counters.events;
        assert!(events < 4_000, "{events} events in a second{others}");
    }
}

#[test]
fn loads_need_a_fair_class() {
    let load = workload(
        r#"{"tasks": {"a": {"run": 1000}}, "events": [{"at": 5, "scheduler": "unload"}]}"#,
    );
    let alone = Simulation::new(&link("fifo", &Kernel::default()), &load, config(1, 10));
    let error = alone.measure(Watchers::default()).expect_err("no fair class");
    assert!(matches!(error, SimError::Run(_)));
    assert_eq!(error.to_string(), "load.json:1:44: event: needs a machine with a fair class");
}
