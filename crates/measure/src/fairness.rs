// SPDX-License-Identifier: MIT OR Apache-2.0
//! Jain's fairness index.

/// `(Σx)² / (n · Σx²)`: 1 when all are equal, `1/n` when one has all.
///
/// `None` for fewer than two numbers, and where all are 0. R. Jain, D. Chiu, W. Hawe, *A
/// Quantitative Measure of Fairness and Discrimination for Resource Allocation in Shared
/// Computer Systems*, DEC-TR-301, 1984.
pub fn jain(values: &[f64]) -> Option<f64> {
    // Scaled by the largest, so that squares neither overflow nor vanish.
    let largest = values.iter().copied().fold(0.0, f64::max);
    if values.len() < 2 || largest <= 0.0 {
        return None;
    }
    let sum: f64 = values.iter().map(|x| x / largest).sum();
    let squares: f64 = values.iter().map(|x| (x / largest) * (x / largest)).sum();
    Some(sum * sum / (values.len() as f64 * squares))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn equal_service_is_one() {
        assert_eq!(jain(&[3.0, 3.0, 3.0]), Some(1.0));
    }

    #[test]
    fn one_having_all_is_one_over_n() {
        assert_eq!(jain(&[0.0, 5.0, 0.0, 0.0]), Some(0.25));
    }

    #[test]
    fn a_worked_example() {
        // (1 + 2 + 3)² / (3 · (1 + 4 + 9)) = 36 / 42.
        assert!((jain(&[1.0, 2.0, 3.0]).unwrap() - 36.0 / 42.0).abs() < 1e-12);
    }

    #[test]
    fn nothing_to_compare_is_none() {
        assert_eq!(jain(&[]), None);
        assert_eq!(jain(&[1.0]), None);
        assert_eq!(jain(&[0.0, 0.0]), None);
    }

    proptest! {
        #[test]
        fn stays_between_one_over_n_and_one(values in proptest::collection::vec(0.0..1e18f64, 2..20)) {
            if let Some(index) = jain(&values) {
                let least = 1.0 / values.len() as f64;
                prop_assert!(index >= least - 1e-9 && index <= 1.0 + 1e-9, "{}", index);
            }
        }

        #[test]
        fn scale_does_not_matter(values in proptest::collection::vec(0.1..1e6f64, 2..20)) {
            let scaled: Vec<f64> = values.iter().map(|x| x * 1024.0).collect();
            prop_assert!((jain(&values).unwrap() - jain(&scaled).unwrap()).abs() < 1e-12);
        }
    }
}
