// SPDX-License-Identifier: MIT OR Apache-2.0
//! Priority inheritance: whoever holds a mutex runs with the rank of the greatest of those who
//! wait for it, if that is above its own, through chains of mutexes
//! (`rt_mutex_adjust_prio_chain()`).
//!
//! Only what an event changes is looked at, and the walk up a chain ends where nothing changes. A
//! task waits for one mutex at a time and does nothing meanwhile, nor do those that it keeps
//! waiting. So the rank of a task that waits never falls.
//!
//! Of several lenders of the same rank the first one counts. Ranks are passed on in rounds over the
//! mutexes, in their order, and over the queue of each: to a later mutex in the same round, to an
//! earlier one in the next.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::mutex::Mutexes;
use super::queue::Place;
use crate::model::TaskIx;

/// A task runs with another's priority from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loan {
    /// Who holds a mutex.
    pub to: TaskIx,
    /// Who waits, at the end of the chain, and lends; `None`: nobody any more.
    pub from: Option<TaskIx>,
}

/// What happened at a mutex that lends.
#[derive(Clone, Copy, Debug)]
pub(super) enum Change {
    /// A task waits.
    Waits { task: TaskIx, mutex: u32, place: Place },
    /// The holder gives it to the first that waited.
    Passes { mutex: u32, from: TaskIx, to: TaskIx },
}

/// The rank that a task has from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Borrowed {
    rank: i32,
    /// Whose own rank it is.
    from: TaskIx,
    /// In which round it comes, and through which mutex.
    round: u32,
    mutex: u32,
}

/// The rank of a task that waits, as the holder of the mutex can have it; the best is the least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Offer {
    rank: Reverse<i32>,
    round: u32,
    place: Place,
    task: TaskIx,
}

/// The best offer at a mutex; the best of a holder is the least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Best {
    rank: Reverse<i32>,
    round: u32,
    mutex: u32,
}

/// Who lends to whom.
#[derive(Clone, Debug, Default)]
pub(crate) struct Loans {
    /// By borrower.
    borrowed: BTreeMap<TaskIx, Borrowed>,
    /// The mutex that each task waits for, and its offer there.
    waits: BTreeMap<TaskIx, (u32, Offer)>,
    /// By mutex that others than its holder wait for.
    offers: BTreeMap<u32, BTreeSet<Offer>>,
    /// By holder of such mutexes.
    held: BTreeMap<TaskIx, BTreeSet<Best>>,
    /// To be looked at: their own rank is another.
    changed: Vec<TaskIx>,
    news: Vec<Loan>,
}

/// One update: what it has done so far.
#[derive(Default)]
struct Walk {
    /// Tasks still to be looked at.
    look: Vec<TaskIx>,
    /// Lenders before the update of those whose loans are others now.
    before: BTreeMap<TaskIx, Option<TaskIx>>,
    /// Tasks that wait with another rank than they queued with, by queue.
    moved: BTreeSet<(u32, Place, TaskIx)>,
}

impl Loans {
    /// The task's own rank is another: heeded at the next update.
    pub(crate) fn own_rank_changed(&mut self, task: TaskIx) {
        if self.held.contains_key(&task) {
            self.changed.push(task);
        }
    }

    /// Heeds what happened at the mutexes since the last call; `rank` is a task's own.
    pub(crate) fn update(&mut self, mutexes: &mut Mutexes, rank: impl Fn(TaskIx) -> i32) {
        let mut walk = Walk { look: std::mem::take(&mut self.changed), ..Walk::default() };
        self.walk(&mut walk, mutexes, &rank);
        for change in mutexes.take_changes() {
            match change {
                Change::Waits { task, mutex, place } => {
                    let offer = self.offer(task, mutex, place, rank(task));
                    self.waits.insert(task, (mutex, offer));
                    walk.moved.insert((mutex, place, task));
                    self.replace_offer(&mut walk, mutexes, mutex, None, Some(offer));
                }
                Change::Passes { mutex, from, to } => {
                    self.pass(mutex, from, to);
                    walk.look.extend([from, to]);
                }
            }
            self.walk(&mut walk, mutexes, &rank);
        }
        self.rerank(&mut walk, mutexes);
        self.tell(&walk);
    }

    /// Looks at tasks until no more of them have another loan than before.
    fn walk(&mut self, walk: &mut Walk, mutexes: &Mutexes, rank: &impl Fn(TaskIx) -> i32) {
        while let Some(task) = walk.look.pop() {
            let own = rank(task);
            let (was, now) = (self.borrowed.get(&task).copied(), self.best_of(task, own));
            if was == now {
                continue;
            }
            walk.before.entry(task).or_insert(was.map(|b| b.from));
            match now {
                Some(borrowed) => self.borrowed.insert(task, borrowed),
                None => self.borrowed.remove(&task),
            };
            if let Some((mutex, old)) = self.waits.get(&task).copied() {
                let new = self.offer(task, mutex, old.place, own);
                self.waits.insert(task, (mutex, new));
                walk.moved.insert((mutex, old.place, task));
                self.replace_offer(walk, mutexes, mutex, Some(old), Some(new));
            }
        }
    }

    /// What a task borrows.
    fn best_of(&self, task: TaskIx, own: i32) -> Option<Borrowed> {
        let Best { rank, round, mutex } = *self.held.get(&task)?.first()?;
        if rank.0 <= own {
            return None;
        }
        let lender = self.offers.get(&mutex)?.first()?.task;
        let from = self.borrowed.get(&lender).map_or(lender, |b| b.from);
        Some(Borrowed { rank: rank.0, from, round, mutex })
    }

    /// What a task offers that waits for the mutex.
    fn offer(&self, task: TaskIx, mutex: u32, place: Place, own: i32) -> Offer {
        let (rank, round) = match self.borrowed.get(&task) {
            Some(b) => (b.rank, b.round + u32::from(mutex < b.mutex)),
            None => (own, 0),
        };
        Offer { rank: Reverse(rank), round, place, task }
    }

    /// Another offer at a mutex, at which its holder has to look. Nobody lends to itself.
    fn replace_offer(
        &mut self,
        walk: &mut Walk,
        mutexes: &Mutexes,
        mutex: u32,
        old: Option<Offer>,
        new: Option<Offer>,
    ) {
        let task = old.or(new).map(|offer| offer.task);
        if let Some(holder) = mutexes.owner(mutex).filter(|holder| Some(*holder) != task) {
            self.exchange(mutex, holder, old, new);
            walk.look.push(holder);
        }
    }

    fn exchange(&mut self, mutex: u32, holder: TaskIx, old: Option<Offer>, new: Option<Offer>) {
        let offers = self.offers.entry(mutex).or_default();
        let before = offers.first().copied();
        old.iter().for_each(|old| _ = offers.remove(old));
        offers.extend(new);
        let after = offers.first().copied();
        if offers.is_empty() {
            self.offers.remove(&mutex);
        }
        self.rehold(mutex, holder, before, after);
    }

    /// The best offer at a mutex of a holder is another.
    fn rehold(&mut self, mutex: u32, holder: TaskIx, before: Option<Offer>, after: Option<Offer>) {
        let best = |offer: Offer| Best { rank: offer.rank, round: offer.round, mutex };
        let held = self.held.entry(holder).or_default();
        before.iter().for_each(|before| _ = held.remove(&best(*before)));
        held.extend(after.map(best));
        if held.is_empty() {
            self.held.remove(&holder);
        }
    }

    fn pass(&mut self, mutex: u32, from: TaskIx, to: TaskIx) {
        if let Some((_, offer)) = self.waits.remove(&to) {
            self.exchange(mutex, from, Some(offer), None);
        }
        let best = self.offers.get(&mutex).and_then(BTreeSet::first).copied();
        self.rehold(mutex, from, best, None);
        self.rehold(mutex, to, None, best);
    }

    /// Those who wait with another rank go behind their new equals, in the order in which they
    /// waited. As ranks of those who wait only rise, nobody comes before another lender of its
    /// new rank by that, so that nothing need be looked at again.
    fn rerank(&mut self, walk: &mut Walk, mutexes: &mut Mutexes) {
        for (mutex, place, task) in std::mem::take(&mut walk.moved) {
            let Some((_, offer)) = self.waits.get(&task).copied() else { continue };
            if offer.rank.0 == place.rank() {
                continue;
            }
            let new = Offer { place: mutexes.rerank(mutex, place, offer.rank.0), ..offer };
            self.waits.insert(task, (mutex, new));
            if let Some(holder) = mutexes.owner(mutex).filter(|holder| *holder != task) {
                self.exchange(mutex, holder, Some(offer), Some(new));
            }
        }
    }

    /// Loans that ended, then those that began, each in the order of borrowers.
    fn tell(&mut self, walk: &Walk) {
        let now = |to: &TaskIx| self.borrowed.get(to).map(|b| b.from);
        let loans =
            walk.before.iter().map(|(to, before)| (*before, Loan { to: *to, from: now(to) }));
        let changed = loans.filter(|(before, loan)| *before != loan.from).map(|(_, loan)| loan);
        let (ended, begun): (Vec<_>, Vec<_>) = changed.partition(|loan| loan.from.is_none());
        self.news.extend(ended.into_iter().chain(begun));
    }

    /// What has changed since the last call.
    pub(crate) fn take(&mut self) -> Vec<Loan> {
        std::mem::take(&mut self.news)
    }
}

#[cfg(test)]
#[path = "inherit_tests.rs"]
mod tests;
