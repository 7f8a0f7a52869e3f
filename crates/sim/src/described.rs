// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a loader tells a policy of the simulated machine: where its CPUs are, what they can do, and what
//! energy that takes.

use rota_machine::cpuset::CpuSet;
use rota_machine::hardware::parts::{Clock, Governor};
use rota_machine::hardware::{Hardware, FULL_SPEED};
use rota_machine::topology::Topology;
use rota_object::energy::{PerfDomain, PerfState};
use rota_object::topology::CpuPlace;

/// As the kernel of such a machine would.
pub(crate) fn described(
    topology: &Topology,
    hardware: Option<&Hardware>,
) -> rota_object::topology::Topology {
    let kind = |cpu| hardware.map(|hardware| hardware.core_type(cpu));
    let place = |cpu| CpuPlace {
        cpu,
        core: topology.core_of(cpu),
        cluster: topology.cluster_of(cpu),
        llc: topology.llc_of(cpu),
        node: topology.node_of(cpu),
        capacity: kind(cpu).map_or(FULL_SPEED, |kind| kind.capacity),
        rank: kind(cpu).map_or(0, |kind| kind.rank),
    };
    rota_object::topology::Topology {
        cpus: (0..topology.cpus()).map(place).collect(),
        distances: topology.distances(),
        energy: hardware.map_or_else(Vec::new, |hardware| energy(topology, hardware)),
    }
}

/// Domains of CPUs of one frequency, if the power of all is known, all are under `schedutil`, and none
/// has siblings (`sched_is_eas_possible()`).
fn energy(topology: &Topology, hardware: &Hardware) -> Vec<PerfDomain> {
    let known = |cpu: u32| {
        let clock = hardware.core_type(cpu).clock.as_ref();
        clock.filter(|c| matches!(c.governor, Governor::Schedutil { .. }) && !c.power_uw.is_empty())
    };
    if topology.has_smt() || (0..topology.cpus()).any(|cpu| known(cpu).is_none()) {
        return Vec::new();
    }
    let domain = |cpus: CpuSet| {
        let first = cpus.iter().next()?;
        let states = states(known(first)?, hardware.core_type(first).capacity);
        Some(PerfDomain { cpus: cpus.iter().collect(), states })
    };
    hardware.clock_domains(topology).into_iter().filter_map(domain).collect()
}

/// Of a CPU of this capacity (`em_init_performance()`).
fn states(clock: &Clock, capacity: u32) -> Vec<PerfState> {
    let highest = [clock.max_mhz];
    let points = if clock.opps_mhz.is_empty() { &highest[..] } else { &clock.opps_mhz };
    let state = |(mhz, power_uw): (&u32, &u32)| PerfState {
        performance: (u64::from(capacity) * u64::from(*mhz) / u64::from(clock.max_mhz.max(1)))
            as u32,
        power_uw: u64::from(*power_uw),
    };
    points.iter().zip(&clock.power_uw).map(state).collect()
}
