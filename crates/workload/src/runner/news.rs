// SPDX-License-Identifier: MIT OR Apache-2.0
//! What those who watch a workload want to know besides its steps: where tasks wait for each other,
//! and when jobs of periodic tasks begin and end.

use super::Runner;
use crate::event::{Event, TimeEvent, TimerKind, TimerRef};
use crate::model::{TaskIx, Workload};
use crate::random::Span;

/// Something that tasks wait at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lock {
    /// By its index.
    Mutex(u32),
    /// By its index.
    Condition(u32),
    /// By its index.
    Barrier(u32),
    /// By its index.
    Semaphore(u32),
}

/// Something that happened as a task decided on its next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// A task has to wait, for a mutex that another one may hold.
    Waits {
        /// The task.
        task: TaskIx,
        /// For what.
        lock: Lock,
        /// Who holds it.
        holder: Option<TaskIx>,
    },
    /// A task has waited and goes on, or takes a mutex that others wait for.
    Acquires {
        /// The task.
        task: TaskIx,
        /// What it waited for.
        lock: Lock,
    },
    /// A task frees a mutex that others wait for.
    Releases {
        /// The task.
        task: TaskIx,
        /// The mutex.
        lock: Lock,
        /// To whom it goes at once.
        to: Option<TaskIx>,
    },
    /// The task has done what it had to do before its timer expires.
    JobEnds {
        /// The task.
        task: TaskIx,
        /// From the expiry before to now.
        response_ns: u64,
        /// From now to the expiry.
        slack_ns: i64,
        /// Whether the timer begins anew now if that is over.
        relative: bool,
    },
    /// What it has to do next.
    JobBegins {
        /// The task.
        task: TaskIx,
        /// From now to the expiry after that.
        slack_ns: i64,
        /// The timer's period.
        period_ns: u64,
        /// As of [`News::JobEnds`].
        relative: bool,
    },
}

impl Workload {
    /// The name of a lock.
    pub fn lock_name(&self, lock: Lock) -> &str {
        match lock {
            Lock::Mutex(at) => &self.mutexes[at as usize],
            Lock::Condition(at) => &self.conditions[at as usize],
            Lock::Barrier(at) => &self.barriers[at as usize].name,
            Lock::Semaphore(at) => &self.semaphores[at as usize],
        }
    }
}

impl Runner {
    /// What happened since the last call. To be heeded before the step that came with it.
    #[inline]
    pub fn take_news(&mut self) -> Vec<News> {
        std::mem::take(&mut self.news)
    }

    /// Whether timers of its own file say what the jobs of this task are.
    pub fn has_timer(&self, task: TaskIx) -> bool {
        self.first_timer(task).is_some()
    }

    /// The first job of a task that starts now, if it has a timer of a fixed period.
    pub fn first_job(&self, task: TaskIx, now_ns: u64) -> Option<News> {
        let (timer, period) = self.first_timer(task)?;
        let Span::Fixed(period_ns) = period else { return None };
        let first_ns = self.tasks[task.0 as usize].first_ns;
        let slack_ns = signed_difference(first_ns.saturating_add(period_ns), now_ns);
        let relative = self.timer_kind(task, timer) == TimerKind::Relative;
        (period_ns > 0).then_some(News::JobBegins { task, slack_ns, period_ns, relative })
    }

    fn first_timer(&self, task: TaskIx) -> Option<(TimerRef, Span)> {
        let definition = self.tasks[task.0 as usize].definition;
        let phases = self.workload.definitions[definition as usize].program.phases.iter();
        phases.flat_map(|phase| &phase.events).find_map(|event| match *event {
            Event::Time(TimeEvent::Timer { timer, period }) => Some((timer, period)),
            _ => None,
        })
    }

    fn timer_kind(&self, task: TaskIx, timer: TimerRef) -> TimerKind {
        match timer {
            TimerRef::Shared(at) => self.workload.timers[at as usize],
            TimerRef::Own(at) => {
                let definition = self.tasks[task.0 as usize].definition;
                self.workload.definitions[definition as usize].own_timers[at as usize]
            }
        }
    }

    /// A task has to wait at a lock, unless it waits there already.
    pub(super) fn begins_to_wait(&mut self, task: TaskIx, lock: Lock, holder: Option<TaskIx>) {
        let state = &mut self.tasks[task.0 as usize];
        if state.waits_at == Some(lock) {
            return;
        }
        state.waits_at = Some(lock);
        if let Lock::Mutex(at) = lock {
            self.wanted[at as usize] += 1;
        }
        self.news.push(News::Waits { task, lock, holder });
    }

    /// A task has what it waited for, or a mutex that others may wait for.
    pub(super) fn acquires(&mut self, task: TaskIx, lock: Lock) {
        let waited = self.tasks[task.0 as usize].waits_at == Some(lock);
        let wanted = matches!(lock, Lock::Mutex(at) if self.wanted[at as usize] > 0);
        if waited {
            self.waits_no_more(task);
        }
        if waited || wanted {
            self.news.push(News::Acquires { task, lock });
        }
    }

    /// A task waits for nothing, or was killed.
    pub(super) fn waits_no_more(&mut self, task: TaskIx) {
        if let Some(Lock::Mutex(at)) = self.tasks[task.0 as usize].waits_at.take() {
            self.wanted[at as usize] -= 1;
        }
    }

    /// A task frees a mutex.
    pub(super) fn releases(&mut self, task: TaskIx, mutex: u32) {
        if self.wanted[mutex as usize] > 0 {
            let to = self.sync.mutexes.owner(mutex);
            self.news.push(News::Releases { task, lock: Lock::Mutex(mutex), to });
        }
    }
}

/// `a - b`.
pub(super) fn signed_difference(a: u64, b: u64) -> i64 {
    (i128::from(a) - i128::from(b)).clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}
