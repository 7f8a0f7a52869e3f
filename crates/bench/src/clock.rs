// SPDX-License-Identifier: MIT OR Apache-2.0
//! `CLOCK_MONOTONIC`, which all processes of a computer have in common.

use crate::error::Error;
use rustix::io::Errno;
use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{clock_gettime, ClockId, Timespec};

/// Nanoseconds now.
pub(crate) fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    // Neither is negative: the clock began at 0.
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Sleeps until a time, or not at all if that is over.
pub(crate) fn sleep_until(at_ns: u64) -> Result<(), Error> {
    let at = Timespec {
        tv_sec: (at_ns / 1_000_000_000) as i64,
        tv_nsec: (at_ns % 1_000_000_000) as i64,
    };
    while let Err(e) = clock_nanosleep_absolute(ClockId::Monotonic, &at) {
        if e != Errno::INTR {
            return Err(Error::system("sleep", e));
        }
    }
    Ok(())
}
