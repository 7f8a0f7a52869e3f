// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the threads of a workload share.

use crate::account::Account;
use crate::clock::Clock;
use crate::error::{PlayError, Result};
use crate::groups::Groups;
use crate::play::Options;
use rota_workload::{SeededRunner, TaskIx};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock};
use std::thread::Thread;

/// How many tasks a workload may have, its forks included.
pub(crate) const MOST_TASKS: usize = 8192;

pub(crate) struct Stage {
    runner: Mutex<SeededRunner>,
    pub(crate) clock: Clock,
    places: Box<[Place]>,
    pub(crate) groups: Groups,
    pub(crate) options: Options,
    /// CPU time that forks took, and their number.
    pub(crate) forks: (AtomicU64, AtomicU64),
    /// Why it cannot go on, said by the first task that noticed.
    pub(crate) trouble: OnceLock<PlayError>,
}

/// What others know of a task.
#[derive(Default)]
pub(crate) struct Place {
    pub(crate) thread: OnceLock<Thread>,
    /// Thread id, 0 before it has one.
    pub(crate) tid: AtomicU32,
    pub(crate) woken: AtomicBool,
    /// CPU time that it had had when it went to sleep before the start.
    pub(crate) slept_at_ns: AtomicU64,
    /// What it had when it ended.
    pub(crate) had: OnceLock<Account>,
}

impl Place {
    /// What the task has had so far, or had when it ended.
    pub(crate) fn account(&self) -> Option<Account> {
        match self.tid.load(Ordering::Acquire) {
            0 => None,
            tid => self.had.get().copied().or_else(|| Account::of(tid)),
        }
    }

    /// Keeps what the calling thread, which is the task, has had.
    pub(crate) fn close_account(&self) {
        if let Some(account) = self.account() {
            self.had.get_or_init(|| account);
        }
    }
}

impl Stage {
    pub(crate) fn new(runner: SeededRunner, groups: Groups, options: Options) -> Self {
        Self {
            runner: Mutex::new(runner),
            clock: Clock::calibrated(options.cpus, options.quiet),
            places: (0..MOST_TASKS).map(|_| Place::default()).collect(),
            groups,
            options,
            forks: Default::default(),
            trouble: OnceLock::new(),
        }
    }

    pub(crate) fn place(&self, task: TaskIx) -> &Place {
        &self.places[task.0 as usize]
    }

    pub(crate) fn runner(&self) -> Result<MutexGuard<'_, SeededRunner>> {
        self.runner.lock().map_err(|_| PlayError::another_task())
    }

    /// Keeps the first trouble that a task had.
    pub(crate) fn note(&self, task: &str, result: Result<()>) {
        let with_name = |error| match error {
            PlayError::Workload(why) => PlayError::Workload(format!("task \"{task}\": {why}")),
            PlayError::Failure(why) => PlayError::Failure(format!("task \"{task}\": {why}")),
        };
        if let Err(error) = result {
            self.trouble.get_or_init(|| with_name(error));
        }
    }

    /// The trouble that a task had.
    pub(crate) fn check(&self) -> Result<()> {
        self.trouble.get().map_or(Ok(()), |trouble| Err(trouble.clone()))
    }
}
