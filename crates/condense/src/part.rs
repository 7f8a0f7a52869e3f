// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which part of the run is taken: one in which kinds of tasks have about the CPU time and the
//! wakeups that they have over all.

use crate::life::What;
use crate::watch::Watched;

/// About so many steps are taken.
const STEPS: u64 = 3000;
/// So many parts are tried.
const TRIED: u64 = 24;

/// From one time to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) from_ns: u64,
    pub(crate) to_ns: u64,
}

impl Part {
    pub(crate) fn len_ns(self) -> u64 {
        self.to_ns - self.from_ns
    }
}

/// Work and wakeups of each kind.
type Rates = Vec<(f64, f64)>;

/// The part that is most like the whole, of some that begin at random times.
pub(crate) fn choose(watched: &Watched, seed: u64) -> Part {
    let end_ns = watched.end_ns.max(2);
    let steps: u64 = watched.lives.iter().map(|life| life.steps.len() as u64).sum();
    // No more than half of it, so that what was there before and after is known.
    let share = u128::from(end_ns) * u128::from(STEPS) / u128::from(steps.max(1));
    let len_ns = (share.min(u128::from(end_ns / 2)) as u64).max(1);
    let whole = rates(watched, Part { from_ns: 0, to_ns: end_ns });
    let mut random = seed;
    let starts = end_ns - len_ns;
    let parts = (0..TRIED).map(|number| {
        // The middle of it first.
        let from_ns = match number {
            0 => starts / 2,
            _ => ((u128::from(split_mix(&mut random)) * u128::from(starts)) >> 64) as u64,
        };
        Part { from_ns, to_ns: from_ns + len_ns }
    });
    let off = |part: &Part| off(&rates(watched, *part), &whole) + turnover(watched, *part);
    let mut best: Option<(f64, Part)> = None;
    for part in parts {
        let off = off(&part);
        if best.is_none_or(|(least, _)| off < least) {
            best = Some((off, part));
        }
    }
    best.map_or(Part { from_ns: 0, to_ns: end_ns }, |(_, part)| part)
}

/// Of each nanosecond of a part.
fn rates(watched: &Watched, part: Part) -> Rates {
    let mut rates = vec![(0.0, 0.0); watched.kinds.len()];
    for life in &watched.lives {
        let rate = &mut rates[life.kind];
        for step in &life.steps[life.within(part.from_ns, part.to_ns)] {
            match step.what {
                What::Run(ns) => rate.0 += ns as f64,
                what if what.blocks() => rate.1 += 1.0,
                _ => {}
            }
        }
    }
    let len_ns = part.len_ns() as f64;
    rates.iter_mut().for_each(|(work, wakeups)| {
        *work /= len_ns;
        *wakeups /= len_ns;
    });
    rates
}

/// Part of all work, and of all wakeups, that is another kind's.
fn off(rates: &Rates, whole: &Rates) -> f64 {
    let of = |one: fn(&(f64, f64)) -> f64| {
        let all: f64 = whole.iter().map(one).sum();
        let off: f64 = rates.iter().zip(whole).map(|(a, b)| (one(a) - one(b)).abs()).sum();
        if all > 0.0 {
            off / all
        } else {
            0.0
        }
    };
    of(|rate| rate.0) + of(|rate| rate.1)
}

/// How many more tasks there are at the end of a part than at its begin, or fewer.
fn turnover(watched: &Watched, part: Part) -> f64 {
    let alive = |at_ns| watched.lives.iter().filter(|life| life.lasts(at_ns, at_ns)).count() as f64;
    let (before, after) = (alive(part.from_ns), alive(part.to_ns));
    (after - before).abs() / before.max(1.0)
}

/// S. Vigna's SplitMix64.
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
