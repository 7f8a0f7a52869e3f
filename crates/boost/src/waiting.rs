// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads that wait for answers: clients. Such a thread gets a short slice, and the nice value of
//! a server as long as it uses no more CPU time than it could have without. So it comes sooner,
//! and gets no more: what it uses is counted whether it is elevated or not, and one that wants the
//! CPU all the time never is. The rule is ours; in the paper an answer is as good as a request.

use crate::table::{self, Family};
use std::collections::HashMap;

/// For how long after its last answer: most ask again by then.
const HOLD_NS: u64 = 2_000_000_000;
/// Credit holds the fair share of this time.
const DEPTH_NS: f64 = 1e9;
/// Part of what was seen before, in the average of how many want the CPU.
const KEPT: f64 = 0.8;

/// What is known of a thread at some time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    /// When it last got an answer.
    pub answer_ns: u64,
    /// How many wanted its CPU then, itself included; 0 if nobody knows.
    pub running: u32,
    /// CPU time that it has had.
    pub cpu_ns: u64,
}

/// What follows from a look at a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It shall have a short slice and this nice value.
    Nice(i32),
    /// It shall have what it had.
    Release,
}

/// Fair share less CPU time, since it became known.
#[derive(Clone, Debug)]
struct Credit {
    left_ns: f64,
    /// How many want its CPU.
    running: f64,
    at_ns: u64,
    cpu_ns: u64,
    elevated: bool,
}

impl Credit {
    /// Nothing: a new thread for each request shall gain nothing either.
    fn new(now_ns: u64, seen: Seen) -> Self {
        let running = f64::from(seen.running.max(1));
        Self { left_ns: 0.0, running, at_ns: now_ns, cpu_ns: seen.cpu_ns, elevated: false }
    }

    /// Accounts for the time since the last look. May it be elevated?
    fn look(&mut self, now_ns: u64, seen: Seen) -> bool {
        let sample = f64::from(seen.running.max(1));
        self.running = KEPT * self.running + (1.0 - KEPT) * sample;
        let full_ns = DEPTH_NS / self.running;
        let fair_ns = now_ns.saturating_sub(self.at_ns) as f64 / self.running;
        let used_ns = seen.cpu_ns.saturating_sub(self.cpu_ns) as f64;
        (self.at_ns, self.cpu_ns) = (now_ns, seen.cpu_ns);
        self.left_ns = (self.left_ns + fair_ns - used_ns).clamp(-full_ns, full_ns);
        self.elevated = self.left_ns > if self.elevated { 0.0 } else { full_ns / 4.0 };
        self.elevated
    }
}

/// The threads that wait for answers.
#[derive(Debug, Default)]
pub struct Waiting {
    /// By thread; how it is answered.
    threads: HashMap<u32, (Family, Credit)>,
}

impl Waiting {
    /// A thread got an answer. Shall it have a short slice from here on?
    pub fn answered(
        &mut self,
        now_ns: u64,
        tid: u32,
        family: Family,
        seen: Seen,
        load: u32,
    ) -> bool {
        if self.threads.contains_key(&tid) || table::elevation(load, family).is_none() {
            return false;
        }
        self.threads.insert(tid, (family, Credit::new(now_ns, seen)));
        true
    }

    /// A look at one of them; `None` of one that ended.
    pub fn look(&mut self, now_ns: u64, tid: u32, seen: Option<Seen>, load: u32) -> Step {
        let (Some((family, credit)), Some(seen)) = (self.threads.get_mut(&tid), seen) else {
            return Step::Release;
        };
        let elevation = table::elevation(load, *family);
        let Some(elevation) = elevation.filter(|_| now_ns < seen.answer_ns + HOLD_NS) else {
            return Step::Release;
        };
        let elevated = credit.look(now_ns, seen);
        Step::Nice(if elevated { elevation.nice } else { 0 })
    }

    /// It is not one of them any more. Was it?
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
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;
    /// Of Table 1 nice -7 for UNIX sockets.
    const LOAD: u32 = 6 * table::LOAD_ONE + 1;
    const LOOK_NS: u64 = 50 * MS;

    /// On a CPU that ten want.
    fn seen(answer_ns: u64, cpu_ns: u64) -> Seen {
        Seen { answer_ns, running: 10, cpu_ns }
    }

    fn waiting() -> Waiting {
        let mut waiting = Waiting::default();
        assert!(waiting.answered(0, 1, Family::Unix, seen(0, 0), LOAD));
        waiting
    }

    #[test]
    fn a_waiter_is_released_when_it_is_not_answered_or_the_load_is_low_or_it_ends() {
        let mut waiting = waiting();
        assert!(!waiting.answered(0, 1, Family::Unix, seen(0, 0), LOAD), "known already");
        assert_eq!(waiting.look(HOLD_NS - 1, 1, Some(seen(0, HOLD_NS)), LOAD), Step::Nice(0));
        assert_eq!(waiting.look(HOLD_NS, 1, Some(seen(0, HOLD_NS)), LOAD), Step::Release);
        assert_eq!(waiting.look(HOLD_NS, 1, Some(seen(HOLD_NS, 0)), 0), Step::Release);
        assert_eq!(waiting.look(HOLD_NS, 1, None, LOAD), Step::Release);
        assert!(waiting.forget(1) && !waiting.forget(1) && waiting.is_empty());
    }

    /// Network sockets count from a higher load on, as in Table 1.
    #[test]
    fn at_a_low_load_nobody_is_a_waiter() {
        let mut waiting = Waiting::default();
        assert!(!waiting.answered(0, 1, Family::Unix, seen(0, 0), 1600));
        assert!(waiting.answered(0, 1, Family::Unix, seen(0, 0), 1601));
        assert!(!waiting.answered(0, 2, Family::Network, seen(0, 0), 3000));
        assert!(waiting.answered(0, 2, Family::Network, seen(0, 0), 3001));
    }

    /// A tenth of the time is fair; of a second, 100 ms, a quarter must be saved first. Who uses a
    /// twentieth has that after 500 ms.
    #[test]
    fn who_uses_less_than_its_share_is_elevated_after_a_while() {
        let mut waiting = waiting();
        let mut at =
            |ms: u64, cpu_ms: u64| waiting.look(ms * MS, 1, Some(seen(ms * MS, cpu_ms * MS)), LOAD);
        assert_eq!(at(490, 24), Step::Nice(0));
        assert_eq!(at(510, 25), Step::Nice(-7));
        // It had 76 ms at most since then, in which 100 were used.
        assert_eq!(at(1000, 125), Step::Nice(0));
        // Owing 25, it gets there in half a second without using any.
        assert_eq!(at(1490, 125), Step::Nice(0));
        assert_eq!(at(1510, 125), Step::Nice(-7));
    }

    proptest! {
        /// Whatever it does and however many want its CPU, while it is elevated it uses no more
        /// than the fair share of all the time, and what it used in one look.
        #[test]
        fn what_is_used_while_elevated_is_no_more_than_the_share_of_all_time(
            spells in prop::collection::vec((1u32..20, 0u64..=50), 1..400)
        ) {
            let mut credit = Credit::new(0, Seen { running: spells[0].0, ..Seen::default() });
            let (mut cpu_ns, mut fair_ns, mut used_ns) = (0, 0.0, 0.0);
            let mut elevated = false;
            for (n, (running, greed)) in spells.iter().enumerate() {
                let greed_ns = greed * MS;
                cpu_ns += greed_ns;
                if elevated {
                    used_ns += greed_ns as f64;
                }
                let now_ns = (n as u64 + 1) * LOOK_NS;
                elevated = credit.look(now_ns, Seen { answer_ns: 0, running: *running, cpu_ns });
                fair_ns += LOOK_NS as f64 / credit.running;
            }
            // Each time that it goes beyond, by a look at most, it must save a quarter first.
            prop_assert!(used_ns <= fair_ns + LOOK_NS as f64, "{used_ns} of {fair_ns}");
        }

        /// On a CPU that it wants all the time, of which it gets its share, it never is elevated.
        #[test]
        fn who_wants_the_cpu_all_the_time_is_never_elevated(running in 1u32..50) {
            let mut credit = Credit::new(0, Seen { running, ..Seen::default() });
            for n in 1..1000u64 {
                let cpu_ns = n * LOOK_NS / u64::from(running);
                let seen = Seen { answer_ns: 0, running, cpu_ns };
                prop_assert!(!credit.look(n * LOOK_NS, seen));
            }
        }
    }
}
