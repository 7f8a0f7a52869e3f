// SPDX-License-Identifier: MIT OR Apache-2.0
//! What hosting costs: the kernel's unmodified scx_simple object, by each engine, beside the
//! same policy written in Rust, in the same machine, in the same run.
//!
//! `decisions`: one CPU, 1,000 CPU-bound tasks; elements are scheduling decisions.
//! `events`: four CPUs, the shipped 64-task sleep/run mix; elements are machine events.
//! The object is not ours to ship: `tests/third-party/fetch` brings it to `.cache/objects`.
#![allow(missing_docs)] // of functions that criterion's macros make

use criterion::{criterion_group, criterion_main, BatchSize, Criterion, Throughput};
use rota_machine::config::Config;
use rota_machine::consts::{DSQ_LOCAL, SLICE_DFL_NS};
use rota_machine::kernel::Kernel;
use rota_machine::ops::{Op, OpRet, Ops, OpsParams};
use rota_machine::run::{Machine, Outcome};
use rota_machine::system::System;
use rota_machine::topology::Topology;
use rota_sim::{Engine, Loaded, Policy, Simulation};
use rota_trace::{Event, Sink};
use rota_vm::error::Fault;
use rota_workload::Workload;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// scx_simple.bpf.c in Rust, callback by callback.
struct Simple {
    params: OpsParams,
    vtime_now: u64,
    stats: [u64; 2],
}

impl Simple {
    fn new() -> Self {
        let params = OpsParams {
            name: "simple".into(),
            flags: 0,
            dispatch_max_batch: 0,
            timeout_ms: 0,
            exit_dump_len: 0,
            hotplug_seq: 0,
        };
        Self { params, vtime_now: 0, stats: [0; 2] }
    }
}

fn before(a: u64, b: u64) -> bool {
    (a.wrapping_sub(b) as i64) < 0
}

impl Ops for Simple {
    fn params(&self) -> &OpsParams {
        &self.params
    }

    fn has(&self, op: Op) -> bool {
        use Op::{Dispatch, Enable, Enqueue, Exit, Init, Running, SelectCpu, Stopping};
        matches!(op, SelectCpu | Enqueue | Dispatch | Running | Stopping | Enable | Init | Exit)
    }

    fn call(&mut self, system: &mut System, op: Op, args: &[u64]) -> Result<OpRet, Fault> {
        let p = args.first().copied().unwrap_or(0);
        let value = match op {
            Op::Init => system.native_create_dsq(0)? as u64,
            Op::Enable => {
                system.native_set_vtime(p, self.vtime_now);
                0
            }
            Op::SelectCpu => {
                let (cpu, idle) = system.native_select_cpu(p, args[1] as u32, args[2])?;
                if idle {
                    self.stats[0] += 1;
                    system.native_insert(p, DSQ_LOCAL, SLICE_DFL_NS, 0)?;
                }
                u64::from(cpu)
            }
            Op::Enqueue => {
                self.stats[1] += 1;
                let floor = self.vtime_now.wrapping_sub(SLICE_DFL_NS);
                let mut vtime = system.native_vtime(p);
                if before(vtime, floor) {
                    vtime = floor;
                }
                system.native_insert_vtime(p, 0, SLICE_DFL_NS, vtime, args[1])?;
                0
            }
            Op::Dispatch => u64::from(system.native_move_to_local(self, 0)?),
            Op::Running => {
                let vtime = system.native_vtime(p);
                if before(self.vtime_now, vtime) {
                    self.vtime_now = vtime;
                }
                0
            }
            Op::Stopping => {
                let used = SLICE_DFL_NS - system.native_slice(p);
                let delta = used * 100 / u64::from(system.native_weight(p));
                system.native_set_vtime(p, system.native_vtime(p).wrapping_add(delta));
                0
            }
            _ => 0,
        };
        Ok(OpRet { value, instructions: 0 })
    }

    fn run_timer(&mut self, _: &mut System, _: u64) -> Result<OpRet, Fault> {
        Err(Fault::denied("no timers"))
    }

    fn release_owner(&mut self, _: &mut System, _: u64) {}
}

/// Looks at nothing: what is measured is the machine.
struct Nobody;

impl Sink for Nobody {
    fn event(&mut self, event: &Event) {
        std::hint::black_box(event);
    }
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn scx_simple(engine: Engine) -> Option<Policy> {
    let cache = std::env::var_os("ROTA_CACHE").map_or_else(|| root().join(".cache"), PathBuf::from);
    let bytes = std::fs::read(cache.join("objects/scx_simple.bpf.o")).ok()?;
    let linked = Policy::link("scx_simple", &bytes, &Kernel::default());
    let mut policy = linked.expect("scx_simple links");
    policy.run_by(engine).then_some(policy)
}

fn hogs() -> (Arc<Workload>, Config) {
    let text = r#"{"tasks": {"hog": {"instance": 1000, "loop": -1, "run": 1000000}}}"#;
    let workload = rota_workload::parse("hogs", text).expect("parses");
    (
        Arc::new(workload),
        Config::new(Topology::flat(1).expect("one CPU"), 4_000 * 1_000_000_000).ideal(),
    )
}

fn mix() -> (Arc<Workload>, Config) {
    let text = std::fs::read_to_string(root().join("workloads/mix64.json")).expect("shipped");
    let workload = rota_workload::parse("mix64.json", &text).expect("parses");
    (Arc::new(workload), Config::new(Topology::flat(4).expect("four CPUs"), 1_000_000_000))
}

fn machine(load: &(Arc<Workload>, Config)) -> Machine {
    Machine::new(load.1.clone(), Arc::clone(&load.0), &rota_object::btf::reference()).expect("fits")
}

fn native(mut machine: Machine) -> Outcome {
    machine.run(&mut Simple::new(), &mut Nobody).expect("runs")
}

fn hosted(mut loaded: Loaded) -> Outcome {
    loaded.run(&mut Nobody).expect("runs")
}

fn loaded(load: &(Arc<Workload>, Config), policy: &Policy) -> Loaded {
    Simulation::new(policy, &load.0, load.1.clone()).load().expect("loads")
}

fn compare(
    c: &mut Criterion,
    name: &str,
    load: &(Arc<Workload>, Config),
    count: fn(&Outcome) -> u64,
) {
    let mut group = c.benchmark_group(name);
    group.sample_size(20).measurement_time(Duration::from_secs(8));
    let baseline = native(machine(load));
    group.throughput(Throughput::Elements(count(&baseline)));
    group.bench_function("rust", |b| {
        b.iter_batched(|| machine(load), native, BatchSize::PerIteration)
    });
    for (label, engine) in [("interpreted", Engine::Interpreter), ("compiled", Engine::Compiled)] {
        let Some(policy) = scx_simple(engine) else {
            eprintln!("no scx_simple.bpf.o {label}: run tests/third-party/fetch, then this again");
            continue;
        };
        let ours = hosted(loaded(load, &policy));
        group.throughput(Throughput::Elements(count(&ours)));
        group.bench_function(format!("scx_simple, {label}"), |b| {
            b.iter_batched(|| loaded(load, &policy), hosted, BatchSize::PerIteration)
        });
    }
    group.finish();
}

fn decisions(c: &mut Criterion) {
    compare(c, "decisions", &hogs(), |outcome| outcome.counters.decisions);
}

fn events(c: &mut Criterion) {
    compare(c, "events", &mix(), |outcome| outcome.counters.events);
}

criterion_group!(benches, decisions, events);
criterion_main!(benches);
