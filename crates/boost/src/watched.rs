// SPDX-License-Identifier: MIT OR Apache-2.0
//! The threads that the daemon watches, within the descriptors that it may have: each takes one.
//! No user can take all, so that one with many threads does not end the boosts of others.

use crate::process::Clock;
use std::collections::HashMap;

/// Threads with what their times are read from.
#[derive(Debug)]
pub(crate) struct Watched<C = Clock> {
    most: usize,
    threads: HashMap<u32, (u32, C)>,
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

    /// Watches a thread for which there [is room](Self::has_room).
    pub(crate) fn insert(&mut self, tid: u32, uid: u32, clock: C) {
        self.remove(tid);
        self.threads.insert(tid, (uid, clock));
        *self.of_user.entry(uid).or_default() += 1;
    }

    /// What a thread's times are read from.
    pub(crate) fn get(&self, tid: u32) -> Option<&C> {
        self.threads.get(&tid).map(|(_, clock)| clock)
    }

    /// Watches a thread no more.
    pub(crate) fn remove(&mut self, tid: u32) {
        let Some((uid, _)) = self.threads.remove(&tid) else { return };
        let left = self.of_user.get(&uid).map_or(0, |n| n - 1);
        match left {
            0 => self.of_user.remove(&uid),
            left => self.of_user.insert(uid, left),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_user_leaves_half_of_the_room_to_others() {
        let mut watched = Watched::new(10);
        let enter = |watched: &mut Watched<()>, uid: u32| {
            let mut count = 0;
            while watched.has_room(100 * uid + count, uid) {
                watched.insert(100 * uid + count, uid, ());
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
                    watched.insert(tid, uid, ());
                }
                prop_assert!(watched.threads.len() <= most);
                let counted: usize = watched.of_user.values().sum();
                prop_assert_eq!(counted, watched.threads.len());
            }
        }
    }
}
