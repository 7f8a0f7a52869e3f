// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads that wait for answers: clients. Such a thread gets a short slice, so that it comes
//! sooner when it is answered, and no nice value, so that it gets no more CPU time than it would
//! without. Every thread may ask the kernel for a short slice of its own: there is nothing to be
//! gained by pretending, and so there are no budgets.

use crate::table::{self, Family};
use std::collections::HashMap;

/// For how long after its last answer: most ask again by then.
const HOLD_NS: u64 = 2_000_000_000;

/// The threads that have a short slice.
#[derive(Debug, Default)]
pub struct Waiting {
    /// By thread, how it is answered.
    threads: HashMap<u32, Family>,
}

impl Waiting {
    /// A thread got an answer. Shall it have a short slice from here on?
    pub fn answered(&mut self, tid: u32, family: Family, load: u32) -> bool {
        if self.threads.contains_key(&tid) || table::elevation(load, family).is_none() {
            return false;
        }
        self.threads.insert(tid, family);
        true
    }

    /// May it keep that? `answer_ns` is when it was last answered, if it is still there.
    pub fn stays(&self, now_ns: u64, tid: u32, answer_ns: Option<u64>, load: u32) -> bool {
        let (Some(family), Some(answer_ns)) = (self.threads.get(&tid), answer_ns) else {
            return false;
        };
        now_ns < answer_ns.saturating_add(HOLD_NS) && table::elevation(load, *family).is_some()
    }

    /// It has none any more. Had it one?
    pub fn forget(&mut self, tid: u32) -> bool {
        self.threads.remove(&tid).is_some()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.threads.len()
    }

    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.threads.is_empty()
    }

    /// All of them.
    pub fn threads(&self) -> Vec<u32> {
        self.threads.keys().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOAD: u32 = 6 * table::LOAD_ONE;

    #[test]
    fn a_waiter_keeps_its_slice_while_it_is_answered_and_the_load_is_high() {
        let mut waiting = Waiting::default();
        assert!(waiting.answered(1, Family::Unix, LOAD));
        assert!(!waiting.answered(1, Family::Unix, LOAD), "it has one already");

        assert!(waiting.stays(HOLD_NS - 1, 1, Some(0), LOAD));
        assert!(!waiting.stays(HOLD_NS, 1, Some(0), LOAD));
        assert!(waiting.stays(HOLD_NS, 1, Some(1), LOAD), "answered again");
        assert!(!waiting.stays(0, 1, None, LOAD), "it ended");
        assert!(!waiting.stays(0, 1, Some(0), 0), "nobody needs one");
        assert!(!waiting.stays(0, 2, Some(0), LOAD), "somebody else");

        assert!(waiting.forget(1) && !waiting.forget(1) && waiting.is_empty());
    }

    /// Network sockets count from a higher load on, as in Table 1.
    #[test]
    fn at_a_low_load_nobody_gets_a_slice() {
        let mut waiting = Waiting::default();
        assert!(!waiting.answered(1, Family::Unix, 1600));
        assert!(waiting.answered(1, Family::Unix, 1601));
        assert!(!waiting.answered(2, Family::Network, 3000));
        assert!(waiting.answered(2, Family::Network, 3001));
    }
}
