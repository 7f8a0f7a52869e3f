// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pairs of a thread that thinks and wakes, and one that is woken and works, as those of schbench,
//! on a CPU each.

use super::{half, Live, ALONE};
use crate::budget::Budget;
use crate::clock::{now_ns, sleep_until};
use crate::error::CalibrateError;
use crate::loops::{Kind, Loop};
use crate::place::pin;
use crate::turns::{Baton, Futex};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

/// How long the first one thinks, asleep.
pub const THINK_NS: u64 = 400_000;
/// Units of work of the other one, some 100 us.
const UNITS: u32 = 20;

fn work(work: &mut Loop) {
    (0..UNITS).for_each(|_| work.once());
}

fn alone(cpu: u32, budget: Budget<'_>) -> Result<f64, CalibrateError> {
    let measure = || -> Result<f64, CalibrateError> {
        let _pinned = pin(cpu)?;
        let (mut unit, mut times) = (Loop::new(Kind::Integer), Vec::new());
        while !budget.is_over() {
            let begin_ns = now_ns();
            work(&mut unit);
            times.push((now_ns() - begin_ns) as f64);
        }
        half(&times)
    };
    thread::scope(|scope| {
        let measuring = scope.spawn(measure);
        measuring.join().map_err(|_| CalibrateError::new("a measuring thread failed"))?
    })
}

/// A pair.
#[derive(Default)]
struct Pair {
    go: Futex,
    done: Futex,
    sent_ns: AtomicU64,
    is_over: AtomicBool,
}

impl Pair {
    /// Wakes, and waits for the work.
    fn think(&self, cpu: u32, budget: Budget<'_>) -> Result<(), CalibrateError> {
        let pinned = pin(cpu);
        while !budget.is_over() {
            sleep_until(now_ns() + THINK_NS);
            self.sent_ns.store(now_ns(), Ordering::Release);
            self.go.give()?;
            self.done.take()?;
        }
        self.is_over.store(true, Ordering::Release);
        self.go.give()?;
        pinned.map(drop)
    }

    /// Works, and says how long after each call that woke it.
    fn work(&self, cpu: u32) -> Result<Vec<f64>, CalibrateError> {
        let pinned = pin(cpu);
        let (mut unit, mut late) = (Loop::new(Kind::Integer), Vec::new());
        loop {
            self.go.take()?;
            let now_ns = now_ns();
            if self.is_over.load(Ordering::Acquire) {
                return pinned.map(|_| late);
            }
            late.push(now_ns.saturating_sub(self.sent_ns.load(Ordering::Acquire)) as f64);
            work(&mut unit);
            self.done.give()?;
        }
    }
}

pub(super) fn play(cpus: &[u32], budget: Budget<'_>) -> Result<Live, CalibrateError> {
    let own = alone(cpus[0], budget.part(ALONE))?;
    let pairs: Vec<Pair> = (0..cpus.len() / 2).map(|_| Pair::default()).collect();
    let begin_ns = now_ns();
    let late = thread::scope(|scope| {
        let placed = || pairs.iter().zip(cpus.chunks_exact(2));
        let workers: Vec<_> =
            placed().map(|(pair, cpus)| scope.spawn(move || pair.work(cpus[1]))).collect();
        let thinkers: Vec<_> =
            placed().map(|(pair, cpus)| scope.spawn(move || pair.think(cpus[0], budget))).collect();
        let lost = |_| CalibrateError::new("a thread of the load failed");
        for thinker in thinkers {
            thinker.join().map_err(lost)??;
        }
        let late: Result<Vec<Vec<f64>>, CalibrateError> =
            workers.into_iter().map(|worker| worker.join().map_err(lost)?).collect();
        Ok::<_, CalibrateError>(late?.concat())
    })?;
    let per_second = late.len() as f64 * 1e9 / (now_ns() - begin_ns).max(1) as f64;
    Ok(Live { per_second, wakeup_p50_ns: Some(half(&late)?), own_ns: vec![own] })
}
