// SPDX-License-Identifier: MIT OR Apache-2.0
//! SIGINT, SIGTERM and SIGHUP: the first one ends the run in order, the second at once, which
//! leaves the tidying to the kernel.

use crate::error::Error;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often is looked whether something happened.
pub(crate) const LOOK: Duration = Duration::from_millis(50);

/// Whether the user wants the run to end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Listens from now on.
    pub(crate) fn listen() -> Result<Self, Error> {
        let stop = Self::default();
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        // Shells start background jobs with SIGINT ignored, but whoever sends it means it.
        let hangup = (!is_ignored(&status, SIGHUP)).then_some(SIGHUP);
        for signal in [SIGINT, SIGTERM].into_iter().chain(hangup) {
            let fail = |e| Error::Failure(format!("cannot wait for signal {signal}: {e}"));
            // In this order: only a signal after the one that sets the flag kills.
            flag::register_conditional_default(signal, Arc::clone(&stop.0)).map_err(fail)?;
            flag::register(signal, Arc::clone(&stop.0)).map_err(fail)?;
        }
        Ok(stop)
    }

    /// What a signal sets.
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }

    /// Has a signal come?
    pub(crate) fn wanted(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Waits for some time, or for a signal.
    pub(crate) fn sleep(&self, time: Duration) {
        let start = Instant::now();
        while !self.wanted() && start.elapsed() < time {
            std::thread::sleep(LOOK.min(time));
        }
    }
}

/// Was the process started with this signal ignored, as `nohup` does? Then it stays so.
fn is_ignored(status: &str, signal: i32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_read_from_the_mask() {
        let status = "Name:\tx\nSigBlk:\tffffffffffffffff\nSigIgn:\t0000000000000001\n";
        assert!(is_ignored(status, SIGHUP));
        assert!(!is_ignored(status, SIGINT) && !is_ignored("", SIGHUP));
    }
}
