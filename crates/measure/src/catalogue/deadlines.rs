// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers over the jobs of all tasks.

use super::parts::ns;
use super::Run;
use crate::jobs::JobNumbers;

/// Of a run that has jobs.
pub(super) fn of(run: Run<'_>) -> Option<&JobNumbers> {
    run.numbers.totals.jobs.as_ref().filter(|jobs| jobs.jobs > 0)
}

pub(super) fn jobs(run: Run<'_>) -> Option<f64> {
    Some(of(run)?.jobs as f64)
}

pub(super) fn misses(run: Run<'_>) -> Option<f64> {
    Some(of(run)?.misses as f64)
}

pub(super) fn miss_rate(run: Run<'_>) -> Option<f64> {
    of(run)?.miss_rate
}

pub(super) fn tardiness_mean(run: Run<'_>) -> Option<f64> {
    of(run)?.tardiness_ns.mean
}

pub(super) fn tardiness_p99(run: Run<'_>) -> Option<f64> {
    ns(of(run)?.tardiness_ns.p99)
}

pub(super) fn tardiness_max(run: Run<'_>) -> Option<f64> {
    ns(of(run)?.tardiness_ns.max)
}

pub(super) fn slack_mean(run: Run<'_>) -> Option<f64> {
    of(run)?.slack_ns.mean
}

pub(super) fn slack_min(run: Run<'_>) -> Option<f64> {
    of(run)?.slack_ns.min.map(|ns| ns as f64)
}
