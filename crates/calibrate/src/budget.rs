// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long a measurement may take, and whether the user wants it to end.

use crate::clock::{now_ns, sleep_until};
use std::sync::atomic::{AtomicBool, Ordering};

/// How often a sleep looks whether the user wants it to end.
const LOOK_NS: u64 = 50_000_000;

/// The time of one measurement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget<'a> {
    end_ns: u64,
    stop: &'a AtomicBool,
}

impl<'a> Budget<'a> {
    /// So long from now on.
    pub(crate) fn new(ns: u64, stop: &'a AtomicBool) -> Self {
        Self { end_ns: now_ns() + ns, stop }
    }

    /// Is it used up?
    pub(crate) fn is_over(&self) -> bool {
        now_ns() >= self.end_ns || self.stop.load(Ordering::Relaxed)
    }

    /// A part of what is left, from now on.
    pub(crate) fn part(&self, of: u64) -> Self {
        let left = self.end_ns.saturating_sub(now_ns());
        Self { end_ns: now_ns() + left / of.max(1), stop: self.stop }
    }

    /// Sleeps until it is over.
    pub(crate) fn sleep_out(&self) {
        while !self.is_over() {
            sleep_until(self.end_ns.min(now_ns() + LOOK_NS));
        }
    }
}
