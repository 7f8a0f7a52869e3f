// SPDX-License-Identifier: MIT OR Apache-2.0
//! CPUs in groups of one kind.

use crate::cpuset::CpuSet;
use std::collections::BTreeMap;

/// The group of each CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Groups {
    /// Number of each CPU's group, in order of their first CPUs.
    of_cpu: Vec<u32>,
    cpus: Vec<CpuSet>,
}

impl Groups {
    /// CPUs in order, with equal numbers for those of a group.
    pub(super) fn new(of_cpus: impl Iterator<Item = u32>) -> Self {
        let (mut of_cpu, mut cpus) = (Vec::new(), Vec::<CpuSet>::new());
        let mut seen = BTreeMap::new();
        for (number, cpu) in of_cpus.zip(0..) {
            let group = *seen.entry(number).or_insert(cpus.len());
            if group == cpus.len() {
                cpus.push(CpuSet::default());
            }
            cpus[group].insert(cpu);
            of_cpu.push(group as u32);
        }
        Self { of_cpu, cpus }
    }

    pub(super) fn cpus(&self) -> u32 {
        self.of_cpu.len() as u32
    }

    pub(super) fn count(&self) -> u32 {
        self.cpus.len() as u32
    }

    #[inline]
    pub(super) fn number(&self, cpu: u32) -> u32 {
        self.of_cpu[cpu as usize]
    }

    #[inline]
    pub(super) fn of_cpu(&self, cpu: u32) -> &CpuSet {
        &self.cpus[self.number(cpu) as usize]
    }

    /// Two CPUs of a group that are not of the same outer one.
    pub(super) fn not_within(&self, outer: &Self) -> Option<[u32; 2]> {
        self.cpus.iter().find_map(|group| {
            let first = group.first()?;
            let other = group.iter().find(|cpu| outer.number(*cpu) != outer.number(first))?;
            Some([first, other])
        })
    }

    /// The size of all groups if each has neighbours, and as many as the others; the last one
    /// can have fewer.
    pub(super) fn size_if_regular(&self) -> Option<u32> {
        let size = self.cpus.first()?.len();
        let fits = |(group, cpu): (&u32, u32)| *group == cpu / size;
        self.of_cpu.iter().zip(0..).all(fits).then_some(size)
    }
}
