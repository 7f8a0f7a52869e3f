// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads that wait for answers.

use super::{Daemon, SHORT_SLICE_US};
use crate::apply::Threads;
use crate::process::{self, Clock};
use crate::programs::Level;
use crate::record::Event;
use crate::waiting::{Seen, Step};

impl<T: Threads> Daemon<T> {
    /// A thread got an answer.
    pub(super) fn answered(&mut self, now_ns: u64, event: &Event) {
        let tid = event.tid;
        if self.ledger.nice(tid).is_some() || self.engine.is_refused(now_ns, tid) {
            return;
        }
        let Some(clock) = self.clock(now_ns, event) else { return };
        let Some(seen) = self.seen(tid, &clock) else { return };
        if !self.waiting.answered(now_ns, (tid, event.uid), event.family, seen, self.load()) {
            return;
        }
        match self.ledger.boost(tid, 0) {
            Ok(()) => {
                self.programs.set_level(tid, Level::Waits);
                self.watched.insert(tid, event.uid, clock);
                self.names.insert(tid, (event.tgid, process::name(tid).unwrap_or_default()));
                let why = self.reason(event);
                self.change(now_ns, tid, format!("slice -> {SHORT_SLICE_US} us: {why}"));
            }
            Err(refusal) => self.refuse(now_ns, event, &refusal.to_string()),
        }
    }

    /// What is known of a thread that waits for answers.
    fn seen(&self, tid: u32, clock: &Clock) -> Option<Seen> {
        let worker = self.programs.worker(tid)?;
        let cpu_ns = clock.read()?.cpu_ns;
        // Where the kernel does not say it, as many want each CPU.
        let running = match worker.running {
            0 => self.load.per_cpu(self.cpus).ceil() as u32,
            running => running,
        };
        Some(Seen { answer_ns: worker.answer_ns, running, cpu_ns })
    }

    /// Looks at those that wait for answers.
    pub(super) fn look_at_clients(&mut self, now_ns: u64) {
        let load = self.load();
        for tid in self.waiting.threads() {
            let seen = self.watched.get(tid).and_then(|clock| self.seen(tid, clock));
            let Some(seen) = seen else {
                self.waiting.ended(now_ns, tid, self.programs.ended_cpu_ns(tid));
                self.release_client(now_ns, tid, "it ended");
                continue;
            };
            let nice = match self.waiting.look(now_ns, tid, seen, load) {
                Step::Nice(nice) => nice,
                Step::Release => {
                    self.release_client(now_ns, tid, "no answers");
                    continue;
                }
            };
            let was = self.ledger.nice(tid).unwrap_or_default();
            match self.ledger.boost(tid, nice) {
                Ok(()) if nice == was => {}
                Ok(()) if nice < 0 => {
                    self.change(
                        now_ns,
                        tid,
                        format!("nice {was} -> {nice}: it needs less than its share"),
                    );
                }
                Ok(()) => {
                    self.change(now_ns, tid, format!("nice {was} -> 0: it has had its share"))
                }
                Err(refusal) => {
                    self.engine.refused(now_ns, tid);
                    self.drop_client(now_ns, tid, &refusal.to_string());
                }
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
        self.watched.remove(tid);
        self.change(now_ns, tid, format!("its own slice: {why}"));
        self.names.remove(&tid);
    }
}
