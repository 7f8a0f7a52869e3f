// SPDX-License-Identifier: MIT OR Apache-2.0
//! Barriers. The last one to come wakes the others and goes on.

use super::queue::{WaitQueue, Waiter};
use super::Meeting;
use crate::model::TaskIx;

/// Who waits at each barrier of a workload.
#[derive(Clone, Debug)]
pub(crate) struct Barriers(Vec<WaitQueue>);

impl Barriers {
    pub(super) fn new(count: usize) -> Self {
        Barriers(vec![WaitQueue::default(); count])
    }

    pub(crate) fn meet(&mut self, waiter: Waiter, barrier: u32, participants: u32) -> Meeting {
        let waiting = &mut self.0[barrier as usize];
        if waiting.len() + 1 >= participants as usize {
            return Meeting::GoOn(waiting.drain());
        }
        waiting.push(waiter);
        Meeting::Wait
    }

    /// How many are still to come.
    pub(crate) fn missing(&self, barrier: usize, participants: u32) -> usize {
        (participants as usize).saturating_sub(self.0[barrier].len())
    }

    /// The queues, one for each thing that is waited for.
    pub(super) fn queues(&mut self) -> impl Iterator<Item = &mut WaitQueue> {
        self.0.iter_mut()
    }

    /// Who waits, and at which barrier.
    pub(super) fn waiting(&self) -> impl Iterator<Item = (TaskIx, usize)> + '_ {
        let barriers = self.0.iter().enumerate();
        barriers.flat_map(|(index, waiting)| waiting.iter().map(move |t| (t, index)))
    }
}
