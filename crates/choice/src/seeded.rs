// SPDX-License-Identifier: MIT OR Apache-2.0
//! Choices from a seed: the same seed gives the same run on every computer.

use crate::choices::Strategy;
use crate::error::ChoiceError;
use crate::site::{Alternatives, Origin, Site};
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rustc_hash::FxHashMap;

/// Tells the generators of one seed apart: "rota", "race" and "ties" in ASCII.
const POLICY: u64 = 0x726f_7461;
const RACES: u64 = 0x7261_6365;
const TIES: u64 = 0x7469_6573;

/// Marks the random streams of start times and of customers. Those of forked tasks have the
/// highest bit, those of other tasks none.
const STARTS: u64 = 1 << 62;
const CUSTOMERS: u64 = 1 << 61;

/// Draws from ChaCha8 generators. Ties have the documented order unless they are shuffled.
#[derive(Debug)]
pub struct Seeded {
    seed: u64,
    policy: ChaCha8Rng,
    /// Which of several CPUs is the first.
    races: ChaCha8Rng,
    ties: Option<ChaCha8Rng>,
    /// Of the workload, by stream; made at the first draw, as most tasks never draw.
    streams: FxHashMap<u64, Box<ChaCha8Rng>>,
}

impl Seeded {
    /// All from this seed.
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            policy: ChaCha8Rng::seed_from_u64(seed ^ POLICY),
            races: ChaCha8Rng::seed_from_u64(seed ^ RACES),
            ties: None,
            streams: FxHashMap::default(),
        }
    }

    /// The order of ties is random, too.
    #[must_use]
    pub fn with_shuffled_ties(self) -> Self {
        Self { ties: Some(ChaCha8Rng::seed_from_u64(self.seed ^ TIES)), ..self }
    }
}

impl Strategy for Seeded {
    fn orders_ties(&self) -> bool {
        self.ties.is_some()
    }

    fn choose(&mut self, site: Site, among: &dyn Alternatives) -> Result<u32, ChoiceError> {
        let count = among.count();
        Ok(match (&mut self.ties, site) {
            (Some(_), Site::TickTurn { number }) => {
                (mix(self.seed ^ mix(number)) % u64::from(count)) as u32
            }
            (Some(ties), _) => ties.next_u32() % count,
            (None, Site::FirstCpu) => among.random(self.races.next_u32()),
            (None, _) => among.documented(),
        })
    }

    fn draw(&mut self, origin: Origin) -> Result<u64, ChoiceError> {
        let stream = match origin {
            Origin::Policy => return Ok(self.policy.next_u32().into()),
            Origin::Start(definition) => STARTS | u64::from(definition),
            Origin::Task(_, stream) => stream,
            Origin::Customer(source, user) => CUSTOMERS | u64::from(source) << 32 | u64::from(user),
        };
        let seed = self.seed;
        let rng = self.streams.entry(stream).or_insert_with(|| {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            rng.set_stream(stream);
            Box::new(rng)
        });
        Ok(rng.next_u64())
    }
}

/// Spreads numbers evenly (the finalizer of `SplitMix64`).
fn mix(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Strategy;
    use proptest::prelude::{prop_assert, prop_assert_eq, proptest};
    use std::collections::HashSet;

    /// CPUs 1 and 2 of four.
    struct Two;

    impl Alternatives for Two {
        fn count(&self) -> u32 {
            2
        }
        fn documented(&self) -> u32 {
            1
        }
        fn random(&self, number: u32) -> u32 {
            u32::from(number % 4 == 2)
        }
    }

    #[test]
    fn mix_is_splitmix64() {
        // The first outputs for seed 0, as in Vigna's splitmix64.c: 0xe220a8397b1dcdaf.
        assert_eq!(mix(0), 0xe220_a839_7b1d_cdaf);
    }

    #[test]
    fn ties_have_the_documented_order_unless_they_are_shuffled() {
        let mut fixed = Seeded::new(3);
        let mut shuffled = Seeded::new(3).with_shuffled_ties();
        let sites = [Site::NextCpu, Site::Event, Site::TickTurn { number: 9 }];
        for site in sites {
            assert!((0..64).all(|_| fixed.choose(site, &Two) == Ok(1)), "{site:?}");
        }
        for site in [Site::FirstCpu, Site::NextCpu, Site::Event] {
            let chosen: HashSet<_> =
                (0..64).filter_map(|_| shuffled.choose(site, &Two).ok()).collect();
            assert_eq!(chosen.len(), 2, "{site:?}");
        }
        let turns = |number| shuffled.choose(Site::TickTurn { number }, &Two).ok();
        assert_eq!((0..64).filter_map(turns).collect::<HashSet<_>>().len(), 2);
    }

    #[test]
    fn the_first_cpu_is_random_among_all_of_the_machine() {
        // CPU 2 for one of four numbers: of 4000, 1000 with a standard deviation of 27.
        let mut seeded = Seeded::new(5);
        let second = (0..4000).filter(|_| seeded.choose(Site::FirstCpu, &Two) == Ok(1)).count();
        assert!(second.abs_diff(1000) < 150, "{second}");
    }

    #[test]
    fn each_tick_has_the_same_turn_however_often_it_is_asked_for() {
        let mut seeded = Seeded::new(3).with_shuffled_ties();
        let site = Site::TickTurn { number: 17 };
        let first = seeded.choose(site, &Two);
        assert!((0..64).all(|_| seeded.choose(site, &Two) == first));
    }

    proptest! {
        #[test]
        fn what_one_draws_depends_on_no_other(seed: u64, others in 0usize..4) {
            let origins =
                [Origin::Policy, Origin::Start(0), Origin::Customer(0, 0), Origin::Customer(0, 1)];
            let task = Origin::Task(0, 0);
            let mut alone = Seeded::new(seed);
            let expected = [alone.draw(task), alone.draw(task)];
            let mut busy = Seeded::new(seed);
            let mut found = Vec::new();
            for _ in 0..2 {
                for origin in &origins[..others] {
                    prop_assert!(busy.draw(*origin) != expected[0]);
                }
                found.push(busy.draw(task));
            }
            prop_assert_eq!(found, expected);
        }
    }
}
