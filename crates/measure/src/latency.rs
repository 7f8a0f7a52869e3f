// SPDX-License-Identifier: MIT OR Apache-2.0
//! A distribution of times: exact while small, an HDR histogram after.

use hdrhistogram::Histogram;

use crate::report::LatencyReport;

/// So many times are kept as they are; most tasks never have more, and 8 KB hold them.
const EXACT_LIMIT: usize = 1024;

/// Significant decimal digits of the histogram.
const DIGITS: u8 = 3;

/// Times in nanoseconds. Count, sum, least and greatest are always exact.
#[derive(Clone, Debug, Default)]
pub struct Latencies {
    count: u64,
    sum: u128,
    max: u64,
    min: u64,
    exact: Vec<u64>,
    histogram: Option<Histogram<u32>>,
}

impl Latencies {
    /// Adds one.
    pub fn record(&mut self, ns: u64) {
        self.min = if self.count == 0 { ns } else { self.min.min(ns) };
        self.max = self.max.max(ns);
        self.count += 1;
        self.sum += u128::from(ns);
        match &mut self.histogram {
            Some(histogram) => add(histogram, ns),
            None if self.exact.len() < EXACT_LIMIT => self.exact.push(ns),
            None => {
                self.fold();
                self.histogram.iter_mut().for_each(|histogram| add(histogram, ns));
            }
        }
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
        if self.histogram.is_none() {
            self.fold();
        }
        if let Some(ours) = &mut self.histogram {
            // Both grow by themselves, so theirs always fits.
            let _ = ours.add(theirs);
        }
    }

    /// Turns the exact values into a histogram.
    fn fold(&mut self) {
        // Only a digit count above 5 could fail.
        let Ok(mut histogram) = Histogram::new(DIGITS) else {
            return;
        };
        histogram.auto(true);
        for value in self.exact.drain(..) {
            add(&mut histogram, value);
        }
        self.exact.shrink_to_fit();
        self.histogram = Some(histogram);
    }

    /// How many.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The numbers of the distribution; `waiting` is passed through.
    pub fn report(&self, waiting: u64) -> LatencyReport {
        if self.count == 0 {
            return LatencyReport { waiting, ..LatencyReport::default() };
        }
        let mut sorted = self.exact.clone();
        sorted.sort_unstable();
        let quantile = |percent: u64| {
            Some(match &self.histogram {
                Some(histogram) => {
                    let value = histogram.value_at_quantile(percent as f64 / 100.0);
                    // A bucket's upper edge can lie beyond all values.
                    value.clamp(self.min, self.max)
                }
                None => sorted[nearest_rank(percent, sorted.len())],
            })
        };
        LatencyReport {
            count: self.count,
            mean: Some(self.sum as f64 / self.count as f64),
            p50: quantile(50),
            p95: quantile(95),
            p99: quantile(99),
            max: Some(self.max),
            waiting,
        }
    }
}

fn add(histogram: &mut Histogram<u32>, ns: u64) {
    // It grows by itself (`saturating_record` would not) and on 64 bits always can.
    let _ = histogram.record(ns);
}

/// Index of the least value that at least `percent` of all are not above.
fn nearest_rank(percent: u64, len: usize) -> usize {
    (percent as usize * len).div_ceil(100).max(1) - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: impl IntoIterator<Item = u64>) -> LatencyReport {
        let mut latencies = Latencies::default();
        for value in values {
            latencies.record(value);
        }
        latencies.report(0)
    }

    #[test]
    fn an_empty_distribution_has_no_numbers() {
        assert_eq!(of([]), LatencyReport::default());
    }

    #[test]
    fn few_values_are_exact_by_nearest_rank() {
        // Ranks of 10 values: 50 % -> 5th, 95 % and 99 % -> 10th.
        let report = of([10, 9, 8, 7, 6, 5, 4, 3, 2, 1_000_003]);
        assert_eq!((report.p50, report.p95), (Some(6), Some(1_000_003)));
        assert_eq!((report.p99, report.max), (Some(1_000_003), Some(1_000_003)));
        assert_eq!((report.count, report.mean), (10, Some(100_005.7)));
        assert_eq!(of([7]).p50, Some(7));
    }

    #[test]
    fn many_values_keep_three_digits_and_exact_ends() {
        // 1..=100_000 times 1001 ns: the p-th percentile is p * 1000 * 1001.
        let report = of((1..=100_000).map(|i| i * 1001));
        for (found, percent) in [(report.p50, 50), (report.p95, 95), (report.p99, 99)] {
            let exact = (percent * 1000 * 1001) as f64;
            let error = (found.unwrap() as f64 / exact - 1.0).abs();
            assert!(error <= 0.001, "p{percent}: {found:?} against {exact}");
        }
        assert_eq!(report.max, Some(100_100_000));
        assert_eq!(report.mean, Some(50_050_500.5));
    }

    #[test]
    fn percentiles_never_pass_the_greatest_value() {
        let report = of(std::iter::repeat_n(1_234_567, 5_000));
        assert_eq!((report.p50, report.p99), (Some(1_234_567), Some(1_234_567)));
    }

    proptest! {
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
            prop_assert_eq!(merged.report(0), of(parts));
        }

        /// The histogram agrees with sorting, within its resolution, on both sides of the limit.
        #[test]
        fn percentiles_match_sorted_values(
            mut values in proptest::collection::vec(0..5_000_000_000u64, 900..1300)
        ) {
            let report = of(values.iter().copied());
            values.sort_unstable();
            for (found, percent) in [(report.p50, 50), (report.p95, 95), (report.p99, 99)] {
                let exact = values[nearest_rank(percent, values.len())] as f64;
                let found = found.unwrap() as f64;
                prop_assert!((found - exact).abs() <= exact * 0.001 + 1.0, "{} {}", found, exact);
            }
        }
    }
}
