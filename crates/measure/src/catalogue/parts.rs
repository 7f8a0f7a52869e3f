// SPDX-License-Identifier: MIT OR Apache-2.0
//! What measures are taken from: parts of a run's numbers.

use super::Run;
use crate::numbers::LatencyNumbers;
use crate::slowdown::SlowdownNumbers;
use crate::totals::Totals;

pub(super) fn totals(run: Run<'_>) -> &Totals {
    &run.numbers.totals
}

pub(super) fn wakeups(run: Run<'_>) -> LatencyNumbers {
    run.numbers.totals.wakeup_latency_ns
}

pub(super) fn turnaround(run: Run<'_>) -> LatencyNumbers {
    run.numbers.totals.turnaround_ns
}

pub(super) fn slowdown(run: Run<'_>) -> SlowdownNumbers {
    run.numbers.totals.slowdown
}

pub(super) fn ns(value: Option<u64>) -> Option<f64> {
    value.map(|value| value as f64)
}

pub(super) fn part(of: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then_some(of / whole)
}

pub(super) fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (count, sum) = values.fold((0u64, 0.0), |(count, sum), value| (count + 1, sum + value));
    part(sum, count as f64)
}
