// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a cache holds of whose: the sets of lines that tasks use, by when they last did. Of a set
//! that others have been used after, as much is left as they leave room for (LRU).

use crate::task::Tid;

/// A cache, in lines.
#[derive(Debug)]
pub(crate) struct Lru {
    lines: u64,
    /// Sets of tasks, that of the last one at the end. All of them may not fit.
    sets: Vec<(Tid, u64)>,
}

impl Lru {
    pub(crate) fn new(lines: u64) -> Self {
        Self { lines, sets: Vec::new() }
    }

    /// Lines that it has room for.
    pub(crate) fn lines(&self) -> u64 {
        self.lines
    }

    /// Lines of a task's set of this size that are still there.
    pub(crate) fn held(&self, task: Tid, lines: u64) -> u64 {
        let mut room = self.lines;
        for (other, others) in self.sets.iter().rev() {
            if *other == task {
                return room.min(lines);
            }
            room = room.saturating_sub(*others);
        }
        0
    }

    /// A task uses its set.
    pub(crate) fn touch(&mut self, task: Tid, lines: u64) {
        if let Some(at) = self.sets.iter().rposition(|(other, _)| *other == task) {
            self.sets.remove(at);
        }
        if lines == 0 {
            return;
        }
        self.sets.push((task, lines.min(self.lines)));
        let mut room = self.lines;
        let fits = |(_, lines): &&(Tid, u64)| {
            let has_room = room > 0;
            room = room.saturating_sub(*lines);
            has_room
        };
        let kept = self.sets.iter().rev().take_while(fits).count();
        self.sets.drain(..self.sets.len() - kept);
    }

    /// It loses all that it holds.
    pub(crate) fn flush(&mut self) {
        self.sets.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const A: Tid = Tid(1);
    const B: Tid = Tid(2);
    const C: Tid = Tid(3);

    #[test]
    fn nothing_is_lost_while_all_sets_fit() {
        let mut cache = Lru::new(1000);
        cache.touch(A, 400);
        (0..9).for_each(|_| [B, C].iter().for_each(|task| cache.touch(*task, 300)));
        assert_eq!(cache.held(A, 400), 400);
    }

    #[test]
    fn two_sets_that_do_not_fit_lose_what_is_too_much_each_time() {
        // 600 + 600 = 200 more than 1000
        let mut cache = Lru::new(1000);
        cache.touch(A, 600);
        for task in [B, A, B, A] {
            cache.touch(task, 600);
            let other = if task == A { B } else { A };
            assert_eq!(cache.held(other, 600), 400);
        }
        assert_eq!(cache.held(C, 600), 0);
    }

    #[test]
    fn a_set_as_large_as_the_cache_leaves_nothing() {
        let mut cache = Lru::new(1000);
        cache.touch(A, 1);
        cache.touch(B, 5000);
        assert_eq!((cache.held(A, 1), cache.held(B, 5000)), (0, 1000));
        cache.flush();
        assert_eq!(cache.held(B, 5000), 0);
    }

    proptest! {
        #[test]
        fn holds_no_more_than_it_has_room_for(
            uses in prop::collection::vec((0..6u32, 0..500u64), 1..40),
        ) {
            let mut cache = Lru::new(1000);
            let mut last = [0; 6];
            for (task, lines) in uses {
                cache.touch(Tid(task), lines);
                last[task as usize] = lines;
                prop_assert_eq!(cache.held(Tid(task), lines), lines);
                let held: u64 = (0..6).map(|t| cache.held(Tid(t), last[t as usize])).sum();
                prop_assert!(held <= 1000, "{held}");
            }
        }
    }
}
