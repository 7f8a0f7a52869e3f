// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a timer tick takes from the task that it interrupts.

use crate::budget::Budget;
use crate::clock::now_ns;
use crate::error::CalibrateError;
use crate::place::pin;
use std::thread;

/// A time in which a thread that only looks at the clock did not get to do so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gap {
    pub(crate) at_ns: u64,
    pub(crate) for_ns: u64,
}

/// Longer than a look at the clock.
const SHORTEST_NS: u64 = 300;
/// Shorter than a turn of another task.
const LONGEST_NS: u64 = 100_000;
/// Parts of a period that are told apart.
const PHASES: u64 = 64;

/// Gaps on a CPU.
pub(crate) fn gaps(cpu: u32, budget: Budget<'_>) -> Result<Vec<Gap>, CalibrateError> {
    thread::scope(|scope| {
        let watcher = scope.spawn(|| -> Result<Vec<Gap>, CalibrateError> {
            let _pinned = pin(cpu)?;
            let (mut all, mut last_ns) = (Vec::new(), now_ns());
            while !budget.is_over() {
                for _ in 0..1_000 {
                    let now_ns = now_ns();
                    let for_ns = now_ns - last_ns;
                    if for_ns >= SHORTEST_NS {
                        all.push(Gap { at_ns: last_ns, for_ns });
                    }
                    last_ns = now_ns;
                }
            }
            Ok(all)
        });
        watcher.join().map_err(|_| CalibrateError::new("a measuring thread failed"))?
    })
}

/// Nanoseconds of the gaps that come with a period, one for each tick: of the part of the period
/// in which most of them begin.
pub(crate) fn of_ticks(gaps: &[Gap], period_ns: u64) -> Vec<f64> {
    let fits = |gap: &&Gap| gap.for_ns <= LONGEST_NS;
    let phase = |gap: &Gap| gap.at_ns % period_ns * PHASES / period_ns;
    let mut counts = vec![0_u32; PHASES as usize];
    gaps.iter().filter(fits).for_each(|gap| counts[phase(gap) as usize] += 1);
    let Some(most) = (0..PHASES).max_by_key(|at| counts[*at as usize]) else { return Vec::new() };
    // A tick that begins at the border of two parts is in either.
    let is_near = |gap: &&Gap| {
        let distance = phase(gap).abs_diff(most);
        distance <= 1 || distance == PHASES - 1
    };
    gaps.iter().filter(fits).filter(is_near).map(|gap| gap.for_ns as f64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_of_other_phases_are_no_ticks() {
        // Ticks each 4 ms at 1 ms, 2 us long; something else now and then, and a task of others
        // at a tick.
        let tick = |n: u64| Gap { at_ns: n * 4_000_000 + 1_000_000 + n % 3 * 50, for_ns: 2_000 };
        let mut gaps: Vec<Gap> = (0..50).map(tick).collect();
        gaps.extend((0..20).map(|n| Gap { at_ns: n * 7_300_123, for_ns: 900 }));
        gaps.push(Gap { at_ns: 51 * 4_000_000 + 1_000_000, for_ns: 3_000_000 });
        let found = of_ticks(&gaps, 4_000_000);
        let ticks = found.iter().filter(|ns| **ns == 2_000.0).count();
        assert_eq!(ticks, 50);
        assert!(found.len() < 55, "{found:?}");
    }
}
