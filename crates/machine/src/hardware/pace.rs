// SPDX-License-Identifier: MIT OR Apache-2.0
//! Work and time: how much a CPU gets done in a time, and how long it takes for some work.
//!
//! Work is counted in 1/1024 ns of a CPU at [`FULL_SPEED`], speeds are 1 to 1024 of it. So what is
//! done in whole nanoseconds is exact, and asking at more instants changes nothing. The nanosecond
//! in which a piece of work ends has that piece's speed to its end; what it does more is of the
//! next piece.

use super::FULL_SPEED;

/// Work that takes this long at full speed.
#[inline]
pub(crate) fn work_of(ns: u64) -> u64 {
    ns.saturating_mul(FULL_SPEED.into())
}

/// A piece of a task's work that has a speed of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Piece {
    /// What is left of it.
    pub(crate) left: u64,
    /// Its speed, in 1/1024 of that after it.
    pub(crate) factor: u32,
    pub(crate) speed: u32,
}

/// How fast a CPU is with its current task.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// Full speed, whatever it does: what a flat machine has, in no time.
    is_full: bool,
    /// With what the kernel does, which comes first.
    pub(crate) overhead: u32,
    /// With the task, once its caches are warm.
    pub(crate) work: u32,
    /// And before. The second one ends last.
    pub(crate) cold: [Piece; 2],
    /// Microwatts that it takes; 0: none that are known.
    pub(crate) power_uw: u64,
}

impl Default for Pace {
    /// That of a flat machine.
    fn default() -> Self {
        Self::new(FULL_SPEED, FULL_SPEED, [Piece::default(); 2])
    }
}

/// Time that passes, and work that was done in it beyond the end of the last piece.
struct Passing {
    ns: u64,
    surplus: u64,
}

impl Passing {
    /// Does some of what is left of a piece, and returns how much.
    fn work_on(&mut self, left: u64, speed: u32) -> u64 {
        let early = left.min(self.surplus);
        self.surplus -= early;
        let left = left - early;
        if left == 0 {
            return early;
        }
        let takes_ns = left.div_ceil(speed.into());
        if takes_ns > self.ns {
            return early + std::mem::take(&mut self.ns) * u64::from(speed);
        }
        self.ns -= takes_ns;
        self.surplus = takes_ns.saturating_mul(speed.into()) - left;
        early + left
    }
}

impl Pace {
    pub(crate) fn new(overhead: u32, work: u32, cold: [Piece; 2]) -> Self {
        let is_full = [overhead, work] == [FULL_SPEED; 2] && cold[1].left == 0;
        Self { is_full, overhead, work, cold, power_uw: 0 }
    }

    /// With this power, in microwatts.
    pub(crate) fn with_power(self, power_uw: u64) -> Self {
        Self { power_uw, ..self }
    }

    /// Time passes: pays the kernel's `debt` first, and returns the work of the task that is done.
    #[inline]
    pub(crate) fn advance(&mut self, ns: u64, debt: &mut u64) -> u64 {
        if !self.is_full {
            return self.advance_unevenly(ns, debt);
        }
        let done = work_of(ns);
        let overhead = done.min(*debt);
        *debt -= overhead;
        done - overhead
    }

    #[inline(never)]
    fn advance_unevenly(&mut self, ns: u64, debt: &mut u64) -> u64 {
        let mut passing = Passing { ns, surplus: 0 };
        *debt -= passing.work_on(*debt, self.overhead);
        let mut done: u64 = 0;
        for piece in &mut self.cold {
            let part = passing.work_on(piece.left, piece.speed);
            piece.left -= part;
            done += part;
        }
        if *debt > 0 || self.cold[1].left > 0 {
            return done;
        }
        let rest = passing.ns.saturating_mul(self.work.into()).saturating_add(passing.surplus);
        done.saturating_add(rest)
    }

    /// Nanoseconds until the `debt` is paid and this much work of the task is done.
    #[inline]
    pub(crate) fn ns_for(&self, debt: u64, work: u64) -> u64 {
        if !self.is_full {
            return self.ns_for_unevenly(debt, work);
        }
        // rounded up
        debt.saturating_add(u64::from(FULL_SPEED) - 1).saturating_add(work) / u64::from(FULL_SPEED)
    }

    #[inline(never)]
    fn ns_for_unevenly(&self, debt: u64, work: u64) -> u64 {
        let (mut work, endless) = (work, u64::MAX);
        let mut passing = Passing { ns: endless, surplus: 0 };
        passing.work_on(debt, self.overhead);
        for piece in &self.cold {
            work -= passing.work_on(piece.left.min(work), piece.speed);
        }
        passing.work_on(work, self.work);
        endless - passing.ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn speed() -> impl Strategy<Value = u32> {
        1..=FULL_SPEED
    }

    prop_compose! {
        fn pace()(
            overhead in speed(), work in speed(), speeds in (speed(), speed()),
            first in 0..200_000u64, second in 1..200_000u64,
        ) -> Pace {
            let piece = |left, speed| Piece { left, factor: FULL_SPEED, speed };
            Pace::new(overhead, work, [piece(first, speeds.0), piece(second, speeds.1)])
        }
    }

    proptest! {
        #[test]
        fn what_is_done_does_not_depend_on_when_it_is_asked(
            pace in pace(),
            debt in 0..100_000u64,
            parts in prop::collection::vec(0..300u64, 1..8),
        ) {
            let (mut whole, mut whole_debt) = (pace, debt);
            let at_once = whole.advance(parts.iter().sum(), &mut whole_debt);
            let (mut split, mut split_debt, mut done) = (pace, debt, 0);
            for ns in parts {
                done += split.advance(ns, &mut split_debt);
            }
            prop_assert_eq!((done, split_debt, split.cold), (at_once, whole_debt, whole.cold));
        }

        #[test]
        fn work_is_done_in_the_first_nanosecond_that_is_long_enough(
            pace in pace(),
            debt in 0..100_000u64,
            work in 1..500_000u64,
        ) {
            let ns = pace.ns_for(debt, work);
            let done_after = |ns| {
                let (mut pace, mut debt) = (pace, debt);
                let done = pace.advance(ns, &mut debt);
                (debt, done)
            };
            let (left, done) = done_after(ns);
            prop_assert!(left == 0 && done >= work, "{left} {done}");
            let (left, done) = done_after(ns - 1);
            prop_assert!(left > 0 || done < work, "{left} {done}");
        }
    }

    #[test]
    fn pieces_follow_each_other_within_a_nanosecond() {
        // 1.5 ns of debt at half speed: 3 ns. Then 1000 at 300: 4 ns, which do 1200; the 200 more
        // are of the second piece, which has 800 left: 2 ns at 400. Then 100 at 1024: 1 ns.
        let piece = |left, speed| Piece { left, factor: FULL_SPEED, speed };
        let mut pace = Pace::new(512, 1024, [piece(1000, 300), piece(1000, 400)]);
        assert_eq!(pace.ns_for(1536, 2100), 3 + 4 + 2 + 1);
        let mut debt = 1536;
        assert_eq!((pace.advance(7, &mut debt), debt), (1200, 0));
        assert_eq!(pace.cold.map(|piece| piece.left), [0, 800]);
        assert_eq!(pace.advance(3, &mut debt), 800 + 1024);
    }

    #[test]
    fn work_without_end_takes_time_without_end() {
        let pace = Pace::default();
        assert_eq!(pace.ns_for(0, u64::MAX), u64::MAX / 1024);
        assert_eq!(work_of(u64::MAX), u64::MAX);
    }
}
