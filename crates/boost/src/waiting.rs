// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads that wait for answers: clients. Such a thread gets a short slice, and the nice value of
//! a server as long as it uses no more CPU time than it could have without. So it comes sooner,
//! and gets no more: what it uses while elevated is paid for with its fair share of all the time,
//! if not by itself then by the next of its user. The rule is ours; in the paper an answer is as
//! good as a request.

use crate::table::{self, Family};
use std::collections::HashMap;

/// For how long after its last answer: most ask again by then.
const HOLD_NS: u64 = 2_000_000_000;
/// Credit holds the fair share of this time.
const DEPTH_NS: f64 = 1e9;
/// Part of full credit from which on a thread is elevated.
const ENOUGH: f64 = 1.0 / 16.0;
/// Part of what was seen before, in the average of how many want the CPU.
const KEPT: f64 = 0.8;
/// Of what a thread used in its last tick the kernel may not have taken note when it ends.
const TICK_NS: u64 = 4_000_000;

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

/// Fair share of the time since a thread became known, less the CPU time that it used elevated.
/// What it used otherwise, which the kernel gave it, is paid from what is there.
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
    /// Nothing, less what an earlier one owes.
    fn new(now_ns: u64, seen: Seen, owed_ns: f64) -> Self {
        let running = f64::from(seen.running.max(1));
        Self { left_ns: -owed_ns, running, at_ns: now_ns, cpu_ns: seen.cpu_ns, elevated: false }
    }

    /// Accounts for the time since the last look. May it be elevated?
    fn look(&mut self, now_ns: u64, seen: Seen) -> bool {
        let sample = f64::from(seen.running.max(1));
        self.running = KEPT * self.running + (1.0 - KEPT) * sample;
        let full_ns = DEPTH_NS / self.running;
        self.account(now_ns, seen.cpu_ns);
        self.elevated = self.left_ns > if self.elevated { 0.0 } else { full_ns * ENOUGH };
        self.elevated
    }

    fn account(&mut self, now_ns: u64, cpu_ns: u64) {
        let fair_ns = now_ns.saturating_sub(self.at_ns) as f64 / self.running;
        let used_ns = cpu_ns.saturating_sub(self.cpu_ns) as f64;
        (self.at_ns, self.cpu_ns) = (now_ns, cpu_ns);
        let lowest_ns = if self.elevated { f64::MIN } else { self.left_ns.min(0.0) };
        let full_ns = DEPTH_NS / self.running;
        self.left_ns = (self.left_ns + fair_ns - used_ns).clamp(lowest_ns, full_ns);
    }
}

#[derive(Debug)]
struct Client {
    uid: u32,
    family: Family,
    credit: Credit,
}

/// The threads that wait for answers.
#[derive(Debug, Default)]
pub struct Waiting {
    threads: HashMap<u32, Client>,
    /// By user, what threads owe that are not among them any more.
    debts: HashMap<u32, Vec<Credit>>,
}

impl Waiting {
    /// A thread of this user got an answer. Shall it have a short slice from here on?
    pub fn answered(
        &mut self,
        now_ns: u64,
        (tid, uid): (u32, u32),
        family: Family,
        seen: Seen,
        load: u32,
    ) -> bool {
        if self.threads.contains_key(&tid) || table::elevation(load, family).is_none() {
            return false;
        }
        let credit = Credit::new(now_ns, seen, self.take_over(now_ns, uid));
        self.threads.insert(tid, Client { uid, family, credit });
        true
    }

    /// A look at one of them.
    pub fn look(&mut self, now_ns: u64, tid: u32, seen: Seen, load: u32) -> Step {
        let Some(Client { family, credit, .. }) = self.threads.get_mut(&tid) else {
            return Step::Release;
        };
        let elevated = credit.look(now_ns, seen);
        let elevation = table::elevation(load, *family);
        match elevation.filter(|_| now_ns < seen.answer_ns + HOLD_NS) {
            Some(elevation) => Step::Nice(if elevated { elevation.nice } else { 0 }),
            None => Step::Release,
        }
    }

    /// One of them ended, having had this CPU time; `None`: perhaps all since the last look.
    pub fn ended(&mut self, now_ns: u64, tid: u32, cpu_ns: Option<u64>) {
        if let Some(Client { credit, .. }) = self.threads.get_mut(&tid) {
            let most_ns = credit.cpu_ns + now_ns.saturating_sub(credit.at_ns);
            let cpu_ns = cpu_ns.map_or(most_ns, |cpu_ns| most_ns.min(cpu_ns + TICK_NS));
            credit.account(now_ns, cpu_ns);
            self.forget(tid);
        }
    }

    /// It is not one of them any more. Was it? What it owes, the next of its user does.
    pub fn forget(&mut self, tid: u32) -> bool {
        let Some(Client { uid, credit, .. }) = self.threads.remove(&tid) else { return false };
        if credit.left_ns < 0.0 {
            self.debts.entry(uid).or_default().push(credit);
        }
        true
    }

    /// The most that one of this user still owes.
    fn take_over(&mut self, now_ns: u64, uid: u32) -> f64 {
        self.pay(now_ns);
        let Some(debts) = self.debts.get_mut(&uid) else { return 0.0 };
        debts.sort_by(|a, b| b.left_ns.total_cmp(&a.left_ns));
        debts.pop().map_or(0.0, |debt| -debt.left_ns)
    }

    /// Who left uses nothing, and its fair share pays what it owes.
    pub fn pay(&mut self, now_ns: u64) {
        self.debts.retain(|_, debts| {
            debts.retain_mut(|debt| {
                debt.account(now_ns, debt.cpu_ns);
                debt.left_ns < 0.0
            });
            !debts.is_empty()
        });
    }

    /// Fair share less CPU time, in ms, of one of them.
    pub fn credit_ms(&self, tid: u32) -> Option<i64> {
        self.threads.get(&tid).map(|client| (client.credit.left_ns / 1e6) as i64)
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
#[path = "waiting_tests.rs"]
mod tests;
