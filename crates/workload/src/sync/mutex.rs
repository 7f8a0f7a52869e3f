// SPDX-License-Identifier: MIT OR Apache-2.0
//! Mutexes, as the C library's default kind behaves.
//!
//! An unlock frees the mutex and wakes the first that waits; until that one runs, another may take
//! it. With priority inheritance the mutex goes straight to the first that waits. Whoever locks a
//! mutex that it holds waits for itself.

use super::inherit::Change;
use super::queue::{Place, WaitQueue, Waiter};
use super::Meeting;
use crate::model::TaskIx;

/// All mutexes of a workload, by index.
#[derive(Clone, Debug)]
pub(crate) struct Mutexes {
    list: Vec<Mutex>,
    /// Priority inheritance (`pi_enabled`).
    inherits: bool,
    /// With it: what happened since it was last heeded.
    changes: Vec<Change>,
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
        Mutexes { list: vec![Mutex::default(); count], inherits, changes: Vec::new() }
    }

    pub(crate) fn lock(&mut self, waiter: Waiter, index: u32) -> Meeting {
        let mutex = &mut self.list[index as usize];
        let granted = std::mem::take(&mut mutex.granted);
        match mutex.owner {
            None => mutex.owner = Some(waiter.task),
            Some(owner) if granted && owner == waiter.task => {}
            Some(_) => {
                mutex.granted = granted;
                let (task, place) = (waiter.task, mutex.waiting.push(waiter));
                if self.inherits {
                    self.changes.push(Change::Waits { task, mutex: index, place });
                }
                return Meeting::WaitAndRetry;
            }
        }
        Meeting::GoOn(Vec::new())
    }

    /// Frees the mutex, whoever holds it, and says who is to be woken. With priority inheritance
    /// the kernel refuses to free another's mutex.
    pub(crate) fn unlock(&mut self, task: TaskIx, index: u32) -> Option<TaskIx> {
        let inherits = self.inherits;
        let mutex = &mut self.list[index as usize];
        if inherits && mutex.owner != Some(task) {
            return None;
        }
        let next = mutex.waiting.pop();
        mutex.owner = if inherits { next } else { None };
        mutex.granted = mutex.owner.is_some();
        if let Some(to) = mutex.owner {
            self.changes.push(Change::Passes { mutex: index, from: task, to });
        }
        next
    }

    /// Who holds a mutex.
    pub(crate) fn owner(&self, mutex: u32) -> Option<TaskIx> {
        self.list[mutex as usize].owner
    }

    /// What happened since the last call.
    pub(super) fn take_changes(&mut self) -> Vec<Change> {
        std::mem::take(&mut self.changes)
    }

    /// Gives a task that waits another rank.
    pub(super) fn rerank(&mut self, mutex: u32, place: Place, rank: i32) -> Place {
        self.list[mutex as usize].waiting.rerank(place, rank)
    }

    /// The queues, one for each thing that is waited for.
    pub(super) fn queues(&mut self) -> impl Iterator<Item = &mut WaitQueue> {
        self.list.iter_mut().map(|m| &mut m.waiting)
    }

    /// Who waits, and for which mutex.
    pub(super) fn waiting(&self) -> impl Iterator<Item = (TaskIx, usize)> + '_ {
        let mutexes = self.list.iter().enumerate();
        mutexes.flat_map(|(index, m)| m.waiting.iter().map(move |t| (t, index)))
    }
}
