// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `/sys`, `/proc` and `/boot` say of the simulated machine (`drivers/base/topology.c`,
//! `drivers/base/cacheinfo.c`, `drivers/base/node.c`).

use crate::cpulist::{list, mask};
use crate::hardware_files;
use rota_machine::cpuset::CpuSet;
use rota_machine::hardware::Hardware;
use rota_machine::kernel::Kernel;
use rota_machine::topology::Topology;
use rota_object::btf::Kind;
use rota_object::link::Kernel as _;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Options that a scheduler may ask for (`extern int CONFIG_… __kconfig`).
const OPTIONS: [&str; 8] = [
    "CONFIG_SMP",
    "CONFIG_SCHED_CLASS_EXT",
    "CONFIG_CGROUPS",
    "CONFIG_FAIR_GROUP_SCHED",
    "CONFIG_HZ",
    "CONFIG_NR_CPUS",
    "CONFIG_SCHED_CORE",
    "CONFIG_PREEMPT_RCU",
];

/// Where the kernel's own file systems are.
const MOUNTS: &str = "\
sysfs /sys sysfs ro,nosuid,nodev,noexec,relatime 0 0
proc /proc proc rw,nosuid,nodev,noexec,relatime 0 0
cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid,nodev,noexec,relatime 0 0
tracefs /sys/kernel/tracing tracefs ro,nosuid,nodev,noexec,relatime 0 0
";

/// `pid_idr_init()`: as a kernel has it by itself. Programs allocate tables of this size.
fn pid_max(cpus: u32) -> u32 {
    (1024 * cpus).max(0x8000)
}

/// Path and text of every file.
pub(crate) fn files(
    topology: &Topology,
    hardware: Option<&Hardware>,
    kernel: &Kernel,
) -> Vec<(String, String)> {
    let mut all = of_processors(topology, hardware, &CpuSet::first_n(topology.cpus()));
    let release = release(kernel);
    all.extend([
        (format!("/boot/config-{release}"), config(kernel)),
        ("/proc/sys/kernel/osrelease".into(), format!("{release}\n")),
        ("/proc/kallsyms".into(), symbols(kernel)),
        ("/proc/mounts".into(), MOUNTS.into()),
        ("/proc/sys/kernel/ftrace_enabled".into(), "1\n".into()),
        ("/sys/kernel/tracing/available_tracers".into(), "function nop\n".into()),
        // Performance events, which attach to these, are not played.
        ("/sys/kernel/tracing/available_events".into(), String::new()),
        ("/proc/sys/kernel/pid_max".into(), format!("{}\n", pid_max(topology.cpus()))),
        ("/proc/version".into(), format!("Linux version {release} (rota)\n")),
        ("/proc/cpuinfo".into(), cpuinfo(topology)),
        ("/proc/cmdline".into(), "\n".into()),
        ("/proc/loadavg".into(), "0.00 0.00 0.00 1/1 1000\n".into()),
        // the program's own group and mounts
        ("/proc/self/cgroup".into(), "0::/\n".into()),
        ("/proc/self/mounts".into(), MOUNTS.into()),
    ]);
    all
}

/// Folders that are different when CPUs have gone or come back.
pub(crate) const OF_PROCESSORS: [&str; 2] = ["/sys/devices/system/cpu", "/sys/devices/system/node"];

/// What is in them.
pub(crate) fn of_processors(
    topology: &Topology,
    hardware: Option<&Hardware>,
    online: &CpuSet,
) -> Vec<(String, String)> {
    let mut all = Vec::new();
    cpus(topology, online, &mut all);
    (0..topology.cpus()).for_each(|cpu| one_cpu((topology, hardware), online, cpu, &mut all));
    for (name, text) in
        hardware.into_iter().flat_map(|of| hardware_files::of_cpus(of, topology, online))
    {
        all.push((format!("/sys/devices/system/cpu/{name}"), text + "\n"));
    }
    nodes(topology, online, &mut all);
    all
}

/// What `uname -r` prints: `7.2.12`.
pub(crate) fn release(kernel: &Kernel) -> String {
    let version = kernel.kernel_version();
    format!("{}.{}.{}", version >> 16, version >> 8 & 0xff, version & 0xff)
}

fn cpus(topology: &Topology, online: &CpuSet, all: &mut Vec<(String, String)>) {
    let every = list(0..topology.cpus());
    let offline = CpuSet::first_n(topology.cpus()).minus(online);
    let smt = u32::from(topology.has_smt());
    let control = if topology.has_smt() { "on" } else { "notsupported" };
    for (name, text) in [
        ("possible", every.as_str()),
        ("present", &every),
        ("online", &list(online.iter())),
        ("offline", &list(offline.iter())),
        ("isolated", ""),
        ("kernel_max", "8191"),
        ("smt/active", &smt.to_string()),
        ("smt/control", control),
    ] {
        all.push((format!("/sys/devices/system/cpu/{name}"), format!("{text}\n")));
    }
}

fn one_cpu(
    (topology, hardware): (&Topology, Option<&Hardware>),
    online: &CpuSet,
    cpu: u32,
    all: &mut Vec<(String, String)>,
) {
    let folder = format!("/sys/devices/system/cpu/cpu{cpu}");
    if !online.contains(cpu) {
        // cpuhp takes topology and caches away
        return all.push((format!("{folder}/online"), "0\n".into()));
    }
    let whole = topology.package_cpus(cpu);
    let package = whole.and(online);
    let siblings = topology.siblings(cpu).and(online);
    let llc = topology.llc_cpus(cpu).and(online);
    let total = topology.cpus();
    let cluster = topology.cluster_cpus(cpu).and(online);
    let core_in_package = number_within(whole, |cpu| topology.core_of(cpu), cpu);
    let mut file = |name: &str, text: String| all.push((format!("{folder}/{name}"), text + "\n"));
    file("online", "1".into());
    file("topology/core_id", core_in_package.to_string());
    file("topology/physical_package_id", topology.package_of(cpu).to_string());
    file("topology/die_id", "0".into());
    file("topology/cluster_id", topology.cluster_of(cpu).to_string());
    for (name, set) in [
        ("thread_siblings", siblings),
        ("core_cpus", siblings),
        ("cluster_cpus", cluster),
        ("core_siblings", package),
        ("package_cpus", package),
        ("die_cpus", package),
    ] {
        file(&format!("topology/{name}"), mask(set.iter(), total));
        file(&format!("topology/{name}_list"), list(set.iter()));
    }
    let (l2_kib, llc_kib) = hardware_files::cache_kib(hardware, cpu);
    // First-level caches of each core, the second-level one of its cluster, and the last-level one.
    for (index, level, kind, kib, of, set) in [
        (0, 1, "Data", 32, topology.core_of(cpu), siblings),
        (1, 1, "Instruction", 32, topology.core_of(cpu), siblings),
        (2, 2, "Unified", l2_kib, topology.cluster_of(cpu), cluster),
        (3, 3, "Unified", llc_kib, topology.llc_of(cpu), llc),
    ] {
        let cache = format!("cache/index{index}");
        file(&format!("{cache}/level"), level.to_string());
        file(&format!("{cache}/type"), kind.into());
        file(&format!("{cache}/id"), of.to_string());
        file(&format!("{cache}/size"), format!("{kib}K"));
        file(&format!("{cache}/coherency_line_size"), "64".into());
        file(&format!("{cache}/shared_cpu_list"), list(set.iter()));
        file(&format!("{cache}/shared_cpu_map"), mask(set.iter(), total));
    }
}

/// The place of a CPU's core among those of its package.
fn number_within(package: &CpuSet, core: impl Fn(u32) -> u32, cpu: u32) -> usize {
    let mut cores: Vec<u32> = package.iter().map(&core).collect();
    cores.sort_unstable();
    cores.dedup();
    cores.binary_search(&core(cpu)).unwrap_or(0)
}

fn nodes(topology: &Topology, online: &CpuSet, all: &mut Vec<(String, String)>) {
    let every = list(0..topology.nodes());
    for name in ["possible", "online", "has_cpu", "has_memory", "has_normal_memory"] {
        all.push((format!("/sys/devices/system/node/{name}"), format!("{every}\n")));
    }
    for node in 0..topology.nodes() {
        let cpus: Vec<u32> = online.iter().filter(|cpu| topology.node_of(*cpu) == node).collect();
        let folder = format!("/sys/devices/system/node/node{node}");
        let distances: Vec<_> =
            (0..topology.nodes()).map(|to| topology.distance(node, to).to_string()).collect();
        all.push((format!("{folder}/cpulist"), list(cpus.iter().copied()) + "\n"));
        all.push((format!("{folder}/cpumap"), mask(cpus.iter().copied(), topology.cpus()) + "\n"));
        all.push((format!("{folder}/distance"), distances.join(" ") + "\n"));
        for cpu in cpus {
            // A link to the CPU's folder in the kernel: here it is a folder with its package.
            let id = topology.package_of(cpu).to_string();
            all.push((format!("{folder}/cpu{cpu}/topology/physical_package_id"), id + "\n"));
        }
    }
}

fn config(kernel: &Kernel) -> String {
    let mut text = String::new();
    for (name, value) in OPTIONS.iter().filter_map(|name| Some((name, kernel.kconfig(name)?))) {
        let numbers = ["CONFIG_HZ", "CONFIG_NR_CPUS"];
        let value = match value {
            _ if numbers.contains(name) => value.to_string(),
            0 => continue,
            1 => "y".into(),
            _ => "m".into(),
        };
        let _ = writeln!(text, "{name}={value}");
    }
    text
}

/// The functions that its types tell of, without addresses, as who has no right to those sees them.
fn symbols(kernel: &Kernel) -> String {
    let btf = kernel.btf();
    let functions = btf.ids().filter(|id| btf.kind(*id) == Kind::Func);
    functions.map(|id| format!("{:016x} T {}\n", 0, btf.name(id))).collect()
}

fn cpuinfo(topology: &Topology) -> String {
    let mut text = String::new();
    for cpu in 0..topology.cpus() {
        let package = topology.package_cpus(cpu);
        let core = |cpu| topology.core_of(cpu);
        let of_package = package.iter().map(core).collect::<BTreeSet<_>>().len();
        let _ = write!(
            text,
            "processor\t: {cpu}\nvendor_id\t: GenuineIntel\nmodel name\t: Simulated CPU\n\
             physical id\t: {}\nsiblings\t: {}\ncore id\t\t: {}\ncpu cores\t: {of_package}\n\n",
            topology.package_of(cpu),
            package.iter().count(),
            number_within(package, core, cpu),
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use rota_machine::hardware::parts::Governor;
    use rota_machine_file::{parse, preset, Machine, PRESETS};

    #[test]
    fn packages_need_not_be_nodes() {
        let text = "schema = 1\n[topology]\ncpus = 8\nllc = 2\nnode = 2\npackage = 4\n\
                    [[core_type]]\nsmt = 2\nsmt_speed = { compute = [540], mixed = [640], memory = [790] }\n";
        let machine = parse("two.toml", text).expect("a machine");
        let every = CpuSet::first_n(8);
        let files = of_processors(&machine.topology, machine.hardware.as_deref(), &every);
        let cpu = |name: &str| {
            let path = format!("/sys/devices/system/cpu/cpu6/topology/{name}");
            files.iter().find(|(found, _)| *found == path).map(|(_, text)| text.trim().to_owned())
        };

        assert_eq!(cpu("physical_package_id").as_deref(), Some("1"));
        assert_eq!(cpu("package_cpus_list").as_deref(), Some("4-7"));
        assert_eq!(cpu("core_id").as_deref(), Some("1"));
        let node3 = "/sys/devices/system/node/node3/cpu6/topology/physical_package_id";
        let of_node = files.iter().find(|(path, _)| path == node3);
        assert_eq!(of_node.map(|(_, text)| text.as_str()), Some("1\n"));
        assert_eq!(machine.topology.package_cpus(6).iter().collect::<Vec<_>>(), [4, 5, 6, 7]);
        assert_eq!(read_back(&machine).topology, machine.topology);
        let again = parse("again.toml", &machine.to_toml()).expect("as written");
        assert_eq!(again.topology, machine.topology);
    }

    /// What a scheduler's program would find of a machine, as another machine.
    fn read_back(machine: &Machine) -> Machine {
        let folder = tempfile::tempdir().expect("a folder");
        let every = CpuSet::first_n(machine.topology.cpus());
        for (path, text) in of_processors(&machine.topology, machine.hardware.as_deref(), &every) {
            let path = folder.path().join(path.trim_start_matches('/'));
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            std::fs::write(path, text).expect("written");
        }
        rota_machine_import::sysfs(folder.path()).expect("a machine")
    }

    #[test]
    fn a_machine_that_is_read_from_its_own_files_is_the_same() {
        for name in PRESETS {
            let machine = preset(name).expect("a preset");
            let found = read_back(&machine);
            assert_eq!(found.topology, machine.topology, "{name}");
            let Some(own) = machine.hardware else { continue };
            let read = found.hardware.expect("hardware");
            let llc_kib = |of: &Hardware| of.cache.as_ref().map(|cache| cache.llc_kib);
            assert_eq!(llc_kib(&read), llc_kib(&own), "{name}");
            for cpu in 0..machine.topology.cpus() {
                // `/sys` has neither the ramp nor turbo, nor what an idle state empties.
                let shown = |of: &Hardware| {
                    let core = of.core_type(cpu).clone();
                    let governor = |of: &Governor| std::mem::discriminant(of);
                    let clock = core.clock.map(|c| {
                        let opps = c.opps_mhz.clone();
                        (c.idle_mhz, c.base_mhz, c.max_mhz, opps, governor(&c.governor))
                    });
                    let idle = core.idle.into_iter().map(|s| (s.name, s.exit_ns, s.residency_ns));
                    let idle: Vec<_> = idle.collect();
                    let perf = (core.speed, core.capacity, core.rank, core.l2_kib);
                    (perf, clock, idle)
                };
                assert_eq!(shown(&read), shown(&own), "{name}, CPU {cpu}");
            }
        }
    }
}
