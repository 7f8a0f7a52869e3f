// SPDX-License-Identifier: MIT OR Apache-2.0
//! The closed form: what each task of the scheduled set has received [PBS Appendix A.1].
//!
//! Equal priorities T / S^alpha are equal levels x = S / (kappa T^p), p = 1 / alpha. With the sum
//! of all S, which grows as fast as time, S_k = kappa_k T_k^p / sum(kappa T^p) · sum(S) (eq. 8),
//! and the share S_k' = S_k (1 / sum(S) + p (1 / T_k - mean)), mean being that of 1 / T weighted
//! by kappa T^p (eq. 10). Sums are of logarithms, as T^p leaves the range of numbers.

use libm::{exp, log};

/// A task of the set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    pub(crate) task: usize,
    /// T is the time since then.
    pub(crate) origin: f64,
    /// Logarithm of kappa.
    pub(crate) ln_weight: f64,
}

/// The scheduled set between two events.
#[derive(Clone, Debug)]
pub(crate) struct Level {
    /// p.
    pub(crate) exponent: f64,
    /// Not empty.
    pub(crate) members: Vec<Member>,
    /// Since when.
    pub(crate) from: f64,
    /// Sum of S then.
    pub(crate) total: f64,
}

/// What is known of a set at a time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    pub(crate) at: f64,
    /// sum(S).
    pub(crate) total: f64,
    /// Logarithm of sum(kappa T^p).
    pub(crate) ln_mass: f64,
    /// Logarithm of sum(kappa T^(p - 1)).
    pub(crate) ln_pull: f64,
}

impl Level {
    pub(crate) fn read(&self, at: f64) -> Reading {
        let p = self.exponent;
        Reading {
            at,
            total: self.total + (at - self.from),
            ln_mass: self.ln_sum(at, p),
            ln_pull: self.ln_sum(at, p - 1.0),
        }
    }

    fn ln_sum(&self, at: f64, exponent: f64) -> f64 {
        let term = |m: &Member| m.ln_weight + power(exponent, at - m.origin);
        let largest = self.members.iter().map(term).fold(f64::NEG_INFINITY, f64::max);
        if largest.is_infinite() {
            return largest;
        }
        let sum: f64 = self.members.iter().map(|m| exp(term(m) - largest)).sum();
        largest + log(sum)
    }

    /// Part of sum(S) that a member has.
    fn part(&self, member: &Member, reading: &Reading) -> f64 {
        let own = member.ln_weight + power(self.exponent, reading.at - member.origin);
        if own.is_infinite() && own == reading.ln_mass {
            return self.part_of_newcomers(member);
        }
        exp(own - reading.ln_mass)
    }

    /// When all have just arrived, T^p is nothing or infinite, but the same of all.
    fn part_of_newcomers(&self, member: &Member) -> f64 {
        let sum: f64 = self.members.iter().map(|m| exp(m.ln_weight)).sum();
        exp(member.ln_weight) / sum
    }

    /// S of a member (eq. 8).
    pub(crate) fn service(&self, member: &Member, reading: &Reading) -> f64 {
        self.part(member, reading) * reading.total
    }

    /// Logarithm of S, also where S itself is too small for a number.
    pub(crate) fn ln_service(&self, member: &Member, reading: &Reading) -> f64 {
        let own = member.ln_weight + power(self.exponent, reading.at - member.origin);
        match own.is_infinite() {
            true => log(self.service(member, reading)),
            false => own - reading.ln_mass + log(reading.total),
        }
    }

    /// Processor share of a member (eq. 10).
    pub(crate) fn share(&self, member: &Member, reading: &Reading) -> f64 {
        let age = reading.at - member.origin;
        if self.same_age() {
            return self.part_of_newcomers(member);
        }
        if age == 0.0 {
            // T^(p - 1) of it, which is 0, 1, or nothing that a set of several ages has.
            let own = member.ln_weight + power(self.exponent - 1.0, age);
            return self.exponent * reading.total * exp(own - reading.ln_mass);
        }
        let pull = self.exponent * (age.recip() - reading.mean());
        self.part(member, reading) * (1.0 + reading.total * pull)
    }

    /// Whether all arrived at the same time: then shares stay as they are.
    pub(crate) fn same_age(&self) -> bool {
        self.members.iter().all(|m| m.origin == self.members[0].origin)
    }

    /// The member whose share is the first to become nothing: p / T is the least of it.
    pub(crate) fn first_to_fall(&self) -> usize {
        let (oldest, youngest) = (
            |a: &Member, b: &Member| a.origin.total_cmp(&b.origin),
            |a: &Member, b: &Member| b.origin.total_cmp(&a.origin),
        );
        let places = 0..self.members.len();
        let by = |a: &usize, b: &usize| match self.exponent > 0.0 {
            true => oldest(&self.members[*a], &self.members[*b]),
            false => youngest(&self.members[*a], &self.members[*b]),
        };
        places.min_by(by).unwrap_or(0)
    }
}

impl Reading {
    /// Logarithm of the level x that all members have.
    pub(crate) fn ln_level(&self) -> f64 {
        log(self.total) - self.ln_mass
    }

    /// Mean of 1 / T, weighted by kappa T^p.
    pub(crate) fn mean(&self) -> f64 {
        exp(self.ln_pull - self.ln_mass)
    }

    /// S_k' / S_k of a member of this age: its sign is that of the member's share.
    pub(crate) fn slope(&self, exponent: f64, age: f64) -> f64 {
        self.total.recip() + exponent * (age.recip() - self.mean())
    }
}

/// Logarithm of age^exponent, with 0^0 = 1 [PBS §2].
pub(crate) fn power(exponent: f64, age: f64) -> f64 {
    match exponent == 0.0 {
        true => 0.0,
        false => exponent * log(age),
    }
}
