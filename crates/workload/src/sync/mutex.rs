// SPDX-License-Identifier: MIT OR Apache-2.0
//! Mutexes, as the C library's default kind behaves.
//!
//! An unlock frees the mutex and wakes the first that waits; until that one runs, another may take
//! it. With priority inheritance the mutex goes straight to the first that waits. Whoever locks a
//! mutex that it holds waits for itself.

use super::queue::{WaitQueue, Waiter};
use super::Meeting;
use crate::model::TaskIx;

/// All mutexes of a workload, by index.
#[derive(Clone, Debug)]
pub(crate) struct Mutexes {
    list: Vec<Mutex>,
    /// Priority inheritance (`pi_enabled`).
    inherits: bool,
}

#[derive(Clone, Debug, Default)]
struct Mutex {
    owner: Option<TaskIx>,
    /// The owner was given the mutex while it waited and has not noticed yet.
    granted: bool,
    waiting: WaitQueue,
}

impl Mutexes {
    pub(super) fn new(count: usize, inherits: bool) -> Self {
        Mutexes { list: vec![Mutex::default(); count], inherits }
    }

    pub(crate) fn lock(&mut self, waiter: Waiter, mutex: u32) -> Meeting {
        let mutex = &mut self.list[mutex as usize];
        let granted = std::mem::take(&mut mutex.granted);
        match mutex.owner {
            None => mutex.owner = Some(waiter.task),
            Some(owner) if granted && owner == waiter.task => {}
            Some(_) => {
                mutex.granted = granted;
                mutex.waiting.push(waiter);
                return Meeting::WaitAndRetry;
            }
        }
        Meeting::GoOn(Vec::new())
    }

    /// Frees the mutex, whoever holds it, and says who is to be woken. With priority inheritance
    /// the kernel refuses to free another's mutex.
    pub(crate) fn unlock(&mut self, task: TaskIx, mutex: u32) -> Option<TaskIx> {
        let inherits = self.inherits;
        let mutex = &mut self.list[mutex as usize];
        if inherits && mutex.owner != Some(task) {
            return None;
        }
        let next = mutex.waiting.pop();
        mutex.owner = if inherits { next } else { None };
        mutex.granted = mutex.owner.is_some();
        next
    }

    /// Who holds a mutex.
    pub(crate) fn owner(&self, mutex: u32) -> Option<TaskIx> {
        self.list[mutex as usize].owner
    }

    /// Whether they inherit priority.
    pub(super) fn inherit(&self) -> bool {
        self.inherits
    }

    /// Whether anyone above ordinary tasks waits.
    pub(super) fn anyone_waits(&self, rank: impl Fn(TaskIx) -> i32) -> bool {
        self.list.iter().flat_map(|m| m.waiting.iter()).any(|t| rank(t) > 0)
    }

    /// Each pair of who holds a mutex and who waits for it, in the order of the queues.
    pub(super) fn owners_and_waiters(&self) -> impl Iterator<Item = (TaskIx, TaskIx)> + '_ {
        let owned = self.list.iter().filter_map(|m| Some((m.owner?, m)));
        owned.flat_map(|(owner, m)| m.waiting.iter().map(move |t| (owner, t)))
    }

    /// Puts those who wait into the order of these ranks.
    pub(super) fn rerank(&mut self, rank: impl Fn(TaskIx) -> i32) {
        self.list.iter_mut().for_each(|m| m.waiting.rerank(&rank));
    }

    /// Who waits, and for which mutex.
    pub(super) fn waiting(&self) -> impl Iterator<Item = (TaskIx, usize)> + '_ {
        let mutexes = self.list.iter().enumerate();
        mutexes.flat_map(|(index, m)| m.waiting.iter().map(move |t| (t, index)))
    }
}
