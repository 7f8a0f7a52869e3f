// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `/sys/devices/system/cpu/cpuN` says of a CPU's hardware (`drivers/base/arch_topology.c`,
//! `drivers/acpi/cppc_acpi.c`, `drivers/cpufreq/cpufreq.c`, `drivers/cpuidle/sysfs.c`). A machine
//! without a description of its hardware has none of these files.

use rota_machine::cpuset::CpuSet;
use rota_machine::hardware::parts::{Clock, CoreType, Governor};
use rota_machine::hardware::{Hardware, FULL_SPEED};
use rota_machine::topology::Topology;

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

/// Path within `/sys/devices/system/cpu`, and text, of all CPUs and of the policies of cpufreq, which
/// are the domains of clocks.
pub(crate) fn of_cpus(
    hardware: &Hardware,
    topology: &Topology,
    online: &CpuSet,
) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for cpu in online.iter() {
        let files = of_cpu(hardware, cpu).into_iter();
        all.extend(files.map(|(name, text)| (format!("cpu{cpu}/{name}"), text)));
    }
    for related in hardware.clock_domains(topology) {
        // without a CPU that is online there is no policy
        let affected = related.and(online);
        let Some(first) = affected.first() else { continue };
        let Some(clock) = &hardware.core_type(first).clock else { continue };
        let mut files = frequencies(clock);
        for (name, cpus) in [("related_cpus", related), ("affected_cpus", affected)] {
            // as cpufreq_show_cpus() separates them
            let cpus: Vec<String> = cpus.iter().map(|cpu| cpu.to_string()).collect();
            files.push((name, cpus.join(" ")));
        }
        let number = related.first().unwrap_or(first);
        // a CPU's own folder is a link to its policy in the kernel
        let of_each = affected.iter().map(|cpu| format!("cpu{cpu}/cpufreq"));
        for folder in of_each.chain([format!("cpufreq/policy{number}")]) {
            all.extend(files.iter().map(|(name, text)| (format!("{folder}/{name}"), text.clone())));
        }
    }
    all
}

/// Path within the CPU's folder, and text.
fn of_cpu(hardware: &Hardware, cpu: u32) -> Vec<(String, String)> {
    let core = hardware.core_type(cpu);
    let mut all = Vec::new();
    if core.rank > 0 {
        all.push(("acpi_cppc/highest_perf".into(), core.rank.to_string()));
    }
    // only there where the firmware tells CPUs apart
    if hardware.core_types.iter().any(|core| core.capacity != FULL_SPEED) {
        all.push(("cpu_capacity".into(), core.capacity.to_string()));
    }
    idle_states(core, &mut all);
    all
}

/// Governors that there are under a driver that lets the kernel choose.
const GOVERNORS: &str = "performance schedutil";

/// `show_cpuinfo_max_freq()` and those next to it, in kHz.
fn frequencies(clock: &Clock) -> Vec<(&'static str, String)> {
    let khz = |mhz: u32| (u64::from(mhz) * 1000).to_string();
    let lowest = clock.opps_mhz.first().copied().unwrap_or(clock.idle_mhz);
    let chooses = matches!(clock.governor, Governor::Hardware { .. });
    let (governor, transition_ns) = match clock.governor {
        Governor::Performance => ("performance", 0),
        // as drivers call it where the hardware chooses by itself
        Governor::Hardware { .. } => ("powersave", 0),
        Governor::Schedutil { transition_ns } => ("schedutil", transition_ns),
    };
    let (driver, governors) = match (chooses, clock.opps_mhz.is_empty()) {
        (true, _) => ("intel_pstate", "performance powersave"),
        (false, true) => ("acpi-cpufreq", GOVERNORS),
        // of devicetrees
        (false, false) => ("cpufreq-dt", GOVERNORS),
    };
    let mut all = vec![
        ("cpuinfo_min_freq", khz(lowest)),
        ("cpuinfo_max_freq", khz(clock.max_mhz)),
        ("base_frequency", khz(clock.base_mhz)),
        ("scaling_min_freq", khz(lowest)),
        ("scaling_max_freq", khz(clock.max_mhz)),
        ("scaling_governor", governor.into()),
        ("cpuinfo_transition_latency", transition_ns.to_string()),
        ("scaling_driver", driver.into()),
        ("scaling_available_governors", governors.into()),
    ];
    if chooses {
        // intel_pstate_hwp_init_epp(): what the hardware begins with
        let preferences = "default performance balance_performance balance_power power";
        all.push(("energy_performance_preference", "balance_performance".into()));
        all.push(("energy_performance_available_preferences", preferences.into()));
    }
    if !clock.opps_mhz.is_empty() {
        let opps: Vec<String> = clock.opps_mhz.iter().map(|mhz| khz(*mhz)).collect();
        all.push(("scaling_available_frequencies", opps.join(" ")));
    }
    all
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

    fn all_files(hardware: &Hardware, online: &CpuSet) -> Vec<(String, String)> {
        let cpus = hardware.type_of_cpu.len() as u32;
        of_cpus(hardware, &Topology::flat(cpus).expect("a topology"), online)
    }

    #[test]
    fn clocks_and_idle_states_are_in_the_units_of_sysfs() {
        let files = all_files(&hardware(1024, 0), &CpuSet::first_n(2));
        let found = |name| text(&files, name);
        assert_eq!(found("cpu0/cpufreq/cpuinfo_max_freq").as_deref(), Some("5000000"));
        assert_eq!(found("cpu0/cpufreq/base_frequency").as_deref(), Some("1900000"));
        assert_eq!(found("cpu0/cpuidle/state0/latency").as_deref(), Some("170"));
        assert_eq!(found("cpu0/cpuidle/state0/residency").as_deref(), Some("500"));
        assert!(!files.iter().any(|(path, _)| path.starts_with("cpu1/")), "{files:?}");
    }

    #[test]
    fn where_the_hardware_chooses_its_driver_has_a_preference() {
        let files = all_files(&hardware(1024, 0), &CpuSet::first_n(2));
        let found = |name: &str| text(&files, &format!("cpufreq/policy0/{name}"));
        assert_eq!(found("scaling_driver").as_deref(), Some("intel_pstate"));
        assert_eq!(found("scaling_governor").as_deref(), Some("powersave"));
        let preference = found("energy_performance_preference");
        assert_eq!(preference.as_deref(), Some("balance_performance"));
        assert_eq!(found("scaling_available_frequencies"), None);
    }

    #[test]
    fn cpus_with_one_clock_have_one_policy_as_long_as_one_of_them_is_online() {
        let mut hardware = hardware(1024, 0);
        hardware.type_of_cpu = vec![0, 0, 0, 1];
        let clock = hardware.core_types[0].clock.as_mut().expect("a clock");
        clock.domain_cores = 2;
        clock.opps_mhz = vec![400, 5000];
        clock.governor = Governor::Schedutil { transition_ns: 1 };
        let found = |online: &CpuSet, path: &str| text(&all_files(&hardware, online), path);

        let every = CpuSet::first_n(4);
        let policy = |name: &str| found(&every, &format!("cpufreq/{name}"));
        assert_eq!(policy("policy0/related_cpus").as_deref(), Some("0 1"));
        assert_eq!(policy("policy2/related_cpus").as_deref(), Some("2"));
        assert_eq!(policy("policy0/scaling_driver").as_deref(), Some("cpufreq-dt"));
        let frequencies = policy("policy0/scaling_available_frequencies");
        assert_eq!(frequencies.as_deref(), Some("400000 5000000"));
        let mut second = CpuSet::default();
        second.insert(1);
        assert_eq!(found(&second, "cpufreq/policy0/affected_cpus").as_deref(), Some("1"));
        assert_eq!(found(&second, "cpu1/cpufreq/related_cpus").as_deref(), Some("0 1"));
        assert_eq!(found(&second, "cpufreq/policy2/related_cpus"), None);
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
