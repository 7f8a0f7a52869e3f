// SPDX-License-Identifier: MIT OR Apache-2.0
//! Published effects of placement come out in direction and size on a preset machine: within a factor
//! of two of the change, or within ten points. Tasks are placed by affinity, or left to a policy.
//!
//! A kernel's fair class is no program: what it takes is in the measured costs of switches and wakeups.
//! So instructions of `eevdf` cost nothing here.

mod caches;
mod cores;
mod kinds;
mod talk;
mod wakeups;

use crate::common::hosted::Hosted;
use crate::common::native::Native;
use crate::common::Tape;
use rota_machine::config::Config;
use rota_machine::run::Machine;
use rota_machine_file::{parse, preset};
use rota_measure::{Numbers, Summary};
use std::sync::Arc;

const MS: u64 = 1_000_000;

/// A preset, for at most so long.
fn machine(name: &str, ms: u64) -> Config {
    without_instructions(preset(name).expect("a preset").config(ms * MS))
}

/// A machine file, for at most so long.
fn described(toml: &str, ms: u64) -> Config {
    without_instructions(parse("test.toml", toml).expect("a machine file").config(ms * MS))
}

fn without_instructions(mut config: Config) -> Config {
    config.audit = false;
    config.costs.insn_ps = 0;
    config
}

/// Eight last-level caches of 8 cores with 2 threads each, costs and caches as those of `server`.
const EIGHT_CACHES: &str = r#"
    schema = 1
    topology = { cpus = 128, llc = 16, node = 128 }
    cost_ns = { switch = 1200, wakeup = 800, tick = 1000, idle_exit = 500, ipi = { llc = 600, other_llc = 900 } }
    cache = { llc_kib = 32768, mlp = 4, refill_ns = { llc = 12, other_llc = 100 }, c2c_ns = { sibling = 5, llc = 25, other_llc = 107 }, reuse_ns = 10, handoff_lines = 16 }
    [[core_type]]
    name = "core"
    smt = 2
    l2_kib = 1024
    smt_speed = { compute = 540, mixed = 640, memory = 790 }
"#;

/// Numbers of a run of these tasks.
fn measured(policy: &str, config: Config, tasks: &str) -> Numbers {
    let mut summary = Summary::new(config.topology.cpus());
    let load = format!(r#"{{"tasks": {{{tasks}}}}}"#);
    let end_ns = Hosted::new(policy, &[], config, &load).run_into(&mut summary).end_ns;
    summary.finish(end_ns)
}

/// The same of a whole workload file under `eevdf`, and of its events.
fn taped(config: Config, load: &str) -> Tape {
    Hosted::new("eevdf", &[], config, load).run().1
}

/// Numbers of a run of these tasks under a scheduler that is written in Rust.
fn natively(config: Config, tasks: &str, scheduler: &mut Native) -> Numbers {
    let mut summary = Summary::new(config.topology.cpus());
    let load = format!(r#"{{"tasks": {{{tasks}}}}}"#);
    let workload = Arc::new(rota_workload::parse("test.json", &load).expect("a workload"));
    let btf = rota_object::btf::reference();
    let mut machine = Machine::new(config, workload, &btf).expect("a machine");
    let end_ns = machine.run(scheduler, &mut summary).expect("a run").end_ns;
    summary.finish(end_ns)
}

/// Milliseconds until all tasks ended.
fn makespan_ms(numbers: &Numbers) -> f64 {
    numbers.totals.makespan_ns.expect("all end") as f64 / MS as f64
}

/// Work that all tasks did, in ns at full speed.
fn work_ns(numbers: &Numbers) -> f64 {
    numbers.totals.work.expect("it is not flat").full_speed_ns as f64
}

/// The work of all tasks over their CPU time.
fn work_rate(numbers: &Numbers) -> f64 {
    numbers.totals.work.and_then(|work| work.rate).expect("some work")
}

#[track_caller]
fn assert_within(found: f64, least: f64, most: f64) {
    assert!((least..=most).contains(&found), "{found}, not {least} to {most}");
}

/// A list of CPUs as in a workload.
fn cpus(cpus: impl Iterator<Item = u32>) -> String {
    format!("{:?}", cpus.collect::<Vec<_>>())
}
