// SPDX-License-Identifier: MIT OR Apache-2.0
//! What became of a program, for whoever started it.

use crate::error::ProgramError;
use std::sync::{Arc, Mutex, PoisonError};

/// Filled while the program runs; its copies see the same.
#[derive(Clone, Debug, Default)]
pub struct Report {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug, Default)]
struct Inner {
    failed: Option<ProgramError>,
    unplayed: Vec<String>,
    calls: u64,
    ends: Vec<(u64, i32)>,
}

impl Report {
    fn with<R>(&self, act: impl FnOnce(&mut Inner) -> R) -> R {
        act(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Why it could not go on, if that happened.
    pub fn take_failure(&self) -> Option<ProgramError> {
        self.with(|inner| inner.failed.take())
    }

    /// What it asked for and did not get, in a fixed order.
    pub fn unplayed(&self) -> Vec<String> {
        self.with(|inner| inner.unplayed.clone())
    }

    /// System calls that were played since its scheduler was attached.
    pub fn calls(&self) -> u64 {
        self.with(|inner| inner.calls)
    }

    /// When programs before the last one ended, in nanoseconds from the start of the run, and with
    /// which exit status.
    pub fn ends(&self) -> Vec<(u64, i32)> {
        self.with(|inner| inner.ends.clone())
    }

    pub(crate) fn end(&self, at_ns: u64, status: i32) {
        self.with(|inner| inner.ends.push((at_ns, status)));
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.with(|inner| inner.failed.is_some())
    }

    pub(crate) fn fail(&self, error: ProgramError) {
        self.with(|inner| {
            inner.failed.get_or_insert(error);
        });
    }

    pub(crate) fn tell_unplayed(&self, what: &str) {
        self.with(|inner| {
            let at = inner.unplayed.binary_search_by(|known| known.as_str().cmp(what));
            if let Err(at) = at {
                inner.unplayed.insert(at, what.to_owned());
            }
        });
    }

    pub(crate) fn count_call(&self) {
        self.with(|inner| inner.calls += 1);
    }
}
