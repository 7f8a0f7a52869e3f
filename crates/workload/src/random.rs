// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lengths of time, fixed or drawn from a distribution.
//!
//! Draws must be the same on every machine, so logarithm and exponential come from the
//! `libm` crate and not from the platform's mathematics library.

/// The longest time any draw or number may give: 366 days.
pub(crate) const MAX_SPAN_NS: u64 = 366 * 24 * 3600 * 1_000_000_000;

/// Marks the random streams of forked tasks; those of other tasks have no mark.
pub(crate) const FORKED: u64 = 1 << 63;

/// A length of time. All parameters are nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Span {
    /// Always the same.
    Fixed(u64),
    /// Exponential, cut off at `max`.
    Exp { mean: f64, max: u64 },
    /// Every nanosecond of `min..=max` equally likely.
    Uniform { min: u64, max: u64 },
    /// Pareto: `scale` is the least value, `shape` the tail exponent; cut off at `max`.
    Pareto { shape: f64, scale: f64, max: u64 },
    /// The logarithm is normal, with standard deviation `sigma`; cut off at `max`.
    Lognormal { median: f64, sigma: f64, max: u64 },
}

impl Span {
    /// The next value, from random numbers.
    pub(crate) fn draw(&self, random: &mut impl FnMut() -> u64) -> u64 {
        match *self {
            Span::Fixed(ns) => ns,
            Span::Exp { mean, max } => round(-mean * libm::log(unit(random)), max),
            Span::Uniform { min, max } => {
                // Multiply-and-shift: integer only, bias below 2^-64 of the range.
                let width = u128::from(max - min) + 1;
                min + ((u128::from(random()) * width) >> 64) as u64
            }
            Span::Pareto { shape, scale, max } => {
                round(scale * libm::exp(-libm::log(unit(random)) / shape), max)
            }
            Span::Lognormal { median, sigma, max } => {
                round(median * libm::exp(sigma * normal(random)), max)
            }
        }
    }

    /// Whether every draw is longer than nothing.
    pub(crate) fn is_positive(&self) -> bool {
        match *self {
            Span::Fixed(ns) => ns > 0,
            Span::Uniform { min, .. } => min > 0,
            // the smallest ones are rounded
            Span::Exp { .. } | Span::Pareto { .. } | Span::Lognormal { .. } => false,
        }
    }

    /// Whether a draw can be longer than nothing.
    pub(crate) fn can_be_positive(&self) -> bool {
        match *self {
            Span::Fixed(ns) => ns > 0,
            Span::Exp { mean, max } => mean > 0.0 && max > 0,
            Span::Uniform { max, .. } => max > 0,
            Span::Pareto { scale: least, max, .. } | Span::Lognormal { median: least, max, .. } => {
                least > 0.0 && max > 0
            }
        }
    }
}

/// A number in (0, 1] with 53 random bits; never 0, whose logarithm is infinite.
fn unit(random: &mut impl FnMut() -> u64) -> f64 {
    ((random() >> 11) + 1) as f64 / (1u64 << 53) as f64
}

/// A standard normal deviate (G. Box, M. Muller: A Note on the Generation of Random Normal
/// Deviates, 1958). Of each pair one is used, so that a draw always takes two numbers.
fn normal(random: &mut impl FnMut() -> u64) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(unit(random)));
    radius * libm::cos(2.0 * std::f64::consts::PI * unit(random))
}

fn round(ns: f64, max: u64) -> u64 {
    // A float cast saturates, so even an infinite draw ends at `max`.
    (libm::round(ns) as u64).min(max)
}

#[cfg(test)]
mod tests {
    use super::{Span, MAX_SPAN_NS};
    use proptest::prelude::*;
    use rand::{RngCore, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    fn mean_of(span: Span) -> f64 {
        let mut random = seeded(7);
        let sum: f64 = (0..200_000).map(|_| span.draw(&mut random) as f64).sum();
        sum / 200_000.0
    }

    /// Random numbers of a seed.
    fn seeded(seed: u64) -> impl FnMut() -> u64 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        move || rng.next_u64()
    }

    #[test]
    fn exponential_keeps_its_mean() {
        let mean = mean_of(Span::Exp { mean: 1e6, max: MAX_SPAN_NS });
        assert!((mean / 1e6 - 1.0).abs() < 0.01, "{mean}");
    }

    #[test]
    fn uniform_keeps_its_mean() {
        let mean = mean_of(Span::Uniform { min: 1000, max: 3000 });
        assert!((mean / 2000.0 - 1.0).abs() < 0.01, "{mean}");
    }

    #[test]
    fn pareto_keeps_its_mean() {
        // Mean of a Pareto distribution: scale * shape / (shape - 1) = 1e6 * 3 / 2.
        let mean = mean_of(Span::Pareto { shape: 3.0, scale: 1e6, max: MAX_SPAN_NS });
        assert!((mean / 1.5e6 - 1.0).abs() < 0.02, "{mean}");
    }

    #[test]
    fn lognormal_keeps_its_mean_and_median() {
        // Mean: median * e^(sigma^2 / 2) = 1e6 * e^(1/8) = 1.133148e6. One draw in two is below
        // the median: of 20000, standard deviation 71.
        let span = Span::Lognormal { median: 1e6, sigma: 0.5, max: MAX_SPAN_NS };
        let mean = mean_of(span);
        assert!((mean / 1.133_148e6 - 1.0).abs() < 0.01, "{mean}");
        let mut random = seeded(7);
        let below = (0..20_000).filter(|_| span.draw(&mut random) < 1_000_000).count();
        assert!(below.abs_diff(10_000) < 350, "{below}");
    }

    #[test]
    fn draws_at_the_median_match_the_inverse_distribution() {
        // unit() of this value is exactly 1/2; ln 2 = 0.693147…, 2^(1/2) = 1.414214.
        let mut half = || (((1u64 << 52) - 1) << 11) | 5;
        assert_eq!(Span::Exp { mean: 1e6, max: u64::MAX }.draw(&mut half), 693_147);
        let pareto = Span::Pareto { shape: 2.0, scale: 1e6, max: u64::MAX };
        assert_eq!(pareto.draw(&mut half), 1_414_214);
    }

    #[test]
    fn extreme_bits_stay_in_range() {
        for bits in [0, u64::MAX] {
            let mut random = || bits;
            let uniform = Span::Uniform { min: 5, max: 9 }.draw(&mut random);
            assert_eq!(uniform, if bits == 0 { 5 } else { 9 });
            let tail = Span::Pareto { shape: 0.001, scale: 1e9, max: 77 }.draw(&mut random);
            assert_eq!(tail, 77);
            let far = Span::Lognormal { median: 1e9, sigma: 1000.0, max: 77 }.draw(&mut random);
            assert!(far <= 77);
        }
    }

    #[test]
    fn draws_are_the_same_on_every_machine() {
        // Worked out by a separate program from ChaCha8's definition; they must never
        // change, or every recorded result changes with them.
        let mut random = seeded(1);
        let exp = Span::Exp { mean: 1e6, max: MAX_SPAN_NS };
        let draws: Vec<u64> = (0..4).map(|_| exp.draw(&mut random)).collect();
        assert_eq!(draws, [910_096, 2_520_944, 516_575, 1_517_203]);
    }
    proptest! {
        #[test]
        fn uniform_stays_in_its_bounds(seed: u64, a in 0..MAX_SPAN_NS, b in 0..MAX_SPAN_NS) {
            let (min, max) = (a.min(b), a.max(b));
            let drawn = Span::Uniform { min, max }.draw(&mut seeded(seed));
            prop_assert!((min..=max).contains(&drawn));
        }
    }
}
