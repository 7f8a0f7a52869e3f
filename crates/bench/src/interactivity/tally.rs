// SPDX-License-Identifier: MIT OR Apache-2.0
//! What became of the periods of an interactive task.

use serde::{Deserialize, Serialize};

/// Periods, and how late they began.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    /// From when a period was due to its start, of each for which the task had slept: one that still
    /// worked on the last has the CPU already.
    pub latencies_ns: Vec<u64>,
    /// Periods whose work was done before the next was due.
    pub met: u64,
    /// Those whose work was done later.
    pub late: u64,
    /// Those that were over before they could begin: frames that nobody sees.
    pub dropped: u64,
    /// CPU time that all periods wanted.
    pub wanted_ns: u64,
    /// That of those that were begun.
    pub done_ns: u64,
}

impl Tally {
    /// Notes a period that was due at a time, and whose work was done at another.
    pub(crate) fn period(&mut self, due_ns: u64, period_ns: u64, work_ns: u64, done_ns: u64) {
        self.wanted_ns += work_ns;
        self.done_ns += work_ns;
        match done_ns <= due_ns + period_ns {
            true => self.met += 1,
            false => self.late += 1,
        }
    }

    /// Notes a period that was over before it began.
    pub(crate) fn drop_one(&mut self, work_ns: u64) {
        self.dropped += 1;
        self.wanted_ns += work_ns;
    }

    /// Adds another repetition's.
    pub(crate) fn add(&mut self, other: &Self) {
        self.latencies_ns.extend(&other.latencies_ns);
        self.met += other.met;
        self.late += other.late;
        self.dropped += other.dropped;
        self.wanted_ns += other.wanted_ns;
        self.done_ns += other.done_ns;
    }

    /// Part of all periods that met their deadlines; `None` without any.
    pub fn deadlines_met(&self) -> Option<f64> {
        let all = self.met + self.late + self.dropped;
        (all > 0).then(|| self.met as f64 / all as f64)
    }

    /// Part of the CPU time that was wanted which was had; `None`: none was wanted.
    pub fn desired_cpu(&self) -> Option<f64> {
        (self.wanted_ns > 0).then(|| self.done_ns as f64 / self.wanted_ns as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_of_all_periods() {
        // Periods of 100 with 40 of work: one in time, one late, two dropped.
        let mut tally = Tally::default();
        tally.period(0, 100, 40, 60);
        tally.period(100, 100, 40, 360);
        tally.drop_one(40);
        tally.drop_one(40);
        assert_eq!((tally.met, tally.late, tally.dropped), (1, 1, 2));
        tally.latencies_ns = vec![5, 90];
        assert_eq!(tally.deadlines_met(), Some(0.25));
        assert_eq!(tally.desired_cpu(), Some(0.5));
        let mut both = Tally::default();
        assert_eq!((both.deadlines_met(), both.desired_cpu()), (None, None));
        both.add(&tally);
        both.add(&tally);
        assert_eq!((both.met, both.latencies_ns.len(), both.wanted_ns), (2, 4, 320));
    }

    #[test]
    fn done_at_the_deadline_is_in_time() {
        let mut tally = Tally::default();
        tally.period(100, 50, 50, 150);
        tally.period(150, 50, 50, 201);
        assert_eq!((tally.met, tally.late), (1, 1));
    }
}
