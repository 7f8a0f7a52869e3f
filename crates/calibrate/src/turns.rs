// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two threads that wake each other in turn, through pipes or futexes, on one CPU or two.

use crate::budget::Budget;
use crate::clock::now_ns;
use crate::error::CalibrateError;
use crate::place::pin;
use rustix::fd::OwnedFd;
use rustix::io::{read, write};
use rustix::thread::futex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;

/// Rounds of a sample.
const ROUNDS: u32 = 20;

/// What is given from one thread to the other.
pub(crate) trait Baton: Sync {
    /// Wakes the other one.
    fn give(&self) -> Result<(), CalibrateError>;
    /// Waits for it.
    fn take(&self) -> Result<(), CalibrateError>;
}

/// A byte in a pipe.
pub(crate) struct Pipe {
    from: OwnedFd,
    to: OwnedFd,
}

/// A word of memory.
#[derive(Default)]
pub(crate) struct Futex(AtomicU32);

fn failed(what: &str, error: rustix::io::Errno) -> CalibrateError {
    CalibrateError::new(format!("cannot {what}: {error}"))
}

impl Pipe {
    pub(crate) fn new() -> Result<Self, CalibrateError> {
        let (from, to) = rustix::pipe::pipe().map_err(|e| failed("make a pipe", e))?;
        Ok(Self { from, to })
    }
}

impl Baton for Pipe {
    fn give(&self) -> Result<(), CalibrateError> {
        write(&self.to, &[1]).map(|_| ()).map_err(|e| failed("write to a pipe", e))
    }

    fn take(&self) -> Result<(), CalibrateError> {
        loop {
            match read(&self.from, &mut [0; 1]) {
                Err(rustix::io::Errno::INTR) => {}
                done => return done.map(|_| ()).map_err(|e| failed("read from a pipe", e)),
            }
        }
    }
}

impl Baton for Futex {
    fn give(&self) -> Result<(), CalibrateError> {
        self.0.store(1, Ordering::Release);
        let woken = futex::wake(&self.0, futex::Flags::PRIVATE, 1);
        woken.map(|_| ()).map_err(|e| failed("wake a thread", e))
    }

    fn take(&self) -> Result<(), CalibrateError> {
        while self.0.swap(0, Ordering::Acquire) == 0 {
            match futex::wait(&self.0, futex::Flags::PRIVATE, 0, None) {
                Ok(()) | Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => {}
                Err(error) => return Err(failed("wait for a thread", error)),
            }
        }
        Ok(())
    }
}

/// Nanoseconds of a round, there and back, for each sample.
pub(crate) fn round_ns<B: Baton>(
    cpus: (u32, u32),
    batons: &[B; 2],
    budget: Budget<'_>,
) -> Result<Vec<f64>, CalibrateError> {
    let is_over = AtomicBool::new(false);
    let [there, back] = batons;
    thread::scope(|scope| {
        let other = scope.spawn(|| {
            let pinned = pin(cpus.1);
            loop {
                there.take()?;
                let end = is_over.load(Ordering::Acquire);
                back.give()?;
                if end {
                    return pinned.map(drop);
                }
            }
        });
        let measure = || -> Result<Vec<f64>, CalibrateError> {
            let _pinned = pin(cpus.0)?;
            let mut samples = Vec::new();
            while !budget.is_over() {
                let begin_ns = now_ns();
                for _ in 0..ROUNDS {
                    there.give()?;
                    back.take()?;
                }
                samples.push((now_ns() - begin_ns) as f64 / f64::from(ROUNDS));
            }
            Ok(samples.split_off(1.min(samples.len())))
        };
        let measured = measure();
        is_over.store(true, Ordering::Release);
        there.give()?;
        let lost = |_| CalibrateError::new("a measuring thread failed");
        other.join().map_err(lost)??;
        measured
    })
}

/// Nanoseconds of giving and taking where nobody has to wait, for each sample.
pub(crate) fn alone_ns<B: Baton>(
    cpu: u32,
    baton: &B,
    budget: Budget<'_>,
) -> Result<Vec<f64>, CalibrateError> {
    let _pinned = pin(cpu)?;
    let mut samples = Vec::new();
    while !budget.is_over() {
        let begin_ns = now_ns();
        for _ in 0..ROUNDS {
            baton.give()?;
            baton.take()?;
        }
        samples.push((now_ns() - begin_ns) as f64 / f64::from(ROUNDS));
    }
    Ok(samples)
}

/// Nanoseconds of a `sched_yield()`, of one thread or of two that change places, for each sample.
pub(crate) fn yield_ns(
    cpu: u32,
    changes: bool,
    budget: Budget<'_>,
) -> Result<Vec<f64>, CalibrateError> {
    let has_ended = AtomicBool::new(false);
    thread::scope(|scope| {
        let other = changes.then(|| {
            scope.spawn(|| {
                let pinned = pin(cpu);
                while !has_ended.load(Ordering::Relaxed) {
                    rustix::thread::sched_yield();
                }
                pinned.map(drop)
            })
        });
        let measure = || -> Result<Vec<f64>, CalibrateError> {
            let _pinned = pin(cpu)?;
            let mut samples = Vec::new();
            while !budget.is_over() {
                let begin_ns = now_ns();
                (0..ROUNDS).for_each(|_| rustix::thread::sched_yield());
                // two switches where there are two
                let each = if changes { 2.0 } else { 1.0 };
                samples.push((now_ns() - begin_ns) as f64 / f64::from(ROUNDS) / each);
            }
            Ok(samples.split_off(1.min(samples.len())))
        };
        let measured = measure();
        has_ended.store(true, Ordering::Relaxed);
        if let Some(other) = other {
            other.join().map_err(|_| CalibrateError::new("a measuring thread failed"))??;
        }
        measured
    })
}
