// SPDX-License-Identifier: MIT OR Apache-2.0
//! The median of what several runs measured.

use std::cmp::Ordering;

/// The value in the middle: of an even number the lower one of both there; of none 0.
pub(super) fn median<T: Copy + Default + PartialOrd>(all: &[T]) -> T {
    let mut sorted = all.to_vec();
    sorted.sort_by(|one, other| one.partial_cmp(other).unwrap_or(Ordering::Equal));
    sorted.get(sorted.len().saturating_sub(1) / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn the_median_is_the_value_in_the_middle() {
        assert_eq!(median(&[9, 1, 5]), 5);
        assert_eq!(median(&[4, 1]), 1);
        assert_eq!(median(&[0.3, 0.1, 0.2]), 0.2);
        assert_eq!(median::<u64>(&[]), 0);
    }
}
