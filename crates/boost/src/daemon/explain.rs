// SPDX-License-Identifier: MIT OR Apache-2.0
//! Answers to questions.

use super::Daemon;
use crate::apply::Threads;
use crate::control::{Explanation, ThreadState};
use crate::{groups, process};

impl<T: Threads> Daemon<T> {
    /// Answers a question, if there is one.
    pub(super) fn answer(&mut self, now_ns: u64) {
        let Some(listener) = self.listener.take() else { return };
        listener.serve(|pid| self.explain(now_ns, pid));
        self.listener = Some(listener);
    }

    /// All that is known of a process.
    fn explain(&mut self, now_ns: u64, pid: u32) -> Explanation {
        let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten();
        let tids: Vec<u32> =
            tasks.filter_map(|t| t.ok()?.file_name().to_str()?.parse().ok()).collect();
        let seen = tids.iter().find_map(|tid| self.engine.standing(*tid));
        let autogroup = seen.map(|(event, ..)| event.autogroup);
        let mut explanation =
            Explanation::new(pid, groups::confinement(pid, autogroup).to_string());
        for tid in tids {
            let Some(worker) = self.programs.worker(tid) else { continue };
            if let Some(uid) = self.watched.get_mut(tid).map(|watch| watch.uid) {
                explanation.user = Some(uid);
                explanation.credit_ms = self.accounts.left_ms(uid);
                explanation.extra_left = Some(self.accounts.extra_left(uid));
            }
            let standing = self.engine.standing(tid);
            explanation.threads.push(ThreadState {
                tid,
                name: process::name(tid).unwrap_or_default(),
                nice: self.ledger.nice(tid),
                phase: standing
                    .map(|(_, phase, _)| format!("{phase:?}").to_lowercase())
                    .or(self.waiting.has(tid).then(|| "waiting".into())),
                open: worker.open,
                answers: worker.answers,
                barred_ms: self.engine.barred_ms(tid, now_ns),
            });
        }
        explanation.history = self.history.of(pid);
        explanation
    }
}
