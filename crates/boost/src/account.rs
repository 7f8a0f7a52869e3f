// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who pays for a boost: the user whose thread is boosted. Each user has one account, whatever
//! the number of processes and threads: it earns the fair share of a CPU, and pays the CPU time
//! that boosted threads use. With something in it a thread comes sooner, and gets no more than its
//! share of all the time. What servers use beyond that is drawn from a pool (`extra`).
//!
//! A thread earns while it is runnable, one part of as many as want its CPU: so much the kernel
//! gives it anyway. While none of a user's threads is runnable, one of them earns all the same, as
//! who sleeps gets its share later. Threads that take turns are one, as they are to the kernel.

use crate::extra::Pool;
use crate::people::People;
use std::collections::HashMap;

/// An account holds the fair share of this time.
const DEPTH_NS: f64 = 1e9;
/// Part of a full account from which on threads are elevated.
const ENOUGH: f64 = 1.0 / 16.0;

/// CPUs that servers may use beyond their users' fair share, in the long run, all together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extra {
    /// Those of people.
    pub people_cpus: f64,
    /// Those of services.
    pub services_cpus: f64,
}

/// What a thread did between two looks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spell {
    /// Time on a CPU.
    pub cpu_ns: u64,
    /// Time waiting for one.
    pub wait_ns: u64,
    /// How many want its CPU, itself included.
    pub running: f64,
    /// Had it a nice value of ours?
    pub elevated: bool,
    /// As a server?
    pub serves: bool,
}

/// What a user's threads did since the last settlement.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    earned_ns: f64,
    plain_ns: f64,
    elevated_ns: f64,
    served_ns: f64,
    running: f64,
}

#[derive(Clone, Debug)]
struct Account {
    /// Earned less paid; below nothing is a debt.
    left_ns: f64,
    at_ns: u64,
    /// How many want the CPU of its threads.
    running: f64,
    threads: usize,
    enough: bool,
    round: Round,
}

impl Account {
    fn new(now_ns: u64, running: f64) -> Self {
        let round = Round::default();
        Self { left_ns: 0.0, at_ns: now_ns, running, threads: 0, enough: false, round }
    }

    /// Ends a round. Returns what the pool has to pay: what servers used that had not enough. Of
    /// who had enough, and used more than that until the look, it is a debt.
    fn settle(&mut self, now_ns: u64) -> f64 {
        let round = std::mem::take(&mut self.round);
        if round.running > 0.0 {
            self.running = round.running;
        }
        let one_ns = now_ns.saturating_sub(self.at_ns) as f64 / self.running;
        self.at_ns = self.at_ns.max(now_ns);
        let full_ns = DEPTH_NS / self.running;
        let debt_ns = self.left_ns.min(0.0);
        // What the kernel gave a thread without us is paid from what is there, and not owed.
        let earned_ns = self.left_ns + one_ns.max(round.earned_ns) - round.plain_ns;
        self.left_ns = earned_ns.clamp(debt_ns, full_ns.max(debt_ns)) - round.elevated_ns;
        let from_pool_ns = match self.enough {
            true => 0.0,
            false => (debt_ns - self.left_ns).clamp(0.0, round.served_ns),
        };
        self.left_ns += from_pool_ns;
        self.enough = self.left_ns > if self.enough { 0.0 } else { full_ns * ENOUGH };
        from_pool_ns
    }
}

/// The accounts of all users with threads that are watched, or with debts.
#[derive(Debug)]
pub struct Accounts {
    people: People,
    of_people: Pool,
    of_services: Pool,
    users: HashMap<u32, Account>,
}

impl Accounts {
    /// Nobody has one yet.
    pub fn new(people: People, extra: Extra, now_ns: u64) -> Self {
        Self {
            people,
            of_people: Pool::new(extra.people_cpus, now_ns),
            of_services: Pool::new(extra.services_cpus, now_ns),
            users: HashMap::new(),
        }
    }

    fn pool(&self, uid: u32) -> &Pool {
        if self.people.has(uid) {
            &self.of_people
        } else {
            &self.of_services
        }
    }

    /// A thread of this user is watched from here on; `running` want its CPU.
    pub fn enter(&mut self, now_ns: u64, uid: u32, running: f64) {
        let account =
            self.users.entry(uid).or_insert_with(|| Account::new(now_ns, running.max(1.0)));
        account.threads += 1;
    }

    /// One is not watched any more; what it did was told before.
    pub fn leave(&mut self, uid: u32) {
        if let Some(account) = self.users.get_mut(&uid) {
            account.threads = account.threads.saturating_sub(1);
        }
    }

    /// What a thread did since the last look.
    pub fn spend(&mut self, uid: u32, spell: Spell) {
        let Some(Account { round, .. }) = self.users.get_mut(&uid) else { return };
        let (cpu_ns, running) = (spell.cpu_ns as f64, spell.running.max(1.0));
        round.running = round.running.max(running);
        round.earned_ns += (cpu_ns + spell.wait_ns as f64) / running;
        match spell.elevated {
            true => round.elevated_ns += cpu_ns,
            false => round.plain_ns += cpu_ns,
        }
        round.served_ns += if spell.elevated && spell.serves { cpu_ns } else { 0.0 };
    }

    /// Settles all accounts, once all threads have been looked at.
    pub fn settle(&mut self, now_ns: u64) {
        let Self { people, of_people, of_services, users } = self;
        of_people.fill(now_ns);
        of_services.fill(now_ns);
        users.retain(|uid, account| {
            let from_pool_ns = account.settle(now_ns);
            if from_pool_ns > 0.0 {
                let pool = if people.has(*uid) { &mut *of_people } else { &mut *of_services };
                pool.draw(*uid, from_pool_ns);
            }
            account.threads > 0 || account.left_ns < 0.0
        });
    }

    /// May threads of this user be elevated with what it has earned?
    pub fn has_enough(&self, uid: u32) -> bool {
        self.users.get(&uid).is_some_and(|account| account.enough)
    }

    /// May a server of this user be elevated?
    pub fn may_serve(&self, uid: u32) -> bool {
        self.has_enough(uid) || self.pool(uid).has_for(uid)
    }

    /// What a user has earned and not used, in ms; below 0 is what it owes.
    pub fn left_ms(&self, uid: u32) -> Option<i64> {
        self.users.get(&uid).map(|account| (account.left_ns / 1e6) as i64)
    }

    /// How much of its part of the pool a user has left, 0 to 1.
    pub fn extra_left(&self, uid: u32) -> f64 {
        self.pool(uid).left(uid)
    }
}

#[cfg(test)]
#[path = "account_tests.rs"]
mod tests;
