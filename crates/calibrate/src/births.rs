// SPDX-License-Identifier: MIT OR Apache-2.0
//! What it takes to make a thread, and to end one.

use crate::budget::Budget;
use crate::clock::now_ns;
use crate::error::CalibrateError;
use crate::place::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// Nanoseconds of making threads, and from the last thing that each does to when the thread that
/// waits for its end runs. All of it is on one CPU.
pub(crate) fn births_and_ends_ns(
    cpu: u32,
    budget: Budget<'_>,
) -> Result<(Vec<f64>, Vec<f64>), CalibrateError> {
    let parent = || -> Result<(Vec<f64>, Vec<f64>), CalibrateError> {
        let _pinned = pin(cpu)?;
        let (mut births, mut ends) = (Vec::new(), Vec::new());
        let (begun_ns, ended_ns) = (AtomicU64::new(0), AtomicU64::new(0));
        while !budget.is_over() {
            thread::scope(|scope| {
                let before_ns = now_ns();
                let child = scope.spawn(|| {
                    begun_ns.store(now_ns(), Ordering::Release);
                    ended_ns.store(now_ns(), Ordering::Release);
                });
                let after_ns = now_ns();
                let joined = child.join();
                let now_ns = now_ns();
                // Where the child ran first, the parent cannot tell how long it took itself.
                if begun_ns.load(Ordering::Acquire) >= after_ns {
                    births.push((after_ns - before_ns) as f64);
                    ends.push(now_ns.saturating_sub(ended_ns.load(Ordering::Acquire)) as f64);
                }
                joined.map_err(|_| CalibrateError::new("a measuring thread failed"))
            })?;
        }
        Ok((births, ends))
    };
    thread::scope(|scope| {
        scope.spawn(parent).join().map_err(|_| CalibrateError::new("a measuring thread failed"))?
    })
}
