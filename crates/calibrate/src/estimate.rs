// SPDX-License-Identifier: MIT OR Apache-2.0
//! One number from many samples.

use serde::Serialize;

/// A number, and how far its samples are apart.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The sample in the middle; of an even number the lower one of both.
    pub median: f64,
    /// A quarter of the samples are at or below it.
    pub low: f64,
    /// Three quarters of the samples are at or below it.
    pub high: f64,
    /// How many there are.
    pub samples: usize,
}

impl Estimate {
    /// Of these; `None` without any.
    pub fn of(samples: &[f64]) -> Option<Self> {
        let mut sorted = samples.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let at = |part: f64| {
            let rank = (part * sorted.len() as f64).ceil() as usize;
            sorted.get(rank.saturating_sub(1)).copied()
        };
        let (median, low, high) = (at(0.5)?, at(0.25)?, at(0.75)?);
        Some(Self { median, low, high, samples: sorted.len() })
    }

    /// The distance of the quartiles as a part of the median.
    pub fn spread(&self) -> f64 {
        match self.median.abs() {
            0.0 => 0.0,
            median => (self.high - self.low) / median,
        }
    }

    /// How far the median itself may be from that of endless samples: 1.57 × the distance of the
    /// quartiles ÷ √n (McGill, Tukey, Larsen 1978: notches of box plots, 95 %).
    pub fn uncertainty(&self) -> f64 {
        1.57 * (self.high - self.low) / (self.samples.max(1) as f64).sqrt()
    }

    /// The same in another unit.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        let Self { median, low, high, samples } = self;
        Self { median: median * factor, low: low * factor, high: high * factor, samples }
    }
}

/// What is left of one number without another one, and how far it may be off; `None`: the
/// difference cannot be told from noise.
pub(crate) fn difference(more: &Estimate, less: &Estimate) -> Option<Estimate> {
    let median = more.median - less.median;
    let off = more.uncertainty().hypot(less.uncertainty());
    if median <= off {
        return None;
    }
    // The quartiles of a difference of independent samples, as if both were normal.
    let half = ((more.high - more.low) / 2.0).hypot((less.high - less.low) / 2.0);
    let samples = more.samples.min(less.samples);
    Some(Estimate { median, low: median - half, high: median + half, samples })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_and_the_quartiles_are_samples() {
        let estimate = Estimate::of(&[8.0, 1.0, 2.0, 4.0]).expect("there are some");
        assert_eq!((estimate.low, estimate.median, estimate.high), (1.0, 2.0, 4.0));
        // (4 - 1) / 2
        assert_eq!((estimate.spread(), estimate.samples), (1.5, 4));
        assert_eq!(Estimate::of(&[]), None);
    }

    #[test]
    fn one_sample_far_off_changes_little() {
        let mut samples = vec![10.0; 100];
        samples.push(1e9);
        let estimate = Estimate::of(&samples).expect("there are some");
        assert_eq!((estimate.median, estimate.spread()), (10.0, 0.0));
    }

    #[test]
    fn a_difference_within_the_noise_is_none() {
        // Quartiles 4 apart, 100 samples: each median is within 1.57 * 4 / 10 = 0.628, their
        // difference within 0.888.
        let of =
            |median: f64| Estimate { median, low: median - 2.0, high: median + 2.0, samples: 100 };
        assert_eq!(difference(&of(100.8), &of(100.0)), None);
        let more = difference(&of(101.0), &of(100.0)).expect("more than 0.888");
        assert_eq!(more.median, 1.0);
        // 2 * sqrt(2)
        assert!((more.high - 1.0 - 2.828).abs() < 0.001, "{more:?}");
        assert_eq!(difference(&of(100.0), &of(101.0)), None);
    }
}
