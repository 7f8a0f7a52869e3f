// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long a thread takes to run that another one wakes: after its CPU was idle for some time, or
//! while that CPU is kept busy. And how late timers are.

use crate::budget::Budget;
use crate::clock::{now_ns, sleep_until, spin_until};
use crate::error::CalibrateError;
use crate::place::{pin, set_slack};
use crate::turns::{fill, Baton, Futex};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

/// The other one is to end.
const END: u64 = u64::MAX;

/// Nanoseconds from before the call that wakes to the first instruction after the one that waits,
/// for each sample. The waking thread uses its CPU for `after_ns` before. `busy`: the CPU of the
/// other one is never idle.
pub(crate) fn latency_ns(
    cpus: (u32, u32),
    after_ns: u64,
    busy: bool,
    budget: Budget<'_>,
) -> Result<Vec<f64>, CalibrateError> {
    let (baton, sent_ns, got) = (Futex::default(), AtomicU64::new(0), AtomicU64::new(0));
    let has_ended = AtomicBool::new(false);
    thread::scope(|scope| {
        let filler = busy.then(|| scope.spawn(|| fill(cpus.1, &has_ended)));
        let other = scope.spawn(|| -> Result<Vec<f64>, CalibrateError> {
            let pinned = pin(cpus.1);
            let mut samples = Vec::new();
            loop {
                baton.take()?;
                let now_ns = now_ns();
                match sent_ns.load(Ordering::Acquire) {
                    END => return pinned.map(|_| samples),
                    sent_ns => samples.push(now_ns.saturating_sub(sent_ns) as f64),
                }
                got.fetch_add(1, Ordering::Release);
            }
        });
        let wake = || -> Result<(), CalibrateError> {
            let _pinned = pin(cpus.0)?;
            let mut given = 0;
            while !budget.is_over() {
                spin_until(now_ns() + after_ns);
                sent_ns.store(now_ns(), Ordering::Release);
                baton.give()?;
                given += 1;
                while got.load(Ordering::Acquire) < given {
                    std::hint::spin_loop();
                }
            }
            Ok(())
        };
        let woke = wake();
        sent_ns.store(END, Ordering::Release);
        has_ended.store(true, Ordering::Release);
        baton.give()?;
        let lost = |_| CalibrateError::new("a measuring thread failed");
        let measured = other.join().map_err(lost)?;
        if let Some(filler) = filler {
            filler.join().map_err(lost)??;
        }
        woke?;
        measured
    })
}

/// Nanoseconds by which a sleep of `sleep_ns` is late, for each sample.
pub(crate) fn late_ns(
    cpu: u32,
    sleep_ns: u64,
    slack_ns: Option<u64>,
    budget: Budget<'_>,
) -> Result<Vec<f64>, CalibrateError> {
    thread::scope(|scope| {
        // of its own, as the slack is the thread's
        let sleeper = scope.spawn(|| -> Result<Vec<f64>, CalibrateError> {
            let _pinned = pin(cpu)?;
            set_slack(slack_ns)?;
            let mut samples = Vec::new();
            while !budget.is_over() {
                let at_ns = now_ns() + sleep_ns;
                sleep_until(at_ns);
                let now_ns = now_ns();
                if now_ns >= at_ns {
                    samples.push((now_ns - at_ns) as f64);
                }
            }
            Ok(samples)
        });
        sleeper.join().map_err(|_| CalibrateError::new("a measuring thread failed"))?
    })
}
