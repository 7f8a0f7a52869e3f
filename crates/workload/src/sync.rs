// SPDX-License-Identifier: MIT OR Apache-2.0
//! How tasks wait for each other: suspend and resume, semaphores, barriers.
//!
//! Rules are rt-app's, which are those of the C library. A resume wakes whoever is suspended
//! now and is forgotten otherwise. A semaphore remembers its posts; whoever comes first takes
//! one, so a woken task may find that another was faster and wait again. The last one at a
//! barrier wakes the others. Waiting tasks are woken in the order in which they came.

use std::collections::VecDeque;
use std::fmt;

use crate::model::{TaskIx, Workload};

/// What a blocked task waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Awaits {
    /// A `resume` of its name.
    Resume,
    /// A `sem_post` of this semaphore.
    Semaphore(String),
    /// The others at this barrier.
    Barrier(String),
}

impl fmt::Display for Awaits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Awaits::Resume => f.write_str("suspended"),
            Awaits::Semaphore(name) => write!(f, "semaphore {name:?}"),
            Awaits::Barrier(name) => write!(f, "barrier {name:?}"),
        }
    }
}

/// Whether a task goes on after an event of this kind, and whom it wakes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Meeting {
    /// It goes on and wakes these, in this order.
    GoOn(Vec<TaskIx>),
    /// It waits; once woken it goes on with the next event.
    Wait,
    /// It waits; once woken it tries again.
    WaitAndRetry,
}

/// Everybody who waits, and the posts that nobody took yet.
#[derive(Clone, Debug)]
pub(crate) struct Sync {
    /// Suspended instances of each definition.
    suspended: Vec<VecDeque<TaskIx>>,
    semaphores: Vec<Semaphore>,
    /// Who waits at each barrier.
    barriers: Vec<VecDeque<TaskIx>>,
}

#[derive(Clone, Debug, Default)]
struct Semaphore {
    posts: u64,
    waiting: VecDeque<TaskIx>,
}

impl Sync {
    pub(crate) fn new(workload: &Workload) -> Self {
        Sync {
            suspended: vec![VecDeque::new(); workload.definitions.len()],
            semaphores: vec![Semaphore::default(); workload.semaphores.len()],
            barriers: vec![VecDeque::new(); workload.barriers.len()],
        }
    }

    pub(crate) fn suspend(&mut self, task: TaskIx, definition: u32) -> Meeting {
        self.suspended[definition as usize].push_back(task);
        Meeting::Wait
    }

    pub(crate) fn resume(&mut self, definition: u32) -> Meeting {
        Meeting::GoOn(self.suspended[definition as usize].drain(..).collect())
    }

    pub(crate) fn post(&mut self, semaphore: u32) -> Meeting {
        let semaphore = &mut self.semaphores[semaphore as usize];
        semaphore.posts += 1;
        Meeting::GoOn(semaphore.waiting.pop_front().into_iter().collect())
    }

    pub(crate) fn wait(&mut self, task: TaskIx, semaphore: u32) -> Meeting {
        let semaphore = &mut self.semaphores[semaphore as usize];
        if semaphore.posts > 0 {
            semaphore.posts -= 1;
            return Meeting::GoOn(Vec::new());
        }
        semaphore.waiting.push_back(task);
        Meeting::WaitAndRetry
    }

    pub(crate) fn meet(&mut self, task: TaskIx, barrier: u32, participants: u32) -> Meeting {
        let waiting = &mut self.barriers[barrier as usize];
        if waiting.len() + 1 >= participants as usize {
            return Meeting::GoOn(waiting.drain(..).collect());
        }
        waiting.push_back(task);
        Meeting::Wait
    }

    /// Who waits now, and for what, in no particular order.
    pub(crate) fn blocked<'a>(
        &'a self,
        workload: &'a Workload,
    ) -> impl Iterator<Item = (TaskIx, Awaits)> + 'a {
        let suspended = self.suspended.iter().flatten().map(|t| (*t, Awaits::Resume));
        let semaphores = self.semaphores.iter().zip(&workload.semaphores);
        let at_semaphores = semaphores.flat_map(|(semaphore, name)| {
            semaphore.waiting.iter().map(move |t| (*t, Awaits::Semaphore(name.clone())))
        });
        let barriers = self.barriers.iter().zip(&workload.barriers);
        let at_barriers = barriers.flat_map(|(waiting, barrier)| {
            waiting.iter().map(move |t| (*t, Awaits::Barrier(barrier.name.clone())))
        });
        suspended.chain(at_semaphores).chain(at_barriers)
    }
}
