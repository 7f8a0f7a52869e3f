// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads that walk through memory of their own, two on each CPU.

use super::{half, Live, ALONE};
use crate::budget::Budget;
use crate::clock::{now_ns, sleep_until};
use crate::error::CalibrateError;
use crate::loops::Ring;
use crate::place::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// Memory of each thread.
pub const SET_KIB: usize = 256;
/// Passes through it between two sleeps, some 2 ms.
pub const PASSES: usize = 120;
/// Length of the sleep.
pub const SLEEP_NS: u64 = 1_000_000;
/// Threads for each CPU.
pub const TASKS_OF_CPU: usize = 2;

fn ring() -> Ring {
    Ring::new(SET_KIB * 1024 / 64)
}

fn alone(cpu: u32, budget: Budget<'_>) -> Result<f64, CalibrateError> {
    let measure = || -> Result<f64, CalibrateError> {
        let _pinned = pin(cpu)?;
        let (mut ring, mut times) = (ring(), Vec::new());
        let (lines, mut at) = (ring.lines(), 0);
        at = ring.walk(at, 4 * lines);
        while !budget.is_over() {
            let begin_ns = now_ns();
            at = ring.walk(at, lines);
            times.push((now_ns() - begin_ns) as f64);
        }
        half(&times)
    };
    thread::scope(|scope| {
        let measuring = scope.spawn(measure);
        measuring.join().map_err(|_| CalibrateError::new("a measuring thread failed"))?
    })
}

pub(super) fn play(cpus: &[u32], budget: Budget<'_>) -> Result<Live, CalibrateError> {
    let own = alone(cpus[0], budget.part(ALONE))?;
    let passes = AtomicU64::new(0);
    let begin_ns = now_ns();
    thread::scope(|scope| {
        let places = cpus.iter().copied().cycle().take(TASKS_OF_CPU * cpus.len());
        let passes = &passes;
        let walkers: Vec<_> = places
            .map(|cpu| {
                scope.spawn(move || -> Result<(), CalibrateError> {
                    let _pinned = pin(cpu)?;
                    let (mut ring, mut at) = (ring(), 0);
                    let lines = ring.lines();
                    while !budget.is_over() {
                        for _ in 0..PASSES {
                            at = ring.walk(at, lines);
                            passes.fetch_add(1, Ordering::Relaxed);
                        }
                        sleep_until(now_ns() + SLEEP_NS);
                    }
                    Ok(())
                })
            })
            .collect();
        walkers.into_iter().try_for_each(|walker| {
            walker.join().map_err(|_| CalibrateError::new("a thread of the load failed"))?
        })
    })?;
    let passed_ns = (now_ns() - begin_ns).max(1);
    let per_second = passes.load(Ordering::Relaxed) as f64 * 1e9 / passed_ns as f64;
    Ok(Live { per_second, wakeup_p50_ns: None, own_ns: vec![own] })
}
