// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;
use rota_machine::hardware::parts::{Clock, CoreType, Governor};
use std::path::PathBuf;
use tempfile::TempDir;

/// A copied tree.
struct Copy(TempDir);

impl Copy {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    /// A file below `sys/devices/system`, as the kernel ends its lines.
    fn with(self, path: &str, text: &str) -> Self {
        let path = self.path().join("sys/devices/system").join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(path, format!("{text}\n")).expect("written");
        self
    }

    /// The same file of several CPUs.
    fn of_each(self, cpus: &[u32], file: &str, text: &str) -> Self {
        cpus.iter().fold(self, |copy, cpu| copy.with(&format!("cpu/cpu{cpu}/{file}"), text))
    }

    /// A cache that these CPUs share.
    fn cache(self, index: u32, (level, kind, size): (u32, &str, &str), cpus: &[u32]) -> Self {
        let shared = cpu_list(cpus);
        let folder = format!("cache/index{index}");
        self.of_each(cpus, &format!("{folder}/level"), &level.to_string())
            .of_each(cpus, &format!("{folder}/type"), kind)
            .of_each(cpus, &format!("{folder}/size"), size)
            .of_each(cpus, &format!("{folder}/shared_cpu_list"), &shared)
    }

    fn path(&self) -> PathBuf {
        self.0.path().to_owned()
    }

    fn machine(&self) -> Machine {
        sysfs(self.0.path()).expect("a machine")
    }

    fn error(&self) -> String {
        sysfs(self.0.path()).expect_err("none").what
    }
}

fn kind(machine: &Machine, cpu: u32) -> CoreType {
    machine.hardware.as_ref().expect("hardware").core_type(cpu).clone()
}

fn cpus(of: &rota_machine::cpuset::CpuSet) -> Vec<u32> {
    of.iter().collect()
}

/// Two cores with two threads, which Linux numbers after all first ones, and one without.
fn cores() -> Copy {
    Copy::new()
        .with("cpu/online", "0-4")
        .of_each(&[0, 2], "topology/core_cpus_list", "0,2")
        .of_each(&[1, 3], "topology/core_cpus_list", "1,3")
        .of_each(&[4], "topology/core_cpus_list", "4")
}

#[test]
fn cores_and_caches_are_those_of_the_files() {
    let machine = cores()
        .cache(0, (1, "Data", "32K"), &[0, 2])
        .cache(1, (1, "Instruction", "64K"), &[0, 2])
        .cache(2, (2, "Unified", "1024K"), &[0, 2])
        .cache(2, (2, "Unified", "2M"), &[1, 3, 4])
        .cache(3, (3, "Unified", "32768K"), &[0, 1, 2, 3, 4])
        .machine();
    let topology = &machine.topology;
    assert_eq!((topology.cpus(), topology.cores(), topology.llcs()), (5, 3, 1));
    assert_eq!(cpus(topology.siblings(3)), [1, 3]);
    assert_eq!(cpus(topology.cluster_cpus(4)), [1, 3, 4]);
    assert_eq!((kind(&machine, 2).l2_kib, kind(&machine, 4).l2_kib), (1024, 2048));
    let hardware = machine.hardware.as_ref().expect("hardware");
    assert_eq!(hardware.cache.as_ref().map(|cache| cache.llc_kib), Some(32768));
    assert!(machine.assumed.iter().any(|assumed| assumed.key == "cache.refill_ns.llc"));
    assert_eq!((machine.source.as_str(), &machine.notes), ("sysfs", &Vec::new()));
}

#[test]
fn a_computer_without_a_third_level_has_its_second_one_as_the_last() {
    let machine = cores()
        .cache(0, (1, "Data", "32K"), &[0, 2])
        .cache(0, (1, "Data", "32K"), &[1, 3])
        .cache(0, (1, "Data", "32K"), &[4])
        .cache(2, (2, "Unified", "512K"), &[0, 1, 2, 3])
        .cache(2, (2, "Unified", "256K"), &[4])
        .machine();
    assert_eq!(machine.topology.llcs(), 2);
    assert_eq!(kind(&machine, 0).l2_kib, 32);
    let sizes = "last-level caches of 256 to 512 KiB are all taken to have 512";
    assert_eq!(machine.notes, [sizes]);
}

#[test]
fn old_kernels_have_masks_and_other_names() {
    let machine = Copy::new()
        .of_each(&[0, 1], "topology/thread_siblings", "00000000,00000003")
        .of_each(&[2, 3], "topology/thread_siblings", "00000000,0000000c")
        .of_each(&[0, 1], "topology/core_siblings_list", "0-1")
        .of_each(&[2, 3], "topology/core_siblings_list", "2-3")
        .of_each(&[3], "online", "0")
        .with("node/node0/cpumap", "3")
        .with("node/node1/cpumap", "c")
        .machine();
    let topology = &machine.topology;
    assert_eq!((topology.cpus(), topology.cores(), topology.llcs()), (3, 2, 2));
    assert_eq!(topology.nodes(), 2);
    assert_eq!(machine.notes[0], "CPUs 3 are offline, and left out");
    assert!(machine.hardware.as_ref().expect("hardware").cache.is_none());
}

#[test]
fn holes_in_numbers_are_closed_and_told() {
    let machine = cores().with("cpu/online", "1-2,4").machine();
    assert_eq!(machine.topology.cpus(), 3);
    assert!(!machine.topology.has_smt());
    let told = [
        "CPUs 0,3 are offline, and left out",
        "3 CPUs without caches are taken to share one with those of their die",
        "CPUs 0-2 of the machine are CPUs 1-2,4 of the computer",
    ];
    assert_eq!(machine.notes, told);
    assert!(machine.to_toml().contains("\n# note: CPUs 0,3 are offline, and left out\n"));
}

#[test]
fn a_cache_over_two_nodes_is_two_and_nodes_without_cpus_are_left_out() {
    let machine = cores()
        .cache(3, (3, "Unified", "8192K"), &[0, 1, 2, 3, 4])
        .with("node/node0/cpulist", "0,2")
        .with("node/node2/cpulist", "1,3-4")
        .with("node/node5/cpulist", "")
        .with("node/node0/distance", "10 12 28")
        .with("node/node2/distance", "12 10 28")
        .with("node/node5/distance", "28 28 10")
        .machine();
    let topology = &machine.topology;
    assert_eq!((topology.llcs(), topology.nodes(), topology.distance(0, 1)), (2, 2, 12));
    let told = [
        "nodes 5 have no CPUs that run, and are left out",
        "CPUs that share a last-level cache are in several nodes: 1 became 2",
    ];
    assert_eq!(machine.notes, told);
}

#[test]
fn distances_that_cannot_be_are_left_out_and_told() {
    let nodes = |row: &str| {
        let copy = cores().with("node/node0/cpulist", "0,2").with("node/node1/cpulist", "1,3-4");
        copy.with("node/node0/distance", row).with("node/node1/distance", "21 10").machine()
    };
    assert_eq!(nodes("10 21").topology.distances(), [[10, 21], [21, 10]]);
    for (row, to, said) in [("10 10", 1, "10"), ("10 255", 1, "255"), ("10", 0, "not given")] {
        let machine = nodes(row);
        assert_eq!(machine.topology.distance(0, 1), 20);
        let told =
            format!("distances of nodes are left out: that of node 0 to node {to} is {said}");
        assert!(machine.notes.contains(&told), "{row}: {:?}", machine.notes);
    }
}

#[test]
fn speeds_are_by_the_first_source_that_tells_cpus_apart() {
    let speeds = |copy: Copy| {
        let machine = copy.machine();
        let of = |cpu| kind(&machine, cpu);
        (of(0).speed, of(4).speed, of(4).capacity, of(4).rank)
    };
    let all = [0, 1, 2, 3, 4];
    assert_eq!(speeds(cores()), (1024, 1024, 1024, 0));
    // 39 * 1024 / 64 = 624; with SMT the kernel says the same of all.
    let hwp = |copy: Copy| {
        copy.of_each(&all[..4], "acpi_cppc/highest_perf", "64").of_each(
            &[4],
            "acpi_cppc/highest_perf",
            "39",
        )
    };
    assert_eq!(speeds(hwp(cores())), (1024, 624, 1024, 39));
    let arm =
        cores().of_each(&all[..4], "cpu_capacity", "1024").of_each(&[4], "cpu_capacity", "446");
    assert_eq!(speeds(arm), (1024, 446, 446, 0));
    // AMD's preferred cores: by frequency, 3000 * 1024 / 4000 = 768.
    let amd = hwp(cores())
        .of_each(&all, "cpufreq/amd_pstate_prefcore_ranking", "166")
        .of_each(&all[..4], "cpufreq/cpuinfo_max_freq", "4000000")
        .of_each(&[4], "cpufreq/cpuinfo_max_freq", "3000000");
    assert_eq!(speeds(amd), (1024, 768, 1024, 39));
}

#[test]
fn a_hybrid_without_threads_has_capacities_and_names() {
    let copy = Copy::new()
        .with("cpu/online", "0-1")
        .with("../cpu_core/cpus", "0")
        .with("../cpu_atom/cpus", "1")
        .of_each(&[0], "acpi_cppc/highest_perf", "64")
        .of_each(&[1], "acpi_cppc/highest_perf", "32");
    let machine = copy.machine();
    let of = |cpu| (kind(&machine, cpu).name, kind(&machine, cpu).capacity);
    assert_eq!((of(0), of(1)), (("p".into(), 1024), ("e".into(), 512)));
}

#[test]
fn clocks_have_the_governor_that_the_driver_means() {
    let clock = |driver: &str, governor: &str| -> (Clock, Vec<String>) {
        let all = [0, 1, 2, 3, 4];
        let machine = cores()
            .of_each(&all, "cpufreq/cpuinfo_max_freq", "3700000")
            .of_each(&all, "cpufreq/cpuinfo_min_freq", "400000")
            .of_each(&all, "acpi_cppc/nominal_freq", "2600")
            .of_each(&all, "cpufreq/scaling_driver", driver)
            .of_each(&all, "cpufreq/scaling_governor", governor)
            .of_each(&all, "cpufreq/scaling_available_frequencies", "3000000 1500000")
            .of_each(&[0, 2], "cpufreq/related_cpus", "0 2 1 3")
            .of_each(&[1, 3], "cpufreq/related_cpus", "0 2 1 3")
            .of_each(&[4], "cpufreq/related_cpus", "4")
            .machine();
        (kind(&machine, 0).clock.expect("a clock"), machine.notes)
    };
    let (of, notes) = clock("acpi-cpufreq", "schedutil");
    assert_eq!((of.idle_mhz, of.base_mhz, of.max_mhz), (400, 2600, 3700));
    assert_eq!((of.opps_mhz, of.domain_cores), (vec![1500, 3000, 3700], 2));
    assert!(matches!(of.governor, Governor::Schedutil { .. }));
    let uneven = "clocks of CPUs 0-4 are taken to be for 2 cores each: not all are";
    assert!(notes.contains(&uneven.to_owned()), "{notes:?}");
    assert!(matches!(clock("intel_pstate", "powersave").0.governor, Governor::Hardware { .. }));
    assert!(matches!(clock("intel_pstate", "performance").0.governor, Governor::Performance));
    let (of, notes) = clock("acpi-cpufreq", "powersave");
    assert!(matches!(of.governor, Governor::Performance));
    let fixed = "governor powersave is modelled as performance: no frequency changes";
    assert!(notes.contains(&fixed.to_owned()), "{notes:?}");
}

#[test]
fn idle_states_are_those_that_are_enabled_and_make_sense() {
    let state = |copy: Copy, number: u32, name: &str, exit: &str, residency: &str| {
        let all = [0, 1, 2, 3, 4];
        let folder = format!("cpuidle/state{number}");
        copy.of_each(&all, &format!("{folder}/name"), name)
            .of_each(&all, &format!("{folder}/latency"), exit)
            .of_each(&all, &format!("{folder}/residency"), residency)
            .of_each(&all, &format!("{folder}/disable"), if name == "C3" { "1" } else { "0" })
    };
    let copy = state(cores(), 0, "POLL", "0", "0");
    let copy = state(copy, 1, "C1", "2", "2");
    let copy = state(copy, 2, "C3", "33", "100");
    let copy = state(copy, 10, "C6", "133", "60");
    let machine = copy.machine();
    let states = kind(&machine, 0).idle;
    let states: Vec<_> =
        states.iter().map(|s| (s.name.as_str(), s.exit_ns, s.residency_ns, s.flush)).collect();
    assert_eq!(states, [("C1", 2_000, 2_000, false), ("C6", 133_000, 133_000, true)]);
    assert!(machine.notes.contains(&"idle state C3 is disabled, and left out".to_owned()));
    assert!(machine.assumed.iter().any(|assumed| assumed.key == "core_type.core.idle.C6.flush"));
    let guest = state(cores(), 1, "haltpoll idle", "1", "1").machine();
    assert_eq!(kind(&guest, 0).idle, []);
    assert!(guest.notes.iter().any(|note| note.contains("haltpoll")), "{:?}", guest.notes);
}

#[test]
fn the_model_of_the_cpu_is_in_the_source() {
    let copy = cores();
    let proc = copy.path().join("proc");
    std::fs::create_dir_all(&proc).expect("made");
    std::fs::write(proc.join("cpuinfo"), "processor\t: 0\nmodel name\t: AMD  EPYC\nflags\t: fpu\n")
        .expect("written");
    assert_eq!(copy.machine().source, "sysfs, AMD EPYC");
}

#[test]
fn what_is_no_machine_is_an_error() {
    let none = Copy::new().error();
    assert!(none.starts_with("no CPUs: expected sys/devices/system/cpu in it"), "{none}");
    let many = Copy::new().with("cpu/online", "0-600").error();
    assert_eq!(many, "601 CPUs, expected at most 512");
}

#[test]
fn what_is_read_can_be_written_and_is_the_same_machine() {
    let hostile = cores()
        .of_each(&[0], "cpuidle/state0/name", "C1\"\\\u{7f}\n]")
        .of_each(&[0], "cpuidle/state0/latency", "18446744073709551615")
        .of_each(&[4], "cpufreq/cpuinfo_max_freq", "18446744073709551615")
        .of_each(&[1], "cpufreq/cpuinfo_max_freq", "1")
        .of_each(&[1, 3], "topology/core_cpus_list", "9-1")
        .of_each(&[2], "cpu_capacity", "4294967295")
        .cache(9, (9, "", "4194303M"), &[0, 1]);
    let machine = hostile.machine();
    let never = "idle state C1\"\\ is left out: an exit takes 18446744073709551615 us";
    assert!(machine.notes.contains(&never.to_owned()), "{:?}", machine.notes);
    let again = rota_machine_file::parse("again.toml", &machine.to_toml()).expect("as written");
    assert_eq!(again.topology, machine.topology);
    assert_eq!(again.hardware, machine.hardware);
}

#[test]
fn siblings_share_a_cache_whatever_its_files_say() {
    let machine = cores()
        .cache(3, (3, "Unified", "4096K"), &[0, 1, 4])
        .cache(3, (3, "Unified", "4096K"), &[2])
        .cache(3, (3, "Unified", "4096K"), &[3])
        .machine();
    assert_eq!((machine.topology.cores(), machine.topology.llcs()), (3, 1));
    let told = "CPUs of one core do not share a last-level cache: 3 became 1";
    assert_eq!(machine.notes, [told]);
}
