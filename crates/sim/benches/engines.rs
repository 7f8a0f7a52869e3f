// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whole runs, interpreted beside compiled, in the same run: compiling is part of them, linking is not.
//!
//! `load`: what comes before a run; the difference is what compiling takes. scx_simple is not ours to
//! ship: `tests/third-party/fetch` brings it to `.cache/objects`.
#![allow(missing_docs)] // of functions that criterion's macros make

use criterion::{criterion_group, criterion_main, BatchSize, Criterion};
use rota_machine::config::Config;
use rota_machine::kernel::Kernel;
use rota_machine::topology::Topology;
use rota_sim::{Engine, Policy, Simulation, Watchers};
use rota_workload::Workload;
use std::path::PathBuf;
use std::sync::Arc;

const ENGINES: [(&str, Engine); 2] =
    [("interpreter", Engine::Interpreter), ("compiled", Engine::Compiled)];

const SECOND_NS: u64 = 1_000_000_000;

fn root(path: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(path)
}

fn shipped(name: &str) -> Vec<u8> {
    rota_catalog::find(name).expect("ships").object.to_vec()
}

fn run(policy: &Policy, load: &Arc<Workload>, config: &Config) -> u64 {
    let simulation = Simulation::new(policy, load, config.clone());
    let measured = simulation.measure(Watchers::default()).expect("a run");
    assert!(!measured.outcome.exit.kind.is_error(), "{}", measured.outcome.exit);
    measured.outcome.end_ns
}

fn both(c: &mut Criterion, name: &str, object: &[u8], load: &Arc<Workload>, config: &Config) {
    let mut group = c.benchmark_group(name);
    group.sample_size(10);
    for (label, engine) in ENGINES {
        let policy = || {
            let mut policy = Policy::link(name, object, &Kernel::default()).expect("links");
            assert!(policy.run_by(engine), "{label} is there");
            policy
        };
        group.bench_function(label, |b| {
            b.iter_batched(policy, |policy| run(&policy, load, config), BatchSize::PerIteration);
        });
        let name = format!("load/{label}");
        group.bench_function(name, |b| {
            let load = |policy| Simulation::new(&policy, load, config.clone()).load().is_ok();
            b.iter_batched(policy, load, BatchSize::PerIteration);
        });
    }
    group.finish();
}

fn workload(text: &str) -> Arc<Workload> {
    Arc::new(rota_workload::parse("load.json", text).expect("legal"))
}

fn config(cpus: u32, seconds: u64) -> Config {
    Config::new(Topology::flat(cpus).expect("CPUs"), seconds * SECOND_NS)
}

fn engines(c: &mut Criterion) {
    let webserver = std::fs::read_to_string(root("workloads/webserver.json")).expect("is there");
    let webserver = workload(&webserver);
    for name in ["eevdf", "vtrr", "cfs"] {
        both(c, name, &shipped(name), &webserver, &config(4, 10));
    }
    let many = workload(
        r#"{"tasks": {"task": {"instance": 128, "loop": -1, "run": 1000, "sleep": 1000}}}"#,
    );
    both(c, "pbs", &shipped("pbs"), &many, &config(64, 2));
    match std::fs::read(root(".cache/objects/scx_simple.bpf.o")) {
        Ok(object) => {
            let hogs = workload(r#"{"tasks": {"hog": {"instance": 1000, "run": 1000000}}}"#);
            both(c, "scx_simple", &object, &hogs, &config(1, 1_000));
        }
        Err(why) => eprintln!("no scx_simple: {why}"),
    }
}

criterion_group!(benches, engines);
criterion_main!(benches);
