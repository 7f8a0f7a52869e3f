// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether a thread behaves like one that serves. Who burns the CPU and chats beside it is no
//! server, whoever sends to it: such a thread is barred for a while.
//!
//! Both rules take CPU time for the sign and sleep for the excuse, as a server sleeps until its
//! customers come. They are ours; the paper has none.

/// What a thread did between two looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spell {
    /// Time between the looks.
    pub wall_ns: u64,
    /// Time on a CPU.
    pub cpu_ns: u64,
    /// Time waiting for a CPU.
    pub wait_ns: u64,
    /// Time in which a request was open, but for waits.
    pub served_ns: u64,
    /// Is one open at its end?
    pub open: bool,
    /// Was one answered in it?
    pub answered: bool,
}

/// What a thread did wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offence {
    /// It used this much CPU time without an answer and without sleep.
    Unanswered(u64),
    /// It used this much CPU time while no request was open, and far less for requests.
    Beside(u64),
}

impl std::fmt::Display for Offence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unanswered(ns) => write!(f, "{} ms of CPU without an answer", ns / 1_000_000),
            Self::Beside(ns) => write!(f, "{} ms of CPU outside of its requests", ns / 1_000_000),
        }
    }
}

/// The first bar; each further one is twice as long.
const FIRST_BAR_NS: u64 = 10_000_000_000;
const LONGEST_BAR_NS: u64 = 160_000_000_000;
/// After this time without an offence one is forgotten.
const FORGIVEN_AFTER_NS: u64 = 300_000_000_000;

/// Who has never answered yet gets this part of the limit.
const PROBATION: u64 = 4;

/// A thread's record.
#[derive(Clone, Debug, Default)]
pub struct Conduct {
    unanswered_ns: u64,
    for_requests_ns: u64,
    beside_ns: u64,
    strikes: u32,
    last_strike_ns: u64,
    barred_until_ns: u64,
    has_answered: bool,
    /// The bar ends with an answer.
    owes_answer: bool,
}

impl Conduct {
    /// Accounts for a spell. An offence bars the thread.
    pub fn account(&mut self, now_ns: u64, spell: Spell, limit_ns: u64) -> Option<Offence> {
        let busy_ns = spell.cpu_ns.saturating_add(spell.wait_ns);
        let slept_ns = spell.wall_ns.saturating_sub(busy_ns);
        for meter in [&mut self.unanswered_ns, &mut self.for_requests_ns, &mut self.beside_ns] {
            *meter = meter.saturating_sub(slept_ns);
        }
        self.has_answered |= spell.answered;
        match (spell.answered, spell.open) {
            (true, _) => self.unanswered_ns = 0,
            (false, true) => self.unanswered_ns += spell.cpu_ns,
            (false, false) => {}
        }
        // Work is taken to be spread evenly over the time in which it could work: who mostly waits
        // for a CPU has a request open for a small part of all time, and works for little else.
        let there_ns = spell.wall_ns.saturating_sub(spell.wait_ns).max(spell.cpu_ns).max(1);
        let part = spell.served_ns.min(there_ns) as f64 / there_ns as f64;
        let for_requests_ns = (spell.cpu_ns as f64 * part) as u64;
        self.for_requests_ns += for_requests_ns;
        self.beside_ns += spell.cpu_ns.saturating_sub(for_requests_ns);
        let limit_ns = if self.has_answered { limit_ns } else { limit_ns / PROBATION };
        let offence = if self.unanswered_ns > limit_ns {
            Offence::Unanswered(self.unanswered_ns)
        } else if self.beside_ns > limit_ns / PROBATION && self.beside_ns / 3 > self.for_requests_ns
        {
            Offence::Beside(self.beside_ns)
        } else {
            return None;
        };
        self.strike(now_ns);
        self.owes_answer = matches!(offence, Offence::Unanswered(_));
        Some(offence)
    }

    fn strike(&mut self, now_ns: u64) {
        let calm = now_ns.saturating_sub(self.last_strike_ns) / FORGIVEN_AFTER_NS;
        self.strikes = self.strikes.saturating_sub(calm.min(64) as u32);
        let bar = FIRST_BAR_NS.checked_shl(self.strikes.min(16)).unwrap_or(LONGEST_BAR_NS);
        self.barred_until_ns = now_ns.saturating_add(bar.min(LONGEST_BAR_NS));
        (self.strikes, self.last_strike_ns) = (self.strikes + 1, now_ns);
        (self.unanswered_ns, self.for_requests_ns, self.beside_ns) = (0, 0, 0);
    }

    /// It has answered: if that is what it owed, it may be boosted again.
    pub fn answered(&mut self) {
        self.has_answered = true;
        if std::mem::take(&mut self.owes_answer) {
            self.barred_until_ns = 0;
        }
    }

    /// When it may be boosted again.
    pub fn barred_until_ns(&self) -> u64 {
        self.barred_until_ns
    }

    /// Is there nothing in it to remember?
    pub fn is_clean(&self, now_ns: u64) -> bool {
        let age = now_ns.saturating_sub(self.last_strike_ns);
        self.strikes == 0 || age > FORGIVEN_AFTER_NS * u64::from(self.strikes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;
    const LIMIT: u64 = 200 * MS;

    /// Of 50 ms: on the CPU, waiting for it, and with a request open.
    fn spell(cpu: u64, wait: u64, served: u64, answered: bool) -> Spell {
        let (wall_ns, open) = (50 * MS, served == 50 && !answered);
        Spell {
            wall_ns,
            cpu_ns: cpu * MS,
            wait_ns: wait * MS,
            served_ns: served * MS,
            open,
            answered,
        }
    }

    /// Looks until the first offence, at most `looks`.
    fn first_offence(looks: u64, spell: impl Fn(u64) -> Spell) -> Option<(u64, Offence)> {
        let mut conduct = Conduct::default();
        (1..=looks).find_map(|i| Some((i, conduct.account(i * 50 * MS, spell(i), LIMIT)?)))
    }

    #[test]
    fn who_burns_without_an_answer_is_found_at_the_limit() {
        // It never answered: a quarter of the 200 ms.
        let found = first_offence(100, |_| spell(50, 0, 50, false));
        assert_eq!(found, Some((2, Offence::Unanswered(100 * MS))));
        // Waiting for a CPU is no sleep: the same CPU time is found, only later.
        let found = first_offence(100, |_| spell(10, 40, 50, false));
        assert_eq!(found, Some((6, Offence::Unanswered(60 * MS))));
        // It answered at first, so it has the whole limit.
        let found = first_offence(100, |i| spell(50, 0, 50, i == 1));
        assert_eq!(found, Some((6, Offence::Unanswered(250 * MS))));
    }

    #[test]
    fn who_chats_and_burns_beside_it_is_found() {
        // It answers all the time, but within a tenth of it: 45 of 50 ms are beside.
        let found = first_offence(100, |_| spell(50, 0, 5, true));
        assert_eq!(found, Some((2, Offence::Beside(90 * MS))));
        // The same where it has the CPU for a fifth of the time: 9 of 10 ms. More than 50 ms are 6.
        let found = first_offence(100, |_| spell(10, 40, 1, true));
        assert_eq!(found, Some((6, Offence::Beside(54 * MS))));
    }

    #[test]
    fn servers_are_left_alone() {
        // Saturated, half of the time between two requests.
        assert_eq!(first_offence(10_000, |_| spell(50, 0, 25, true)), None);
        // One that waits for a CPU nearly all the time, and answers whenever it has one.
        assert_eq!(first_offence(10_000, |_| spell(8, 42, 6, true)), None);
        // A display that answers nothing, but sleeps between frames.
        assert_eq!(first_offence(10_000, |_| spell(20, 5, 50, false)), None);
        // A long request now and then: 150 ms, then an answer.
        assert_eq!(first_offence(10_000, |i| spell(50, 0, 50, i % 4 == 1)), None);
    }

    #[test]
    fn an_answer_ends_the_bar_of_who_owed_one_only() {
        let barred = |spell: Spell| {
            let mut conduct = Conduct::default();
            while conduct.account(0, spell, LIMIT).is_none() {}
            conduct.answered();
            conduct.barred_until_ns()
        };
        assert_eq!(barred(spell(50, 0, 50, false)), 0);
        assert_eq!(barred(spell(50, 0, 0, false)), FIRST_BAR_NS);
    }

    #[test]
    fn each_bar_is_twice_the_last() {
        let mut conduct = Conduct::default();
        let mut now = 0;
        for expected in [10, 20, 40, 80, 160, 160] {
            while conduct.account(now, spell(50, 0, 50, false), LIMIT).is_none() {
                now += 50 * MS;
            }
            assert_eq!(conduct.barred_until_ns() - now, expected * 1_000_000_000);
            now = conduct.barred_until_ns();
        }
        assert!(!conduct.is_clean(now) && conduct.is_clean(now + 10_000_000_000_000));
    }

    proptest! {
        /// Less than the lowest limit in all, that of who has not answered yet for time beside
        /// requests, is never an offence, however it is spread.
        #[test]
        fn little_cpu_time_is_no_offence(
            spells in prop::collection::vec((0u64..2, 0u64..=50, any::<bool>()), 0..=12)
        ) {
            prop_assert!(12 * MS <= LIMIT / PROBATION / PROBATION);
            let mut conduct = Conduct::default();
            for (i, (cpu, served, answered)) in spells.into_iter().enumerate() {
                let spell = spell(cpu, 50 - cpu, served, answered);
                prop_assert_eq!(conduct.account(i as u64 * 50 * MS, spell, LIMIT), None);
            }
        }
    }
}
