// SPDX-License-Identifier: MIT OR Apache-2.0
//! How the CPUs of this machine are arranged, from sysfs.

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
}

impl Topology {
    /// Reads it from `/sys`.
    pub fn read() -> Self {
        Self::read_from(Path::new("/sys/devices/system/cpu"))
    }

    fn read_from(cpus: &Path) -> Self {
        let possible = std::fs::read_to_string(cpus.join("possible")).unwrap_or_default();
        let (mut cores, mut llcs) = (Numbers::default(), Numbers::default());
        let mut all = Self::default();
        for cpu in 0..=last_of(&possible).unwrap_or(0) {
            let dir = cpus.join(format!("cpu{cpu}"));
            let siblings = text(&dir.join("topology/thread_siblings_list"));
            all.core.push(cores.number(siblings.unwrap_or_else(|| format!("cpu {cpu}"))));
            all.llc.push(llcs.number(last_level(&dir.join("cache")).unwrap_or_default()));
            all.node.push(node_of(&dir).unwrap_or(0));
        }
        all
    }
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
