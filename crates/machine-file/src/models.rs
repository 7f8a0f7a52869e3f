// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which models of hardware are on: each needs its part of the machine.

use rota_machine::hardware::Hardware;
use rota_machine::topology::Topology;

/// A model of what work costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Model {
    /// What it is about.
    pub name: &'static str,
    /// Whether it has effect on this machine.
    pub is_on: bool,
    /// What a machine file needs for it.
    pub needs: &'static str,
}

/// All models, and which are on.
pub fn models(topology: &Topology, hardware: Option<&Hardware>) -> Vec<Model> {
    let any = |is: fn(&rota_machine::hardware::parts::CoreType) -> bool| {
        hardware.is_some_and(|hardware| hardware.core_types.iter().any(is))
    };
    let model = |name, is_on, needs| Model { name, is_on, needs };
    vec![
        model(
            "core types",
            any(|kind| kind.speed != rota_machine::hardware::FULL_SPEED),
            "a [[core_type]] with another speed",
        ),
        model("SMT", topology.has_smt() && any(|kind| kind.smt.is_some()), "smt and smt_speed"),
        model("caches", hardware.is_some_and(|hardware| hardware.cache.is_some()), "[cache]"),
        model("NUMA", topology.nodes() > 1 && hardware.is_some(), "nodes, and [[core_type]]"),
        model("frequency", any(|kind| kind.clock.is_some()), "mhz"),
        model(
            "energy",
            any(|kind| kind.clock.as_ref().is_some_and(|clock| !clock.power_uw.is_empty())),
            "power",
        ),
        model("idle states", any(|kind| !kind.idle.is_empty()), "idle"),
        model("interrupts", hardware.is_some_and(|h| h.ipi.is_some()), "cost_ns.ipi"),
    ]
}
