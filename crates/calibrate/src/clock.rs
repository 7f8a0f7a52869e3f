// SPDX-License-Identifier: MIT OR Apache-2.0
//! `CLOCK_MONOTONIC`, which all CPUs have in common.

use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{clock_gettime, ClockId, Timespec};

/// Nanoseconds now.
pub(crate) fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    // Neither is negative: the clock began at 0.
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Uses the CPU until a time.
pub(crate) fn spin_until(at_ns: u64) {
    while now_ns() < at_ns {
        std::hint::spin_loop();
    }
}

/// Sleeps until a time. A signal ends the sleep early: then the sample is short, not wrong, as
/// callers look at the clock themselves.
pub(crate) fn sleep_until(at_ns: u64) {
    let at = Timespec {
        tv_sec: (at_ns / 1_000_000_000) as i64,
        tv_nsec: (at_ns % 1_000_000_000) as i64,
    };
    let _ = clock_nanosleep_absolute(ClockId::Monotonic, &at);
}
