// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `/sys/devices/system/cpu/cpuN` says of a CPU's hardware (`drivers/base/arch_topology.c`,
//! `drivers/acpi/cppc_acpi.c`, `drivers/cpufreq/cpufreq.c`, `drivers/cpuidle/sysfs.c`). A machine
//! without a description of its hardware has none of these files.

use rota_machine::hardware::parts::{Clock, CoreType, Governor};
use rota_machine::hardware::{Hardware, FULL_SPEED};

/// Sizes of caches in KiB where the hardware does not say.
const L2_KIB: u32 = 1024;
const LLC_KIB: u32 = 32768;

const US_NS: u64 = 1_000;

/// Sizes of the second-level and the last-level cache, in KiB.
pub(crate) fn cache_kib(hardware: Option<&Hardware>, cpu: u32) -> (u32, u32) {
    let own = hardware.map(|hardware| hardware.core_type(cpu).l2_kib);
    let shared = hardware.and_then(|hardware| hardware.cache.as_ref()).map(|cache| cache.llc_kib);
    (own.unwrap_or(L2_KIB), shared.unwrap_or(LLC_KIB))
}

/// Path within the CPU's folder, and text.
pub(crate) fn of_cpu(hardware: &Hardware, cpu: u32) -> Vec<(String, String)> {
    let core = hardware.core_type(cpu);
    let mut all = Vec::new();
    if core.rank > 0 {
        all.push(("acpi_cppc/highest_perf".into(), core.rank.to_string()));
    }
    // only there where the firmware tells CPUs apart
    if hardware.core_types.iter().any(|core| core.capacity != FULL_SPEED) {
        all.push(("cpu_capacity".into(), core.capacity.to_string()));
    }
    if let Some(clock) = &core.clock {
        frequencies(clock, &mut all);
    }
    idle_states(core, &mut all);
    all
}

/// `show_cpuinfo_max_freq()` and those beside it, in kHz.
fn frequencies(clock: &Clock, all: &mut Vec<(String, String)>) {
    let khz = |mhz: u32| (u64::from(mhz) * 1000).to_string();
    let lowest = clock.opps_mhz.first().copied().unwrap_or(clock.idle_mhz);
    let (governor, transition_ns) = match clock.governor {
        Governor::Performance => ("performance", 0),
        // as drivers call it where the hardware chooses by itself
        Governor::Hardware { .. } => ("powersave", 0),
        Governor::Schedutil { transition_ns } => ("schedutil", transition_ns),
    };
    for (name, text) in [
        ("cpuinfo_min_freq", khz(lowest)),
        ("cpuinfo_max_freq", khz(clock.max_mhz)),
        ("base_frequency", khz(clock.base_mhz)),
        ("scaling_min_freq", khz(lowest)),
        ("scaling_max_freq", khz(clock.max_mhz)),
        ("scaling_governor", governor.into()),
        ("cpuinfo_transition_latency", transition_ns.to_string()),
    ] {
        all.push((format!("cpufreq/{name}"), text));
    }
}

/// `cpuidle_state_attr`s, in microseconds.
fn idle_states(core: &CoreType, all: &mut Vec<(String, String)>) {
    for (number, state) in core.idle.iter().enumerate() {
        for (name, text) in [
            ("name", state.name.clone()),
            ("latency", (state.exit_ns / US_NS).to_string()),
            ("residency", (state.residency_ns / US_NS).to_string()),
            ("disable", "0".into()),
        ] {
            all.push((format!("cpuidle/state{number}/{name}"), text));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rota_machine::hardware::parts::IdleState;
    use rota_workload::WorkClass;

    /// Two kinds of cores: a fast one that clocks itself, and one without a clock.
    fn hardware(capacity: u32, rank: u32) -> Hardware {
        let fast = CoreType {
            name: "p".into(),
            speed: 1024,
            capacity: 1024,
            rank,
            l2_kib: 1280,
            smt: None,
            clock: Some(Clock {
                idle_mhz: 400,
                base_mhz: 1900,
                max_mhz: 5000,
                turbo: Vec::new(),
                opps_mhz: Vec::new(),
                domain_cores: 1,
                governor: Governor::Hardware { ramp_ns: 5_000_000, cool_ns: 5_000_000 },
                power_uw: Vec::new(),
            }),
            idle: vec![IdleState {
                name: "C6".into(),
                exit_ns: 170_000,
                residency_ns: 500_000,
                flush: true,
            }],
            poll_ns: 0,
        };
        let small = CoreType {
            name: "e".into(),
            speed: 624,
            capacity,
            l2_kib: 2048,
            clock: None,
            idle: Vec::new(),
            ..fast.clone()
        };
        Hardware {
            core_types: vec![fast, small],
            type_of_cpu: vec![0, 1],
            cache: None,
            ipi: None,
            work: (WorkClass::Mixed, 0),
            timer_slack_ns: 0,
        }
    }

    fn text(of: &[(String, String)], name: &str) -> Option<String> {
        of.iter().find(|(path, _)| path == name).map(|(_, text)| text.clone())
    }

    #[test]
    fn clocks_and_idle_states_are_in_the_units_of_sysfs() {
        let files = of_cpu(&hardware(1024, 0), 0);
        let found = |name| text(&files, name);
        assert_eq!(found("cpufreq/cpuinfo_max_freq").as_deref(), Some("5000000"));
        assert_eq!(found("cpufreq/base_frequency").as_deref(), Some("1900000"));
        assert_eq!(found("cpuidle/state0/latency").as_deref(), Some("170"));
        assert_eq!(found("cpuidle/state0/residency").as_deref(), Some("500"));
        assert_eq!(of_cpu(&hardware(1024, 0), 1), []);
    }

    #[test]
    fn capacities_are_shown_where_they_differ_and_ranks_where_there_are_any() {
        let of = |capacity, rank| of_cpu(&hardware(capacity, rank), 1);
        assert_eq!(of(1024, 39), [("acpi_cppc/highest_perf".into(), "39".into())]);
        assert_eq!(of(624, 0), [("cpu_capacity".into(), "624".into())]);
    }

    #[test]
    fn caches_have_the_sizes_of_the_core() {
        let hardware = hardware(1024, 0);
        assert_eq!(cache_kib(Some(&hardware), 0), (1280, LLC_KIB));
        assert_eq!(cache_kib(Some(&hardware), 1), (2048, LLC_KIB));
        assert_eq!(cache_kib(None, 1), (L2_KIB, LLC_KIB));
    }
}
