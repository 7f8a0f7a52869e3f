// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rates where tasks are tied to CPUs: the weighted max-min fair ones.
//!
//! Rates are possible if nobody has more than one CPU, and no set of tasks more than all the
//! CPUs that they may use: then there is a schedule in which nobody is on two CPUs at a time
//! (T. Gonzalez, S. Sahni, *Open Shop Scheduling to Minimize Finish Time*, JACM 23, 1976, §3).
//! Of those, the max-min fair ones come from progressive filling (D. Bertsekas, R. Gallager,
//! *Data Networks*, 1992, §6.5.2): all rates grow in proportion to the weights until a set of tasks
//! has the whole of its CPUs. They stay there, and the rest goes on with the other CPUs.
//!
//! The first set to be full is found from above, by Newton's method on minimum cuts. What a level
//! asks for is sent as a flow from tasks to CPUs. Where it does not get through, the minimum cut
//! is a set that asks for too much; the next level is the one at which that set just fits.

use super::{fill, Class};
use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};

/// Less of a CPU is nothing.
const NOTHING: f64 = 1e-12;
/// What may be missing of a rate that could be rounded.
const ROUNDED: f64 = 1e-9;

/// The CPUs that a task is tied to, by number; 0: all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Tie(u32);

impl Tie {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// Tasks that may use the same CPUs.
#[derive(Clone, Debug, Default)]
pub(super) struct Group {
    /// The heaviest first.
    pub(super) classes: Vec<Class>,
}

impl Group {
    /// What its tasks get together if a weight of 1 gets this much.
    fn demand(&self, level: f64) -> f64 {
        let rate = |class: &Class| (level * class.claim.weight as f64).min(1.0);
        self.classes.iter().map(|class| f64::from(class.tasks) * rate(class)).sum()
    }
}

/// CPUs that the same groups may use.
#[derive(Clone, Debug)]
struct Pool {
    cpus: f64,
    groups: Vec<usize>,
}

/// All that tasks were ever tied to.
#[derive(Clone, Debug, Default)]
pub(super) struct Ties {
    /// CPUs of tie 1 and those that follow, ascending.
    masks: Vec<Vec<u32>>,
    pools: Vec<Pool>,
    /// Of each group, the pools that it may use.
    pools_of: Vec<Vec<usize>>,
}

impl Ties {
    /// On a machine with so many CPUs.
    pub(super) fn tie(&mut self, cpus: u32, to: impl Iterator<Item = u32>) -> Tie {
        let mut mask: Vec<u32> = to.filter(|cpu| *cpu < cpus).collect();
        mask.sort_unstable();
        mask.dedup();
        if mask.is_empty() || mask.len() as u32 == cpus {
            return Tie::default();
        }
        let known = self.masks.iter().position(|known| *known == mask);
        let at = known.unwrap_or(self.masks.len());
        if known.is_none() {
            self.masks.push(mask);
            self.find_pools(cpus);
        }
        Tie(at as u32 + 1)
    }

    /// Its CPUs, ascending; empty: all.
    pub(super) fn mask(&self, of: Tie) -> &[u32] {
        of.index().checked_sub(1).map_or(&[], |at| &self.masks[at])
    }

    /// The machine turns out to have so many CPUs.
    pub(super) fn grow(&mut self, cpus: u32) {
        if !self.masks.is_empty() {
            self.find_pools(cpus);
        }
    }

    fn find_pools(&mut self, cpus: u32) {
        let mut pools: BTreeMap<Vec<usize>, u32> = BTreeMap::new();
        for cpu in 0..cpus {
            let tied = self.masks.iter().enumerate();
            let tied = tied.filter(|(_, mask)| mask.binary_search(&cpu).is_ok());
            let groups = std::iter::once(0).chain(tied.map(|(at, _)| at + 1)).collect();
            *pools.entry(groups).or_default() += 1;
        }
        self.pools_of = vec![Vec::new(); self.masks.len() + 1];
        for (at, groups) in pools.keys().enumerate() {
            groups.iter().for_each(|group| self.pools_of[*group].push(at));
        }
        let pool = |(groups, cpus)| Pool { cpus: f64::from(cpus), groups };
        self.pools = pools.into_iter().map(pool).collect();
    }

    /// A group without tasks for each tie.
    pub(super) fn groups(&self) -> Vec<Group> {
        vec![Group::default(); self.masks.len() + 1]
    }

    /// Which ties have CPUs in common with this one, directly or by others that are present;
    /// `None`: all.
    pub(super) fn rivals(&self, of: Tie, present: impl Iterator<Item = Tie>) -> Option<Vec<bool>> {
        if self.masks.is_empty() || of == Tie::default() {
            return None;
        }
        let mut present_groups = vec![false; self.masks.len() + 1];
        present.for_each(|tie| present_groups[tie.index()] = true);
        let reached = self.reach([of.index()].into_iter(), |pool| {
            let groups = self.pools[pool].groups.iter().copied();
            groups.filter(|group| present_groups[*group]).collect()
        });
        Some(reached)
    }

    /// Groups that are reached from some, over pools: from a pool, those that `on` names.
    fn reach(
        &self,
        from: impl Iterator<Item = usize>,
        on: impl Fn(usize) -> Vec<usize>,
    ) -> Vec<bool> {
        let mut reached = vec![false; self.pools_of.len()];
        let mut open: Vec<usize> = from.collect();
        open.iter().for_each(|group| reached[*group] = true);
        let mut seen = vec![false; self.pools.len()];
        while let Some(group) = open.pop() {
            for pool in &self.pools_of[group] {
                if std::mem::replace(&mut seen[*pool], true) {
                    continue;
                }
                for next in on(*pool) {
                    if !std::mem::replace(&mut reached[next], true) {
                        open.push(next);
                    }
                }
            }
        }
        reached
    }

    /// Sets the rates of all groups' tasks.
    pub(super) fn share_out(&self, groups: &mut [Group]) {
        let mut free: Vec<f64> = self.pools.iter().map(|pool| pool.cpus).collect();
        let mut open: Vec<bool> = groups.iter().map(|group| !group.classes.is_empty()).collect();
        while open.contains(&true) {
            let (level, full) = match self.first_full(groups, &open, &free) {
                Some(found) => found,
                None => (f64::INFINITY, open.clone()),
            };
            for at in (0..groups.len()).filter(|at| full[*at]) {
                for class in &mut groups[at].classes {
                    class.rate = (level * class.claim.weight as f64).min(1.0);
                }
                self.pools_of[at].iter().for_each(|pool| free[*pool] = 0.0);
                open[at] = false;
            }
        }
    }

    /// The lowest level at which some open groups have all that is free of their CPUs, and these
    /// groups; `None`: all tasks can have a CPU each.
    fn first_full(
        &self,
        groups: &[Group],
        open: &[bool],
        free: &[f64],
    ) -> Option<(f64, Vec<bool>)> {
        let mut found: Option<(f64, Vec<bool>)> = None;
        loop {
            let level = found.as_ref().map_or(f64::INFINITY, |(level, _)| *level);
            let demand = |(at, group): (usize, &Group)| match open[at] {
                true => group.demand(level),
                false => 0.0,
            };
            let demands: Vec<f64> = groups.iter().enumerate().map(demand).collect();
            let Some(short) = Flow::new(self, &demands, free).short() else { return found };
            let members = groups.iter().zip(&short).filter(|(_, is_short)| **is_short);
            let mut classes: Vec<Class> =
                members.flat_map(|(group, _)| group.classes.iter().copied()).collect();
            classes.sort_by_key(|class| Reverse(class.claim));
            let used = |pool: &Pool| pool.groups.iter().any(|group| short[*group]);
            let pools = self.pools.iter().zip(free).filter(|(pool, _)| used(pool));
            let next = fill(pools.map(|(_, cpus)| cpus).sum(), &mut classes);
            // Rounding, not a set that asks for more than its CPUs.
            if next >= level {
                return found;
            }
            found = Some((next, short));
        }
    }
}

/// As much of some demands as gets through to CPUs (L. Ford, D. Fulkerson, *Flows in Networks*, 1962;
/// J. Edmonds, R. Karp, *Theoretical Improvements in Algorithmic Efficiency for Network Flow
/// Problems*, JACM 19, 1972: along shortest paths).
struct Flow<'a> {
    ties: &'a Ties,
    /// From each group into each pool.
    sent: Vec<Vec<f64>>,
    /// Left of each pool.
    spare: Vec<f64>,
    /// Of each group, what does not get through.
    left: Vec<f64>,
}

impl<'a> Flow<'a> {
    fn new(ties: &'a Ties, demands: &[f64], free: &[f64]) -> Self {
        let sent = vec![vec![0.0; free.len()]; demands.len()];
        let mut flow = Flow { ties, sent, spare: free.to_vec(), left: demands.to_vec() };
        for group in 0..demands.len() {
            while flow.left[group] > NOTHING && flow.send(group) {}
        }
        flow
    }

    /// Sends more of a group, if there is a way: into a pool, or in place of another group, which
    /// goes elsewhere.
    fn send(&mut self, from: usize) -> bool {
        let mut by_group: Vec<Option<usize>> = vec![None; self.spare.len()];
        let mut by_pool: Vec<Option<usize>> = vec![None; self.left.len()];
        let mut open = VecDeque::from([from]);
        let mut end = None;
        'search: while let Some(group) = open.pop_front() {
            for &pool in &self.ties.pools_of[group] {
                if by_group[pool].is_some() {
                    continue;
                }
                by_group[pool] = Some(group);
                if self.spare[pool] > NOTHING {
                    end = Some(pool);
                    break 'search;
                }
                for &other in &self.ties.pools[pool].groups {
                    let is_new = other != from && by_pool[other].is_none();
                    if is_new && self.sent[other][pool] > NOTHING {
                        by_pool[other] = Some(pool);
                        open.push_back(other);
                    }
                }
            }
        }
        let Some(end) = end else { return false };
        // Back along the way: what fits, then what changes.
        let mut way = Vec::new();
        let mut pool = end;
        while let Some(group) = by_group[pool] {
            way.push((group, pool));
            match by_pool[group].filter(|_| group != from) {
                Some(before) => pool = before,
                None => break,
            }
        }
        let moved = way.windows(2).map(|step| self.sent[step[0].0][step[1].1]);
        let amount = moved.fold(self.left[from].min(self.spare[end]), f64::min);
        for (at, (group, pool)) in way.iter().enumerate() {
            self.sent[*group][*pool] += amount;
            if let Some((_, before)) = way.get(at + 1) {
                self.sent[*group][*before] -= amount;
            }
        }
        self.spare[end] -= amount;
        self.left[from] -= amount;
        true
    }

    /// The groups on this side of the minimum cut, which ask for more than all of their CPUs.
    fn short(&self) -> Option<Vec<bool>> {
        let short = |group: &usize| self.left[*group] > ROUNDED;
        if !(0..self.left.len()).any(|group| short(&group)) {
            return None;
        }
        Some(self.ties.reach((0..self.left.len()).filter(short), |pool| {
            let groups = self.ties.pools[pool].groups.iter().copied();
            groups.filter(|group| self.sent[*group][pool] > NOTHING).collect()
        }))
    }
}
