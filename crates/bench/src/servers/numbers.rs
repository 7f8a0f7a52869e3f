// SPDX-License-Identifier: MIT OR Apache-2.0
//! Medians of runs, and how they stand to those of plain runs.

use super::{Mode, Server};
use serde::Serialize;

/// Some numbers of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// The middle one, or between the two in the middle.
    pub median: f64,
    /// The least.
    pub min: f64,
    /// The greatest.
    pub max: f64,
}

impl Summary {
    /// Of these; `None` without any.
    pub fn of(values: &[f64]) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let (below, above) = (sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]);
        Some(Self { median: below.midpoint(above), min, max })
    }
}

/// A number that a run gives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Reading {
    pub(crate) key: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) value: f64,
}

/// The same number of all runs of a mode.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measure {
    /// What it is.
    pub key: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// Of each repetition.
    pub runs: Vec<f64>,
    /// Of these.
    #[serde(flatten)]
    pub summary: Summary,
    /// Of each repetition's part of the plain run of the same one; `None` without plain runs, or
    /// where those are 0.
    pub of_plain: Option<Summary>,
}

/// A server in a mode beside a background.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Which server.
    pub server: Server,
    /// Were autogroups on?
    pub autogroup: bool,
    /// Jobs of the background.
    pub jobs: u32,
    /// What was done for the server.
    pub mode: Mode,
    /// What came out.
    pub measures: Vec<Measure>,
}

/// Puts the readings of runs, by repetition, together: one list for each mode.
pub(crate) fn measures(runs: &[Vec<Reading>], plain: Option<&[Vec<Reading>]>) -> Vec<Measure> {
    let Some(first) = runs.first() else { return Vec::new() };
    let measure = |at: usize, of: &Reading| {
        let values = |runs: &[Vec<Reading>]| -> Vec<f64> {
            runs.iter().filter_map(|run| run.get(at)).map(|r| r.value).collect()
        };
        let own = values(runs);
        let ratios: Vec<f64> = plain.map_or(Vec::new(), |plain| {
            let pairs = own.iter().zip(values(plain));
            pairs.filter(|(_, plain)| *plain > 0.0).map(|(own, plain)| own / plain).collect()
        });
        let summary = Summary::of(&own)?;
        let of_plain = Summary::of(&ratios);
        Some(Measure { key: of.key, unit: of.unit, runs: own, summary, of_plain })
    };
    first.iter().enumerate().filter_map(|(at, of)| measure(at, of)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn runs(values: &[f64]) -> Vec<Vec<Reading>> {
        let reading = |value: &f64| vec![Reading { key: "time", unit: "ms", value: *value }];
        values.iter().map(reading).collect()
    }

    #[test]
    fn the_median_is_in_the_middle() {
        let summary = |values: &[f64]| Summary::of(values).map(|s| (s.median, s.min, s.max));
        assert_eq!(summary(&[5.0, 1.0, 2.0]), Some((2.0, 1.0, 5.0)));
        assert_eq!(summary(&[4.0, 1.0, 2.0, 9.0]), Some((3.0, 1.0, 9.0)));
        assert_eq!(summary(&[]), None);
    }

    #[test]
    fn ratios_are_of_runs_of_the_same_repetition() {
        // 2/4, 6/3, 3/30: the middle one is 0.5, not 3/4 of the medians.
        let found = measures(&runs(&[2.0, 6.0, 3.0]), Some(&runs(&[4.0, 3.0, 30.0])));
        let of_plain = found[0].of_plain.expect("there are plain runs");
        assert_eq!((of_plain.median, of_plain.min, of_plain.max), (0.5, 0.1, 2.0));
        assert_eq!((found[0].summary.median, &found[0].runs[..]), (3.0, &[2.0, 6.0, 3.0][..]));
        assert_eq!(measures(&runs(&[2.0]), Some(&runs(&[0.0])))[0].of_plain, None);
        assert_eq!(measures(&runs(&[2.0]), None)[0].of_plain, None);
        assert_eq!(measures(&[], None), []);
    }

    proptest! {
        #[test]
        fn medians_are_between(values in prop::collection::vec(0.0..1e9f64, 1..9)) {
            let Summary { median, min, max } = Summary::of(&values).expect("there are some");
            prop_assert!(min <= median && median <= max);
            let below = values.iter().filter(|v| **v < median).count();
            prop_assert!(below <= values.len() / 2);
        }
    }
}
