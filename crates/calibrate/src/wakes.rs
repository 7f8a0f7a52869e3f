// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long a thread takes to run that another one wakes: after its CPU was idle for some time, or
//! while that CPU is kept busy. And how late timers are.

use crate::budget::Budget;
use crate::clock::{now_ns, sleep_until, spin_until};
use crate::error::CalibrateError;
use crate::place::{be_nice, pin, set_slack};
use crate::turns::{Baton, Futex};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

/// The other one is to end.
const END: u64 = u64::MAX;

/// What was seen of wakeups of one CPU by another, in nanoseconds, for each sample.
#[derive(Debug, Default)]
pub(crate) struct Wakes {
    /// From before the call that wakes to the first instruction after the one that waits.
    pub(crate) late: Vec<f64>,
    /// The call that wakes.
    pub(crate) calls: Vec<f64>,
    /// How long a thread that keeps the other CPU busy does not run, for a wakeup or a tick.
    pub(crate) gaps: Vec<f64>,
}

/// Gaps that are less long are no interrupts.
const SHORTEST_NS: u64 = 400;

/// Uses a CPU whenever nobody else does, and says when it could not.
fn watch(cpu: u32, has_ended: &AtomicBool) -> Result<Vec<f64>, CalibrateError> {
    let _pinned = pin(cpu)?;
    be_nice()?;
    let (mut gaps, mut last_ns) = (Vec::new(), now_ns());
    while !has_ended.load(Ordering::Relaxed) {
        let now_ns = now_ns();
        if now_ns - last_ns >= SHORTEST_NS {
            gaps.push((now_ns - last_ns) as f64);
        }
        last_ns = now_ns;
    }
    Ok(gaps)
}

/// Wakes a thread on the second CPU again and again, `after_ns` after it last ran; until then the
/// waking thread uses the first CPU. `busy`: the CPU of the other one is never idle.
pub(crate) fn wakes(
    cpus: (u32, u32),
    after_ns: u64,
    busy: bool,
    budget: Budget<'_>,
) -> Result<Wakes, CalibrateError> {
    let (baton, sent_ns, got) = (Futex::default(), AtomicU64::new(0), AtomicU64::new(0));
    let has_ended = AtomicBool::new(false);
    thread::scope(|scope| {
        let watcher = busy.then(|| scope.spawn(|| watch(cpus.1, &has_ended)));
        let other = scope.spawn(|| -> Result<Vec<f64>, CalibrateError> {
            let pinned = pin(cpus.1);
            let mut late = Vec::new();
            loop {
                baton.take()?;
                let now_ns = now_ns();
                match sent_ns.load(Ordering::Acquire) {
                    END => return pinned.map(|_| late),
                    sent_ns => late.push(now_ns.saturating_sub(sent_ns) as f64),
                }
                got.fetch_add(1, Ordering::Release);
            }
        });
        let wake = || -> Result<Vec<f64>, CalibrateError> {
            let _pinned = pin(cpus.0)?;
            let (mut given, mut calls) = (0, Vec::new());
            while !budget.is_over() {
                spin_until(now_ns() + after_ns);
                let before_ns = now_ns();
                sent_ns.store(before_ns, Ordering::Release);
                baton.give()?;
                calls.push((now_ns() - before_ns) as f64);
                given += 1;
                while got.load(Ordering::Acquire) < given {
                    std::hint::spin_loop();
                }
            }
            Ok(calls)
        };
        let woke = wake();
        sent_ns.store(END, Ordering::Release);
        has_ended.store(true, Ordering::Release);
        baton.give()?;
        let lost = |_| CalibrateError::new("a measuring thread failed");
        let late = other.join().map_err(lost)?;
        let gaps = watcher.map(|watcher| watcher.join().map_err(lost)?);
        let (calls, late, gaps) = (woke?, late?, gaps.transpose()?.unwrap_or_default());
        Ok(Wakes { late, calls, gaps })
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
