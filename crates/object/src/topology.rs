// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a loader tells a policy about the arrangement of the computer's CPUs.
//!
//! A policy that asks for it has the variables `rota_nr_places`, `rota_cpus` and `rota_distances`.
//! In `rota_cpus` CPUs stand so that those that share more are neighbours: each with the first
//! level at which it is together with the one before. Levels 0 to 3 are core, cluster, last-level
//! cache and node; above them, nodes up to a distance, the next in each level
//! (`sched_init_numa()` in kernel/sched/topology.c).

use crate::energy::PerfDomain;
use crate::image::Image;
use crate::settings::SettingError;
use std::collections::BTreeSet;

/// Levels of single nodes, and of all.
const NUMA: usize = 4;
const LEVELS: usize = 8;
/// Distance between two nodes if none is known, as the kernel has it (`REMOTE_DISTANCE`).
const REMOTE: u32 = 20;
/// Of the first place, which is together with none.
const APART: u32 = 255;

/// Where a CPU is: equal numbers are the same thing, within the same of the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuPlace {
    /// Its number.
    pub cpu: u32,
    /// SMT siblings have the same.
    pub core: u32,
    /// CPUs that share a cache below the last level have the same.
    pub cluster: u32,
    /// Last-level cache.
    pub llc: u32,
    /// NUMA node.
    pub node: u32,
    /// What it can do, in 1/1024 of the fastest (`arch_scale_cpu_capacity()`).
    pub capacity: u32,
    /// Of CPUs of equal capacity, how the firmware of an x86 computer ranks them, the higher the better
    /// (`arch_asym_cpu_priority()`); 0: it does not.
    pub rank: u32,
}

/// How the CPUs of a computer are arranged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    /// CPUs that are on line.
    pub cpus: Vec<CpuPlace>,
    /// Distances between nodes, as the firmware has them: 10 within a node. What is missing
    /// is 20.
    pub distances: Vec<Vec<u32>>,
    /// What energy CPUs take, if the kernel goes by it (`sched_is_eas_possible()`); else none.
    pub energy: Vec<PerfDomain>,
}

/// A CPU, and the level at which it is together with the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    cpu: u32,
    apart: u32,
}

impl Topology {
    /// Whether CPUs differ in capacity.
    fn is_unequal(&self) -> bool {
        self.cpus.windows(2).any(|two| two[0].capacity != two[1].capacity)
    }

    /// Whether tasks go to preferred CPUs (`sched_itmt_enabled`). Kernels that tell CPUs apart by
    /// their capacity do not pack (`hybrid_init_cpu_capacity_scaling()`).
    fn packs(&self) -> bool {
        let has_ranks = self.cpus.iter().all(|c| c.rank > 0);
        has_ranks
            && !self.is_unequal()
            && self.cpus.windows(2).any(|two| two[0].rank != two[1].rank)
    }

    /// The CPUs with their places in the order of ranks, the lowest 1: numbers of firmware can be
    /// larger than a policy has room for, and only their order counts (`sched_asym_prefer()`).
    fn ranks(&self) -> impl Iterator<Item = (u32, usize)> + '_ {
        let order: BTreeSet<u32> = self.cpus.iter().map(|c| c.rank).collect();
        self.cpus.iter().map(move |c| (c.cpu, order.range(..=c.rank).count()))
    }

    /// Whether all CPUs are alike: none shares more with some than with others, or can do
    /// more.
    pub fn is_flat(&self) -> bool {
        let (places, _) = self.places();
        if self.is_unequal() || self.packs() {
            return false;
        }
        [1, 2].iter().any(|level| places.iter().skip(1).all(|p| p.apart == *level))
    }

    fn distance(&self, a: u32, b: u32) -> u32 {
        let known = |a: u32, b: u32| self.distances.get(a as usize)?.get(b as usize).copied();
        known(a, b).max(known(b, a)).unwrap_or(if a == b { 10 } else { REMOTE })
    }

    /// Distances between different nodes, one for each level above nodes; the last is the largest.
    fn levels(&self, nodes: &BTreeSet<u32>) -> Vec<u32> {
        let pairs = nodes.iter().flat_map(|a| nodes.iter().map(move |b| (*a, *b)));
        let far = pairs.filter(|(a, b)| a != b).map(|(a, b)| self.distance(a, b));
        let mut levels: Vec<u32> = far.collect::<BTreeSet<_>>().into_iter().collect();
        if levels.len() > LEVELS - NUMA {
            levels.drain(LEVELS - NUMA - 1..levels.len() - 1);
        }
        levels
    }

    /// All CPUs in order, and the distances of the levels above nodes.
    fn places(&self) -> (Vec<Place>, Vec<u32>) {
        let nodes: BTreeSet<u32> = self.cpus.iter().map(|c| c.node).collect();
        let levels = self.levels(&nodes);
        // For each node the first one that it reaches by steps of at most a distance, from the
        // largest distance on. Where nodes are in a ring or mesh, the kernel has groups that
        // overlap; here they are one.
        let reached: Vec<Vec<u32>> = nodes
            .iter()
            .map(|node| levels.iter().rev().map(|d| self.first_of(&nodes, *node, *d)).collect())
            .collect();
        let reached = |node| nodes.iter().position(|n| *n == node).map(|at| reached[at].as_slice());
        let key = |c: &CpuPlace| {
            let mut key = reached(c.node).unwrap_or_default().to_vec();
            key.extend([c.node, c.llc, c.cluster, c.core]);
            key
        };
        let mut cpus: Vec<_> = self.cpus.iter().map(|c| (key(c), c.cpu)).collect();
        cpus.sort();
        let together = |at: usize| {
            let (before, here) = (&cpus.get(at.checked_sub(1)?)?.0, &cpus.get(at)?.0);
            let same = before.iter().zip(here).take_while(|(b, h)| b == h).count();
            Some((here.len() - same) as u32)
        };
        let place = |(at, cpu)| Place { cpu, apart: together(at).unwrap_or(APART) };
        (cpus.iter().map(|c| c.1).enumerate().map(place).collect(), levels)
    }

    /// The first node that another one reaches in steps of up to a distance.
    fn first_of(&self, nodes: &BTreeSet<u32>, from: u32, distance: u32) -> u32 {
        let mut there = BTreeSet::from([from]);
        loop {
            let near = |n: &&u32| there.iter().any(|t| self.distance(*t, **n) <= distance);
            let more: BTreeSet<u32> = nodes.iter().filter(near).copied().collect();
            if more.is_subset(&there) {
                return there.first().copied().unwrap_or(from);
            }
            there.extend(more);
        }
    }
}

impl Image {
    /// Whether it is a policy that wants to know.
    pub fn asks_for_topology(&self) -> bool {
        self.variables.iter().any(|v| v.name == "rota_nr_places")
    }

    /// Describes the computer to a policy that asks for it; where all CPUs are alike, that is
    /// said by no description.
    pub fn set_topology(&mut self, topology: &Topology) -> Result<(), SettingError> {
        if !self.asks_for_topology() || topology.is_flat() {
            return Ok(());
        }
        let (places, levels) = topology.places();
        self.set_variable("rota_nr_places", &places.len().to_string())?;
        if topology.is_unequal() && self.variables.iter().any(|v| v.name == "rota_unequal") {
            self.set_variable("rota_unequal", "true")?;
            self.set_energy(&topology.energy)?;
        }
        if topology.packs() && self.variables.iter().any(|v| v.name == "rota_packing") {
            self.set_variable("rota_packing", "true")?;
            for (cpu, rank) in topology.ranks() {
                self.set_variable(&format!("rota_ranks[{cpu}]"), &rank.to_string())?;
            }
        }
        for (at, place) in places.iter().enumerate() {
            self.set_variable(&format!("rota_cpus[{at}].cpu"), &place.cpu.to_string())?;
            self.set_variable(&format!("rota_cpus[{at}].apart"), &place.apart.to_string())?;
        }
        for (at, distance) in levels.iter().enumerate() {
            let path = format!("rota_distances[{}]", NUMA + at);
            self.set_variable(&path, &distance.to_string())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cpus(place: impl Fn(u32) -> CpuPlace, nr: u32) -> Topology {
        Topology { cpus: (0..nr).map(place).collect(), ..Topology::default() }
    }

    /// One of several CPUs that share the last-level cache only.
    fn place(cpu: u32) -> CpuPlace {
        CpuPlace { cpu, core: cpu, cluster: cpu, llc: 0, node: 0, capacity: 1024, rank: 0 }
    }

    fn order(topology: &Topology) -> Vec<(u32, u32)> {
        topology.places().0.iter().map(|p| (p.cpu, p.apart)).collect()
    }

    #[test]
    fn siblings_are_neighbours_however_they_are_numbered() {
        // Two nodes with two cores of two CPUs; siblings are n and n + 4, as on many computers.
        let place = |cpu| CpuPlace {
            cpu,
            core: cpu % 4,
            cluster: cpu % 4,
            llc: cpu % 4 / 2,
            node: cpu % 4 / 2,
            capacity: 1024,
            rank: 0,
        };
        let expected = [(0, 255), (4, 0), (1, 2), (5, 0), (2, 4), (6, 0), (3, 2), (7, 0)];
        assert_eq!(order(&cpus(place, 8)), expected);
    }

    #[test]
    fn cpus_that_all_share_one_cache_are_not_described() {
        assert!(cpus(place, 4).is_flat());
        let one_cluster = |cpu| CpuPlace { cluster: 0, ..place(cpu) };
        assert!(cpus(one_cluster, 4).is_flat());
        assert!(cpus(place, 1).is_flat());
        for other in [
            cpus(|cpu| CpuPlace { core: cpu / 2, cluster: cpu / 2, ..place(cpu) }, 4),
            cpus(|cpu| CpuPlace { llc: cpu / 2, ..place(cpu) }, 4),
            cpus(|cpu| CpuPlace { llc: cpu / 2, node: cpu / 2, ..place(cpu) }, 4),
        ] {
            assert!(!other.is_flat(), "{other:?}");
        }
    }

    #[test]
    fn ranks_count_where_they_differ_and_capacities_do_not() {
        let with = |ranks: [u32; 2], capacities: [u32; 2]| {
            let ranked = |cpu| CpuPlace {
                capacity: capacities[cpu as usize],
                rank: ranks[cpu as usize],
                ..place(cpu)
            };
            cpus(ranked, 2)
        };
        let packs = [with([64, 39], [1024, 1024])];
        let none = [
            with([64, 64], [1024, 1024]),
            with([0, 0], [1024, 1024]),
            with([64, 0], [1024, 1024]),
            with([64, 39], [1024, 624]),
        ];
        assert!(packs.iter().all(|topology| topology.packs() && !topology.is_flat()));
        assert!(none.iter().all(|topology| !topology.packs()));
    }

    #[test]
    fn policies_are_told_the_order_of_ranks_however_large_these_are() {
        let ranks = [4_000_000_000, 7, 100_000, 7];
        let ranked = |cpu| CpuPlace { rank: ranks[cpu as usize], ..place(cpu) };
        let told: Vec<_> = cpus(ranked, 4).ranks().collect();
        assert_eq!(told, [(0, 3), (1, 1), (2, 2), (3, 1)]);
    }

    #[test]
    fn nearer_nodes_are_together_first() {
        // Four nodes, 0 with 2 and 1 with 3, as two boards.
        let place = |cpu| CpuPlace {
            cpu,
            core: cpu,
            cluster: cpu,
            llc: cpu,
            node: cpu,
            capacity: 1024,
            rank: 0,
        };
        let near = |a: u32, b: u32| match (a == b, a % 2 == b % 2) {
            (true, _) => 10,
            (_, true) => 16,
            _ => 32,
        };
        let distances = (0..4).map(|a| (0..4).map(|b| near(a, b)).collect()).collect();
        let topology = Topology { distances, ..cpus(place, 4) };
        assert_eq!(order(&topology), [(0, 255), (2, 4), (1, 5), (3, 4)]);
        assert_eq!(topology.places().1, [16, 32]);
    }

    proptest! {
        #[test]
        fn each_cpu_has_one_place_and_spans_nest(
            numbers in prop::collection::vec((0_u32..4, 0_u32..3, 0_u32..3, 0_u32..8), 1..20),
            distances in prop::collection::vec(prop::collection::vec(11_u32..50, 8), 8),
        ) {
            let place = |(cpu, n): (usize, &(u32, u32, u32, u32))| {
                CpuPlace { cpu: cpu as u32, core: n.0, cluster: n.1, llc: n.2, node: n.3, capacity: 1024, rank: 0 }
            };
            let all: Vec<_> = numbers.iter().enumerate().map(place).collect();
            let topology = Topology { cpus: all.clone(), distances, ..Topology::default() };
            let (places, levels) = topology.places();
            let placed: BTreeSet<u32> = places.iter().map(|p| p.cpu).collect();
            prop_assert_eq!(placed.len(), all.len());
            prop_assert!(levels.len() <= LEVELS - NUMA && levels.is_sorted());
            let most = places.iter().skip(1).map(|p| p.apart as usize).max().unwrap_or(0);
            prop_assert!(most < NUMA + levels.len().max(1));
            // Two neighbours are in one node if and only if a level below the nodes' says so.
            for pair in places.windows(2) {
                let node = |p: &Place| all[p.cpu as usize].node;
                prop_assert_eq!(pair[1].apart < 4, node(&pair[0]) == node(&pair[1]));
            }
        }
    }
}
