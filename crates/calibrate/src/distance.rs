// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pairs of CPUs to measure: one for each distance that a machine has.

use rota_machine::topology::Topology;

/// How far two CPUs are from each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Distance {
    /// They share a core.
    Sibling,
    /// They share a last-level cache.
    Llc,
    /// They share a node.
    OtherLlc,
    /// They share neither.
    Node,
}

impl Distance {
    pub(crate) const ALL: [Distance; 4] =
        [Distance::Sibling, Distance::Llc, Distance::OtherLlc, Distance::Node];

    /// As keys of a machine file.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Distance::Sibling => "sibling",
            Distance::Llc => "llc",
            Distance::OtherLlc => "other_llc",
            Distance::Node => "node",
        }
    }

    fn of(topology: &Topology, a: u32, b: u32) -> Self {
        if topology.core_of(a) == topology.core_of(b) {
            Distance::Sibling
        } else if topology.llc_of(a) == topology.llc_of(b) {
            Distance::Llc
        } else if topology.node_of(a) == topology.node_of(b) {
            Distance::OtherLlc
        } else {
            Distance::Node
        }
    }

    /// The first pair so far from each other, of the CPUs that may be used.
    pub(crate) fn pair(self, topology: &Topology, cpus: &[u32]) -> Option<(u32, u32)> {
        let mut pairs = cpus.iter().flat_map(|a| cpus.iter().map(move |b| (*a, *b)));
        pairs.find(|(a, b)| a < b && Distance::of(topology, *a, *b) == self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_distance_has_the_first_pair_that_may_be_used() {
        // 2 nodes with 2 caches each, which have 2 cores of 2 CPUs
        let topology = Topology::new(16, 2, 4, 8).expect("it fits");
        let all: Vec<u32> = (0..16).collect();
        let pairs = |cpus: &[u32]| Distance::ALL.map(|far| far.pair(&topology, cpus));
        assert_eq!(pairs(&all), [Some((0, 1)), Some((0, 2)), Some((0, 4)), Some((0, 8))]);
        assert_eq!(pairs(&[1, 3, 9]), [None, Some((1, 3)), None, Some((1, 9))]);
        assert_eq!(pairs(&[5]), [None; 4]);
    }
}
