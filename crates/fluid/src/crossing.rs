// SPDX-License-Identifier: MIT OR Apache-2.0
//! When the scheduled set changes by itself: a member falls out as its share becomes nothing, or
//! a task that waits comes to the level of the set.
//!
//! Both are first roots of functions that consist of monotone pieces, so that their values at the
//! ends of an interval bound them within. An interval in which no root can be is passed over,
//! another is halved, down to [`RESOLUTION`]: no root is missed, however near two of them are.

use crate::level::{power, Level, Member, Reading};
use libm::{exp, log};

/// Times of events are off by no more than this part of the time at hand.
pub const RESOLUTION: f64 = 1e-11;
/// Differences of logarithms up to this are rounding.
pub(crate) const EQUAL: f64 = 1e-12;

/// A task that waits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    /// Its origin and weight.
    pub(crate) member: Member,
    /// Logarithm of its S.
    pub(crate) ln_service: f64,
}

/// What changes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Crossing {
    /// This member, by its place, has no share any more.
    Falls(usize),
    /// These waiting tasks, by their places, are at the level.
    Rise(Vec<usize>),
}

/// A search among the functions of one set.
struct Search<'a> {
    level: &'a Level,
    waiting: &'a [Waiting],
    /// The member that would fall first; `None`: none can.
    falling: Option<&'a Member>,
    place: usize,
    least_step: f64,
}

/// The first change from `level.from` to `to`, and when.
pub(crate) fn first(level: &Level, waiting: &[Waiting], to: f64) -> Option<(f64, Crossing)> {
    let p = level.exponent;
    // For 0 <= p <= 1 nobody falls [PBS §3.2 property 10], nor if all are of an age.
    let can_fall = !(0.0..=1.0).contains(&p) && !level.same_age();
    let place = level.first_to_fall();
    let falling = can_fall.then(|| &level.members[place]);
    if (falling.is_none() && waiting.is_empty()) || to <= level.from {
        return None;
    }
    let least_step = RESOLUTION * to.abs().max(to - level.from);
    let search = Search { level, waiting, falling, place, least_step };
    search.between(&level.read(level.from), &level.read(to))
}

impl Search<'_> {
    /// Halves until nothing can be there, or the interval is as short as times are exact. The
    /// depth is that of a division of the whole into steps of that length: 40 or less.
    fn between(&self, a: &Reading, b: &Reading) -> Option<(f64, Crossing)> {
        let falls = self.falling.is_some_and(|member| self.may_fall(member, a, b));
        let rises = || self.waiting.iter().any(|waiting| self.may_rise(waiting, a, b));
        if !falls && !rises() {
            return None;
        }
        let middle = a.at + (b.at - a.at) / 2.0;
        if b.at - a.at <= self.least_step || middle <= a.at || middle >= b.at {
            return self.at_end(b);
        }
        let middle = self.level.read(middle);
        self.between(a, &middle).or_else(|| self.between(&middle, b))
    }

    fn at_end(&self, b: &Reading) -> Option<(f64, Crossing)> {
        if let Some(member) = self.falling {
            let age = b.at - member.origin;
            let size = b.total.recip() + (self.level.exponent / age).abs();
            if b.slope(self.level.exponent, age) < -EQUAL * size {
                return Some((b.at, Crossing::Falls(self.place)));
            }
        }
        // Who is furthest below was the first: others may follow, or find no share any more.
        let heights: Vec<f64> =
            self.waiting.iter().map(|waiting| self.height(waiting, b)).collect();
        let lowest = heights.iter().copied().fold(f64::INFINITY, f64::min);
        if lowest >= -EQUAL {
            return None;
        }
        let places = 0..heights.len();
        let up = places.filter(|at| heights[*at] <= lowest + EQUAL).collect();
        Some((b.at, Crossing::Rise(up)))
    }

    /// How far a waiting task is from the level: the logarithm of x over that of the set.
    fn height(&self, waiting: &Waiting, at: &Reading) -> f64 {
        let Member { origin, ln_weight, .. } = waiting.member;
        waiting.ln_service - ln_weight - power(self.level.exponent, at.at - origin) - at.ln_level()
    }

    /// Whether the slope of a member may be below 0 in between.
    fn may_fall(&self, member: &Member, a: &Reading, b: &Reading) -> bool {
        let p = self.level.exponent;
        let own = (p / (a.at - member.origin)).min(p / (b.at - member.origin));
        let lowest = b.total.recip() + own - self.pull(a, b).1;
        lowest.is_nan() || lowest < 0.0
    }

    /// Whether a waiting task may be below the level in between: by two bounds, of which the
    /// second is sharp in short intervals, as right after the task fell out.
    fn may_rise(&self, waiting: &Waiting, a: &Reading, b: &Reading) -> bool {
        let (p, Member { origin, ln_weight, .. }) = (self.level.exponent, waiting.member);
        let (young, old) = (a.at - origin, b.at - origin);
        let own = (-power(p, young)).min(-power(p, old));
        let bound = waiting.ln_service - ln_weight + own - log(b.total) + a.ln_mass.min(b.ln_mass);
        if bound >= -EQUAL {
            return false;
        }
        let slope = (-p / young).min(-p / old) - a.total.recip() + self.pull(a, b).0;
        let bound = self.height(waiting, a) + slope.min(0.0) * (b.at - a.at);
        bound.is_nan() || bound < -EQUAL
    }

    /// Bounds of p times the mean of 1 / T in between.
    fn pull(&self, a: &Reading, b: &Reading) -> (f64, f64) {
        let p = self.level.exponent;
        let low = exp(a.ln_pull.min(b.ln_pull) - a.ln_mass.max(b.ln_mass));
        let high = exp(a.ln_pull.max(b.ln_pull) - a.ln_mass.min(b.ln_mass));
        ((p * low).min(p * high), (p * low).max(p * high))
    }
}
