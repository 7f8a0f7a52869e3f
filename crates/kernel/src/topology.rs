// SPDX-License-Identifier: MIT OR Apache-2.0
//! How the CPUs of this machine are arranged, from sysfs.

use rota_object::energy::PerfDomain;
use rota_object::topology::CpuPlace;
use std::collections::BTreeMap;
use std::path::Path;

/// For each possible CPU the number of its core, last-level cache and node, each counted
/// from 0. A CPU that is off line has a core of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    /// Core of each CPU.
    pub core: Vec<u32>,
    /// Last-level cache of each CPU.
    pub llc: Vec<u32>,
    /// NUMA node of each CPU.
    pub node: Vec<u32>,
    /// Cluster of each CPU: those that share a cache below the last level.
    pub cluster: Vec<u32>,
    /// Whether each CPU is on line.
    pub on_line: Vec<bool>,
    /// Capacity of each CPU, in 1/1024 of the most capable.
    pub capacity: Vec<u32>,
    /// How the firmware ranks each CPU, the higher the better; 0: it does not say.
    pub rank: Vec<u32>,
    /// Distances between nodes.
    pub distances: Vec<Vec<u32>>,
    /// What energy CPUs take, if the kernel goes by it.
    pub energy: Vec<PerfDomain>,
}

/// `SCHED_CAPACITY_SCALE`: of a CPU of which the kernel says nothing.
const FULL: u32 = 1024;

impl Topology {
    /// Reads it from `/sys`.
    pub fn read() -> Self {
        let distances = distances_from(Path::new("/sys/devices/system/node"));
        let energy = crate::energy::of_this_machine();
        Self { distances, energy, ..Self::read_from(Path::new("/sys/devices/system/cpu")) }
    }

    /// For policies: the CPUs that are on line.
    pub fn described(&self) -> rota_object::topology::Topology {
        let at = |of: &[u32], cpu: usize| of.get(cpu).copied().unwrap_or(0);
        let place = |cpu| CpuPlace {
            cpu: cpu as u32,
            core: at(&self.core, cpu),
            cluster: at(&self.cluster, cpu),
            llc: at(&self.llc, cpu),
            node: at(&self.node, cpu),
            capacity: self.capacity.get(cpu).copied().unwrap_or(FULL),
            rank: at(&self.rank, cpu),
        };
        let on_line = (0..self.core.len()).filter(|cpu| self.on_line.get(*cpu) == Some(&true));
        rota_object::topology::Topology {
            cpus: on_line.map(place).collect(),
            distances: self.distances.clone(),
            energy: self.energy.clone(),
        }
    }

    fn read_from(cpus: &Path) -> Self {
        let possible = std::fs::read_to_string(cpus.join("possible")).unwrap_or_default();
        let (mut cores, mut llcs) = (Numbers::default(), Numbers::default());
        let mut clusters = Numbers::default();
        let mut all = Self::default();
        for cpu in 0..=last_of(&possible).unwrap_or(0) {
            let dir = cpus.join(format!("cpu{cpu}"));
            let siblings = text(&dir.join("topology/thread_siblings_list"));
            let cluster = text(&dir.join("topology/cluster_cpus_list")).or(siblings.clone());
            all.on_line.push(siblings.is_some());
            all.cluster.push(clusters.number(cluster.unwrap_or_else(|| format!("cpu {cpu}"))));
            all.core.push(cores.number(siblings.unwrap_or_else(|| format!("cpu {cpu}"))));
            all.llc.push(llcs.number(last_level(&dir.join("cache")).unwrap_or_default()));
            all.node.push(node_of(&dir).unwrap_or(0));
            let capacity = text(&dir.join("cpu_capacity")).and_then(|text| text.parse().ok());
            all.capacity.push(capacity.unwrap_or(FULL));
        }
        all.rank = ranks(cpus, all.on_line.len());
        all
    }
}

/// What a kernel ranks CPUs by (`sched_set_itmt_core_prio()`): the first of these files that is there
/// and differs between CPUs.
const RANKS: [&str; 3] = [
    "cpufreq/amd_pstate_prefcore_ranking",
    "cpufreq/amd_pstate_highest_perf",
    "acpi_cppc/highest_perf",
];

/// Ranks of all CPUs; none if the firmware does not rank them.
fn ranks(cpus: &Path, nr_cpus: usize) -> Vec<u32> {
    let read = |file: &str| -> Vec<u32> {
        let of = |cpu: usize| text(&cpus.join(format!("cpu{cpu}")).join(file))?.parse().ok();
        (0..nr_cpus).map(|cpu| of(cpu).unwrap_or(0)).collect()
    };
    let differ = |ranks: &Vec<u32>| {
        let mut known = ranks.iter().filter(|rank| **rank > 0);
        known.next().is_some_and(|first| known.any(|rank| rank != first))
    };
    RANKS.into_iter().map(read).find(differ).unwrap_or_default()
}

/// Gives equal texts equal numbers, in the order of their first appearance.
#[derive(Default)]
struct Numbers(BTreeMap<String, u32>);

impl Numbers {
    fn number(&mut self, text: String) -> u32 {
        let next = self.0.len() as u32;
        *self.0.entry(text).or_insert(next)
    }
}

fn text(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok().map(|t| t.trim().to_string())
}

/// Last number of a list such as `0-3,8`.
fn last_of(list: &str) -> Option<u32> {
    list.trim().rsplit([',', '-']).next()?.parse().ok()
}

/// CPUs that share the highest cache level, as the kernel lists them.
fn last_level(caches: &Path) -> Option<String> {
    let entries = std::fs::read_dir(caches).ok()?;
    let level_and_cpus = |dir: std::path::PathBuf| {
        let level: u32 = text(&dir.join("level"))?.parse().ok()?;
        Some((level, text(&dir.join("shared_cpu_list"))?))
    };
    entries.filter_map(|e| level_and_cpus(e.ok()?.path())).max().map(|(_, cpus)| cpus)
}

/// The number of the entry `nodeN` in a CPU's directory.
fn node_of(cpu: &Path) -> Option<u32> {
    let entries = std::fs::read_dir(cpu).ok()?;
    entries.filter_map(|e| e.ok()?.file_name().to_str()?.strip_prefix("node")?.parse().ok()).min()
}

/// `nodeN/distance` of each node, as far as they are numbered without a gap.
fn distances_from(nodes: &Path) -> Vec<Vec<u32>> {
    let row = |node| text(&nodes.join(format!("node{node}/distance")));
    let numbers = |row: String| row.split_whitespace().map_while(|n| n.parse().ok()).collect();
    (0..).map_while(row).map(numbers).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn put(root: &Path, file: &str, text: &str) {
        let path = root.join(file);
        std::fs::create_dir_all(path.parent().expect("has a parent")).expect("made");
        std::fs::write(path, text).expect("written");
    }

    #[test]
    fn groups_are_numbered_from_zero() {
        let dir = tempfile::tempdir().expect("a directory");
        let root = dir.path();
        put(root, "possible", "0-4\n");
        for (cpu, siblings, llc) in [(0, "0,2", "0,2"), (1, "1,3", "1,3"), (2, "0,2", "0,2")] {
            put(root, &format!("cpu{cpu}/topology/thread_siblings_list"), siblings);
            put(root, &format!("cpu{cpu}/cache/index0/level"), "1\n");
            put(root, &format!("cpu{cpu}/cache/index0/shared_cpu_list"), siblings);
            put(root, &format!("cpu{cpu}/cache/index3/level"), "3\n");
            put(root, &format!("cpu{cpu}/cache/index3/shared_cpu_list"), llc);
        }
        put(root, "cpu1/node1/marker", "");
        put(root, "cpu3/topology/thread_siblings_list", "1,3\n");

        let topology = Topology::read_from(root);

        assert_eq!(topology.core, [0, 1, 0, 1, 2]);
        assert_eq!(topology.llc, [0, 1, 0, 2, 2]);
        assert_eq!(topology.node, [0, 1, 0, 0, 0]);
    }

    #[test]
    fn policies_learn_clusters_distances_and_only_cpus_that_are_on_line() {
        let dir = tempfile::tempdir().expect("a directory");
        let (root, nodes) = (dir.path().join("cpu"), dir.path().join("node"));
        put(&root, "possible", "0-3\n");
        // CPU 2 is off line: it has no topology. CPU 0 tells its cluster, CPU 1 and 3 do not.
        for (cpu, siblings) in [(0, "0"), (1, "1,3"), (3, "1,3")] {
            put(&root, &format!("cpu{cpu}/topology/thread_siblings_list"), siblings);
        }
        put(&root, "cpu0/topology/cluster_cpus_list", "0-1\n");
        for (node, row) in [(0, "10 21\n"), (1, "21 10\n")] {
            put(&nodes, &format!("node{node}/distance"), row);
        }

        let mut topology = Topology::read_from(&root);
        topology.distances = distances_from(&nodes);
        let described = topology.described();

        let places = described.cpus.iter().map(|c| (c.cpu, c.core, c.cluster));
        assert_eq!(places.collect::<Vec<_>>(), [(0, 0, 0), (1, 1, 1), (3, 1, 1)]);
        assert_eq!(described.distances, [[10, 21], [21, 10]]);
    }

    #[test]
    fn ranks_are_of_the_first_file_that_tells_cpus_apart() {
        let dir = tempfile::tempdir().expect("a directory");
        let root = dir.path();
        put(root, "possible", "0-2\n");
        for (cpu, ranking, highest) in [(0, "166", "255"), (1, "166", "231"), (2, "166", "231")] {
            put(root, &format!("cpu{cpu}/cpufreq/amd_pstate_prefcore_ranking"), ranking);
            put(root, &format!("cpu{cpu}/acpi_cppc/highest_perf"), highest);
        }
        assert_eq!(Topology::read_from(root).rank, [255, 231, 231]);
        put(root, "cpu1/cpufreq/amd_pstate_prefcore_ranking", "196");
        assert_eq!(Topology::read_from(root).rank, [166, 196, 166]);
        // All of one rank: nothing to prefer.
        (0..3).for_each(|cpu| {
            put(root, &format!("cpu{cpu}/cpufreq/amd_pstate_prefcore_ranking"), "1")
        });
        (0..3).for_each(|cpu| put(root, &format!("cpu{cpu}/acpi_cppc/highest_perf"), "1"));
        assert!(Topology::read_from(root).rank.is_empty());
    }

    proptest! {
        #[test]
        fn the_last_cpu_of_any_list_is_found(
            ranges in prop::collection::vec((0u32..500, 0u32..20), 1..6),
            noise in "[ -~]{0,12}",
        ) {
            let part = |(from, more): &(u32, u32)| match more {
                0 => from.to_string(),
                _ => format!("{from}-{}", from + more),
            };
            let list: Vec<String> = ranges.iter().map(part).collect();
            let (from, more) = ranges[ranges.len() - 1];
            prop_assert_eq!(last_of(&format!("{}\n", list.join(","))), Some(from + more));
            let _ = last_of(&noise);
        }
    }

    #[test]
    fn a_machine_that_tells_nothing_has_one_cpu() {
        let topology = Topology::read_from(Path::new("/nonexistent"));
        assert_eq!((topology.core.len(), topology.llc.len(), topology.node.len()), (1, 1, 1));
    }
}
