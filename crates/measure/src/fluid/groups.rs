// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rates where tasks are in groups: hierarchical generalized processor sharing (J. Bennett, H.
//! Zhang, *Hierarchical Packet Fair Queueing Algorithms*, SIGCOMM 1996, §2.2) on several CPUs.
//!
//! What a group has is shared among its tasks and the groups in it by their weights; one that no
//! runnable task is in has no part. A task can use one CPU at most, and a group no more than its
//! tasks and groups together, or its limit. What one of them cannot use goes to the others of the
//! same group first, and only what all of them cannot use leaves the group.

use super::Class;
use rustc_hash::FxHashMap;

/// The group that a task is in, by number; 0: the root.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Group(u32);

/// Weight of a group of which none is known, as of `cpu.weight`.
const WEIGHT: u64 = 100;

/// All groups.
#[derive(Clone, Debug)]
pub(super) struct Groups {
    nodes: Vec<Node>,
    by_path: FxHashMap<String, Group>,
}

#[derive(Clone, Debug)]
struct Node {
    parent: usize,
    weight: u64,
    /// CPUs that its tasks may use at a time.
    limit: f64,
    /// Of its tasks, CPUs that they can use.
    demand: f64,
}

/// What has a part of a group: a class of its tasks, or a group in it.
struct Part {
    weight: f64,
    /// What it can use.
    most: f64,
    of: PartOf,
}

enum PartOf {
    Class(usize),
    Group(usize),
}

impl Default for Groups {
    fn default() -> Self {
        let root = Node { parent: 0, weight: WEIGHT, limit: f64::INFINITY, demand: 0.0 };
        Groups { nodes: vec![root], by_path: FxHashMap::default() }
    }
}

impl Groups {
    /// The group `/a/b`, which is in `/a`.
    pub(super) fn of_path(&mut self, path: &str) -> Group {
        if let Some(group) = self.by_path.get(path) {
            return *group;
        }
        let (mut parent, mut so_far) = (Group::default(), String::new());
        for part in path.split('/').filter(|part| !part.is_empty()) {
            so_far.push('/');
            so_far.push_str(part);
            parent = match self.by_path.get(&so_far) {
                Some(known) => *known,
                None => {
                    let new = Group(self.nodes.len() as u32);
                    let parent = parent.0 as usize;
                    let (weight, limit) = (WEIGHT, f64::INFINITY);
                    self.nodes.push(Node { parent, weight, limit, demand: 0.0 });
                    self.by_path.insert(so_far.clone(), new);
                    new
                }
            };
        }
        self.by_path.insert(path.to_owned(), parent);
        parent
    }

    /// A group has another weight, and another limit.
    pub(super) fn set(&mut self, group: Group, weight: u64, limit: Option<f64>) {
        let node = &mut self.nodes[group.0 as usize];
        node.weight = weight.max(1);
        if group != Group::default() {
            node.limit = limit.unwrap_or(f64::INFINITY);
        }
    }

    /// Sets the rates of all tasks on so many CPUs.
    pub(super) fn share_out(&mut self, cpus: f64, classes: &mut [Class]) {
        let mut parts: Vec<Vec<Part>> = self.nodes.iter().map(|_| Vec::new()).collect();
        self.nodes.iter_mut().for_each(|node| node.demand = 0.0);
        for (at, class) in classes.iter().enumerate() {
            let (group, most) = (class.claim.group.0 as usize, f64::from(class.tasks));
            let weight = class.weight_of_all();
            parts[group].push(Part { weight, most, of: PartOf::Class(at) });
            self.nodes[group].demand += most;
        }
        // Those in a group come after it.
        for at in (1..self.nodes.len()).rev() {
            let Node { parent, weight, limit, demand } = self.nodes[at];
            let most = demand.min(limit);
            if most > 0.0 {
                parts[parent].push(Part { weight: weight as f64, most, of: PartOf::Group(at) });
                self.nodes[parent].demand += most;
            }
        }
        let mut given = vec![0.0; self.nodes.len()];
        given[0] = cpus;
        for (at, parts) in parts.iter_mut().enumerate() {
            let amount = given[at];
            fill(amount, parts, |of, amount| match *of {
                PartOf::Class(at) => classes[at].rate = amount / f64::from(classes[at].tasks),
                PartOf::Group(at) => given[at] = amount,
            });
        }
    }

    /// Of the groups around one, the innermost that any of these is in, however deep; as a test of
    /// what is in it.
    pub(super) fn nearest(&self, group: Group, present: &[Group]) -> impl Fn(Group) -> bool + '_ {
        let mut around = group.0 as usize;
        while around != 0 && !present.iter().any(|other| self.is_in(*other, around)) {
            around = self.nodes[around].parent;
        }
        move |group| self.is_in(group, around)
    }

    fn is_in(&self, group: Group, around: usize) -> bool {
        let mut at = group.0 as usize;
        while at != around && at != 0 {
            at = self.nodes[at].parent;
        }
        at == around
    }
}

/// Water-filling: each gets the same for its weight, but no more than it can use.
fn fill(mut amount: f64, parts: &mut [Part], mut give: impl FnMut(&PartOf, f64)) {
    parts.sort_by(|a, b| (a.most * b.weight).total_cmp(&(b.most * a.weight)));
    let mut weights: f64 = parts.iter().map(|part| part.weight).sum();
    for part in parts {
        let fair = if weights > 0.0 { amount * part.weight / weights } else { 0.0 };
        let given = fair.min(part.most);
        give(&part.of, given);
        amount = (amount - given).max(0.0);
        weights -= part.weight;
    }
}

#[cfg(test)]
#[path = "groups_tests.rs"]
mod tests;
