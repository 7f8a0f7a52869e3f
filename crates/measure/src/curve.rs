// SPDX-License-Identifier: MIT OR Apache-2.0
//! Curves of distributions of times: those of a run, and what the runs of several seeds have in
//! common.

use serde::{Deserialize, Serialize};

use crate::latency::Latencies;

/// Points of a curve for every halving of what is above.
const STEPS: u32 = 4;

/// The curve of a distribution of times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// What was measured.
    pub name: String,
    /// How many times.
    pub count: u64,
    /// How many of them were still open at the end.
    pub waiting: u64,
    /// Percentile (0 to 100) and value.
    pub points: Vec<(f64, u64)>,
}

/// Curves of one metric, of several seeds.
#[derive(Clone, Debug, PartialEq)]
pub struct CurveOfSeeds {
    /// What was measured.
    pub name: String,
    /// How many seeds have such times.
    pub seeds: u32,
    /// How many times they have together.
    pub count: u64,
    /// How many of them were still open at the end.
    pub waiting: u64,
    /// Percentiles rising.
    pub points: Vec<PointOfSeeds>,
}

/// What the seeds have at a percentile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PointOfSeeds {
    /// From 0 to 100.
    pub percentile: f64,
    /// Mean of the seeds.
    pub mean_ns: u64,
    /// The least of them.
    pub least_ns: u64,
    /// The greatest.
    pub greatest_ns: u64,
}

impl Curve {
    /// Of these times, of which so many were still open at the end.
    pub fn new(name: &str, of: &Latencies, waiting: u64) -> Self {
        Curve { name: name.to_owned(), count: of.count(), waiting, points: of.curve(STEPS) }
    }

    /// The value of the first point at or above a percentile: of nearest rank, at a percentile
    /// that has a point or is above all of them but the greatest value.
    fn at(&self, percentile: f64) -> Option<u64> {
        let mut points = self.points.iter();
        points.find(|(at, _)| *at >= percentile).map(|(_, value)| *value)
    }
}

/// What seeds have in common, for each name in the order in which they first come.
pub fn over_seeds<'a>(curves: impl IntoIterator<Item = &'a Curve>) -> Vec<CurveOfSeeds> {
    let mut names: Vec<(&str, Vec<&Curve>)> = Vec::new();
    for curve in curves {
        match names.iter_mut().find(|(name, _)| *name == curve.name) {
            Some((_, of_name)) => of_name.push(curve),
            None => names.push((&curve.name, vec![curve])),
        }
    }
    names.into_iter().map(|(name, curves)| of_name(name, curves)).collect()
}

fn of_name(name: &str, mut curves: Vec<&Curve>) -> CurveOfSeeds {
    curves.retain(|curve| !curve.points.is_empty());
    let mut percentiles: Vec<f64> =
        curves.iter().flat_map(|curve| &curve.points).map(|(at, _)| *at).collect();
    percentiles.sort_by(f64::total_cmp);
    percentiles.dedup();
    let point = |percentile: f64| {
        let values: Vec<u64> = curves.iter().filter_map(|curve| curve.at(percentile)).collect();
        let sum: u128 = values.iter().copied().map(u128::from).sum();
        PointOfSeeds {
            percentile,
            mean_ns: (sum / values.len().max(1) as u128) as u64,
            least_ns: values.iter().copied().min().unwrap_or(0),
            greatest_ns: values.iter().copied().max().unwrap_or(0),
        }
    };
    CurveOfSeeds {
        name: name.to_owned(),
        seeds: curves.len() as u32,
        count: curves.iter().map(|curve| curve.count).sum(),
        waiting: curves.iter().map(|curve| curve.waiting).sum(),
        points: percentiles.into_iter().map(point).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(name: &str, values: &[u64]) -> Curve {
        let mut latencies = Latencies::default();
        values.iter().for_each(|ns| latencies.record(*ns));
        Curve::new(name, &latencies, 1)
    }

    #[test]
    fn a_curve_has_the_percentiles_of_tables() {
        // Of 1 to 1000, a percentile is ten times its number.
        let values: Vec<u64> = (1..=1000).collect();
        let curve = curve("t", &values);
        for (percentile, value) in [(50.0, 500), (90.0, 900), (95.0, 950), (99.0, 990), (99.9, 999)]
        {
            assert!(curve.points.contains(&(percentile, value)), "{percentile}: {curve:?}");
        }
        assert!(curve.points.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }

    #[test]
    fn no_point_pretends_to_know_more_than_the_values() {
        // Of two values, the median is the first, and nothing is between it and the greatest.
        let points = curve("t", &[3, 5]).points;
        let low = [0.0, 10.0, 20.0, 30.0, 40.0, 50.0].map(|percentile| (percentile, 3));
        assert_eq!((&points[..6], &points[6..]), (&low[..], &[(100.0, 5)][..]));
    }

    #[test]
    fn seeds_have_a_mean_and_a_range_at_each_percentile() {
        let curves = [curve("a", &[1, 3]), curve("b", &[7]), curve("a", &[5, 9])];
        let found = over_seeds(&curves);
        assert_eq!(found.iter().map(|of| of.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        let point = |percentile, mean_ns, least_ns, greatest_ns| PointOfSeeds {
            percentile,
            mean_ns,
            least_ns,
            greatest_ns,
        };
        // Least values 1 and 5, medians 1 and 5, greatest values 3 and 9.
        let low = [0.0, 10.0, 20.0, 30.0, 40.0, 50.0].map(|at| point(at, 3, 1, 5));
        assert_eq!(found[0].points[..6], low);
        assert_eq!(found[0].points[6..], [point(100.0, 6, 3, 9)]);
        assert_eq!((found[0].seeds, found[0].count, found[0].waiting), (2, 4, 2));
    }

    #[test]
    fn a_seed_with_fewer_values_has_its_greatest_beyond_them() {
        let many: Vec<u64> = (1..=100).collect();
        let found = over_seeds(&[curve("a", &many), curve("a", &[1000]), curve("a", &[])]);
        let p95 = found[0].points.iter().find(|point| point.percentile == 95.0).expect("p95");
        assert_eq!((p95.least_ns, p95.greatest_ns, p95.mean_ns), (95, 1000, (95 + 1000) / 2));
        assert_eq!(found[0].seeds, 2);
    }
}
