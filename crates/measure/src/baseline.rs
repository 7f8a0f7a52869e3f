// SPDX-License-Identifier: MIT OR Apache-2.0
//! How others compare with a baseline that ran under the same conditions: ratio and difference,
//! and whether the difference may be chance.

use crate::statistics::{self, Estimate, SIGNIFICANCE};

/// A candidate beside the baseline, of the conditions under which both have a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Relative {
    /// Mean over the baseline's mean; `None`: they have no ratio, as the baseline's mean is 0 or
    /// they lie on different sides of it.
    pub ratio: Option<f64>,
    /// Of the pairs, candidate minus baseline.
    pub difference: Estimate,
    /// Probability of such a difference if there were none: Student's paired test, two-sided,
    /// corrected by Holm for the number of candidates. `None`: one pair tells nothing.
    pub probability: Option<f64>,
}

impl Relative {
    /// Whether the difference is more than noise; `None`: one pair tells nothing.
    pub fn is_significant(&self) -> Option<bool> {
        self.probability.map(|probability| probability < SIGNIFICANCE)
    }

    /// Whether the difference is one that chance may have made: not if it is the same every time.
    pub fn is_noise(&self) -> bool {
        self.is_significant() == Some(false) && self.difference.half_width != Some(0.0)
    }
}

/// Every candidate beside the baseline, which is one of them and has `None` itself. Candidate `i`
/// has `values[i][k]` under the `k`-th conditions; pairs of which one is missing are left out.
pub fn against(values: &[Vec<Option<f64>>], baseline: usize) -> Vec<Option<Relative>> {
    let compare = |(at, own): (usize, &Vec<Option<f64>>)| {
        (at != baseline).then(|| relative(own, &values[baseline])).flatten()
    };
    let mut all: Vec<Option<Relative>> = values.iter().enumerate().map(compare).collect();
    let mut tested: Vec<&mut f64> =
        all.iter_mut().flatten().filter_map(|of| of.probability.as_mut()).collect();
    let alone: Vec<f64> = tested.iter().map(|probability| **probability).collect();
    for (probability, adjusted) in tested.iter_mut().zip(statistics::holm(&alone)) {
        **probability = adjusted;
    }
    all
}

/// Not yet corrected. `None`: there are no pairs.
fn relative(own: &[Option<f64>], baseline: &[Option<f64>]) -> Option<Relative> {
    let pairs = own.iter().zip(baseline).filter_map(|(a, b)| Some(((*a)?, (*b)?)));
    let (own, base): (Vec<f64>, Vec<f64>) = pairs.unzip();
    let differences: Vec<f64> = own.iter().zip(&base).map(|(a, b)| a - b).collect();
    let difference = statistics::estimate(&differences)?;
    let (mean, base) = (statistics::estimate(&own)?.mean, statistics::estimate(&base)?.mean);
    // A quotient of two that both lie on one side of 0, where 0 is on the side of the other.
    let has_ratio = base != 0.0 && mean * base >= 0.0;
    let ratio = has_ratio.then_some(mean / base);
    Some(Relative { ratio, difference, probability: statistics::paired_test(&differences) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Hours of sleep that ten patients gained by two drugs (Student 1908, p. 20).
    const FIRST: [f64; 10] = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
    const SECOND: [f64; 10] = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];

    fn all(values: &[f64]) -> Vec<Option<f64>> {
        values.iter().copied().map(Some).collect()
    }

    fn near(found: f64, expected: f64, error: f64) -> bool {
        (found - expected).abs() <= error
    }

    #[test]
    fn drugs_of_the_sleep_data_differ_as_published() {
        // Means 2.33 and 0.75, so a ratio of 3.10667. The difference of 1.58 ± 0.879886 (t of 9
        // degrees is 2.262157, and 1.229995 / √10 the error) has P = 0.002833.
        let compared = against(&[all(&FIRST), all(&SECOND)], 0);
        assert_eq!(compared[0], None);
        let second = compared[1].expect("ten pairs");
        assert!(near(second.ratio.expect("a ratio"), 2.33 / 0.75, 1e-12), "{second:?}");
        assert!(near(second.difference.mean, 1.58, 1e-12), "{second:?}");
        assert!(near(second.difference.half_width.expect("ten"), 0.879886, 1e-6), "{second:?}");
        assert!(near(second.probability.expect("ten"), 0.002833, 5e-7), "{second:?}");
        assert_eq!(second.is_significant(), Some(true));
    }

    #[test]
    fn probabilities_are_corrected_for_the_number_of_candidates() {
        // P = 0.002833 of one candidate is 18 · 0.002833 = 0.050994 of eighteen equal ones: the
        // first of Holm's order fails, and so all do.
        let mut values = vec![all(&FIRST)];
        values.extend(std::iter::repeat_n(all(&SECOND), 18));
        let last = against(&values, 0)[18].expect("ten pairs");
        assert!(near(last.probability.expect("ten"), 18.0 * 0.002833, 1e-5), "{last:?}");
        assert_eq!(last.is_significant(), Some(false));
    }

    #[test]
    fn pairs_hide_what_all_conditions_share() {
        // Conditions vary a hundred times as much as candidates differ: 1 or 2, in pairs
        // t = 1.5 / (0.5 / √4 · √(4/3)) = 5.196 with 3 degrees of freedom, P = 0.01385.
        let base = [100.0, 500.0, 300.0, 900.0];
        let own: Vec<f64> = base.iter().zip([1.0, 2.0, 1.0, 2.0]).map(|(b, d)| b + d).collect();
        let compared = against(&[all(&base), all(&own)], 0)[1].expect("four pairs");
        assert!(near(compared.probability.expect("four"), 0.01385, 1e-4), "{compared:?}");
        assert!(near(compared.ratio.expect("a ratio"), 451.5 / 450.0, 1e-12), "{compared:?}");
    }

    #[test]
    fn only_pairs_count() {
        let own = [Some(2.0), None, Some(6.0), Some(100.0)];
        let base = [Some(1.0), Some(50.0), Some(3.0), None];
        let compared = against(&[own.to_vec(), base.to_vec()], 1)[0].expect("two pairs");
        assert_eq!((compared.ratio, compared.difference.n), (Some(2.0), 2));
        let apart = against(&[vec![Some(1.0), None], vec![None, Some(1.0)]], 1);
        assert_eq!(apart, [None, None]);
    }

    #[test]
    fn numbers_of_different_signs_have_a_difference_but_no_ratio() {
        let one = |a: f64, b: f64| against(&[all(&[a]), all(&[b])], 1)[0].expect("a pair");
        assert_eq!((one(-2.0, 4.0).ratio, one(-2.0, 4.0).difference.mean), (None, -6.0));
        assert_eq!((one(3.0, 0.0).ratio, one(3.0, 0.0).difference.mean), (None, 3.0));
        assert_eq!((one(-2.0, -4.0).ratio, one(0.0, 4.0).ratio), (Some(0.5), Some(0.0)));
    }

    #[test]
    fn the_same_every_time_is_no_noise() {
        let base = all(&[1.0, 5.0, 3.0]);
        let exact = against(&[base.clone(), base.clone()], 0)[1].expect("pairs");
        assert_eq!((exact.is_significant(), exact.is_noise()), (Some(false), false));
        let noisy = against(&[base, all(&[2.0, 4.0, 3.1])], 0)[1].expect("pairs");
        assert_eq!((noisy.is_significant(), noisy.is_noise()), (Some(false), true));
    }

    #[test]
    fn one_pair_tells_no_difference_from_noise() {
        let compared = against(&[all(&[1.0]), all(&[2.0])], 0)[1].expect("a pair");
        assert_eq!((compared.ratio, compared.is_significant()), (Some(2.0), None));
    }

    proptest! {
        /// With the roles changed, ratios are inverse, differences opposite, and what is said of
        /// chance stays the same.
        #[test]
        fn roles_may_be_changed(pairs in proptest::collection::vec((0.1..1e9f64, 0.1..1e9f64), 2..20)) {
            let (a, b): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
            let values = [all(&a), all(&b)];
            let (ab, ba) = (against(&values, 1)[0].unwrap(), against(&values, 0)[1].unwrap());
            prop_assert!((ab.ratio.unwrap() * ba.ratio.unwrap() - 1.0).abs() < 1e-9);
            let sum = ab.difference.mean + ba.difference.mean;
            prop_assert!(sum.abs() <= 1e-9 * ab.difference.mean.abs().max(1.0));
            prop_assert!((ab.probability.unwrap() - ba.probability.unwrap()).abs() < 1e-9);
        }
    }
}
