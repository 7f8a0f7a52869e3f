// SPDX-License-Identifier: MIT OR Apache-2.0
//! What may be said of numbers that were taken with several seeds: their mean and its confidence
//! interval, and whether one policy's are better than another's.
//!
//! Student, *The Probable Error of a Mean*, Biometrika 6, 1908; S. Holm, *A Simple Sequentially
//! Rejective Multiple Test Procedure*, Scandinavian Journal of Statistics 6, 1979.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Probability of calling equal policies different, at most.
pub const SIGNIFICANCE: f64 = 0.05;

/// A mean, and how far off it may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Arithmetic mean.
    pub mean: f64,
    /// Half the width of the mean's 95 % confidence interval; `None`: one value has none.
    pub half_width: Option<f64>,
    /// How many values.
    pub n: u32,
}

/// Which of two values is the better one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// The lower.
    Lower,
    /// The higher.
    Higher,
    /// Neither.
    Neither,
}

/// Mean of some values; `None`: there are none.
pub fn estimate(values: &[f64]) -> Option<Estimate> {
    let n = values.len();
    if n == 0 {
        return None;
    }
    let (mean, error) = mean_and_error(values);
    let half_width = error.map(|error| quantile(n - 1, 1.0 - SIGNIFICANCE / 2.0) * error);
    Some(Estimate { mean, half_width, n: n as u32 })
}

/// Mean and standard error of the mean.
fn mean_and_error(values: &[f64]) -> (f64, Option<f64>) {
    let n = values.len() as f64;
    // Equal values have exactly that mean, however their sum is rounded.
    let first = values[0];
    let mean = first + values.iter().map(|value| value - first).sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    (mean, (values.len() > 1).then(|| (squares / (n - 1.0) / n).sqrt()))
}

fn quantile(freedom: usize, probability: f64) -> f64 {
    let student = StudentsT::new(0.0, 1.0, freedom as f64);
    student.map_or(f64::NAN, |student| student.inverse_cdf(probability))
}

/// Probability of a mean difference at least as large as this one if there were none: Student's
/// test, two-sided, of pairs that were taken under the same conditions. `None`: fewer than two.
pub fn paired_test(differences: &[f64]) -> Option<f64> {
    if differences.len() < 2 {
        return None;
    }
    let (mean, error) = mean_and_error(differences);
    let error = error?;
    if error == 0.0 {
        // The same difference every time: certain, one way or the other.
        return Some(if mean == 0.0 { 1.0 } else { 0.0 });
    }
    let student = StudentsT::new(0.0, 1.0, (differences.len() - 1) as f64).ok()?;
    Some(2.0 * student.sf((mean / error).abs()))
}

/// Probabilities of several tests, made larger so that the chance that any of them is wrong
/// stays what one alone would have. In the order of the arguments.
pub fn holm(probabilities: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..probabilities.len()).collect();
    order.sort_by(|a, b| probabilities[*a].total_cmp(&probabilities[*b]));
    let mut adjusted = vec![0.0; probabilities.len()];
    let mut least: f64 = 0.0;
    for (rank, at) in order.into_iter().enumerate() {
        let left = (probabilities.len() - rank) as f64;
        least = least.max((left * probabilities[at]).min(1.0));
        adjusted[at] = least;
    }
    adjusted
}

/// Which candidate has the best mean, if it is significantly better than each other one: the only
/// leader of its [`ranking`]. A candidate alone does not win.
pub fn winner(values: &[Vec<Option<f64>>], better: Better) -> Option<usize> {
    let ranking = ranking(values, better)?;
    (ranking.order.len() > 1 && ranking.leaders.len() == 1).then(|| ranking.leaders[0])
}

/// Candidates in the order of their means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranking {
    /// Those that have a value, the best mean first.
    pub order: Vec<usize>,
    /// The first of them and, in the same order, those that are not significantly worse: paired
    /// tests of the first against each other one, corrected by Holm.
    pub leaders: Vec<usize>,
}

/// Ranks candidates: candidate `i` has `values[i][k]` under the `k`-th conditions; pairs of which
/// one is missing are left out. `None`: none has a value, or no value is better than another.
pub fn ranking(values: &[Vec<Option<f64>>], better: Better) -> Option<Ranking> {
    let mean = |of: &Vec<Option<f64>>| {
        let present: Vec<f64> = of.iter().copied().flatten().collect();
        estimate(&present).map(|estimate| estimate.mean)
    };
    let means = values.iter().enumerate().filter_map(|(at, of)| Some((at, mean(of)?)));
    let mut order: Vec<(usize, f64)> = means.collect();
    match better {
        Better::Lower => order.sort_by(|a, b| a.1.total_cmp(&b.1)),
        Better::Higher => order.sort_by(|a, b| b.1.total_cmp(&a.1)),
        Better::Neither => return None,
    }
    let order: Vec<usize> = order.into_iter().map(|(at, _)| at).collect();
    let (best, others) = order.split_first()?;
    let against = |other: &usize| {
        let pairs = values[*best].iter().zip(&values[*other]);
        let differences: Vec<f64> = pairs.filter_map(|(a, b)| Some((*a)? - (*b)?)).collect();
        paired_test(&differences).unwrap_or(1.0)
    };
    let probabilities = holm(&others.iter().map(against).collect::<Vec<f64>>());
    let is_level = |(other, p): (&usize, f64)| (p >= SIGNIFICANCE).then_some(*other);
    let level = others.iter().zip(probabilities).filter_map(is_level);
    let leaders = std::iter::once(*best).chain(level).collect();
    Some(Ranking { order, leaders })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Hours of sleep that ten patients gained by two drugs (Student 1908, p. 20).
    const FIRST: [f64; 10] = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
    const SECOND: [f64; 10] = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];

    fn near(found: f64, expected: f64, error: f64) -> bool {
        (found - expected).abs() <= error
    }

    fn all(values: &[f64]) -> Vec<Option<f64>> {
        values.iter().copied().map(Some).collect()
    }

    #[test]
    fn interval_of_the_mean_is_students() {
        // Differences of the two: mean 1.58, standard deviation 1.229995, n = 10. Tables give
        // t(9 degrees, 97.5 %) = 2.262157, so 2.262157 · 1.229995 / √10 = 0.879886.
        let gained: Vec<f64> = SECOND.iter().zip(FIRST).map(|(b, a)| b - a).collect();
        let estimate = estimate(&gained).expect("ten values");
        assert!(near(estimate.mean, 1.58, 1e-12), "{estimate:?}");
        assert!(near(estimate.half_width.expect("ten"), 0.879886, 1e-6), "{estimate:?}");
        assert_eq!(estimate.n, 10);
    }

    #[test]
    fn one_value_has_no_interval_and_none_has_no_mean() {
        assert_eq!(estimate(&[3.0]), Some(Estimate { mean: 3.0, half_width: None, n: 1 }));
        assert_eq!(estimate(&[]), None);
        let equal = estimate(&[0.1, 0.1, 0.1]);
        assert_eq!(equal, Some(Estimate { mean: 0.1, half_width: Some(0.0), n: 3 }));
    }

    #[test]
    fn sleep_data_have_the_published_probability() {
        // t = 1.58 / (1.229995 / √10) = 4.0621 with 9 degrees of freedom: P = 0.002833.
        let gained: Vec<f64> = SECOND.iter().zip(FIRST).map(|(b, a)| b - a).collect();
        assert!(near(paired_test(&gained).expect("ten"), 0.002833, 5e-7));
        // Of unpaired values the same means would say little: 0.07 and above.
        assert_eq!(paired_test(&[1.0]), None);
    }

    #[test]
    fn the_same_difference_every_time_is_certain() {
        assert_eq!(paired_test(&[2.0, 2.0]), Some(0.0));
        assert_eq!(paired_test(&[0.0, 0.0]), Some(1.0));
    }

    #[test]
    fn holm_multiplies_by_the_tests_that_are_left() {
        // Sorted 0.005, 0.01, 0.03, 0.04: times 4, 3, 2, 1, and never less than the one before.
        let adjusted = holm(&[0.01, 0.04, 0.03, 0.005]);
        let expected = [0.03, 0.06, 0.06, 0.02];
        assert!(adjusted.iter().zip(expected).all(|(a, b)| near(*a, b, 1e-12)), "{adjusted:?}");
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
    }

    #[test]
    fn better_in_pairs_wins() {
        assert_eq!(winner(&[all(&FIRST), all(&SECOND)], Better::Higher), Some(1));
        assert_eq!(winner(&[all(&FIRST), all(&SECOND)], Better::Lower), Some(0));
        assert_eq!(winner(&[all(&FIRST), all(&SECOND)], Better::Neither), None);
    }

    #[test]
    fn a_difference_within_the_noise_has_no_winner() {
        // t = 0.5 / (2.08 / √4): far from the 3.18 that 3 degrees of freedom ask for.
        let (a, b) = ([5.0, 9.0, 7.0, 8.0], [6.0, 7.0, 9.0, 9.0]);
        assert_eq!(winner(&[all(&a), all(&b)], Better::Lower), None);
    }

    #[test]
    fn a_third_that_is_as_good_leaves_no_winner() {
        let close: Vec<f64> =
            SECOND.iter().enumerate().map(|(i, b)| b + [0.2, -0.2][i % 2]).collect();
        assert_eq!(winner(&[all(&FIRST), all(&SECOND), all(&close)], Better::Higher), None);
    }

    #[test]
    fn many_rivals_ask_for_more() {
        // Differences of 2.3 and 0.1: t = 1.2 / (1.16 / √10) = 3.27, P just below 0.01. Enough
        // against one rival, but of sixty the first must be below 0.05 / 60.
        let best: Vec<f64> = (0..10).map(|i| f64::from(i % 3)).collect();
        let rival: Vec<f64> = best.iter().enumerate().map(|(i, b)| b + [2.3, 0.1][i % 2]).collect();
        assert_eq!(winner(&[all(&best), all(&rival)], Better::Lower), Some(0));
        let mut field = vec![all(&best)];
        field.extend(std::iter::repeat_n(all(&rival), 60));
        assert_eq!(winner(&field, Better::Lower), None);
    }

    #[test]
    fn nobody_wins_alone_or_against_nothing() {
        assert_eq!(winner(&[all(&FIRST)], Better::Lower), None);
        assert_eq!(winner(&[all(&FIRST), vec![None; 10]], Better::Lower), None);
        assert_eq!(winner(&[all(&[1.0]), all(&[2.0])], Better::Lower), None);
        assert_eq!(winner(&[], Better::Lower), None);
    }

    proptest! {
        #[test]
        fn adjusted_probabilities_never_get_smaller(
            probabilities in proptest::collection::vec(0.0..=1.0f64, 0..12)
        ) {
            let adjusted = holm(&probabilities);
            let all: Vec<(f64, f64)> = adjusted.into_iter().zip(probabilities).collect();
            for (a, p) in &all {
                prop_assert!(a >= p && *a <= 1.0);
                let later = all.iter().filter(|(_, other)| other >= p);
                prop_assert!(later.into_iter().all(|(other, _)| other >= a));
            }
        }
    }
}
