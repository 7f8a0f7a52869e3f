// SPDX-License-Identifier: MIT OR Apache-2.0
//! How the CPUs of the simulated machine are arranged.
//!
//! Cores are in clusters, those in last-level caches, those in nodes; and in packages. Each CPU has its place, and
//! numbers need not be neighbours: Linux numbers the second threads of many machines after all
//! first ones. Groups of a kind are numbered by their first CPU.

mod error;
mod groups;
#[cfg(test)]
mod tests;

pub use error::{Hint, TopologyError};

use crate::cpuset::{CpuSet, MAX_CPUS};
use error::hint;
use groups::Groups;
use std::fmt;
use std::sync::Arc;

/// `LOCAL_DISTANCE` of a node to itself.
pub const LOCAL_DISTANCE: u32 = 10;
/// `REMOTE_DISTANCE`: to others, where the firmware says nothing.
pub const REMOTE_DISTANCE: u32 = 20;
/// Distances from here on mean "cannot be reached" (ACPI SLIT).
const UNREACHABLE: u32 = 255;

/// Where a CPU is: CPUs with equal numbers are in the same group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// SMT siblings have the same.
    pub core: u32,
    /// CPUs that share a cache below the last level have the same.
    pub cluster: u32,
    /// Last-level cache.
    pub llc: u32,
    /// NUMA node.
    pub node: u32,
    /// Package. It need not be a node, nor in one, nor hold whole ones.
    pub package: u32,
}

/// Cores with SMT siblings, grouped into clusters, last-level caches and nodes. A copy costs
/// nothing.
#[derive(Clone)]
pub struct Topology(Arc<Arranged>);

struct Arranged {
    cores: Groups,
    clusters: Groups,
    llcs: Groups,
    nodes: Groups,
    packages: Groups,
    /// Row by row; empty: all are the kernel's defaults.
    distances: Vec<u32>,
    has_smt: bool,
    /// If all cores, caches and nodes are alike and neighbours: CPUs of each.
    sizes: Option<[u32; 3]>,
    /// Each cid's CPU, and each CPU's cid.
    cids: [Vec<u32>; 2],
}

impl PartialEq for Topology {
    fn eq(&self, other: &Self) -> bool {
        let (a, b) = (&*self.0, &*other.0);
        Arc::ptr_eq(&self.0, &other.0)
            || (a.cores == b.cores
                && a.clusters == b.clusters
                && a.llcs == b.llcs
                && a.nodes == b.nodes
                && a.packages == b.packages
                && a.distances == b.distances)
    }
}

impl Eq for Topology {}

impl fmt::Debug for Topology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Topology").field(&self.places()).field(&self.0.distances).finish()
    }
}

impl Topology {
    /// `cpus` CPUs without SMT, one last-level cache, one node.
    pub fn flat(cpus: u32) -> Result<Self, TopologyError> {
        Self::new(cpus, 1, cpus, cpus)
    }

    /// CPUs per core, per last-level cache, and per node; those of a group are neighbours.
    pub fn new(cpus: u32, smt: u32, llc: u32, node: u32) -> Result<Self, TopologyError> {
        if cpus == 0 || cpus > MAX_CPUS {
            return Err(TopologyError::Cpus(cpus));
        }
        for (what, value, of) in [("smt", smt, 1), ("llc", llc, smt), ("node", node, llc)] {
            if value == 0 || of == 0 || value % of != 0 || value > cpus {
                return Err(TopologyError::Nesting { what, value, of, cpus });
            }
        }
        let place = |cpu| Place {
            core: cpu / smt,
            cluster: cpu / smt,
            llc: cpu / llc,
            node: cpu / node,
            package: cpu / node,
        };
        Self::of_places(&(0..cpus).map(place).collect::<Vec<_>>(), &[])
    }

    /// The place of each CPU, and a row of distances for each node with CPUs, in the order of
    /// their numbers; no rows: the kernel's defaults.
    pub fn of_places(places: &[Place], distances: &[Vec<u32>]) -> Result<Self, TopologyError> {
        let cpus = u32::try_from(places.len()).unwrap_or(u32::MAX);
        if cpus == 0 || cpus > MAX_CPUS {
            return Err(TopologyError::Cpus(cpus));
        }
        let of = |number: fn(&Place) -> u32| Groups::new(places.iter().map(number));
        let (cores, clusters) = (of(|place| place.core), of(|place| place.cluster));
        let (llcs, nodes) = (of(|place| place.llc), of(|place| place.node));
        let packages = of(|place| place.package);
        for (inner, name, outer, outer_name) in [
            (&cores, "core", &clusters, "cluster"),
            (&clusters, "cluster", &llcs, "last-level cache"),
            (&llcs, "last-level cache", &nodes, "node"),
            (&cores, "core", &packages, "package"),
        ] {
            if let Some(cpus) = inner.not_within(outer) {
                return Err(TopologyError::Apart { inner: name, outer: outer_name, cpus });
            }
        }
        let distances = arranged(distances, places, &nodes)?;
        let sizes = [&cores, &llcs, &nodes].map(Groups::size_if_regular);
        let is_plain = clusters == cores && packages == nodes && distances.is_empty();
        let sizes = match (sizes, is_plain) {
            ([Some(smt), Some(llc), Some(node)], true) => Some([smt, llc, node]),
            _ => None,
        };
        let has_smt = (0..cpus).any(|cpu| cores.of_cpu(cpu).len() > 1);
        let cids = cids(&nodes, &llcs, &cores);
        let arranged =
            Arranged { cores, clusters, llcs, nodes, packages, distances, has_smt, sizes, cids };
        Ok(Self(Arc::new(arranged)))
    }

    /// Parses `smt=2,llc=8,node=16`, each a number of CPUs per group; what is not
    /// named is 1 for `smt` and the whole machine for the others.
    pub fn parse(cpus: u32, text: &str) -> Result<Self, TopologyError> {
        let (mut smt, mut llc, mut node) = (1, None, None);
        for part in text.split(',').map(str::trim).filter(|p| !p.is_empty()) {
            let key = part.split('=').next().unwrap_or(part).trim();
            let is_key = ["smt", "llc", "node"].contains(&key);
            let meant = if is_key { Hint(None) } else { hint(key) };
            let bad = || TopologyError::Syntax(part.to_string(), meant);
            let (key, value) = part.split_once('=').ok_or_else(bad)?;
            let value: u32 = value.trim().parse().map_err(|_| bad())?;
            match key.trim() {
                "smt" => smt = value,
                "llc" => llc = Some(value),
                "node" => node = Some(value),
                _ => return Err(bad()),
            }
        }
        if (1..=MAX_CPUS).contains(&cpus) && llc.is_none() && node.is_none() {
            // Of one group that is not there by name the message would say nothing.
            if smt == 0 || cpus % smt != 0 {
                let fits = (1..=cpus.min(8)).filter(|smt| cpus % smt == 0).collect();
                return Err(TopologyError::Cores { smt, cpus, fits });
            }
        }
        let node = node.unwrap_or(cpus);
        Self::new(cpus, smt, llc.unwrap_or(node), node)
    }

    /// Number of CPUs.
    pub fn cpus(&self) -> u32 {
        self.0.cores.cpus()
    }

    /// CPUs of each core, last-level cache and node, as [`Topology::new`] takes them; `None` if they
    /// are not all alike, not neighbours, or have clusters, packages or distances of their own.
    pub fn sizes(&self) -> Option<[u32; 3]> {
        self.0.sizes
    }

    /// The place of each CPU, which together with [`Topology::distances`] makes the same topology.
    pub fn places(&self) -> Vec<Place> {
        let place = |cpu| Place {
            core: self.core_of(cpu),
            cluster: self.cluster_of(cpu),
            llc: self.llc_of(cpu),
            node: self.node_of(cpu),
            package: self.package_of(cpu),
        };
        (0..self.cpus()).map(place).collect()
    }

    /// A row for each node; none if they are the kernel's defaults.
    pub fn distances(&self) -> Vec<Vec<u32>> {
        self.0.distances.chunks(self.nodes() as usize).map(<[u32]>::to_vec).collect()
    }

    /// `node_distance()`: 10 is that of a node to itself.
    pub fn distance(&self, from: u32, to: u32) -> u32 {
        match self.0.distances.get((from * self.nodes() + to) as usize) {
            Some(distance) => *distance,
            None if from == to => LOCAL_DISTANCE,
            None => REMOTE_DISTANCE,
        }
    }

    /// Whether any core has two or more CPUs.
    pub fn has_smt(&self) -> bool {
        self.0.has_smt
    }

    /// Number of cores.
    pub fn cores(&self) -> u32 {
        self.0.cores.count()
    }

    /// Number of nodes.
    pub fn nodes(&self) -> u32 {
        self.0.nodes.count()
    }

    /// Number of last-level caches.
    pub fn llcs(&self) -> u32 {
        self.0.llcs.count()
    }

    /// Node of a CPU.
    pub fn node_of(&self, cpu: u32) -> u32 {
        self.0.nodes.number(cpu)
    }

    /// Package of a CPU.
    pub fn package_of(&self, cpu: u32) -> u32 {
        self.0.packages.number(cpu)
    }

    /// Last-level cache of a CPU.
    pub fn llc_of(&self, cpu: u32) -> u32 {
        self.0.llcs.number(cpu)
    }

    /// Cluster of a CPU: cores that share a cache below the last level.
    pub fn cluster_of(&self, cpu: u32) -> u32 {
        self.0.clusters.number(cpu)
    }

    /// Core of a CPU.
    pub fn core_of(&self, cpu: u32) -> u32 {
        self.0.cores.number(cpu)
    }

    /// The CPU and its SMT siblings.
    pub fn siblings(&self, cpu: u32) -> &CpuSet {
        self.0.cores.of_cpu(cpu)
    }

    /// CPUs of the same cluster.
    pub fn cluster_cpus(&self, cpu: u32) -> &CpuSet {
        self.0.clusters.of_cpu(cpu)
    }

    /// CPUs that share the last-level cache.
    pub fn llc_cpus(&self, cpu: u32) -> &CpuSet {
        self.0.llcs.of_cpu(cpu)
    }

    /// CPUs of the same node.
    pub fn node_cpus(&self, cpu: u32) -> &CpuSet {
        self.0.nodes.of_cpu(cpu)
    }

    /// CPUs of the same package.
    pub fn package_cpus(&self, cpu: u32) -> &CpuSet {
        self.0.packages.of_cpu(cpu)
    }

    /// Whether packages are something else than nodes.
    pub fn has_packages(&self) -> bool {
        self.0.packages != self.0.nodes
    }

    /// The CPU of a topological number, in which those of a core, cache or node are neighbours.
    pub fn cid_to_cpu(&self, cid: u32) -> Option<u32> {
        self.0.cids[0].get(cid as usize).copied()
    }

    /// The topological number of a CPU.
    pub fn cpu_to_cid(&self, cpu: u32) -> Option<u32> {
        self.0.cids[1].get(cpu as usize).copied()
    }
}

/// `scx_cid_init()`: nodes by their first CPU, in each its caches, in each its cores.
fn cids(nodes: &Groups, llcs: &Groups, cores: &Groups) -> [Vec<u32>; 2] {
    let first = |of: &Groups, cpu| of.of_cpu(cpu).first();
    let mut cid_to_cpu: Vec<u32> = (0..cores.cpus()).collect();
    cid_to_cpu.sort_by_key(|cpu| (first(nodes, *cpu), first(llcs, *cpu), first(cores, *cpu), *cpu));
    let mut cpu_to_cid = vec![0; cid_to_cpu.len()];
    for (cid, cpu) in cid_to_cpu.iter().enumerate() {
        cpu_to_cid[*cpu as usize] = cid as u32;
    }
    [cid_to_cpu, cpu_to_cid]
}

/// Distances of nodes by first CPU, one row after the other, from those of nodes by number.
fn arranged(
    rows: &[Vec<u32>],
    places: &[Place],
    nodes: &Groups,
) -> Result<Vec<u32>, TopologyError> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let mut numbers: Vec<u32> = places.iter().map(|place| place.node).collect();
    numbers.sort_unstable();
    numbers.dedup();
    if rows.len() != numbers.len() || rows.iter().any(|row| row.len() != numbers.len()) {
        return Err(TopologyError::Distances { nodes: numbers.len() });
    }
    let mut by_first_cpu: Vec<usize> = (0..numbers.len()).collect();
    for (place, cpu) in places.iter().zip(0..) {
        if let Ok(at) = numbers.binary_search(&place.node) {
            by_first_cpu[nodes.number(cpu) as usize] = at;
        }
    }
    let mut flat = Vec::new();
    for from in &by_first_cpu {
        for to in &by_first_cpu {
            let value = rows[*from][*to];
            let expected = match from == to {
                true => (value != LOCAL_DISTANCE).then_some("10, that of a node to itself"),
                false => {
                    let fits = (LOCAL_DISTANCE + 1..UNREACHABLE).contains(&value);
                    (!fits).then_some("11 to 254")
                }
            };
            if let Some(expected) = expected {
                return Err(TopologyError::Distance { value, from: *from, to: *to, expected });
            }
            flat.push(value);
        }
    }
    let count = by_first_cpu.len();
    let is_default = |(at, value): (usize, &u32)| {
        *value == if at / count == at % count { LOCAL_DISTANCE } else { REMOTE_DISTANCE }
    };
    if flat.iter().enumerate().all(is_default) {
        flat.clear();
    }
    Ok(flat)
}
