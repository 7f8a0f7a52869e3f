// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers over the waits for all mutexes.

use super::parts::ns;
use super::Run;
use crate::locks::LockTotals;

/// Of a run in which a task waited for a mutex.
pub(super) fn of(run: Run<'_>) -> Option<&LockTotals> {
    run.numbers.totals.locks.as_ref()
}

pub(super) fn waits(run: Run<'_>) -> Option<f64> {
    Some(of(run)?.wait_ns.count as f64)
}

pub(super) fn wait_mean(run: Run<'_>) -> Option<f64> {
    of(run)?.wait_ns.mean
}

pub(super) fn wait_p99(run: Run<'_>) -> Option<f64> {
    ns(of(run)?.wait_ns.p99)
}

pub(super) fn wait_max(run: Run<'_>) -> Option<f64> {
    ns(of(run)?.wait_ns.max)
}

pub(super) fn blocked(run: Run<'_>) -> Option<f64> {
    Some(of(run)?.blocked_ns as f64)
}

pub(super) fn holder_delay(run: Run<'_>) -> Option<f64> {
    Some(of(run)?.holder_delay_ns as f64)
}
