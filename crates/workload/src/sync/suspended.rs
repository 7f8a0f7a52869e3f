// SPDX-License-Identifier: MIT OR Apache-2.0
//! Suspended tasks. A resume wakes whoever is suspended now and is forgotten otherwise.

use super::queue::{WaitQueue, Waiter};
use super::Meeting;
use crate::model::TaskIx;

/// The suspended tasks by the name whose resume wakes them.
#[derive(Clone, Debug)]
pub(crate) struct Suspended(Vec<WaitQueue>);

impl Suspended {
    pub(super) fn new(names: usize) -> Self {
        Suspended(vec![WaitQueue::default(); names])
    }

    pub(crate) fn suspend(&mut self, waiter: Waiter, name: u32) -> Meeting {
        self.0[name as usize].push(waiter);
        Meeting::Wait
    }

    pub(crate) fn resume(&mut self, name: u32) -> Meeting {
        Meeting::GoOn(self.0[name as usize].drain())
    }

    /// The queues, one for each thing that is waited for.
    pub(super) fn queues(&mut self) -> impl Iterator<Item = &mut WaitQueue> {
        self.0.iter_mut()
    }

    pub(super) fn waiting(&self) -> impl Iterator<Item = (TaskIx, u32)> + '_ {
        let names = self.0.iter().zip(0..);
        names.flat_map(|(queue, name)| queue.iter().map(move |task| (task, name)))
    }
}
