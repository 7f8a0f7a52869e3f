// SPDX-License-Identifier: MIT OR Apache-2.0
//! A distribution of times: exact while small, an HDR histogram after.

use hdrhistogram::Histogram;
use std::borrow::Cow;

use crate::numbers::LatencyNumbers;

/// How much is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Precision {
    /// So many times are kept as they are.
    exact: usize,
    /// Significant decimal digits of the histogram that holds more of them.
    digits: u8,
}

/// At most 8 KB of exact values, then 33 KB where times reach a second.
const FINE: Precision = Precision { exact: 1024, digits: 3 };
/// At most 1 KB of exact values, then 12 KB where times reach a second.
const SMALL: Precision = Precision { exact: 128, digits: 2 };

/// Times that wait until there are so many of them, once there is a histogram. Each of its counts is far
/// from the last one in memory, and from what else a run needs: many at a time wait together.
const WAITING: usize = 128;

/// Times in nanoseconds. Count, sum, least and greatest are always exact.
#[derive(Clone, Debug)]
pub struct Latencies {
    precision: Precision,
    count: u64,
    sum: u128,
    max: u64,
    min: u64,
    /// All times, or those that are not in the histogram yet.
    exact: Vec<u64>,
    histogram: Option<Histogram<u32>>,
}

/// With 3 digits: percentiles are off by at most 0.1 %.
impl Default for Latencies {
    fn default() -> Self {
        Latencies::new(FINE)
    }
}

impl Latencies {
    /// With 2 digits: percentiles are off by at most 1 %, but there may be thousands of these.
    pub fn small() -> Self {
        Latencies::new(SMALL)
    }

    fn new(precision: Precision) -> Self {
        let exact = Vec::new();
        Latencies { precision, count: 0, sum: 0, max: 0, min: 0, exact, histogram: None }
    }

    /// Adds one.
    pub fn record(&mut self, ns: u64) {
        self.record_many(ns, 1);
    }

    /// Adds the same one so many times.
    pub fn record_many(&mut self, ns: u64, times: u64) {
        if times == 0 {
            return;
        }
        self.min = if self.count == 0 { ns } else { self.min.min(ns) };
        self.max = self.max.max(ns);
        self.count += times;
        self.sum += u128::from(ns) * u128::from(times);
        let limit = if self.histogram.is_none() { self.precision.exact } else { WAITING };
        if times > (limit - self.exact.len()) as u64 {
            self.fold();
            self.histogram.iter_mut().for_each(|histogram| add(histogram, ns, times));
            return;
        }
        self.exact.extend(std::iter::repeat_n(ns, times as usize));
    }

    /// Adds all of another distribution.
    pub fn merge(&mut self, other: &Latencies) {
        let Some(theirs) = &other.histogram else {
            other.exact.iter().for_each(|ns| self.record(*ns));
            return;
        };
        self.min = if self.count == 0 { other.min } else { self.min.min(other.min) };
        self.max = self.max.max(other.max);
        self.count += other.count;
        self.sum += other.sum;
        self.fold();
        if let Some(ours) = &mut self.histogram {
            // Both grow by themselves, so theirs always fits.
            let _ = ours.add(theirs);
            other.exact.iter().for_each(|ns| add(ours, *ns, 1));
        }
    }

    /// Moves the exact values into the histogram.
    fn fold(&mut self) {
        let Some(mut histogram) = self.histogram.take().or_else(|| self.empty()) else { return };
        self.exact.iter().for_each(|ns| add(&mut histogram, *ns, 1));
        self.exact.clear();
        self.exact.shrink_to(WAITING);
        self.histogram = Some(histogram);
    }

    /// A histogram without values. Only a digit count above 5 could fail.
    fn empty(&self) -> Option<Histogram<u32>> {
        let mut histogram = Histogram::new(self.precision.digits).ok()?;
        histogram.auto(true);
        Some(histogram)
    }

    /// How many.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The numbers of the distribution; `waiting` is passed through.
    pub fn numbers(&self, waiting: u64) -> LatencyNumbers {
        if self.count == 0 {
            return LatencyNumbers { waiting, ..LatencyNumbers::default() };
        }
        let quantiles = Quantiles::new(self);
        let quantile = |permille| Some(quantiles.value(permille));
        LatencyNumbers {
            count: self.count,
            mean: Some(self.sum as f64 / self.count as f64),
            p50: quantile(500.0),
            p95: quantile(950.0),
            p99: quantile(990.0),
            max: Some(self.max),
            waiting,
            p999: quantile(999.0),
        }
    }

    /// Points of the curve from percentile to value. Between the median and the greatest value
    /// there are `steps` for each halving of the part that is above, up to the last value; below it
    /// one for every ten percent; and those that tables have.
    pub fn curve(&self, steps: u32) -> Vec<(f64, u64)> {
        if self.count == 0 {
            return Vec::new();
        }
        let mut above = vec![900.0, 800.0, 700.0, 600.0, 100.0, 50.0, 10.0, 1.0];
        for step in 0.. {
            // Evenly spaced between powers of two: exact arithmetic, the same everywhere.
            let (octave, part) = (step / steps, f64::from(step % steps) / f64::from(steps));
            let next = 500.0 / f64::powi(2.0, octave as i32) * (1.0 - part / 2.0);
            if next * (self.count as f64) < 1000.0 {
                break;
            }
            above.push(next);
        }
        // Where not even one value is above, it is the greatest.
        above.retain(|above| above * self.count as f64 >= 1000.0);
        above.sort_by(|a, b| b.total_cmp(a));
        above.dedup();
        let quantiles = Quantiles::new(self);
        let between = above.iter().map(|above| (1000.0 - above, quantiles.value(1000.0 - above)));
        let points = std::iter::once((0.0, self.min)).chain(between).chain([(1000.0, self.max)]);
        points.map(|(permille, ns)| (permille / 10.0, ns)).collect()
    }
}

/// Percentiles of a distribution that has values.
struct Quantiles<'a> {
    of: &'a Latencies,
    /// Of all values, if there are too many.
    histogram: Option<Cow<'a, Histogram<u32>>>,
    sorted: Vec<u64>,
}

impl<'a> Quantiles<'a> {
    fn new(of: &'a Latencies) -> Self {
        let mut histogram = of.histogram.as_ref().map(Cow::Borrowed);
        let mut sorted = of.exact.clone();
        match &mut histogram {
            Some(histogram) => sorted.drain(..).for_each(|ns| add(histogram.to_mut(), ns, 1)),
            None => sorted.sort_unstable(),
        }
        Quantiles { of, histogram, sorted }
    }

    /// The least value that so many of a thousand do not exceed.
    fn value(&self, permille: f64) -> u64 {
        match &self.histogram {
            Some(histogram) => {
                let value = histogram.value_at_quantile(permille / 1000.0);
                // A bucket's upper edge can lie beyond all values.
                value.clamp(self.of.min, self.of.max)
            }
            None => self.sorted[nearest_rank(permille, self.sorted.len())],
        }
    }
}

fn add(histogram: &mut Histogram<u32>, ns: u64, times: u64) {
    let times = u32::try_from(times).unwrap_or(u32::MAX);
    // It grows by itself (`saturating_record_n` would not) and on 64 bits always can.
    let _ = histogram.record_n(ns, times);
}

/// Index of the least value that at least `permille` of all are not above.
fn nearest_rank(permille: f64, len: usize) -> usize {
    ((permille * len as f64 / 1000.0).ceil() as usize).clamp(1, len) - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: impl IntoIterator<Item = u64>) -> LatencyNumbers {
        let mut latencies = Latencies::default();
        for value in values {
            latencies.record(value);
        }
        latencies.numbers(0)
    }

    #[test]
    fn an_empty_distribution_has_no_numbers() {
        assert_eq!(of([]), LatencyNumbers::default());
    }

    #[test]
    fn few_values_are_exact_by_nearest_rank() {
        // Ranks of 10 values: 50 % -> 5th, 95 % and 99 % -> 10th.
        let numbers = of([10, 9, 8, 7, 6, 5, 4, 3, 2, 1_000_003]);
        assert_eq!((numbers.p50, numbers.p95), (Some(6), Some(1_000_003)));
        assert_eq!((numbers.p99, numbers.max), (Some(1_000_003), Some(1_000_003)));
        assert_eq!((numbers.count, numbers.mean), (10, Some(100_005.7)));
        assert_eq!(of([7]).p50, Some(7));
    }

    #[test]
    fn many_values_keep_three_digits_and_exact_ends() {
        // 1..=100_000 times 1001 ns: the p-th percentile is p * 1000 * 1001.
        let numbers = of((1..=100_000).map(|i| i * 1001));
        for (found, percent) in [(numbers.p50, 50), (numbers.p95, 95), (numbers.p99, 99)] {
            let exact = (percent * 1000 * 1001) as f64;
            let error = (found.unwrap() as f64 / exact - 1.0).abs();
            assert!(error <= 0.001, "p{percent}: {found:?} against {exact}");
        }
        assert_eq!(numbers.max, Some(100_100_000));
        assert_eq!(numbers.mean, Some(50_050_500.5));
    }

    #[test]
    fn percentiles_never_pass_the_greatest_value() {
        let numbers = of(std::iter::repeat_n(1_234_567, 5_000));
        assert_eq!((numbers.p50, numbers.p99), (Some(1_234_567), Some(1_234_567)));
    }

    proptest! {
        /// Many at once are as many one by one, on both sides of the limit.
        #[test]
        fn many_at_once_equal_one_by_one(
            values in proptest::collection::vec((0..5_000_000_000u64, 0..200u64), 0..30)
        ) {
            let (mut many, mut single) = (Latencies::small(), Latencies::small());
            for (ns, times) in values {
                many.record_many(ns, times);
                (0..times).for_each(|_| single.record(ns));
            }
            prop_assert_eq!(many.numbers(0), single.numbers(0));
        }

        /// Whether values came in one by one or in parts makes no difference.
        #[test]
        fn merged_parts_equal_the_whole(
            (parts, sizes) in (1..6usize).prop_flat_map(|n| (
                proptest::collection::vec(0..5_000_000_000u64, 0..3_000),
                proptest::collection::vec(0..2_000usize, n),
            ))
        ) {
            let mut merged = Latencies::default();
            let mut rest = &parts[..];
            for size in sizes {
                let (part, after) = rest.split_at(size.min(rest.len()));
                let mut latencies = Latencies::default();
                part.iter().for_each(|ns| latencies.record(*ns));
                merged.merge(&latencies);
                rest = after;
            }
            rest.iter().for_each(|ns| merged.record(*ns));
            prop_assert_eq!(merged.numbers(0), of(parts));
        }

        /// The histogram agrees with sorting, within its resolution, on both sides of the limit.
        #[test]
        fn percentiles_match_sorted_values(
            mut values in proptest::collection::vec(0..5_000_000_000u64, 900..1300)
        ) {
            let numbers = of(values.iter().copied());
            values.sort_unstable();
            for (found, percent) in [(numbers.p50, 50), (numbers.p95, 95), (numbers.p99, 99)] {
                let exact = values[nearest_rank(percent as f64 * 10.0, values.len())] as f64;
                let found = found.unwrap() as f64;
                prop_assert!((found - exact).abs() <= exact * 0.001 + 1.0, "{} {}", found, exact);
            }
        }
    }
}
