// SPDX-License-Identifier: MIT OR Apache-2.0
//! The threads that the daemon watches, within the descriptors that it may have: each takes one.
//! No user can take all, so that one with many threads does not end the boosts of others.

use crate::account::Spell;
use crate::process::{Clock, Times};
use std::collections::HashMap;

/// Part of what was seen before, in the average of how many want the CPU.
const KEPT: f64 = 0.8;
/// Of what a thread used in its last tick the kernel may not have taken note when it ends.
const TICK_NS: u64 = 4_000_000;

/// A thread that is watched.
#[derive(Debug)]
pub(crate) struct Watch<C = Clock> {
    /// Its user.
    pub(crate) uid: u32,
    /// What its times are read from.
    pub(crate) clock: C,
    times: Times,
    looked_ns: u64,
    running: f64,
}

impl<C> Watch<C> {
    /// From now on, with these times up to now, while so many want its CPU.
    pub(crate) fn new(now_ns: u64, uid: u32, clock: C, times: Times, running: f64) -> Self {
        Self { uid, clock, times, looked_ns: now_ns, running }
    }

    /// What it did since the last look.
    pub(crate) fn look(&mut self, now_ns: u64, times: Times, running: f64) -> Spell {
        let cpu_ns = times.cpu_ns.saturating_sub(self.times.cpu_ns);
        let wait_ns = times.wait_ns.saturating_sub(self.times.wait_ns);
        self.running = KEPT * self.running + (1.0 - KEPT) * running;
        (self.times, self.looked_ns) = (times, now_ns);
        Spell { cpu_ns, wait_ns, running: self.running, ..Spell::default() }
    }

    /// The same of one that ended, having had this CPU time up to its last tick. `None`: it may
    /// have used all the time since the last look.
    pub(crate) fn end(&mut self, now_ns: u64, cpu_ns: Option<u64>) -> Spell {
        let most_ns = now_ns.saturating_sub(self.looked_ns);
        let used_ns = cpu_ns.map_or(most_ns, |cpu_ns| {
            most_ns.min(cpu_ns.saturating_add(TICK_NS).saturating_sub(self.times.cpu_ns))
        });
        let cpu_ns = self.times.cpu_ns + used_ns;
        self.look(now_ns, Times { cpu_ns, ..self.times }, self.running)
    }
}

/// The threads.
#[derive(Debug)]
pub(crate) struct Watched<C = Clock> {
    most: usize,
    threads: HashMap<u32, Watch<C>>,
    of_user: HashMap<u32, usize>,
}

impl<C> Watched<C> {
    /// Nobody yet, and never more than `most` threads.
    pub(crate) fn new(most: usize) -> Self {
        Self { most, threads: HashMap::new(), of_user: HashMap::new() }
    }

    /// Is there room for this thread? A user has at most half of what others do not use.
    pub(crate) fn has_room(&self, tid: u32, uid: u32) -> bool {
        let own = self.of_user.get(&uid).copied().unwrap_or_default();
        let others = self.threads.len() - own;
        self.threads.contains_key(&tid) || own < (self.most - others).div_ceil(2)
    }

    /// Watches a thread for which there [is room](Self::has_room). Is it a new one?
    pub(crate) fn insert(&mut self, tid: u32, watch: Watch<C>) -> bool {
        if self.threads.contains_key(&tid) {
            return false;
        }
        *self.of_user.entry(watch.uid).or_default() += 1;
        self.threads.insert(tid, watch);
        true
    }

    /// All of them.
    pub(crate) fn threads(&self) -> Vec<u32> {
        self.threads.keys().copied().collect()
    }

    /// One of them.
    pub(crate) fn get_mut(&mut self, tid: u32) -> Option<&mut Watch<C>> {
        self.threads.get_mut(&tid)
    }

    /// Watches a thread no more. Returns whose it was.
    pub(crate) fn remove(&mut self, tid: u32) -> Option<u32> {
        let Watch { uid, .. } = self.threads.remove(&tid)?;
        let left = self.of_user.get(&uid).map_or(0, |n| n - 1);
        match left {
            0 => self.of_user.remove(&uid),
            left => self.of_user.insert(uid, left),
        };
        Some(uid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;

    fn times(cpu_ms: u64, wait_ms: u64) -> Times {
        Times { cpu_ns: cpu_ms * MS, wait_ns: wait_ms * MS }
    }

    fn watch(uid: u32) -> Watch<()> {
        Watch::new(0, uid, (), times(100, 1_000), 10.0)
    }

    #[test]
    fn a_spell_is_what_was_used_since_the_last_look() {
        let mut watch = watch(1);
        // A fifth of the average is new: 0.8 * 10 + 0.2 * 5.
        let spell = watch.look(50 * MS, times(107, 1_040), 5.0);
        let expected = Spell { cpu_ns: 7 * MS, wait_ns: 40 * MS, running: 9.0, ..spell };
        assert_eq!(spell, expected);
        let spell = watch.look(100 * MS, times(107, 1_040), 9.0);
        assert_eq!((spell.cpu_ns, spell.wait_ns), (0, 0));
    }

    #[test]
    fn of_a_thread_that_ended_the_worst_is_thought() {
        let used = |cpu_ms: Option<u64>| {
            let mut watch = watch(1);
            watch.end(50 * MS, cpu_ms.map(|ms| ms * MS)).cpu_ns / MS
        };
        assert_eq!(used(Some(120)), 24, "and the tick of 4 ms of which the kernel may not tell");
        assert_eq!(used(Some(500)), 50, "no more than the time since the last look");
        assert_eq!(used(None), 50);
    }

    #[test]
    fn one_user_leaves_half_of_the_room_to_others() {
        let mut watched = Watched::new(10);
        let enter = |watched: &mut Watched<()>, uid: u32| {
            let mut count = 0;
            while watched.has_room(100 * uid + count, uid) {
                watched.insert(100 * uid + count, watch(uid));
                count += 1;
            }
            count
        };
        // 5 of 10, then half of the 5 that are left, then of 2, then the last one.
        assert_eq!([1, 2, 3, 4, 5].map(|uid| enter(&mut watched, uid)), [5, 3, 1, 1, 0]);
        assert!(watched.has_room(100, 1), "a thread that is watched already needs no room");
        watched.remove(100);
        assert!(watched.has_room(500, 5), "what one leaves another one gets");
    }

    proptest! {
        #[test]
        fn there_are_never_more_than_the_limit(
            most in 0usize..20,
            acts in prop::collection::vec((0u32..30, 0u32..4, any::<bool>()), 0..200),
        ) {
            let mut watched = Watched::new(most);
            for (tid, uid, leaves) in acts {
                if leaves {
                    watched.remove(tid);
                } else if watched.has_room(tid, uid) {
                    watched.insert(tid, watch(uid));
                }
                prop_assert!(watched.threads.len() <= most);
                let counted: usize = watched.of_user.values().sum();
                prop_assert_eq!(counted, watched.threads.len());
            }
        }
    }
}
