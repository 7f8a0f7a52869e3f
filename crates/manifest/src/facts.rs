// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a loader reads from the machine.

use crate::document::Each;

/// The CPUs of a machine: for each CPU the number of its core, last-level cache and node.
///
/// The three lists are equally long; a CPU that one of them lacks counts as group 0.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CpuFacts {
    /// Core of each CPU.
    pub core: Vec<u32>,
    /// Last-level cache of each CPU.
    pub llc: Vec<u32>,
    /// NUMA node of each CPU.
    pub node: Vec<u32>,
}

impl CpuFacts {
    /// CPUs that share no core, in one cache and one node.
    pub fn flat(nr_cpus: u32) -> Self {
        let len = nr_cpus as usize;
        Self { core: (0..nr_cpus).collect(), llc: vec![0; len], node: vec![0; len] }
    }

    /// Number of CPUs.
    pub fn nr_cpus(&self) -> u32 {
        self.core.len() as u32
    }

    /// The next CPU of the same core, around; `None` if `cpu` has its core for itself.
    pub fn sibling(&self, cpu: u32) -> Option<u32> {
        let nr = self.nr_cpus();
        let core = self.core.get(cpu as usize)?;
        (1..nr).map(|step| (cpu + step) % nr).find(|other| self.core[*other as usize] == *core)
    }

    /// A core with more than one CPU exists.
    pub(crate) fn smt(&self) -> bool {
        self.members(Each::Core).len() < self.core.len()
    }

    /// The core, cache or node of a CPU, or the CPU.
    fn group_of(&self, cpu: u32, each: Each) -> u32 {
        let list = match each {
            Each::Cpu => return cpu,
            Each::Core => &self.core,
            Each::Llc => &self.llc,
            Each::Node => &self.node,
        };
        list.get(cpu as usize).copied().unwrap_or(0)
    }

    /// All CPUs, cores, caches or nodes, in order.
    pub(crate) fn members(&self, each: Each) -> Vec<u32> {
        let mut all: Vec<u32> = (0..self.nr_cpus()).map(|cpu| self.group_of(cpu, each)).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The CPUs of a core, cache or node, in order.
    pub(crate) fn cpus_of(&self, each: Each, group: u32) -> Vec<u32> {
        (0..self.nr_cpus()).filter(|cpu| self.group_of(*cpu, each) == group).collect()
    }

    /// How many smaller groups a larger one has.
    fn count(&self, larger: Each, group: u32, smaller: Each) -> usize {
        let cpus = self.cpus_of(larger, group);
        let mut inside: Vec<u32> = cpus.iter().map(|cpu| self.group_of(*cpu, smaller)).collect();
        inside.sort_unstable();
        inside.dedup();
        inside.len()
    }

    fn most(&self, larger: Each, smaller: Each) -> usize {
        let groups = self.members(larger);
        groups.into_iter().map(|group| self.count(larger, group, smaller)).max().unwrap_or(0)
    }

    /// Value of a plain name such as `nr_cpus`.
    pub(crate) fn named(&self, name: &str) -> Option<i128> {
        let number = match name {
            "nr_cpus" => self.core.len(),
            "nr_cores" => self.members(Each::Core).len(),
            "nr_llcs" => self.members(Each::Llc).len(),
            "nr_nodes" => self.members(Each::Node).len(),
            "max_core_cpus" => self.most(Each::Core, Each::Cpu),
            "max_llc_cores" => self.most(Each::Llc, Each::Core),
            "max_llc_cpus" => self.most(Each::Llc, Each::Cpu),
            "max_node_llcs" => self.most(Each::Node, Each::Llc),
            "smt" => usize::from(self.smt()),
            _ => return None,
        };
        Some(number as i128)
    }

    /// Value of a function such as `sibling(cpu)`; the outer `None` is an unknown function, the
    /// inner one a CPU or group that the machine does not have.
    pub(crate) fn called(&self, function: &str, argument: i128) -> Option<Option<i128>> {
        let of = match function {
            "core" | "llc" | "node" | "sibling" => Each::Cpu,
            "core_first" | "core_cpus" => Each::Core,
            "llc_first" | "llc_cpus" | "llc_cores" | "llc_near" | "llc_far" => Each::Llc,
            "node_first" | "node_cpus" | "node_cores" | "node_llcs" => Each::Node,
            _ => return None,
        };
        let Some(group) = self.member(of, argument) else { return Some(None) };
        Some(Some(match function {
            "core" => self.group_of(group, Each::Core).into(),
            "llc" => self.group_of(group, Each::Llc).into(),
            "node" => self.group_of(group, Each::Node).into(),
            "sibling" => self.sibling(group).map_or(-1, Into::into),
            "llc_near" => self.other_llcs("near_llcs", group)?.len() as i128,
            "llc_far" => self.other_llcs("far_llcs", group)?.len() as i128,
            "llc_cores" | "node_cores" => self.count(of, group, Each::Core) as i128,
            "node_llcs" => self.count(of, group, Each::Llc) as i128,
            "core_first" | "llc_first" | "node_first" => self.cpus_of(of, group)[0].into(),
            _ => self.count(of, group, Each::Cpu) as i128,
        }))
    }

    /// A list of CPUs: a CPU of each core before a second one of any, or core by core; both by node
    /// and cache.
    pub(crate) fn list(&self, name: &str) -> Option<Vec<u32>> {
        let thread = |cpu: u32| {
            let core = self.group_of(cpu, Each::Core);
            self.cpus_of(Each::Core, core).iter().filter(|other| **other < cpu).count()
        };
        let place = |cpu: u32| {
            [Each::Node, Each::Llc, Each::Core, Each::Cpu].map(|each| self.group_of(cpu, each))
        };
        let mut cpus = self.members(Each::Cpu);
        match name {
            "cpus_spread" => cpus.sort_by_key(|cpu| (thread(*cpu), place(*cpu))),
            "cpus_packed" => cpus.sort_by_key(|cpu| place(*cpu)),
            _ => return None,
        }
        Some(cpus)
    }

    /// The other CPUs, nearest first: of its core, its cache, its node; among those by number.
    pub(crate) fn near_cpus(&self, cpu: u32) -> Vec<u32> {
        let apart = |other: u32| {
            let groups = [Each::Core, Each::Llc, Each::Node];
            groups.map(|each| self.group_of(other, each) != self.group_of(cpu, each))
        };
        let mut others = self.members(Each::Cpu);
        others.retain(|other| *other != cpu);
        others.sort_by_key(|other| {
            let [core, llc, node] = apart(*other);
            (node, llc, core, *other)
        });
        others
    }

    /// The other caches of a cache's node, those of other nodes, or first these, then those;
    /// nearest first: they stand in a
    /// ring by number, with that cache among them; of two, the lower number is first.
    pub(crate) fn other_llcs(&self, function: &str, llc: u32) -> Option<Vec<u32>> {
        if function == "other_llcs" {
            let parts = ["near_llcs", "far_llcs"].map(|part| self.other_llcs(part, llc));
            return Some(parts.into_iter().flatten().flatten().collect());
        }
        let is_near = match function {
            "near_llcs" => true,
            "far_llcs" => false,
            _ => return None,
        };
        let node = |llc: u32| self.group_of(self.cpus_of(Each::Llc, llc)[0], Each::Node);
        let mut ring = self.members(Each::Llc);
        ring.retain(|other| *other == llc || (node(*other) == node(llc)) == is_near);
        let (len, start) = (ring.len(), ring.iter().position(|other| *other == llc).unwrap_or(0));
        let distance = |at: usize| ((at + len - start) % len).min((start + len - at) % len);
        let mut order: Vec<usize> = (0..len).filter(|at| *at != start).collect();
        order.sort_by_key(|at| (distance(*at), *at));
        Some(order.into_iter().map(|at| ring[at]).collect())
    }

    /// A group by its number, if the machine has it.
    pub(crate) fn member(&self, each: Each, number: i128) -> Option<u32> {
        let number = u32::try_from(number).ok()?;
        self.members(each).contains(&number).then_some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sibling_is_the_other_cpu_of_the_core() {
        let facts = CpuFacts { core: vec![0, 0, 1, 1], llc: vec![0; 4], node: vec![0; 4] };
        let siblings: Vec<_> = (0..4).map(|cpu| facts.sibling(cpu)).collect();
        assert_eq!(siblings, [Some(1), Some(0), Some(3), Some(2)]);
        assert_eq!(CpuFacts::flat(4).sibling(2), None);
    }

    #[test]
    fn siblings_of_a_wide_core_form_a_ring() {
        let facts = CpuFacts { core: vec![0; 3], llc: vec![0; 3], node: vec![0; 3] };
        let siblings: Vec<_> = (0..3).map(|cpu| facts.sibling(cpu)).collect();
        assert_eq!(siblings, [Some(1), Some(2), Some(0)]);
    }

    /// Six CPUs, three cores of two; the first two cores share a cache.
    fn uneven() -> CpuFacts {
        CpuFacts { core: vec![0, 0, 1, 1, 2, 2], llc: vec![0, 0, 0, 0, 1, 1], node: vec![0; 6] }
    }

    #[test]
    fn names_count_groups() {
        let names = ["nr_cpus", "nr_cores", "nr_llcs", "nr_nodes", "smt", "speed"];
        let values: Vec<_> = names.map(|name| uneven().named(name)).into();
        assert_eq!(values, [Some(6), Some(3), Some(2), Some(1), Some(1), None]);

        let most = ["max_core_cpus", "max_llc_cores", "max_llc_cpus", "max_node_llcs"];
        assert_eq!(most.map(|name| uneven().named(name)), [Some(2), Some(2), Some(4), Some(2)]);
    }

    #[test]
    fn lists_of_cpus_go_by_place() {
        // two nodes of one cache each, cores of two; numbered as servers do: threads last
        let facts = CpuFacts {
            core: vec![0, 1, 2, 3, 0, 1, 2, 3],
            llc: vec![0, 0, 1, 1, 0, 0, 1, 1],
            node: vec![0, 0, 1, 1, 0, 0, 1, 1],
        };
        assert_eq!(facts.list("cpus_spread"), Some(vec![0, 1, 2, 3, 4, 5, 6, 7]));
        assert_eq!(facts.list("cpus_packed"), Some(vec![0, 4, 1, 5, 2, 6, 3, 7]));
        assert_eq!(facts.list("cpus"), None);
    }

    #[test]
    fn other_caches_stand_in_a_ring() {
        // eight caches of one CPU, two nodes of four
        let facts = CpuFacts {
            core: (0..8).collect(),
            llc: (0..8).collect(),
            node: vec![0, 0, 0, 0, 1, 1, 1, 1],
        };
        // 1 of the ring 0 1 2 3: next to it are 0 and 2
        assert_eq!(facts.other_llcs("near_llcs", 1), Some(vec![0, 2, 3]));
        // 1 of the ring 1 4 5 6 7: next to it are 4 and 7, then 5 and 6
        assert_eq!(facts.other_llcs("far_llcs", 1), Some(vec![4, 7, 5, 6]));
        assert_eq!(facts.called("llc_far", 1), Some(Some(4)));
        assert_eq!(facts.other_llcs("other_llcs", 1), Some(vec![0, 2, 3, 4, 7, 5, 6]));
    }

    #[test]
    fn near_cpus_come_by_what_they_share() {
        // two nodes of two caches of a core of two, the threads of a core last
        let facts = CpuFacts {
            core: vec![0, 1, 2, 3, 0, 1, 2, 3],
            llc: vec![0, 1, 2, 3, 0, 1, 2, 3],
            node: vec![0, 0, 1, 1, 0, 0, 1, 1],
        };
        // 5's core has 1, its node 0 and 4
        assert_eq!(facts.near_cpus(5), [1, 0, 4, 2, 3, 6, 7]);
        // two cores in a cache: 2 and 3 of a core, 0 and 1 of the cache
        assert_eq!(uneven().near_cpus(2), [3, 0, 1, 4, 5]);
    }

    #[test]
    fn functions_tell_of_cpus_and_groups() {
        let value = |function, argument| uneven().called(function, argument);
        assert_eq!(value("llc", 4), Some(Some(1)));
        assert_eq!(value("llc_first", 1), Some(Some(4)));
        assert_eq!(value("llc_cores", 0), Some(Some(2)));
        assert_eq!(value("llc_cpus", 1), Some(Some(2)));
        assert_eq!(value("node_llcs", 0), Some(Some(2)));
        assert_eq!(value("llc_cpus", 2), Some(None));
        assert_eq!(value("speed", 0), None);
    }
}
