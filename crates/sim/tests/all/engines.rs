// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiled policies decide what interpreted ones do, for as many instructions.

use rota_machine::config::Config;
use rota_machine::kernel::Kernel;
use rota_machine::topology::Topology;
use rota_sim::{Engine, Policy, Simulation, Watchers};
use rota_trace::CsvSink;
use rota_workload::Workload;
use std::sync::Arc;

/// Sleepers of several weights, hogs, and tasks that wake each other and fork.
const LOAD: &str = r#"{"tasks": {
    "web": {"instance": 6, "loop": -1,
        "run": {"dist": "exp", "mean": 700}, "sleep": {"dist": "exp", "mean": 2000}},
    "hog": {"instance": 3, "run": 1000000},
    "nice": {"instance": 2, "priority": 5, "loop": -1, "run": 1500, "sleep": 500},
    "ping": {"loop": -1, "run": 200, "resume": "pong", "suspend": "ping"},
    "pong": {"loop": -1, "suspend": "pong", "run": 300, "resume": "ping"}
}}"#;

fn load() -> Arc<Workload> {
    Arc::new(rota_workload::parse("load.json", LOAD).expect("legal"))
}

fn policy(name: &str, object: &[u8], engine: Engine) -> Policy {
    let mut policy = Policy::link(name, object, &Kernel::default()).expect("links");
    assert!(policy.run_by(engine), "{engine:?} is there");
    policy
}

/// Trace, end and counts of a run.
fn run(policy: &Policy, config: Config) -> (Vec<u8>, String) {
    let mut trace = CsvSink::new(Vec::new());
    let watchers = Watchers { sinks: vec![&mut trace], figures: None };
    let measured = Simulation::new(policy, &load(), config).measure(watchers).expect("a run");
    let rest =
        format!("{} {:?} {:?}", measured.outcome.exit, measured.numbers, measured.policy_stats);
    (trace.finish().expect("in memory"), rest)
}

fn config() -> Config {
    Config::new(Topology::parse(4, "smt=2,llc=2").expect("four CPUs"), 400_000_000)
}

#[test]
fn each_policy_leaves_the_same_trace_compiled_and_interpreted() {
    for shipped in rota_catalog::policies() {
        let run = |engine| run(&policy(shipped.name, shipped.object, engine), config());
        let (trace, rest) = run(Engine::Interpreter);
        let (compiled_trace, compiled_rest) = run(Engine::Compiled);
        assert_eq!(rest, compiled_rest, "{}", shipped.name);
        assert!(trace == compiled_trace, "{}: traces differ", shipped.name);
        assert!(trace.len() > 10_000, "{}: a run", shipped.name);
    }
}

#[test]
fn a_policy_that_is_ejected_for_its_instructions_is_so_at_the_same_one() {
    let eevdf = rota_catalog::find("eevdf").expect("ships");
    let mut reasons = Vec::new();
    for budget in [40, 150, 400, 700] {
        let run = |engine| {
            let config = Config { budget, ..config() };
            run(&policy("eevdf", eevdf.object, engine), config)
        };
        let (interpreted, compiled) = (run(Engine::Interpreter), run(Engine::Compiled));
        assert_eq!(interpreted.1, compiled.1, "budget {budget}");
        assert!(interpreted.0 == compiled.0, "budget {budget}: traces differ");
        reasons.push(interpreted.1);
    }
    assert!(reasons[0].contains("40 instructions"), "{}", reasons[0]);
}

#[test]
fn runs_of_one_policy_share_what_was_compiled() {
    let eevdf = rota_catalog::find("eevdf").expect("ships");
    let policy = policy("eevdf", eevdf.object, Engine::Auto);
    // long enough to be compiled half-way; the second is compiled from its beginning
    let config = Config { duration_ns: 3_000_000_000, ..config() };
    let (first, second) = (run(&policy, config.clone()), run(&policy.clone(), config));
    assert_eq!(first.1, second.1);
    assert!(first.0 == second.0);
}
