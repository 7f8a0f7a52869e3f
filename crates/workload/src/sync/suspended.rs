// SPDX-License-Identifier: MIT OR Apache-2.0
//! Suspended tasks. A resume wakes whoever is suspended now and is forgotten otherwise.

use super::queue::{WaitQueue, Waiter};
use super::Meeting;
use crate::model::TaskIx;

/// The suspended instances and forks of each definition.
#[derive(Clone, Debug)]
pub(crate) struct Suspended(Vec<WaitQueue>);

impl Suspended {
    pub(super) fn new(definitions: usize) -> Self {
        Suspended(vec![WaitQueue::default(); definitions])
    }

    pub(crate) fn suspend(&mut self, waiter: Waiter, definition: u32) -> Meeting {
        self.0[definition as usize].push(waiter);
        Meeting::Wait
    }

    pub(crate) fn resume(&mut self, definition: u32) -> Meeting {
        Meeting::GoOn(self.0[definition as usize].drain())
    }

    pub(super) fn waiting(&self) -> impl Iterator<Item = TaskIx> + '_ {
        self.0.iter().flat_map(WaitQueue::iter)
    }
}
