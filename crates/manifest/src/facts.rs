// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a loader reads from the machine.

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
        distinct(&self.core) < self.core.len()
    }

    /// Value of a plain name such as `nr_cpus`.
    pub(crate) fn named(&self, name: &str) -> Option<i128> {
        Some(match name {
            "nr_cpus" => self.nr_cpus().into(),
            "nr_cores" => distinct(&self.core) as i128,
            "nr_llcs" => distinct(&self.llc) as i128,
            "nr_nodes" => distinct(&self.node) as i128,
            "smt" => self.smt().into(),
            _ => return None,
        })
    }

    /// Value of a function of a CPU such as `sibling(cpu)`; the outer `None` is an
    /// unknown function, the inner one a CPU that the machine does not have.
    pub(crate) fn of_cpu(&self, function: &str, cpu: i128) -> Option<Option<i128>> {
        let list = match function {
            "core" | "sibling" => &self.core,
            "llc" => &self.llc,
            "node" => &self.node,
            _ => return None,
        };
        let number = u32::try_from(cpu).ok().filter(|n| *n < self.nr_cpus());
        Some(number.map(|n| match function {
            "sibling" => self.sibling(n).map_or(-1, Into::into),
            _ => list.get(n as usize).copied().unwrap_or(0).into(),
        }))
    }
}

fn distinct(groups: &[u32]) -> usize {
    let mut seen = groups.to_vec();
    seen.sort_unstable();
    seen.dedup();
    seen.len()
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

    #[test]
    fn names_count_groups() {
        let facts = CpuFacts {
            core: vec![0, 0, 1, 1, 2, 2],
            llc: vec![0, 0, 0, 0, 1, 1],
            node: vec![0; 6],
        };
        let values: Vec<_> = ["nr_cpus", "nr_cores", "nr_llcs", "nr_nodes", "smt", "speed"]
            .map(|name| facts.named(name))
            .into();
        assert_eq!(values, [Some(6), Some(3), Some(2), Some(1), Some(1), None]);
    }
}
