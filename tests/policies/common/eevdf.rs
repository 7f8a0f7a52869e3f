// SPDX-License-Identifier: MIT OR Apache-2.0
//! `eevdf` on machines where nothing takes time but the tasks, with ticks each 4 ms: what the tests
//! of its balancing have in common.

use super::hosted::Hosted;
use super::Tape;
use rota_machine::config::{Config, Costs};
use rota_machine::exit::ExitKind;
use rota_machine::hardware::Hardware;
use rota_machine::topology::Topology;
use std::sync::Arc;

pub(crate) const MS: u64 = 1_000_000;

/// All slices are of 6 ms, so that turns are of 8, and each CPU that becomes idle looks for work.
const SET: [(&str, &str); 4] = [
    ("base_slice_ns", "6000000"),
    ("tunable_scaling", "none"),
    ("no_place_deadline_initial", "true"),
    ("no_ni_random", "true"),
];

/// Runs a workload for so long; `set` comes after [`SET`].
pub(crate) fn run(cpus: u32, set: &[(&str, &str)], load: &str, ms: u64) -> (Hosted, Tape) {
    run_noting("stats", cpus, set, load, ms)
}

/// The same, where CPUs share cores, caches and nodes: as `--topology`.
pub(crate) fn run_on(
    topology: (u32, &str),
    set: &[(&str, &str)],
    load: &str,
    ms: u64,
) -> (Hosted, Tape) {
    on(Topology::parse(topology.0, topology.1).unwrap(), "stats", set, load, ms)
}

/// The same, on CPUs of this hardware, which share a cache.
pub(crate) fn run_with(hardware: Hardware, set: &[(&str, &str)], load: &str, ms: u64) -> Tape {
    let cpus = hardware.type_of_cpu.len() as u32;
    run_at(Topology::flat(cpus).unwrap(), hardware, set, load, ms)
}

/// The same, with the CPUs at these places.
pub(crate) fn run_at(
    topology: Topology,
    hardware: Hardware,
    set: &[(&str, &str)],
    load: &str,
    ms: u64,
) -> Tape {
    let mut config = Config::new(topology, ms * MS);
    config.hardware = Some(Arc::new(hardware));
    ended("stats", config, set, load).1
}

/// The same, and notes a global variable after each decision.
pub(crate) fn run_noting(
    variable: &'static str,
    cpus: u32,
    set: &[(&str, &str)],
    load: &str,
    ms: u64,
) -> (Hosted, Tape) {
    on(Topology::flat(cpus).unwrap(), variable, set, load, ms)
}

fn on(
    topology: Topology,
    variable: &'static str,
    set: &[(&str, &str)],
    load: &str,
    ms: u64,
) -> (Hosted, Tape) {
    ended(variable, Config::new(topology, ms * MS), set, load)
}

fn ended(
    variable: &'static str,
    mut config: Config,
    set: &[(&str, &str)],
    load: &str,
) -> (Hosted, Tape) {
    config.costs = Costs::none();
    let set = [&SET, set].concat();
    let mut hosted = Hosted::new("eevdf", &set, config, load).noting(variable);
    let (outcome, tape) = hosted.run();
    assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{}", outcome.exit);
    (hosted, tape)
}

/// When the task came onto that CPU first, in ms.
pub(crate) fn first_on(tape: &Tape, name: &str, cpu: u32) -> Option<u64> {
    let starts = tape.starts(tape.pid(name));
    starts.iter().find(|(_, at)| *at == cpu).map(|(ns, _)| ns / MS)
}
