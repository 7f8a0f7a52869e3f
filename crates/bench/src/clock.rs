// SPDX-License-Identifier: MIT OR Apache-2.0
//! `CLOCK_MONOTONIC`, which all processes of a computer have in common.

use rustix::time::{clock_gettime, ClockId};

/// Nanoseconds now.
pub(crate) fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    // Neither is negative: the clock began at 0.
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
