// SPDX-License-Identifier: MIT OR Apache-2.0
//! The parameters of the policy.

use crate::error::Error;
use std::str::FromStr;

/// Below this, exponents 1 / alpha are of no use to floating point.
const LEAST_ALPHA: f64 = 0.001;

/// The policy: priority T / S^alpha [PBS §2 eq. 1], of sessions that beta tells apart [PBS §4.1].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pbs {
    alpha: f64,
    /// When a sleep begins a new session.
    pub beta: Beta,
}

/// The session threshold [PBS §4.1].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Beta {
    /// A sleep of this many mean sleeps begins a new session; infinite: none does.
    pub threshold: f64,
    /// Whether sleeps within a session count as time since its beginning.
    pub inactive: Inactive,
}

/// Whether sleeps within a session count as time since its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inactive {
    /// They do: the paper's `+`.
    Included,
    /// They do not: its `-`.
    Excluded,
}

impl Pbs {
    /// With this alpha: 0 is first come, first served, infinity least attained service. Below 0
    /// the task with the least T / S^alpha is served, down to preemptive last come, first served.
    pub fn new(alpha: f64, beta: Beta) -> Result<Self, Error> {
        if alpha.is_nan() || (alpha != 0.0 && alpha.abs() < LEAST_ALPHA) {
            return Err(Error::Parameter {
                name: "alpha",
                value: alpha.to_string(),
                expected: "0, inf, or a number at least 0.001 away from 0",
            });
        }
        if beta.threshold.is_nan() || beta.threshold < 0.0 {
            return Err(Error::Parameter {
                name: "beta",
                value: beta.threshold.to_string(),
                expected: "0 or more, or inf",
            });
        }
        Ok(Self { alpha, beta })
    }

    /// Alpha.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// 1 / alpha; `None` for first come, first served.
    pub(crate) fn exponent(&self) -> Option<f64> {
        (self.alpha != 0.0).then(|| self.alpha.recip())
    }
}

impl Beta {
    /// One session in all of a task's life: what the analysis of the paper is about.
    pub const INFINITE: Self = Self { threshold: f64::INFINITY, inactive: Inactive::Included };
}

impl FromStr for Beta {
    type Err = Error;

    /// Reads `+inf`, `-3`, `0`: the sign says whether sleeps count [PBS §4.1].
    fn from_str(text: &str) -> Result<Self, Error> {
        let (inactive, number) = match text.strip_prefix('-') {
            Some(rest) => (Inactive::Excluded, rest),
            None => (Inactive::Included, text.strip_prefix('+').unwrap_or(text)),
        };
        let threshold = match number {
            "inf" => Ok(f64::INFINITY),
            // Only plain numbers: no second sign, no other words for infinity.
            n if n.bytes().all(|b| b.is_ascii_digit() || b == b'.') => n.parse().map_err(drop),
            _ => Err(()),
        };
        let threshold = threshold.map_err(|()| Error::Parameter {
            name: "beta",
            value: text.into(),
            expected: "a number or inf with + or - before it, as +inf, -3 or 0",
        })?;
        Ok(Self { threshold, inactive })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sign_of_beta_says_whether_sleeps_count() {
        let beta = |text: &str| text.parse::<Beta>();
        assert_eq!(beta("+inf"), Ok(Beta::INFINITE));
        assert_eq!(beta("inf"), Ok(Beta::INFINITE));
        let minus_three = Beta { threshold: 3.0, inactive: Inactive::Excluded };
        assert_eq!(beta("-3"), Ok(minus_three));
        assert_eq!(beta("-inf").map(|b| b.inactive), Ok(Inactive::Excluded));
        assert_eq!(beta("0").map(|b| b.threshold), Ok(0.0));
        for bad in ["", "+", "--3", "3x", "nan", "+-1", "1e3", "."] {
            assert!(beta(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn parameters_that_mean_nothing_are_refused() {
        for alpha in [f64::NAN, 1e-4, -1e-9] {
            assert!(Pbs::new(alpha, Beta::INFINITE).is_err(), "{alpha}");
        }
        for alpha in [0.0, 0.001, 1.0, -2.0, f64::INFINITY] {
            assert!(Pbs::new(alpha, Beta::INFINITE).is_ok(), "{alpha}");
        }
    }
}
