// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long a cache line takes from one CPU to another: two threads that count in turn.

use crate::budget::Budget;
use crate::clock::now_ns;
use crate::error::CalibrateError;
use crate::place::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// Turns of a sample.
const TURNS: u64 = 500;
/// The other one is to end.
const END: u64 = u64::MAX;

/// On a line of its own, also where lines are fetched in pairs.
#[repr(align(128))]
struct Line(AtomicU64);

/// Nanoseconds of one way, for each sample.
pub(crate) fn one_way_ns(a: u32, b: u32, budget: Budget<'_>) -> Result<Vec<f64>, CalibrateError> {
    let line = Line(AtomicU64::new(0));
    thread::scope(|scope| {
        let other = scope.spawn(|| {
            let pinned = pin(b);
            // also without its place: the first one must not wait for ever
            let mut turn = 1;
            loop {
                match line.0.load(Ordering::Acquire) {
                    END => return pinned.map(drop),
                    at if at == turn => {
                        line.0.store(turn + 1, Ordering::Release);
                        turn += 2;
                    }
                    _ => {}
                }
            }
        });
        let measure = || -> Result<Vec<f64>, CalibrateError> {
            let _pinned = pin(a)?;
            let (mut samples, mut turn) = (Vec::new(), 1);
            while !budget.is_over() {
                let begin_ns = now_ns();
                for _ in 0..TURNS {
                    line.0.store(turn, Ordering::Release);
                    while line.0.load(Ordering::Acquire) == turn {}
                    turn += 2;
                }
                samples.push((now_ns() - begin_ns) as f64 / (2 * TURNS) as f64);
            }
            // the first has the way to their CPUs in it
            Ok(samples.split_off(1.min(samples.len())))
        };
        let measured = measure();
        line.0.store(END, Ordering::Release);
        other.join().map_err(|_| CalibrateError::new("a measuring thread failed"))??;
        measured
    })
}
