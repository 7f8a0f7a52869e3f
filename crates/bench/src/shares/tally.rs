// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a task has done, by windows.

use super::{Done, Task};
use std::collections::BTreeSet;

/// A chunk that took so many times as long as alone was interrupted by another task.
const INTERRUPTED: u64 = 2;

/// Counts for one task.
#[derive(Debug)]
pub(super) struct Tally {
    origin_ns: u64,
    window_ns: u64,
    windows_ns: Vec<u64>,
    turns_ns: Vec<u64>,
}

impl Tally {
    /// With windows that begin at a time.
    pub(super) fn new(origin_ns: u64, window_ns: u64) -> Self {
        Self { origin_ns, window_ns, windows_ns: Vec::new(), turns_ns: Vec::new() }
    }

    /// The task has the CPU for the first time.
    pub(super) fn begin(&mut self, at_ns: u64) {
        self.turns_ns.push(at_ns);
    }

    /// A chunk of work that takes `work_ns` alone was done between two times.
    pub(super) fn chunk(&mut self, before_ns: u64, after_ns: u64, work_ns: u64) {
        let took_ns = after_ns.saturating_sub(before_ns);
        let (first, last) = (self.window(before_ns), self.window(after_ns));
        if took_ns > INTERRUPTED * work_ns {
            // Nobody knows how much of it was done before.
            self.windows_ns[first] += work_ns / 2;
            self.windows_ns[last] += work_ns - work_ns / 2;
            self.turns_ns.push(after_ns.saturating_sub(work_ns));
            return;
        }
        // Even, over windows that it touches.
        let mut left_ns = work_ns;
        for window in first..last {
            let edge_ns = self.origin_ns + (window as u64 + 1) * self.window_ns;
            let part_ns = edge_ns.min(after_ns) - before_ns.max(edge_ns - self.window_ns);
            let part_ns = (work_ns * part_ns / took_ns.max(1)).min(left_ns);
            self.windows_ns[window] += part_ns;
            left_ns -= part_ns;
        }
        self.windows_ns[last] += left_ns;
    }

    /// What became of tasks, each of which ended at a time.
    pub(super) fn done(all: Vec<(Task, Tally, u64)>) -> Vec<Done> {
        let mut begun = BTreeSet::new();
        for (number, (_, tally, _)) in all.iter().enumerate() {
            begun.extend(tally.turns_ns.iter().map(|at_ns| (*at_ns, number)));
        }
        let mut turns: Vec<Vec<u64>> = vec![Vec::new(); all.len()];
        let mut last = None;
        for (at_ns, number) in begun {
            // Else it was somebody who is not of these tasks that interrupted it.
            if last.replace(number) != Some(number) {
                turns[number].push(at_ns);
            }
        }
        let done = |((task, mut tally, end_ns), turns_ns): ((Task, Tally, u64), Vec<u64>)| {
            let last = tally.window(end_ns);
            let mut turns = vec![0; last + 1];
            turns_ns.into_iter().for_each(|at_ns| turns[tally.window(at_ns).min(last)] += 1);
            let end_ns = end_ns.saturating_sub(tally.origin_ns);
            Done { task, end_ns, windows_ns: tally.windows_ns, turns }
        };
        all.into_iter().zip(turns).map(done).collect()
    }

    fn window(&mut self, at_ns: u64) -> usize {
        let window = (at_ns.saturating_sub(self.origin_ns) / self.window_ns) as usize;
        if self.windows_ns.len() <= window {
            self.windows_ns.resize(window + 1, 0);
        }
        window
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TASK: Task = Task { start_ns: 0, work_ns: 0 };

    fn done(tally: Tally, end_ns: u64) -> Done {
        Tally::done(vec![(TASK, tally, end_ns)]).remove(0)
    }

    #[test]
    fn work_belongs_to_the_windows_in_which_it_was_done() {
        let mut tally = Tally::new(1_000, 100);
        tally.begin(1_090);
        // Ten before the edge and ten after it, without and then with an interruption.
        tally.chunk(1_090, 1_110, 20);
        tally.chunk(1_110, 1_130, 20);
        tally.chunk(1_130, 1_571, 20);
        let done = done(tally, 1_571);
        assert_eq!(done.windows_ns, [10, 40, 0, 0, 0, 10]);
        assert_eq!(done.end_ns, 571);
    }

    #[test]
    fn a_turn_begins_after_another_task_only() {
        let tally = |chunks: &[(u64, u64)]| {
            let mut tally = Tally::new(0, 100);
            tally.begin(chunks[0].0);
            chunks.iter().for_each(|(before, after)| tally.chunk(*before, *after, 20));
            tally
        };
        // The second time the first was interrupted by somebody unknown: at 120 nobody had worked.
        let first = tally(&[(0, 20), (20, 140), (140, 160), (160, 300)]);
        let second = tally(&[(180, 200), (200, 220), (220, 360)]);
        let all = Tally::done(vec![(TASK, first, 300), (TASK, second, 360)]);
        assert_eq!(all[0].turns, [1, 0, 1, 0]);
        assert_eq!(all[1].turns, [0, 1, 0, 1]);
    }

    proptest! {
        #[test]
        fn no_work_is_lost(
            pauses in proptest::collection::vec(0..3_000u64, 0..60),
            window_ns in 1..500u64,
            work_ns in 1..300u64,
        ) {
            let mut tally = Tally::new(0, window_ns);
            tally.begin(0);
            let mut at_ns = 0;
            for pause_ns in &pauses {
                tally.chunk(at_ns, at_ns + work_ns + pause_ns, work_ns);
                at_ns += work_ns + pause_ns;
            }
            let gaps = 1 + pauses.iter().filter(|pause_ns| **pause_ns > work_ns).count();
            prop_assert_eq!(tally.turns_ns.len(), gaps);
            let done = done(tally, at_ns);
            prop_assert_eq!(done.windows_ns.iter().sum::<u64>(), work_ns * pauses.len() as u64);
            prop_assert_eq!(done.turns.iter().sum::<u32>(), 1);
        }
    }
}
