// SPDX-License-Identifier: MIT OR Apache-2.0
//! How fast CPUs are: alone, while others are busy, and after having been idle.

use crate::budget::Budget;
use crate::clock::{now_ns, sleep_until};
use crate::error::CalibrateError;
use crate::loops::{Kind, Loop};
use crate::place::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// Time of a sample.
const SAMPLE_NS: u64 = 2_000_000;

/// Units per second on the first CPU while the others do the same, for each sample.
pub(crate) fn per_second(
    kind: Kind,
    cpus: &[u32],
    budget: Budget<'_>,
) -> Result<Vec<f64>, CalibrateError> {
    let (has_ended, ready) = (AtomicBool::new(false), AtomicUsize::new(0));
    let Some((first, others)) = cpus.split_first() else { return Ok(Vec::new()) };
    thread::scope(|scope| {
        let (has_ended, ready) = (&has_ended, &ready);
        let busy: Vec<_> = others
            .iter()
            .map(|cpu| {
                scope.spawn(move || {
                    let pinned = pin(*cpu);
                    let mut work = Loop::new(kind);
                    ready.fetch_add(1, Ordering::Release);
                    while !has_ended.load(Ordering::Relaxed) {
                        work.once();
                    }
                    pinned.map(drop)
                })
            })
            .collect();
        let measure = || -> Result<Vec<f64>, CalibrateError> {
            let _pinned = pin(*first)?;
            let mut work = Loop::new(kind);
            while ready.load(Ordering::Acquire) < others.len() && !budget.is_over() {
                work.once();
            }
            let mut samples = Vec::new();
            while !budget.is_over() {
                samples.push(rate(&mut work, SAMPLE_NS));
            }
            Ok(samples.split_off(1.min(samples.len())))
        };
        let measured = measure();
        has_ended.store(true, Ordering::Relaxed);
        for thread in busy {
            thread.join().map_err(|_| CalibrateError::new("a measuring thread failed"))??;
        }
        measured
    })
}

/// Units per second for a time.
fn rate(work: &mut Loop, ns: u64) -> f64 {
    let begin_ns = now_ns();
    let mut units = 0;
    loop {
        work.once();
        units += 1;
        let passed_ns = now_ns() - begin_ns;
        if passed_ns >= ns {
            return f64::from(units) * 1e9 / passed_ns as f64;
        }
    }
}

/// Milliseconds of a ramp that are looked at.
pub(crate) const RAMP_MS: usize = 60;

/// Units per second in each of the first milliseconds after a CPU was idle for `idle_ns`, for each
/// try.
pub(crate) fn ramps(
    cpu: u32,
    idle_ns: u64,
    budget: Budget<'_>,
) -> Result<Vec<Vec<f64>>, CalibrateError> {
    thread::scope(|scope| {
        let worker = scope.spawn(|| -> Result<Vec<Vec<f64>>, CalibrateError> {
            let _pinned = pin(cpu)?;
            let mut work = Loop::new(Kind::Integer);
            let mut tries = Vec::new();
            while !budget.is_over() {
                sleep_until(now_ns() + idle_ns);
                tries.push((0..RAMP_MS).map(|_| rate(&mut work, 1_000_000)).collect());
            }
            Ok(tries)
        });
        worker.join().map_err(|_| CalibrateError::new("a measuring thread failed"))?
    })
}
