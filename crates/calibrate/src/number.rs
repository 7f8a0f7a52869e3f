// SPDX-License-Identifier: MIT OR Apache-2.0
//! A number of a machine file: measured, or why not.

use crate::estimate::Estimate;
use serde::Serialize;

/// Samples further apart than this part of their median are in doubt.
const WIDE: f64 = 0.1;

/// A number of a machine file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Number {
    /// Its key in the file, as `cost_ns.switch`.
    pub key: String,
    /// What the file has now.
    pub value: String,
    /// Of its samples; `None`: it was not measured, and the value is as before.
    pub estimate: Option<Estimate>,
    /// How it was measured, or why it was not.
    pub how: String,
    /// Whether its samples are too far apart to trust it.
    pub doubtful: bool,
}

impl Number {
    pub(crate) fn measured(
        key: impl Into<String>,
        value: impl ToString,
        estimate: Estimate,
        how: &str,
    ) -> Self {
        let doubtful = estimate.spread() > WIDE;
        let (key, value, how) = (key.into(), value.to_string(), how.to_owned());
        Self { key, value, estimate: Some(estimate), how, doubtful }
    }

    pub(crate) fn kept(
        key: impl Into<String>,
        value: impl ToString,
        why: impl Into<String>,
    ) -> Self {
        let (key, value, how) = (key.into(), value.to_string(), why.into());
        Self { key, value, estimate: None, how, doubtful: false }
    }

    /// For a comment.
    pub(crate) fn comment(&self) -> String {
        match &self.estimate {
            None => format!("not measured: {}", self.how),
            Some(estimate) => {
                let (spread, samples) = (estimate.spread() * 100.0, estimate.samples);
                let doubt = if self.doubtful { ", in doubt" } else { "" };
                format!(
                    "measured: {}; median {}, spread {spread:.0} %, {samples} samples{doubt}",
                    self.how,
                    short(estimate.median)
                )
            }
        }
    }
}

/// Three digits, without an exponent.
fn short(value: f64) -> String {
    let digits = match value.abs() {
        v if v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        v if v >= 1.0 => 2,
        _ => 3,
    };
    format!("{value:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_samples_are_in_doubt_and_the_comment_says_so() {
        let estimate = |high| Estimate { median: 1_000.0, low: 950.0, high, samples: 99 };
        let sure = Number::measured("cost_ns.switch", 1_000, estimate(1_050.0), "two threads");
        assert!(!sure.doubtful);
        assert_eq!(sure.comment(), "measured: two threads; median 1000, spread 10 %, 99 samples");
        let wide = Number::measured("cost_ns.switch", 1_000, estimate(1_100.0), "two threads");
        assert!(wide.doubtful && wide.comment().ends_with("99 samples, in doubt"), "{wide:?}");
        let kept = Number::kept("cost_ns.ipi", 600, "one CPU only");
        assert_eq!(kept.comment(), "not measured: one CPU only");
    }
}
