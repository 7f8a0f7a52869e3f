// SPDX-License-Identifier: MIT OR Apache-2.0
//! Condition variables. A signal wakes the first that waits and is forgotten if nobody does.

use super::queue::{WaitQueue, Waiter};
use crate::model::TaskIx;

/// Who waits at each condition of a workload.
#[derive(Clone, Debug)]
pub(crate) struct Conditions(Vec<WaitQueue>);

impl Conditions {
    pub(super) fn new(count: usize) -> Self {
        Conditions(vec![WaitQueue::default(); count])
    }

    pub(crate) fn wait(&mut self, waiter: Waiter, condition: u32) {
        self.0[condition as usize].push(waiter);
    }

    pub(crate) fn signal(&mut self, condition: u32) -> Option<TaskIx> {
        self.0[condition as usize].pop()
    }

    pub(crate) fn broadcast(&mut self, condition: u32) -> Vec<TaskIx> {
        self.0[condition as usize].drain()
    }

    /// The queues, one for each thing that is waited for.
    pub(super) fn queues(&mut self) -> impl Iterator<Item = &mut WaitQueue> {
        self.0.iter_mut()
    }

    /// Who waits, and for which condition.
    pub(super) fn waiting(&self) -> impl Iterator<Item = (TaskIx, usize)> + '_ {
        let conditions = self.0.iter().enumerate();
        conditions.flat_map(|(index, waiting)| waiting.iter().map(move |t| (t, index)))
    }
}
