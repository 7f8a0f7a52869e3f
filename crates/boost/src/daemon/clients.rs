// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads that wait for answers.

use super::looks::Found;
use super::{Daemon, SHORT_SLICE_US};
use crate::apply::Threads;
use crate::process;
use crate::programs::Level;
use crate::record::Event;
use crate::waiting::Step;

impl<T: Threads> Daemon<T> {
    /// A thread got an answer.
    pub(super) fn answered(&mut self, now_ns: u64, event: &Event) {
        let tid = event.tid;
        if self.ledger.nice(tid).is_some() || self.engine.is_refused(now_ns, tid) {
            return;
        }
        let Some(clock) = self.clock(now_ns, event) else { return };
        let Some(times) = clock.read() else { return };
        let worker = self.programs.worker(tid);
        if worker.is_none() || !self.waiting.answered(tid, event.family, self.load()) {
            return;
        }
        match self.ledger.boost(tid, 0) {
            Ok(()) => {
                self.programs.set_level(tid, Level::Waits);
                self.watch(now_ns, event, clock, times, worker.as_ref());
                self.names.insert(tid, (event.tgid, process::name(tid).unwrap_or_default()));
                let why = self.reason(event);
                self.change(now_ns, tid, format!("slice -> {SHORT_SLICE_US} us: {why}"));
            }
            Err(refusal) => self.refuse(now_ns, event, &refusal.to_string()),
        }
    }

    /// Looks at one that waits for answers.
    pub(super) fn look_at_client(&mut self, now_ns: u64, found: Found) {
        let Found { tid, uid, .. } = found;
        let (Some(worker), Some(_)) = (found.worker, found.times) else {
            return self.release_client(now_ns, tid, "it ended");
        };
        let (load, enough) = (self.load(), self.accounts.has_enough(uid));
        let nice = match self.waiting.look(now_ns, tid, worker.answer_ns, load, enough) {
            Step::Nice(nice) => nice,
            Step::Release => return self.release_client(now_ns, tid, "no answers"),
        };
        let was = self.ledger.nice(tid).unwrap_or_default();
        match self.ledger.boost(tid, nice) {
            Ok(()) if nice == was => {}
            Ok(()) => {
                let why = match nice {
                    0 => "its user has had its share",
                    _ => "its user needs less than its share",
                };
                self.change(now_ns, tid, format!("nice {was} -> {nice}: {why}"));
            }
            Err(refusal) => {
                self.engine.refused(now_ns, tid);
                self.drop_client(now_ns, tid, &refusal.to_string());
            }
        }
    }

    fn release_client(&mut self, now_ns: u64, tid: u32, why: &str) {
        match self.ledger.release(tid) {
            Ok(()) => self.drop_client(now_ns, tid, why),
            Err(refusal) => self.drop_client(now_ns, tid, &format!("{why}; {refusal}")),
        }
    }

    fn drop_client(&mut self, now_ns: u64, tid: u32, why: &str) {
        self.waiting.forget(tid);
        self.programs.set_level(tid, Level::None);
        self.change(now_ns, tid, format!("its own slice: {why}"));
        self.unwatch(tid);
    }
}
