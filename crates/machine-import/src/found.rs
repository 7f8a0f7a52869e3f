// SPDX-License-Identifier: MIT OR Apache-2.0
//! What was found of a computer, before it is a machine: its own numbers, and nothing checked.

use std::collections::BTreeMap;

/// A computer.
#[derive(Debug)]
pub(crate) struct Found {
    /// What errors call it.
    pub(crate) file: String,
    /// What it is called.
    pub(crate) name: String,
    /// Where its numbers are from.
    pub(crate) source: String,
    /// CPUs that can run tasks, in ascending order of their numbers.
    pub(crate) cpus: Vec<Cpu>,
    /// Distance of two nodes, by their numbers.
    pub(crate) distances: BTreeMap<(u32, u32), u32>,
    /// Bytes of a cache line.
    pub(crate) line_bytes: Option<u32>,
    /// What was not taken as it is, and why.
    pub(crate) notes: Vec<String>,
}

/// A CPU. Those with equal labels share a group; labels need not nest.
#[derive(Clone, Debug)]
pub(crate) struct Cpu {
    /// Its number on the computer.
    pub(crate) number: u32,
    /// Label of its core.
    pub(crate) core: u32,
    /// Label of those with which it shares a cache below the last level.
    pub(crate) cluster: u32,
    /// Label of its last-level cache.
    pub(crate) llc: u32,
    /// Number of its node.
    pub(crate) node: u32,
    /// Label of its package.
    pub(crate) package: Option<u32>,
    /// Label of those that have one clock together.
    pub(crate) domain: Option<u32>,
    /// KiB of its last-level cache.
    pub(crate) llc_kib: Option<u32>,
    /// What kind of core it is in.
    pub(crate) kind: Kind,
}

/// What cores of one kind have in common.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kind {
    /// What cores of this kind are called.
    pub(crate) name: Option<String>,
    /// Work per time at the highest frequency, in any unit.
    pub(crate) speed: u64,
    /// What the kernel believes that to be, of 1024.
    pub(crate) capacity: u32,
    /// What `/sys` ranks it by; 0: nothing.
    pub(crate) rank: u32,
    /// KiB of the largest cache below the last level.
    pub(crate) l2_kib: Option<u32>,
    /// Frequencies.
    pub(crate) clock: Option<Clock>,
    /// Idle states, the shallowest first.
    pub(crate) idle: Vec<Idle>,
}

/// Frequencies in MHz.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Clock {
    pub(crate) min: Option<u32>,
    pub(crate) base: Option<u32>,
    pub(crate) max: u32,
    /// Those that can be chosen; empty: any.
    pub(crate) opps: Vec<u32>,
    /// As a machine file calls it.
    pub(crate) governor: Option<&'static str>,
}

/// An idle state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Idle {
    pub(crate) name: String,
    pub(crate) exit_us: u64,
    pub(crate) residency_us: u64,
}
