// SPDX-License-Identifier: MIT OR Apache-2.0
//! CPU time that servers may use beyond their users' fair share: a pool with an income, which is
//! divided equally among the users who draw from it. What all of them get is bounded by the
//! pool, however many they are; no one of them takes what another one is due.

use std::collections::HashMap;

/// A pool holds its income of this time.
pub(crate) const DEPTH_NS: f64 = 4e9;

/// What one user has of the pool.
#[derive(Clone, Debug)]
struct Part {
    left_ns: f64,
    /// Used up, until it is half full again.
    empty: bool,
}

/// A pool.
#[derive(Clone, Debug)]
pub(crate) struct Pool {
    /// Income, in CPUs.
    rate: f64,
    left_ns: f64,
    at_ns: u64,
    /// Those who have drawn from it and whose part is not full again.
    users: HashMap<u32, Part>,
}

impl Pool {
    /// A full one, with as much income as this number of CPUs.
    pub(crate) fn new(cpus: f64, now_ns: u64) -> Self {
        let rate = cpus.max(0.0);
        Self { rate, left_ns: rate * DEPTH_NS, at_ns: now_ns, users: HashMap::new() }
    }

    fn depth_ns(&self) -> f64 {
        self.rate * DEPTH_NS
    }

    /// What a user's part holds when this many draw.
    fn part_ns(&self, users: usize) -> f64 {
        self.depth_ns() / users.max(1) as f64
    }

    /// The income up to now.
    pub(crate) fn fill(&mut self, now_ns: u64) {
        let income_ns = now_ns.saturating_sub(self.at_ns) as f64 * self.rate;
        self.at_ns = self.at_ns.max(now_ns);
        self.left_ns = (self.left_ns + income_ns).min(self.depth_ns());
        let (each_ns, full_ns) =
            (income_ns / self.users.len().max(1) as f64, self.part_ns(self.users.len()));
        self.users.retain(|_, part| {
            part.left_ns = (part.left_ns + each_ns).min(full_ns);
            part.empty &= part.left_ns < full_ns / 2.0;
            part.left_ns < full_ns
        });
    }

    /// May this user have something?
    pub(crate) fn has_for(&self, user: u32) -> bool {
        self.left_ns > 0.0 && self.users.get(&user).is_none_or(|part| !part.empty)
    }

    /// This user had this much, which may be more than there was: it is due all the same.
    pub(crate) fn draw(&mut self, user: u32, ns: f64) {
        let fresh_ns = self.part_ns(self.users.len() + 1);
        let part = self.users.entry(user).or_insert(Part { left_ns: fresh_ns, empty: false });
        part.left_ns -= ns;
        part.empty |= part.left_ns <= 0.0;
        self.left_ns -= ns;
    }

    /// How much of its part a user has left, 0 to 1.
    pub(crate) fn left(&self, user: u32) -> f64 {
        if self.rate <= 0.0 {
            return 0.0;
        }
        let full_ns = self.part_ns(self.users.len());
        let of_user = self.users.get(&user).map_or(1.0, |part| part.left_ns / full_ns);
        of_user.min(self.left_ns / full_ns).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LOOK_NS: u64 = 50_000_000;

    #[test]
    fn who_has_used_up_a_part_waits_until_it_is_half_full_again() {
        // Half a CPU: 2 s are in it. All of a CPU uses half a CPU more than comes in.
        let mut pool = Pool::new(0.5, 0);
        let mut now_ns = 0;
        while pool.has_for(1) {
            now_ns += LOOK_NS;
            pool.fill(now_ns);
            pool.draw(1, LOOK_NS as f64);
        }
        // Full at the first look, so that its income is lost: 2 s less 50 ms, then 25 ms each.
        assert_eq!(now_ns, 79 * LOOK_NS);
        pool.fill(now_ns + 1_999_000_000);
        assert!(!pool.has_for(1), "half of 2 s comes in 2 s");
        pool.fill(now_ns + 2_001_000_000);
        assert!(pool.has_for(1));
    }

    #[test]
    fn nobody_gets_anything_from_a_pool_without_income() {
        for cpus in [0.0, -1.0] {
            let mut pool = Pool::new(cpus, 0);
            pool.fill(1 << 40);
            assert!(!pool.has_for(1));
            assert!(pool.left(1) == 0.0);
        }
    }

    /// One has used all there was; another one comes, and has its half from then on.
    #[test]
    fn a_greedy_user_does_not_take_what_another_one_is_due() {
        let mut pool = Pool::new(0.5, 0);
        let mut had_ns = [0.0; 2];
        for n in 1..=2_000u64 {
            pool.fill(n * LOOK_NS);
            for (user, had_ns) in (0..).zip(&mut had_ns) {
                if (user == 0 || n > 1_000) && pool.has_for(user) {
                    pool.draw(user, LOOK_NS as f64 / 2.0);
                    *had_ns += if n > 1_000 { LOOK_NS as f64 / 2.0 } else { 0.0 };
                }
            }
        }
        // 50 s with an income of half a CPU: a quarter each, 12.5 s, and what was in the parts.
        for ns in had_ns {
            assert!((11.5e9..=13.5e9).contains(&ns), "{had_ns:?}");
        }
    }

    proptest! {
        /// Whoever comes, however often and greedy: all together have no more than the income, what
        /// was in the pool, and what they take in one look.
        #[test]
        fn all_together_have_no_more_than_the_pool(
            rate in 0.01f64..2.0,
            looks in prop::collection::vec(prop::collection::vec((0u32..50, 1u64..=50), 0..8), 1..300),
        ) {
            let mut pool = Pool::new(rate, 0);
            let (mut now_ns, mut had_ns, mut most_ns) = (0, 0.0, 0.0f64);
            for look in looks {
                now_ns += LOOK_NS;
                pool.fill(now_ns);
                let may: Vec<_> = look.into_iter().filter(|(user, _)| pool.has_for(*user)).collect();
                let in_look_ns: f64 = may.iter().map(|(_, ms)| *ms as f64 * 1e6).sum();
                may.into_iter().for_each(|(user, ms)| pool.draw(user, ms as f64 * 1e6));
                had_ns += in_look_ns;
                most_ns = most_ns.max(in_look_ns);
                prop_assert!(had_ns <= rate * (now_ns as f64 + DEPTH_NS) + most_ns + 1.0);
            }
            pool.fill(now_ns + 1_000_000_000_000);
            prop_assert!(pool.users.is_empty() && pool.left(7) == 1.0);
        }
    }
}
