// SPDX-License-Identifier: MIT OR Apache-2.0
//! The ideal that schedulers are measured against: a fluid machine that serves all tasks which
//! want to run at the same time, each at a rate in proportion to its weight.
//!
//! Generalized processor sharing for several CPUs (A. Chandra et al., *Surplus Fair Scheduling*,
//! OSDI 2000, §2): no task is faster than one CPU, and what a heavy one cannot use goes to the
//! others, so the machine is busy as long as anybody wants it. Where tasks are tied to CPUs it
//! is the weighted max-min fair rates that remain possible, see `tied.rs`. Tasks of one weight
//! and the same CPUs have one rate, so the state is one entry for those.

mod groups;
mod tied;

use groups::Groups;
use std::cmp::Reverse;
use tied::{Group, Ties};

pub(crate) use groups::Group as TaskGroup;
pub(crate) use tied::Tie;

/// A fluid machine. A task's service since it came is the difference of two readings of
/// [`Fluid::service_ns`] for its claim.
#[derive(Clone, Debug)]
pub(crate) struct Fluid {
    cpus: u32,
    /// Of them, those that run tasks above the policy: they are not its to share out.
    taken: u32,
    now_ns: u64,
    /// Of the claims that somebody has, those of the heaviest first.
    classes: Vec<Class>,
    ties: Ties,
    /// From the first task group on.
    groups: Option<Box<Groups>>,
}

/// What a task may claim: service by its weight, from its CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Claim {
    pub(crate) weight: u64,
    pub(crate) tie: Tie,
    pub(crate) group: TaskGroup,
}

#[derive(Clone, Copy, Debug)]
struct Class {
    claim: Claim,
    tasks: u32,
    /// Service of a task that was there all the time.
    service_ns: f64,
    /// Of each of them, in CPUs.
    rate: f64,
}

impl Fluid {
    pub(crate) fn new(cpus: u32) -> Self {
        let (classes, ties) = (Vec::new(), Ties::default());
        Fluid { cpus, taken: 0, now_ns: 0, classes, ties, groups: None }
    }

    /// As many CPUs as have been heard of.
    pub(crate) fn grow(&mut self, cpus: u32, now_ns: u64) {
        if cpus > self.cpus {
            self.settle(now_ns);
            self.cpus = cpus;
            self.ties.grow(cpus);
            self.share_out();
        }
    }

    /// What ties a task to these CPUs.
    pub(crate) fn tie(&mut self, cpus: impl Iterator<Item = u32>) -> Tie {
        self.ties.tie(self.cpus, cpus)
    }

    /// The task group of this path. From now on there are groups.
    pub(crate) fn group(&mut self, path: &str) -> TaskGroup {
        self.groups.get_or_insert_default().of_path(path)
    }

    /// Whether there are task groups.
    pub(crate) fn has_groups(&self) -> bool {
        self.groups.is_some()
    }

    /// A task group has this weight, and may use so many CPUs at a time.
    pub(crate) fn set_group(&mut self, path: &str, weight: u64, limit: Option<f64>, now_ns: u64) {
        self.settle(now_ns);
        let groups = self.groups.get_or_insert_default();
        let group = groups.of_path(path);
        groups.set(group, weight, limit);
        self.share_out();
    }

    /// The CPUs of a tie; empty: all.
    pub(crate) fn mask(&self, tie: Tie) -> &[u32] {
        self.ties.mask(tie)
    }

    /// A task above the policy takes a CPU.
    pub(crate) fn take_cpu(&mut self, now_ns: u64) {
        self.settle(now_ns);
        self.taken += 1;
        self.share_out();
    }

    /// The CPU is there again.
    pub(crate) fn give_cpu(&mut self, now_ns: u64) {
        self.settle(now_ns);
        self.taken = self.taken.saturating_sub(1);
        self.share_out();
    }

    /// A task wants to run from now on. Gives the reading that its service counts from.
    pub(crate) fn join(&mut self, claim: Claim, now_ns: u64) -> f64 {
        self.settle(now_ns);
        let at = match self.find(claim) {
            Ok(at) => at,
            Err(at) => {
                self.classes.insert(at, Class { claim, tasks: 0, service_ns: 0.0, rate: 0.0 });
                at
            }
        };
        self.classes[at].tasks += 1;
        self.share_out();
        self.classes[at].service_ns
    }

    /// A task of this claim wants to run no more.
    pub(crate) fn leave(&mut self, claim: Claim, now_ns: u64) {
        self.settle(now_ns);
        if let Ok(at) = self.find(claim) {
            self.classes[at].tasks -= 1;
            if self.classes[at].tasks == 0 {
                self.classes.remove(at);
            }
            self.share_out();
        }
    }

    /// Gives all tasks that compete with such a one, directly or with others between them, this
    /// much service together, in proportion to their rates; a negative one is taken from them. Where
    /// nobody is served just now, their weights count. Of tasks in groups, those of the innermost
    /// group count that has any.
    pub(crate) fn spread(&mut self, claim: Claim, service_ns: f64) {
        let rivals = self.ties.rivals(claim.tie, self.classes.iter().map(|class| class.claim.tie));
        let is_tied = |class: &Class| match &rivals {
            Some(ties) => ties[class.claim.tie.index()],
            None => true,
        };
        let near = self.groups.as_ref().map(|groups| {
            let present = self.classes.iter().filter(|class| is_tied(class));
            let present: Vec<TaskGroup> = present.map(|class| class.claim.group).collect();
            groups.nearest(claim.group, &present)
        });
        let is_rival = |class: &Class| {
            is_tied(class) && near.as_ref().is_none_or(|near| near(class.claim.group))
        };
        let present = self.classes.iter().filter(|class| is_rival(class));
        let served = present.clone().any(|class| class.rate > 0.0);
        let part = |c: &Class| if served { c.rate } else { c.claim.weight as f64 };
        let all: f64 = present.map(|class| f64::from(class.tasks) * part(class)).sum();
        for class in self.classes.iter_mut().filter(|class| is_rival(class)) {
            class.service_ns += service_ns * part(class) / all;
        }
    }

    /// Service up to now of a task of this claim that was there all the time. Only for
    /// claims that somebody has.
    pub(crate) fn service_ns(&self, claim: Claim, now_ns: u64) -> f64 {
        let class = self.find(claim).ok().map(|at| &self.classes[at]);
        class.map_or(0.0, |c| c.service_ns + c.rate * now_ns.saturating_sub(self.now_ns) as f64)
    }

    fn find(&self, claim: Claim) -> Result<usize, usize> {
        self.classes.binary_search_by(|class| claim.cmp(&class.claim))
    }

    fn settle(&mut self, now_ns: u64) {
        let passed_ns = now_ns.saturating_sub(self.now_ns) as f64;
        self.now_ns = self.now_ns.max(now_ns);
        if passed_ns > 0.0 {
            self.classes.iter_mut().for_each(|c| c.service_ns += c.rate * passed_ns);
        }
    }

    /// Rates of the tasks that are there.
    fn share_out(&mut self) {
        let left = self.cpus.saturating_sub(self.taken);
        if let Some(groups) = &mut self.groups {
            groups.share_out(f64::from(left), &mut self.classes);
            if self.classes.iter().any(|class| class.claim.tie != Tie::default()) {
                self.share_out_tied();
            }
            return;
        }
        if self.classes.iter().all(|class| class.claim.tie == Tie::default()) {
            fill(f64::from(left), &mut self.classes);
            return;
        }
        let mut groups: Vec<Group> = self.ties.groups();
        for class in &self.classes {
            groups[class.claim.tie.index()].classes.push(*class);
        }
        self.ties.share_out(&mut groups);
        let mut rates: Vec<_> = groups.iter().map(|group| group.classes.iter()).collect();
        // Classes of a group are in the order of all.
        for class in &mut self.classes {
            let rate = rates[class.claim.tie.index()].next().map_or(0.0, |class| class.rate);
            // what is taken is taken from all of them alike, whoever may use that CPU
            class.rate = rate * f64::from(left) / f64::from(self.cpus.max(1));
        }
    }
}

impl Fluid {
    /// Rates of tasks that are in groups and tied to CPUs: as of tied tasks, with the rates as
    /// weights that they have in their groups without ties.
    fn share_out_tied(&mut self) {
        let left = f64::from(self.cpus.saturating_sub(self.taken));
        let weighted = |(at, class): (usize, &Class)| {
            let mut class = *class;
            class.claim.weight = ((class.rate * 1e9) as u64).max(1);
            (at, class)
        };
        let mut order: Vec<_> = self.classes.iter().enumerate().map(weighted).collect();
        order.sort_by_key(|(_, class)| Reverse(class.claim.weight));
        let mut groups: Vec<Group> = self.ties.groups();
        order.iter().for_each(|(_, c)| groups[c.claim.tie.index()].classes.push(*c));
        self.ties.share_out(&mut groups);
        let mut rates: Vec<_> = groups.iter().map(|group| group.classes.iter()).collect();
        for (at, class) in order {
            let rate = rates[class.claim.tie.index()].next().map_or(0.0, |class| class.rate);
            self.classes[at].rate = rate * left / f64::from(self.cpus.max(1));
        }
    }
}

/// Rates on so many CPUs, which all may use: water-filling. From the heaviest on, whoever would
/// get more than a CPU in proportion to its weight gets one, and the rest is for the rest. Gives
/// the rate of a weight of 1 that the last of them have; infinite if all have a CPU.
fn fill(mut cpus: f64, classes: &mut [Class]) -> f64 {
    let mut weights: f64 = classes.iter().map(Class::weight_of_all).sum();
    let mut level = f64::INFINITY;
    for class in classes {
        let weight = class.claim.weight as f64;
        if weight * cpus >= weights {
            class.rate = 1.0;
            weights -= class.weight_of_all();
            cpus = (cpus - f64::from(class.tasks)).max(0.0);
        } else {
            level = cpus / weights;
            class.rate = weight * cpus / weights;
        }
    }
    level
}

impl Class {
    fn weight_of_all(&self) -> f64 {
        f64::from(self.tasks) * self.claim.weight as f64
    }
}

#[cfg(test)]
#[path = "fluid_tests.rs"]
mod tests;
