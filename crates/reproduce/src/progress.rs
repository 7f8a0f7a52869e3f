// SPDX-License-Identifier: MIT OR Apache-2.0
//! How far a reproduction is, for whoever shows it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;

/// Experiments that are done, of all that are wanted, by the time that they take; of the one that
/// runs, its own work that is done, of what it has announced.
#[derive(Debug, Default)]
pub struct Progress {
    wanted: AtomicU64,
    before: AtomicU64,
    now: AtomicU64,
    done: AtomicU64,
    total: AtomicU64,
    stop: Arc<AtomicBool>,
}

/// Positions are in such parts of an experiment's time.
const PARTS: u64 = 1000;

impl Progress {
    /// Ends early once `stop` is true.
    pub fn stopped_by(stop: Arc<AtomicBool>) -> Self {
        Self { stop, ..Self::default() }
    }

    /// Whether the user wants no more.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// So much will come from here on, if it is not known of more.
    pub(crate) fn expect(&self, work: u64) {
        let known = self.before.load(Ordering::Relaxed) + work;
        self.wanted.fetch_max(known, Ordering::Relaxed);
    }

    /// An experiment begins, which takes a part of what was expected.
    pub(crate) fn begin(&self, work: u64) {
        self.done.store(0, Ordering::Relaxed);
        self.total.store(0, Ordering::Relaxed);
        self.now.store(work, Ordering::Relaxed);
    }

    /// It is over.
    pub(crate) fn end(&self) {
        let work = self.now.swap(0, Ordering::Relaxed);
        self.before.fetch_add(work, Ordering::Relaxed);
    }

    /// The experiment announces work, in simulated quanta or anything that takes about as long.
    pub(crate) fn announce(&self, work: u64) {
        self.total.fetch_add(work, Ordering::Relaxed);
    }

    /// Work of it that is done.
    pub(crate) fn advance(&self, work: u64) {
        self.done.fetch_add(work, Ordering::Relaxed);
    }

    /// What is done so far, and all that is to be done.
    pub fn position(&self) -> (u64, u64) {
        let [wanted, before, now, done, total] =
            [&self.wanted, &self.before, &self.now, &self.done, &self.total]
                .map(|number| number.load(Ordering::Relaxed));
        let part = done.min(total).saturating_mul(PARTS).checked_div(total).unwrap_or(0);
        ((before * PARTS + now * part).min(wanted * PARTS), wanted * PARTS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_experiment_counts_by_its_time_however_much_it_announces() {
        let progress = Progress::default();
        progress.expect(100);
        progress.begin(10);
        progress.announce(1_000_000);
        progress.advance(500_000);
        // half of a tenth
        assert_eq!(progress.position(), (5_000, 100_000));
        progress.advance(500_000);
        progress.end();
        progress.begin(90);
        assert_eq!(progress.position(), (10_000, 100_000));
        progress.announce(3);
        progress.advance(1);
        assert_eq!(progress.position(), (10_000 + 90 * 333, 100_000));
        progress.end();
        assert_eq!(progress.position(), (100_000, 100_000));
    }

    #[test]
    fn what_is_expected_of_all_papers_is_not_expected_again_of_one() {
        let progress = Progress::default();
        progress.expect(30);
        for _ in 0..3 {
            progress.expect(10);
            progress.begin(10);
            progress.end();
        }
        assert_eq!(progress.position(), (30_000, 30_000));
    }

    #[test]
    fn all_papers_are_known_of_before_the_first() {
        let progress = Progress::default();
        crate::expect_all(&progress);
        let all = progress.position().1;
        let of_papers = crate::papers().iter().flat_map(|paper| paper.experiments);
        assert_eq!(all, of_papers.map(|experiment| experiment.work * PARTS).sum::<u64>());
    }
}
