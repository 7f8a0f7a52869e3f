// SPDX-License-Identifier: MIT OR Apache-2.0
//! A queue of waiting tasks in the kernel's order: real-time tasks before others and by priority,
//! among equals whoever came first.

use std::collections::VecDeque;

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
            Policy::Other | Policy::Batch | Policy::Idle => 0,
            Policy::Rr | Policy::Fifo => settings.priority,
            Policy::Deadline => 100,
        };
        Waiter { task, rank }
    }
}

/// Who waits, the next one to be woken first.
#[derive(Clone, Debug, Default)]
pub(crate) struct WaitQueue(VecDeque<Waiter>);

impl WaitQueue {
    pub(crate) fn push(&mut self, waiter: Waiter) {
        let after = self.0.iter().rposition(|w| w.rank >= waiter.rank);
        self.0.insert(after.map_or(0, |last| last + 1), waiter);
    }

    /// Who has another rank than it came with goes behind all of that rank.
    pub(crate) fn rerank(&mut self, rank: impl Fn(TaskIx) -> i32) {
        while let Some(at) = self.0.iter().position(|w| w.rank != rank(w.task)) {
            if let Some(Waiter { task, .. }) = self.0.remove(at) {
                self.push(Waiter { task, rank: rank(task) });
            }
        }
    }

    pub(crate) fn pop(&mut self) -> Option<TaskIx> {
        self.0.pop_front().map(|w| w.task)
    }

    pub(crate) fn drain(&mut self) -> Vec<TaskIx> {
        self.0.drain(..).map(|w| w.task).collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = TaskIx> + '_ {
        self.0.iter().map(|w| w.task)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priority_goes_first_and_equals_in_order() {
        let mut queue = WaitQueue::default();
        for (task, rank) in [(1, 0), (2, 5), (3, 0), (4, 5), (5, 99)] {
            queue.push(Waiter { task: TaskIx(task), rank });
        }
        let order: Vec<u32> = queue.drain().iter().map(|t| t.0).collect();
        assert_eq!(order, [5, 2, 4, 1, 3]);
    }
}
