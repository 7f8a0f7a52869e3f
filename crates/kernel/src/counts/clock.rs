// SPDX-License-Identifier: MIT OR Apache-2.0
//! For how long tasks were waiting: a clock that runs while there is one.

use super::raw::{waits, Words, STEPS, WAITING_BITS};
use super::STEP_NS;
use std::ops::RangeInclusive;

const TIME_BITS: u32 = 64 - WAITING_BITS;

/// What the clock was at the beginning of some steps.
#[derive(Clone, Debug, Default)]
pub(super) struct Clock {
    first: u64,
    at: Vec<u64>,
}

impl Clock {
    /// At the beginnings of these steps, all of them over at `now_ns`.
    pub(super) fn read(of: Words<'_>, steps: RangeInclusive<u64>, now_ns: u64) -> Self {
        let (first, last) = (*steps.start(), *steps.end());
        let mut at = vec![0; (last + 1).saturating_sub(first) as usize];
        let (mut since_ns, mut clock_ns, mut waited) = present(of, now_ns);
        let mut step = last;
        // Backwards: a clock of which nothing more is known stood still.
        let mut fill = |step: &mut u64, since_ns: u64, value: &dyn Fn(u64) -> u64| {
            while *step >= first && *step * STEP_NS >= since_ns {
                at[(*step - first) as usize] = value(*step * STEP_NS);
                if *step == 0 {
                    return false;
                }
                *step -= 1;
            }
            *step >= first
        };
        if !fill(&mut step, since_ns, &|ns| clock_ns + if waited { ns - since_ns } else { 0 }) {
            return Self { first, at };
        }
        loop {
            let changed = since_ns / STEP_NS;
            let mark =
                of.part(waits::MARKS + waits::MARK * (changed as usize % STEPS), waits::MARK);
            let begin_ns = changed * STEP_NS;
            let known = mark.get(0) == changed && mark.get(2) < begin_ns;
            if known {
                (clock_ns, since_ns, waited) = (mark.get(1), mark.get(2), mark.get(3) != 0);
            } else {
                (since_ns, waited) = (0, false);
            }
            let value =
                |ns: u64| if waited { clock_ns.saturating_sub(begin_ns - ns) } else { clock_ns };
            if !fill(&mut step, since_ns, &value) {
                return Self { first, at };
            }
        }
    }

    /// At the beginning of a step.
    pub(super) fn at(&self, step: u64) -> u64 {
        let index = step.checked_sub(self.first).map_or(0, |index| index as usize);
        self.at.get(index).or(self.at.last()).copied().unwrap_or(0)
    }
}

/// When the number of tasks that wait changed last, what the clock was then, and whether it runs.
fn present(of: Words<'_>, now_ns: u64) -> (u64, u64, bool) {
    loop {
        let word = of.get(waits::WORD);
        let clock_ns = of.get(waits::CLOCK_NS);
        if of.get(waits::WORD) != word {
            continue;
        }
        let mask = (1u64 << TIME_BITS) - 1;
        let passed = now_ns.wrapping_sub(word >> WAITING_BITS) & mask;
        // CPUs disagree a little about what time it is.
        let passed = if passed > mask / 2 { 0 } else { passed };
        let waiting = word & ((1 << WAITING_BITS) - 1);
        return (now_ns.saturating_sub(passed), clock_ns, waiting > 0);
    }
}

#[cfg(test)]
mod tests {
    use super::super::raw::testing::Entry;
    use super::*;

    const MS: u64 = 1_000_000;

    /// The number of tasks that wait, when that changed, and the clock then.
    fn set(of: &Entry, waiting: u64, since_ms: u64, clock_ms: u64) {
        of.words().set(waits::WORD, (since_ms * MS) << WAITING_BITS | waiting);
        of.words().set(waits::CLOCK_NS, clock_ms * MS);
    }

    fn mark(of: &Entry, step: u64, clock_ms: u64, since_ms: u64, waited: bool) {
        let at = waits::MARKS + waits::MARK * (step as usize % STEPS);
        for (word, value) in
            [step, clock_ms * MS, since_ms * MS, waited.into()].into_iter().enumerate()
        {
            of.words().set(at + word, value);
        }
    }

    fn read(of: &Entry, steps: RangeInclusive<u64>, now_ms: u64) -> Vec<u64> {
        let clock = Clock::read(of.words(), steps.clone(), now_ms * MS);
        steps.map(|step| clock.at(step) / MS).collect()
    }

    #[test]
    fn a_clock_that_nobody_changed_stands_or_runs() {
        let of = Entry::new(waits::SIZE);
        assert_eq!(read(&of, 0..=3, 35), [0, 0, 0, 0]);
        // A task has been waiting since 12 ms; there was none before.
        set(&of, 1, 12, 0);
        mark(&of, 1, 0, 0, false);
        assert_eq!(read(&of, 0..=3, 35), [0, 0, 8, 18]);
    }

    #[test]
    fn beginnings_of_steps_without_a_change_follow_from_the_changes_around() {
        let of = Entry::new(waits::SIZE);
        // A task waited from 12 to 44 ms, and one from 47 to 51 ms.
        mark(&of, 1, 0, 0, false);
        mark(&of, 4, 28, 12, true);
        mark(&of, 5, 35, 47, true);
        set(&of, 0, 51, 36);
        assert_eq!(read(&of, 0..=7, 75), [0, 0, 8, 18, 28, 35, 36, 36]);
        assert_eq!(read(&of, 3..=5, 75), [18, 28, 35]);
    }

    #[test]
    fn what_was_overwritten_stands_still() {
        let of = Entry::new(waits::SIZE);
        set(&of, 0, 45, 30);
        // The mark of step 4 is that of a later one.
        mark(&of, 4 + STEPS as u64, 99, 0, true);
        assert_eq!(read(&of, 2..=6, 65), [30, 30, 30, 30, 30]);
    }
}
