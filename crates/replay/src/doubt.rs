// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a workload does not have of what was recorded.

use crate::groups::Groups;
use crate::life::Life;
use std::collections::BTreeMap;

/// So many times at least, and half of all times, before a task is said to poll.
const LEAST_SPINS: u64 = 10;
/// The same of sleeps that are as short as a timer can make them …
const LEAST_NAPS: u64 = 100;
/// … which is the slack that timers have.
pub(crate) const NAP_NS: u64 = 100_000;

/// Something that another scheduler or machine would make different from what is played.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// Tasks of this name wait by asking again and again: how much they work depends on how long
    /// they wait.
    Polls {
        /// Their name.
        name: String,
        /// What they worked.
        work_ns: u64,
    },
    /// Threads whose process is not known to the workload: each is a process of its own.
    Alone(u64),
    /// Cgroups that had other values later: they keep the first.
    GroupsChanged(u64),
}

/// How a task waits without sleeping.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spins {
    /// Times that it left its CPU able to go on …
    pub(crate) leaves: u64,
    /// … in a call that yields or asks.
    pub(crate) spins: u64,
    /// Sleeps until a timer ran out …
    pub(crate) timers: u64,
    /// … that were as short as can be.
    pub(crate) naps: u64,
}

impl Spins {
    fn polls(&self) -> bool {
        let many = |some: u64, least: u64, all: u64| some >= least && 2 * some >= all;
        many(self.spins, LEAST_SPINS, self.leaves) || many(self.naps, LEAST_NAPS, self.timers)
    }
}

/// The doubts about these lives, of which `kept` come into the workload; `alone` is how many threads
/// have no process.
pub(crate) fn all(lives: &[Life], kept: &[bool], groups: &Groups, alone: u64) -> Vec<Doubt> {
    let mut polls: BTreeMap<&str, u64> = BTreeMap::new();
    let chosen = lives.iter().zip(kept).filter(|(_, kept)| **kept).map(|(life, _)| life);
    for life in chosen.filter(|life| life.spins.polls()) {
        *polls.entry(&life.name).or_default() += life.work_ns;
    }
    let polls =
        polls.into_iter().map(|(name, work_ns)| Doubt::Polls { name: name.into(), work_ns });
    let mut doubts: Vec<Doubt> = polls.collect();
    if alone > 0 {
        doubts.push(Doubt::Alone(alone));
    }
    if !groups.changed.is_empty() {
        doubts.push(Doubt::GroupsChanged(groups.changed.len() as u64));
    }
    doubts
}
