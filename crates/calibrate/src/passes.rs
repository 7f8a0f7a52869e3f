// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a move costs a task: passes through a set of lines after the thread has gone to another
//! CPU.

use crate::budget::Budget;
use crate::clock::now_ns;
use crate::error::CalibrateError;
use crate::loops::Ring;
use crate::place::pin;
use std::thread;

/// Parts of a pass that are timed.
pub(crate) const QUARTERS: usize = 16;
/// Passes that make the set warm.
const WARM: usize = 4;

/// Nanoseconds of the quarters of the first passes after each move.
pub(crate) type Moved = Vec<[f64; QUARTERS]>;

/// What was seen of one size.
#[derive(Clone, Debug, Default)]
pub(crate) struct Passes {
    /// Lines of the set.
    pub(crate) lines: usize,
    /// For each move.
    pub(crate) moved: Moved,
    /// Nanoseconds of a quarter once all is warm.
    pub(crate) warm: Vec<f64>,
}

/// Goes from one CPU to the other and back, with a set of so many KiB that it writes.
pub(crate) fn moves(
    cpus: (u32, u32),
    kib: usize,
    budget: Budget<'_>,
) -> Result<Passes, CalibrateError> {
    let measure = || -> Result<Passes, CalibrateError> {
        let mut ring = Ring::new(kib * 1024 / 64);
        let lines = ring.lines();
        let quarter = lines / 4;
        let mut seen = Passes { lines, ..Passes::default() };
        let (mut at, mut here) = (0, cpus.0);
        let pinned = pin(here)?;
        at = ring.walk(at, WARM * lines);
        while !budget.is_over() {
            here = if here == cpus.0 { cpus.1 } else { cpus.0 };
            pinned.go(here)?;
            let mut times = [0.0; QUARTERS];
            for time in &mut times {
                let begin_ns = now_ns();
                at = ring.walk(at, quarter);
                *time = (now_ns() - begin_ns) as f64;
            }
            seen.moved.push(times);
            at = ring.walk(at, WARM * lines - 4 * quarter);
            let begin_ns = now_ns();
            at = ring.walk(at, quarter);
            seen.warm.push((now_ns() - begin_ns) as f64);
        }
        Ok(seen)
    };
    thread::scope(|scope| {
        let walker = scope.spawn(measure);
        walker.join().map_err(|_| CalibrateError::new("a measuring thread failed"))?
    })
}

impl Passes {
    /// Nanoseconds for each line in a warm pass, for each sample.
    pub(crate) fn reuse_ns(&self) -> Vec<f64> {
        let lines = (self.lines / 4).max(1) as f64;
        self.warm.iter().map(|ns| ns / lines).collect()
    }

    /// Nanoseconds for each line that the first passes took more than warm ones, for each move.
    pub(crate) fn refill_ns(&self) -> Vec<f64> {
        let Some(warm) = crate::estimate::Estimate::of(&self.warm) else { return Vec::new() };
        let more = |times: &[f64; QUARTERS]| times.iter().map(|ns| ns - warm.median).sum::<f64>();
        self.moved.iter().map(|times| more(times) / self.lines.max(1) as f64).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refill_is_what_all_quarters_took_more_than_a_warm_one() {
        // 400 lines, 100 a quarter. Warm: 1000 ns, so 10 ns a line. The first pass took 4 x 2000,
        // the second 4 x 1250, the others as warm: 4000 + 1000 ns more, 12.5 a line.
        let mut times = [1_000.0; QUARTERS];
        times[..4].fill(2_000.0);
        times[4..8].fill(1_250.0);
        let seen = Passes { lines: 400, moved: vec![times], warm: vec![900.0, 1_000.0, 5_000.0] };
        assert_eq!(seen.refill_ns(), [12.5]);
        assert_eq!(seen.reuse_ns(), [9.0, 10.0, 50.0]);
    }
}
