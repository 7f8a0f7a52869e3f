// SPDX-License-Identifier: MIT OR Apache-2.0
//! What happens where tasks wait for each other, and to the jobs of periodic tasks.

use crate::fields::Value;
use crate::kind::Field;
use std::sync::Arc;

/// Something that tasks wait at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LockKind {
    /// A mutex, which one task holds.
    Mutex,
    /// A condition variable.
    Condition,
    /// A barrier.
    Barrier,
    /// A semaphore.
    Semaphore,
}

impl LockKind {
    /// What files and tables call it.
    pub fn name(self) -> &'static str {
        match self {
            LockKind::Mutex => "mutex",
            LockKind::Condition => "condition",
            LockKind::Barrier => "barrier",
            LockKind::Semaphore => "semaphore",
        }
    }
}

/// What a task does at a lock. Of locks that nobody waits for nothing is said.
#[derive(Clone, Debug, PartialEq)]
pub struct Lock {
    /// The task.
    pub pid: u32,
    /// What kind of lock it is.
    pub kind: LockKind,
    /// Its name; locks of different kinds may have the same.
    pub name: Arc<str>,
    /// What the task does.
    pub step: LockStep,
}

/// What a task does at a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockStep {
    /// It has to wait.
    Wait {
        /// Who holds the mutex; 0: no task, or it is no mutex.
        holder: u32,
    },
    /// It has waited and goes on, or takes a mutex that others wait for.
    Acquire,
    /// It frees a mutex that others wait for.
    Release {
        /// The task that it is handed to (priority inheritance); 0: whoever comes first.
        holder: u32,
    },
}

/// What the jobs of a task come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobKind {
    /// A timer whose periods follow each other, however late a job is.
    Absolute,
    /// A timer that begins anew when a job was late.
    Relative,
    /// The periods of `SCHED_DEADLINE`.
    Reservation,
}

impl JobKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            JobKind::Absolute => "absolute",
            JobKind::Relative => "relative",
            JobKind::Reservation => "reservation",
        }
    }
}

/// A job of a periodic task begins or ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// The task.
    pub pid: u32,
    /// What its jobs come from.
    pub kind: JobKind,
    /// Which of the two.
    pub step: JobStep,
}

/// A job begins or ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobStep {
    /// The task has this one to do next. It is released a period before its deadline.
    Begin {
        /// From now to its deadline; below 0: that is over.
        slack_ns: i64,
        /// From release to deadline.
        period_ns: u64,
    },
    /// It is done.
    End {
        /// From its release to now.
        response_ns: u64,
        /// From now to its deadline; below 0: it is late by so much.
        slack_ns: i64,
    },
}

impl Lock {
    pub(crate) fn describe<'a>(
        &'a self,
        mut say: impl FnMut(Field, Value<'a>),
    ) -> (&'static str, Option<u32>) {
        say(Field::LockKind, Value::Text(self.kind.name()));
        let name = match self.step {
            LockStep::Wait { holder } => {
                say(Field::HolderPid, Value::Number(u64::from(holder)));
                "lock_wait"
            }
            LockStep::Acquire => "lock_acquire",
            LockStep::Release { holder } => {
                say(Field::HolderPid, Value::Number(u64::from(holder)));
                "lock_release"
            }
        };
        say(Field::Lock, Value::Text(&self.name));
        (name, Some(self.pid))
    }
}

impl Job {
    pub(crate) fn describe<'a>(
        &self,
        mut say: impl FnMut(Field, Value<'a>),
    ) -> (&'static str, Option<u32>) {
        say(Field::JobKind, Value::Text(self.kind.name()));
        let name = match self.step {
            JobStep::Begin { slack_ns, period_ns } => {
                say(Field::SlackNs, Value::Signed(slack_ns));
                say(Field::PeriodNs, Value::Number(period_ns));
                "job_begin"
            }
            JobStep::End { response_ns, slack_ns } => {
                say(Field::ResponseNs, Value::Number(response_ns));
                say(Field::SlackNs, Value::Signed(slack_ns));
                "job_end"
            }
        };
        (name, Some(self.pid))
    }
}
