// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why CPUs cannot be arranged as asked.

use crate::cpuset::MAX_CPUS;
use std::fmt;
use thiserror::Error;

/// What was probably meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hint(pub(super) Option<&'static str>);

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |key| write!(f, " (did you mean {key}=N?)"))
    }
}

/// The only key with this first letter; a core is one of `smt`.
pub(super) fn hint(key: &str) -> Hint {
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
    /// CPUs of one group that are in different ones of the next larger kind.
    #[error(
        "CPUs {cpus:?} share a {inner} but not a {outer}: expected a {outer} to hold all CPUs of \
         each {inner} in it"
    )]
    Apart {
        /// What they share.
        inner: &'static str,
        /// What they do not share.
        outer: &'static str,
        /// Two of the CPUs.
        cpus: [u32; 2],
    },
    /// Distances that are not one for each pair of nodes.
    #[error("distances of nodes: expected {nodes} rows of {nodes}, one for each node with CPUs")]
    Distances {
        /// Nodes with CPUs.
        nodes: usize,
    },
    /// A distance that no firmware has (ACPI SLIT: 10 to the node itself, 255 for unreachable).
    #[error("distance {value} of node {from} to node {to}: expected {expected}")]
    Distance {
        /// Its value.
        value: u32,
        /// Row.
        from: usize,
        /// Place in the row.
        to: usize,
        /// What it can be.
        expected: &'static str,
    },
}
