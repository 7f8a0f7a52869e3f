// SPDX-License-Identifier: MIT OR Apache-2.0
//! How the CPUs of the simulated machine are arranged.
//!
//! CPUs are numbered so that SMT siblings, then last-level caches, then nodes are
//! neighbours: CPU numbers are also sched_ext's topological `cid`s.

use crate::cpuset::{CpuSet, MAX_CPUS};
use std::fmt;
use thiserror::Error;

/// Cores with SMT siblings, grouped into last-level caches and nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    cpus: u32,
    smt: u32,
    llc: u32,
    node: u32,
}

/// What was probably meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hint(Option<&'static str>);

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |key| write!(f, " (did you mean {key}=N?)"))
    }
}

/// The only key with this first letter; a core is one of `smt`.
fn hint(key: &str) -> Hint {
    Hint(match key.trim().chars().next() {
        Some('s' | 't' | 'c') => Some("smt"),
        Some('l') => Some("llc"),
        Some('n') => Some("node"),
        _ => None,
    })
}

/// A topology that cannot be built.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum TopologyError {
    /// Zero or too many CPUs.
    #[error("{0} CPUs: expected 1 to {MAX_CPUS}")]
    Cpus(u32),
    /// A part of `smt=…,llc=…,node=…` that is not understood.
    #[error(
        "topology \"{0}\": expected smt=N, llc=N or node=N separated by commas, N a count of CPUs{1}"
    )]
    Syntax(String, Hint),
    /// Cores of one size that do not make up all CPUs.
    #[error(
        "topology: smt={smt} does not divide {cpus} CPUs into whole cores, expected smt={} \
         or another number of CPUs",
        .fits.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
    )]
    Cores {
        /// CPUs of a core.
        smt: u32,
        /// CPUs of the machine.
        cpus: u32,
        /// Sizes of cores that would do.
        fits: Vec<u32>,
    },
    /// Groups that do not nest.
    #[error("topology: {what}={value} must be a multiple of {of} and at most the {cpus} CPUs")]
    Nesting {
        /// `smt`, `llc` or `node`.
        what: &'static str,
        /// Its value.
        value: u32,
        /// The group inside it.
        of: u32,
        /// CPUs of the machine.
        cpus: u32,
    },
}

impl Topology {
    /// `cpus` CPUs without SMT, one last-level cache, one node.
    pub fn flat(cpus: u32) -> Result<Self, TopologyError> {
        Self::new(cpus, 1, cpus, cpus)
    }

    /// CPUs per core, per last-level cache, and per node.
    pub fn new(cpus: u32, smt: u32, llc: u32, node: u32) -> Result<Self, TopologyError> {
        if cpus == 0 || cpus > MAX_CPUS {
            return Err(TopologyError::Cpus(cpus));
        }
        for (what, value, of) in [("smt", smt, 1), ("llc", llc, smt), ("node", node, llc)] {
            if value == 0 || of == 0 || value % of != 0 || value > cpus {
                return Err(TopologyError::Nesting { what, value, of, cpus });
            }
        }
        Ok(Self { cpus, smt, llc, node })
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
        self.cpus
    }

    /// All of it: CPUs, and those of a core, of a last-level cache and of a node.
    pub fn sizes(&self) -> [u32; 4] {
        [self.cpus, self.smt, self.llc, self.node]
    }

    /// Whether any core has two or more CPUs.
    pub fn has_smt(&self) -> bool {
        self.smt > 1
    }

    /// Number of nodes.
    pub fn nodes(&self) -> u32 {
        self.cpus.div_ceil(self.node)
    }

    /// Number of last-level caches.
    pub fn llcs(&self) -> u32 {
        self.cpus.div_ceil(self.llc)
    }

    /// Node of a CPU.
    pub fn node_of(&self, cpu: u32) -> u32 {
        cpu / self.node
    }

    /// Last-level cache of a CPU.
    pub fn llc_of(&self, cpu: u32) -> u32 {
        cpu / self.llc
    }

    /// Core of a CPU.
    pub fn core_of(&self, cpu: u32) -> u32 {
        cpu / self.smt
    }

    /// The CPU and its SMT siblings.
    pub fn siblings(&self, cpu: u32) -> CpuSet {
        self.group(cpu, self.smt)
    }

    /// CPUs that share the last-level cache.
    pub fn llc_cpus(&self, cpu: u32) -> CpuSet {
        self.group(cpu, self.llc)
    }

    /// CPUs of the same node.
    pub fn node_cpus(&self, cpu: u32) -> CpuSet {
        self.group(cpu, self.node)
    }

    fn group(&self, cpu: u32, size: u32) -> CpuSet {
        let start = cpu / size * size;
        (start..(start + size).min(self.cpus)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn siblings_and_caches_are_neighbours() {
        let t = Topology::parse(8, "smt=2, llc=4").unwrap();
        assert_eq!(t.siblings(5).iter().collect::<Vec<_>>(), [4, 5]);
        assert_eq!(t.llc_cpus(5).iter().collect::<Vec<_>>(), [4, 5, 6, 7]);
        assert_eq!((t.nodes(), t.llcs(), t.has_smt()), (1, 2, true));
    }

    #[test]
    fn groups_that_do_not_nest_are_refused_with_their_numbers() {
        let err = Topology::parse(8, "smt=2,llc=3").unwrap_err().to_string();
        assert_eq!(err, "topology: llc=3 must be a multiple of 2 and at most the 8 CPUs");
    }

    #[test]
    fn unknown_parts_are_named() {
        let err = Topology::parse(4, "sockets=2").unwrap_err().to_string();
        assert!(err.contains("\"sockets=2\""), "{err}");
        assert_eq!(Topology::flat(0), Err(TopologyError::Cpus(0)));
    }

    proptest! {
        #[test]
        fn any_text_is_refused_or_puts_each_cpu_into_its_own_groups(
            text in "(|((smt|llc|node|x)?=?[0-9]{0,11},? ?){0,4}|\\PC{0,20})",
            cpus in prop_oneof![0_u32..17, any::<u32>()],
        ) {
            if let Ok(t) = Topology::parse(cpus, &text) {
                for cpu in [0, cpus / 2, cpus - 1] {
                    let groups = [t.siblings(cpu), t.llc_cpus(cpu), t.node_cpus(cpu)];
                    prop_assert!(groups.iter().all(|g| g.iter().any(|other| other == cpu)));
                    prop_assert!(groups.iter().all(|g| g.iter().all(|other| other < cpus)));
                    prop_assert!(groups.is_sorted_by_key(|g| g.iter().count()));
                    prop_assert!(t.node_of(cpu) < t.nodes() && t.llc_of(cpu) < t.llcs());
                }
            }
        }
    }
}
