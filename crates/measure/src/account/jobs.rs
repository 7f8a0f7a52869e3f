// SPDX-License-Identifier: MIT OR Apache-2.0
//! The jobs of a task, and what they mean for its turnaround.

use super::{Account, Burst};
use crate::whole::Whole;
use rota_trace::{Job, JobKind, JobStep};

impl Account {
    /// A job begins or ends. Where it was so late that the next one is due, the task goes on with
    /// that without a sleep between them: its turnaround is over, and another one has begun.
    pub(crate) fn job(&mut self, job: &Job, whole: &mut Whole, now_ns: u64) {
        self.jobs.get_or_insert_default().step(job.kind, job.step, now_ns);
        let JobStep::Begin { slack_ns, period_ns } = job.step else { return };
        let released_ns = i128::from(now_ns) + i128::from(slack_ns) - i128::from(period_ns);
        if job.kind != JobKind::Reservation && self.state.is_runnable() {
            if released_ns > i128::from(now_ns) {
                return;
            }
            self.settle(whole, now_ns);
            self.turn(whole, now_ns);
            self.burst = Burst { from_ns: released_ns as u64, cpu_ns: 0 };
        }
    }

    /// It exited: there is no next job.
    pub(crate) fn exit(&mut self, now_ns: u64) {
        self.finished_ns = Some(now_ns);
        self.jobs.iter_mut().for_each(|jobs| jobs.forget(false));
    }
}
