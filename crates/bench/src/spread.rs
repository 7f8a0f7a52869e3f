// SPDX-License-Identifier: MIT OR Apache-2.0
//! Mean and spread of some numbers.

use serde::Serialize;

/// Mean and spread of some numbers, in their unit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// How many.
    pub count: usize,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation, of all there are.
    pub deviation: f64,
    /// The least.
    pub min: f64,
    /// The greatest.
    pub max: f64,
}

impl Spread {
    /// Of these; `None` without any.
    pub fn of(values: &[f64]) -> Option<Self> {
        if values.is_empty() {
            return None;
        }
        let count = values.len();
        let mean = values.iter().sum::<f64>() / count as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Some(Self {
            count,
            mean,
            deviation: (squares / count as f64).sqrt(),
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deviation_is_that_of_all_there_are() {
        // Distances of 2, 2, 2 and 2 from 5.
        let spread = Spread::of(&[3.0, 7.0, 7.0, 3.0]).expect("there are some");
        assert_eq!((spread.mean, spread.deviation), (5.0, 2.0));
        assert_eq!((spread.count, spread.min, spread.max), (4, 3.0, 7.0));
        assert_eq!(Spread::of(&[]), None);
    }
}
