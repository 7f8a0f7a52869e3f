// SPDX-License-Identifier: MIT OR Apache-2.0
//! Looks at the threads that are watched: first what each one used, as users pay for all of
//! theirs; then what follows.

use super::Daemon;
use crate::account::Spell;
use crate::apply::Threads;
use crate::process::{Clock, Times};
use crate::record::{Event, Worker};
use crate::watched::Watch;

/// A thread as it was found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) tid: u32,
    pub(super) uid: u32,
    /// `None` if it ended.
    pub(super) worker: Option<Worker>,
    pub(super) times: Option<Times>,
}

impl<T: Threads> Daemon<T> {
    /// Looks at all of them.
    pub(super) fn look(&mut self, now_ns: u64) {
        let threads = self.watched.threads();
        let found: Vec<Found> =
            threads.into_iter().filter_map(|tid| self.find(now_ns, tid)).collect();
        self.accounts.settle(now_ns);
        for found in found {
            match self.engine.standing(found.tid) {
                Some(_) => self.look_at_server(now_ns, found),
                None => self.look_at_client(now_ns, found),
            }
        }
    }

    /// Finds a thread, and has its user pay for what it used.
    fn find(&mut self, now_ns: u64, tid: u32) -> Option<Found> {
        let worker = self.programs.worker(tid);
        let running = self.running(worker.as_ref());
        let elevated = self.ledger.nice(tid).is_some_and(|nice| nice < 0);
        let serves = self.engine.standing(tid).is_some();
        let watch = self.watched.get_mut(tid)?;
        let (uid, times) = (watch.uid, watch.clock.read());
        let spell = match times {
            Some(times) => watch.look(now_ns, times, running),
            None => watch.end(now_ns, self.programs.ended_cpu_ns(tid)),
        };
        self.accounts.spend(uid, Spell { elevated, serves, ..spell });
        Some(Found { tid, uid, worker, times })
    }

    /// How many want a thread's CPU: as many as wanted it when the thread last received, but no
    /// fewer than want each of the machine's. So nobody seems to have more of a CPU by receiving
    /// on another one.
    pub(super) fn running(&self, worker: Option<&Worker>) -> f64 {
        let seen = worker.map_or(0.0, |worker| f64::from(worker.running));
        seen.max(self.load.per_cpu(self.cpus)).max(1.0)
    }

    /// Watches an event's thread from now on.
    pub(super) fn watch(
        &mut self,
        now_ns: u64,
        event: &Event,
        clock: Clock,
        times: Times,
        worker: Option<&Worker>,
    ) {
        let running = self.running(worker);
        let watch = Watch::new(now_ns, event.uid, clock, times, running);
        if self.watched.insert(event.tid, watch) {
            self.accounts.enter(now_ns, event.uid, running);
        }
    }

    /// Watches a thread no more.
    pub(super) fn unwatch(&mut self, tid: u32) {
        if let Some(uid) = self.watched.remove(tid) {
            self.accounts.leave(uid);
        }
        self.names.remove(&tid);
    }
}
