// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a workload's tasks do at locks, and their jobs, as events.

use crate::run::Machine;
use rota_trace::{EventKind, Job, JobKind, JobStep, Lock, LockKind, LockStep};
use rota_workload::{Lock as At, News, TaskIx};
use std::sync::Arc;

impl Machine {
    /// Reports what happened as the current task of a CPU decided on its next step.
    #[inline]
    pub(crate) fn tell_news(&mut self, cpu: u32) {
        let news = self.runner.take_news();
        for news in news {
            self.tell(cpu, news);
        }
    }

    /// Reports the first job of a task that starts on a CPU.
    pub(crate) fn tell_first_job(&mut self, cpu: u32, ix: TaskIx) {
        if let Some(news) = self.runner.first_job(ix, self.system.now_ns) {
            self.tell(cpu, news);
        }
    }

    #[cold]
    fn tell(&mut self, cpu: u32, news: News) {
        let kind = match news {
            News::Waits { task, lock, holder } => {
                self.lock(task, lock, LockStep::Wait { holder: self.pid(holder) })
            }
            News::Acquires { task, lock } => self.lock(task, lock, LockStep::Acquire),
            News::Releases { task, lock, to } => {
                self.lock(task, lock, LockStep::Release { holder: self.pid(to) })
            }
            News::JobEnds { task, response_ns, slack_ns, relative } => {
                self.job(task, relative, JobStep::End { response_ns, slack_ns })
            }
            News::JobBegins { task, slack_ns, period_ns, relative } => {
                self.job(task, relative, JobStep::Begin { slack_ns, period_ns })
            }
        };
        self.system.emit(Some(cpu), kind);
    }

    fn lock(&self, task: TaskIx, lock: At, step: LockStep) -> EventKind {
        let kind = match lock {
            At::Mutex(_) => LockKind::Mutex,
            At::Condition(_) => LockKind::Condition,
            At::Barrier(_) => LockKind::Barrier,
            At::Semaphore(_) => LockKind::Semaphore,
        };
        let name = Arc::from(self.runner.workload().lock_name(lock));
        EventKind::Lock(Lock { pid: self.pid(Some(task)), kind, name, step })
    }

    fn job(&self, task: TaskIx, relative: bool, step: JobStep) -> EventKind {
        let kind = if relative { JobKind::Relative } else { JobKind::Absolute };
        EventKind::Job(Job { pid: self.pid(Some(task)), kind, step })
    }

    fn pid(&self, task: Option<TaskIx>) -> u32 {
        let t = task.and_then(|ix| self.tid_of_ix.get(&ix));
        t.map_or(0, |t| self.system.task(*t).pid)
    }
}
