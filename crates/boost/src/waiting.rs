// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads that wait for answers: clients. Such a thread gets a short slice, and the nice value of
//! a server as long as its user's [account](crate::account) has something in it. So it comes
//! sooner, and gets no more. The rule is ours; in the paper an answer is as good as a request.

use crate::table::{self, Family};
use std::collections::HashMap;

/// For how long after its last answer: most ask again by then.
const HOLD_NS: u64 = 2_000_000_000;

/// What follows from a look at a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It shall have a short slice and this nice value.
    Nice(i32),
    /// It shall have what it had.
    Release,
}

/// The threads that wait for answers.
#[derive(Debug, Default)]
pub struct Waiting {
    threads: HashMap<u32, Family>,
}

impl Waiting {
    /// A thread got an answer. Shall it have a short slice from here on?
    pub fn answered(&mut self, tid: u32, family: Family, load: u32) -> bool {
        let wanted = !self.threads.contains_key(&tid) && table::elevation(load, family).is_some();
        if wanted {
            self.threads.insert(tid, family);
        }
        wanted
    }

    /// A look at one of them, which got its last answer at `answer_ns`. Has its user enough to
    /// have it elevated?
    pub fn look(&self, now_ns: u64, tid: u32, answer_ns: u64, load: u32, has_enough: bool) -> Step {
        let elevation = self.threads.get(&tid).and_then(|family| table::elevation(load, *family));
        match elevation.filter(|_| now_ns < answer_ns.saturating_add(HOLD_NS)) {
            Some(elevation) => Step::Nice(if has_enough { elevation.nice } else { 0 }),
            None => Step::Release,
        }
    }

    /// It is not one of them any more. Was it?
    pub fn forget(&mut self, tid: u32) -> bool {
        self.threads.remove(&tid).is_some()
    }

    /// Is this thread one?
    pub fn has(&self, tid: u32) -> bool {
        self.threads.contains_key(&tid)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.threads.len()
    }

    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.threads.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of Table 1 nice -7 for UNIX sockets.
    const LOAD: u32 = 6 * table::LOAD_ONE + 1;

    #[test]
    fn a_waiter_is_released_when_it_is_not_answered_or_the_load_is_low() {
        let mut waiting = Waiting::default();
        assert!(waiting.answered(1, Family::Unix, LOAD));
        assert!(!waiting.answered(1, Family::Unix, LOAD), "known already");
        assert_eq!(waiting.look(HOLD_NS - 1, 1, 0, LOAD, false), Step::Nice(0));
        assert_eq!(waiting.look(HOLD_NS - 1, 1, 0, LOAD, true), Step::Nice(-7));
        assert_eq!(waiting.look(HOLD_NS, 1, 0, LOAD, true), Step::Release);
        assert_eq!(waiting.look(HOLD_NS, 1, HOLD_NS, 0, true), Step::Release);
        assert!(waiting.forget(1) && !waiting.forget(1) && waiting.is_empty());
        assert_eq!(waiting.look(HOLD_NS, 1, HOLD_NS, LOAD, true), Step::Release);
    }

    /// Network sockets count from a higher load on, as in Table 1.
    #[test]
    fn at_a_low_load_nobody_is_a_waiter() {
        let mut waiting = Waiting::default();
        assert!(!waiting.answered(1, Family::Unix, 1600));
        assert!(waiting.answered(1, Family::Unix, 1601));
        assert!(!waiting.answered(2, Family::Network, 3000));
        assert!(waiting.answered(2, Family::Network, 3001));
    }
}
