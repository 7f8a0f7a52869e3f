// SPDX-License-Identifier: MIT OR Apache-2.0
//! How far a reproduction is, for whoever shows it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;

/// Work that is done, of the work that is known of. An experiment announces its work when it
/// begins, so that the total grows.
#[derive(Debug, Default)]
pub struct Progress {
    done: AtomicU64,
    total: AtomicU64,
    stop: Arc<AtomicBool>,
}

impl Progress {
    /// Ends early once `stop` is true.
    pub fn stopped_by(stop: Arc<AtomicBool>) -> Self {
        Self { stop, ..Self::default() }
    }

    /// Whether the user wants no more.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Announces work, in simulated quanta or anything that takes about as long.
    pub(crate) fn announce(&self, work: u64) {
        self.total.fetch_add(work, Ordering::Relaxed);
    }

    /// Work that is done.
    pub(crate) fn advance(&self, work: u64) {
        self.done.fetch_add(work, Ordering::Relaxed);
    }

    /// Work done so far.
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// Work known of so far.
    pub fn total(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }
}
