// SPDX-License-Identifier: MIT OR Apache-2.0
//! Semaphores. They remember posts; whoever comes first takes one, so a woken task may find that
//! another was faster, and wait again.

use super::queue::{WaitQueue, Waiter};
use super::Meeting;
use crate::model::TaskIx;

/// All semaphores of a workload, by index.
#[derive(Clone, Debug)]
pub(crate) struct Semaphores(Vec<Semaphore>);

#[derive(Clone, Debug, Default)]
struct Semaphore {
    posts: u64,
    waiting: WaitQueue,
}

impl Semaphores {
    pub(super) fn new(count: usize) -> Self {
        Semaphores(vec![Semaphore::default(); count])
    }

    pub(crate) fn post(&mut self, semaphore: u32) -> Meeting {
        let semaphore = &mut self.0[semaphore as usize];
        semaphore.posts += 1;
        Meeting::GoOn(semaphore.waiting.pop().into_iter().collect())
    }

    pub(crate) fn wait(&mut self, waiter: Waiter, semaphore: u32) -> Meeting {
        let semaphore = &mut self.0[semaphore as usize];
        if semaphore.posts > 0 {
            semaphore.posts -= 1;
            return Meeting::GoOn(Vec::new());
        }
        semaphore.waiting.push(waiter);
        Meeting::WaitAndRetry
    }

    /// The queues, one for each thing that is waited for.
    pub(super) fn queues(&mut self) -> impl Iterator<Item = &mut WaitQueue> {
        self.0.iter_mut().map(|s| &mut s.waiting)
    }

    /// Who waits, and at which semaphore.
    pub(super) fn waiting(&self) -> impl Iterator<Item = (TaskIx, usize)> + '_ {
        let semaphores = self.0.iter().enumerate();
        semaphores.flat_map(|(index, s)| s.waiting.iter().map(move |t| (t, index)))
    }
}
