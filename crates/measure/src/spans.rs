// SPDX-License-Identifier: MIT OR Apache-2.0
//! Count, mean and maximum of some numbers, without their percentiles.

use crate::numbers::{RatioNumbers, SpanNumbers};

/// Count, mean and maximum of some numbers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spans {
    count: u64,
    sum: f64,
    max: f64,
}

impl Spans {
    pub(crate) fn add(&mut self, value: f64) {
        self.count += 1;
        self.sum += value;
        self.max = self.max.max(value);
    }

    pub(crate) fn merge(&mut self, other: &Spans) {
        self.count += other.count;
        self.sum += other.sum;
        self.max = self.max.max(other.max);
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }

    pub(crate) fn times(&self) -> SpanNumbers {
        let max = (self.count > 0).then_some(self.max as u64);
        SpanNumbers { count: self.count, mean: self.mean(), max }
    }

    pub(crate) fn ratios(&self) -> RatioNumbers {
        let max = (self.count > 0).then_some(self.max);
        RatioNumbers { count: self.count, mean: self.mean(), max }
    }
}
