// SPDX-License-Identifier: MIT OR Apache-2.0
//! A queue of waiting tasks in the kernel's order: real-time tasks before others and by priority,
//! among equals whoever came first.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::model::{Policy, Settings, TaskIx};

/// A task that may have to wait, and its rank among those who wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waiter {
    pub(crate) task: TaskIx,
    /// 0 for ordinary tasks, the priority of real-time ones, 100 for deadline tasks.
    pub(crate) rank: i32,
}

impl Waiter {
    pub(crate) fn new(task: TaskIx, settings: &Settings) -> Self {
        let rank = match settings.policy {
            Policy::Other | Policy::Batch | Policy::Idle | Policy::Ext => 0,
            Policy::Rr | Policy::Fifo => settings.priority,
            Policy::Deadline => 100,
        };
        Waiter { task, rank }
    }
}

/// Where in a queue a task waits: by rank, then in the order of arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    rank: Reverse<i32>,
    arrival: u64,
}

impl Place {
    pub(super) fn rank(self) -> i32 {
        self.rank.0
    }
}

/// Who waits, the next one to be woken first.
#[derive(Clone, Debug, Default)]
pub(crate) struct WaitQueue {
    tasks: BTreeMap<Place, TaskIx>,
    arrivals: u64,
}

impl WaitQueue {
    /// Behind all of this rank.
    pub(super) fn push(&mut self, waiter: Waiter) -> Place {
        let place = Place { rank: Reverse(waiter.rank), arrival: self.arrivals };
        self.arrivals += 1;
        self.tasks.insert(place, waiter.task);
        place
    }

    /// Who has another rank now goes behind all of that rank.
    pub(super) fn rerank(&mut self, place: Place, rank: i32) -> Place {
        match self.tasks.remove(&place) {
            Some(task) => self.push(Waiter { task, rank }),
            None => place,
        }
    }

    /// Who waits no more.
    pub(super) fn remove(&mut self, task: TaskIx) {
        self.tasks.retain(|_, waiting| *waiting != task);
    }

    pub(crate) fn pop(&mut self) -> Option<TaskIx> {
        self.tasks.pop_first().map(|(_, task)| task)
    }

    pub(crate) fn drain(&mut self) -> Vec<TaskIx> {
        std::mem::take(&mut self.tasks).into_values().collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.tasks.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = TaskIx> + '_ {
        self.tasks.values().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(queue: &mut WaitQueue, task: u32, rank: i32) -> Place {
        queue.push(Waiter { task: TaskIx(task), rank })
    }

    #[test]
    fn priority_goes_first_and_equals_in_order() {
        let mut queue = WaitQueue::default();
        for (task, rank) in [(1, 0), (2, 5), (3, 0), (4, 5), (5, 99)] {
            push(&mut queue, task, rank);
        }
        let order: Vec<u32> = queue.drain().iter().map(|t| t.0).collect();
        assert_eq!(order, [5, 2, 4, 1, 3]);
    }

    #[test]
    fn a_new_rank_puts_a_task_behind_its_new_equals() {
        let mut queue = WaitQueue::default();
        let first = push(&mut queue, 1, 0);
        push(&mut queue, 2, 5);
        push(&mut queue, 3, 0);
        queue.rerank(first, 5);
        assert_eq!(queue.iter().map(|t| t.0).collect::<Vec<_>>(), [2, 1, 3]);
        assert_eq!((queue.pop(), queue.len()), (Some(TaskIx(2)), 2));
    }
}
