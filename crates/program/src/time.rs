// SPDX-License-Identifier: MIT OR Apache-2.0
//! Clocks of the simulated machine as a program reads them.

/// What `CLOCK_REALTIME` shows when the machine starts: 2025-01-01, 00:00 UTC, in nanoseconds.
/// Every run begins at the same instant.
pub(crate) const STARTED_AT_NS: u64 = 1_735_689_600 * 1_000_000_000;

/// Length of a tick of the coarse clocks is not played: they are as fine as the others.
const REALTIME: [i32; 3] = [libc::CLOCK_REALTIME, libc::CLOCK_REALTIME_COARSE, libc::CLOCK_TAI];
const MONOTONIC: [i32; 4] = [
    libc::CLOCK_MONOTONIC,
    libc::CLOCK_MONOTONIC_RAW,
    libc::CLOCK_MONOTONIC_COARSE,
    libc::CLOCK_BOOTTIME,
];
const CPU_TIME: [i32; 2] = [libc::CLOCK_PROCESS_CPUTIME_ID, libc::CLOCK_THREAD_CPUTIME_ID];

/// The clocks, at one instant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clocks {
    /// `CLOCK_MONOTONIC`, which BPF programs read, too.
    pub(crate) monotonic_ns: u64,
    /// `CLOCK_MONOTONIC` when the machine started.
    pub(crate) boot_ns: u64,
    /// CPU time that the program has used.
    pub(crate) used_ns: u64,
}

impl Clocks {
    /// What a clock shows; `None` if there is no such clock.
    pub(crate) fn read(&self, clock: i32) -> Option<u64> {
        match clock {
            _ if REALTIME.contains(&clock) => Some(self.realtime_ns()),
            _ if MONOTONIC.contains(&clock) => Some(self.monotonic_ns),
            _ if CPU_TIME.contains(&clock) => Some(self.used_ns),
            _ => None,
        }
    }

    /// `CLOCK_REALTIME`.
    pub(crate) fn realtime_ns(&self) -> u64 {
        STARTED_AT_NS + self.monotonic_ns.saturating_sub(self.boot_ns)
    }

    /// When a clock shows a time, as `CLOCK_MONOTONIC`.
    pub(crate) fn monotonic_at(&self, clock: i32, at_ns: u64) -> Option<u64> {
        let shows = self.read(clock).filter(|_| !CPU_TIME.contains(&clock))?;
        Some(self.monotonic_ns.saturating_add(at_ns.saturating_sub(shows)))
    }
}

/// A `struct timespec`.
pub(crate) fn timespec(ns: u64) -> [u8; 16] {
    pair(ns / 1_000_000_000, ns % 1_000_000_000)
}

/// A `struct timeval`.
pub(crate) fn timeval(ns: u64) -> [u8; 16] {
    pair(ns / 1_000_000_000, ns % 1_000_000_000 / 1000)
}

fn pair(first: u64, second: u64) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&first.to_le_bytes());
    bytes[8..].copy_from_slice(&second.to_le_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absolute_time_of_one_clock_is_as_far_away_on_another() {
        let clocks = Clocks { monotonic_ns: 7_500, boot_ns: 5_000, used_ns: 40 };
        assert_eq!(clocks.read(libc::CLOCK_REALTIME), Some(STARTED_AT_NS + 2_500));
        // 1000 ns from now, whichever clock says it
        let real = clocks.monotonic_at(libc::CLOCK_REALTIME, STARTED_AT_NS + 3_500);
        let monotonic = clocks.monotonic_at(libc::CLOCK_BOOTTIME, 8_500);
        assert_eq!((real, monotonic), (Some(8_500), Some(8_500)));
        assert_eq!(clocks.monotonic_at(libc::CLOCK_REALTIME, 1), Some(7_500), "it is past");
        assert_eq!(clocks.monotonic_at(libc::CLOCK_THREAD_CPUTIME_ID, 50), None);
        assert_eq!(clocks.read(99), None);
    }

    #[test]
    fn times_are_split_as_the_c_library_has_them() {
        assert_eq!(timespec(3_000_000_007), pair(3, 7));
        assert_eq!(timeval(3_000_007_999), pair(3, 7));
    }
}
