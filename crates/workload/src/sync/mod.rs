// SPDX-License-Identifier: MIT OR Apache-2.0
//! How tasks wait for each other: each kind of meeting point in a file of its own.
//!
//! Rules are rt-app's, which are those of the C library.

use std::fmt;

use crate::model::{TaskIx, Workload};

mod barrier;
mod condition;
mod deadlock;
mod inherit;
mod mutex;
mod queue;
mod semaphore;
mod stream;
mod suspended;

use barrier::Barriers;
use condition::Conditions;
use mutex::Mutexes;
use semaphore::Semaphores;
use stream::Streams;
use suspended::Suspended;

#[cfg(test)]
pub(crate) use deadlock::tests::{plain_circles, Waiting};
pub use deadlock::{Deadlock, Link};
pub(crate) use deadlock::{Other, Waits, Wanted};
pub use inherit::Loan;
pub(crate) use inherit::Loans;
pub(crate) use queue::Waiter;
pub(crate) use stream::Moved;

/// What a blocked task waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Awaits {
    /// A `resume` of the name with this index.
    Resume(u32),
    /// A `sem_post` of this semaphore.
    Semaphore(String),
    /// The others at this barrier.
    Barrier(String),
    /// An `unlock` of this mutex.
    Mutex(String),
    /// A `signal`, `broad` or `sync` of this condition.
    Condition(String),
    /// Bytes in this stream.
    Bytes(String),
    /// Room in this stream.
    Space(String),
    /// A request at this socket.
    Request(String),
    /// Room for its request at this socket.
    Room(String),
    /// The answer to what it sent to this socket.
    Answer(String),
}

impl Awaits {
    /// Whether the task only waits for work: nobody is to blame, as with a server without
    /// customers.
    pub fn is_idle(&self) -> bool {
        matches!(self, Awaits::Request(_))
    }
}

impl fmt::Display for Awaits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Awaits::Resume(_) => f.write_str("suspended"),
            Awaits::Semaphore(name) => write!(f, "semaphore {name:?}"),
            Awaits::Barrier(name) => write!(f, "barrier {name:?}"),
            Awaits::Mutex(name) => write!(f, "mutex {name:?}"),
            Awaits::Condition(name) => write!(f, "condition {name:?}"),
            Awaits::Bytes(name) => write!(f, "bytes in stream {name:?}"),
            Awaits::Space(name) => write!(f, "room in stream {name:?}"),
            Awaits::Request(name) => write!(f, "a request at socket {name:?}"),
            Awaits::Room(name) => write!(f, "room at socket {name:?}"),
            Awaits::Answer(name) => write!(f, "an answer from socket {name:?}"),
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

/// Everybody who waits, and what was posted for those who come later.
#[derive(Clone, Debug)]
pub(crate) struct Sync {
    pub(crate) suspended: Suspended,
    pub(crate) semaphores: Semaphores,
    pub(crate) barriers: Barriers,
    pub(crate) mutexes: Mutexes,
    pub(crate) loans: Loans,
    pub(crate) conditions: Conditions,
    pub(crate) streams: Streams,
}

impl Sync {
    pub(crate) fn new(workload: &Workload) -> Self {
        Sync {
            suspended: Suspended::new(workload.resume_names as usize),
            semaphores: Semaphores::new(workload.semaphores.len()),
            barriers: Barriers::new(workload.barriers.len()),
            mutexes: Mutexes::new(workload.mutexes.len(), workload.pi_enabled),
            loans: Loans::default(),
            conditions: Conditions::new(workload.conditions.len()),
            streams: Streams::new(&workload.streams),
        }
    }

    /// A task waits for nothing any more.
    pub(crate) fn forget(&mut self, task: TaskIx) {
        let all = (self.suspended.queues())
            .chain(self.semaphores.queues())
            .chain(self.barriers.queues())
            .chain(self.mutexes.queues())
            .chain(self.conditions.queues())
            .chain(self.streams.queues());
        all.for_each(|queue| queue.remove(task));
    }

    /// Who waits now, and for what, in no particular order.
    pub(crate) fn blocked<'a>(
        &'a self,
        workload: &'a Workload,
    ) -> impl Iterator<Item = (TaskIx, Awaits)> + 'a {
        let Workload { semaphores, barriers, mutexes, conditions, streams, .. } = workload;
        let at_streams = self.streams.waiting().map(|(task, index, room)| {
            let name = streams[index].name.clone();
            (task, if room { Awaits::Space(name) } else { Awaits::Bytes(name) })
        });
        let suspended = self.suspended.waiting().map(|(t, name)| (t, Awaits::Resume(name)));
        let others = (self.semaphores.waiting())
            .map(|(t, index)| (t, Awaits::Semaphore(semaphores[index].clone())))
            .chain(
                (self.barriers.waiting())
                    .map(|(t, index)| (t, Awaits::Barrier(barriers[index].name.clone()))),
            )
            .chain(
                (self.mutexes.waiting())
                    .map(|(t, index)| (t, Awaits::Mutex(mutexes[index].clone()))),
            )
            .chain(
                (self.conditions.waiting())
                    .map(|(t, index)| (t, Awaits::Condition(conditions[index].clone()))),
            );
        suspended.chain(others).chain(at_streams)
    }
}
