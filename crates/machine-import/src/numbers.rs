// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sets of CPUs as Linux and hwloc write them: lists (`0-3,8`) and masks (`f0,0000000f`).

use std::collections::BTreeSet;

/// Numbers of CPUs or nodes.
pub(crate) type Numbers = BTreeSet<u32>;

/// No computer has CPUs with numbers from here on: Linux stops at 8192.
pub(crate) const BEYOND: u32 = 1 << 16;

/// `0-3,8`; `None` if it is none, an empty list if there is nothing.
pub(crate) fn list(text: &str) -> Option<Numbers> {
    let mut all = Numbers::new();
    let number = |text: &str| text.trim().parse().ok().filter(|number| *number < BEYOND);
    for part in text.trim().split([',', ' ']).filter(|part| !part.is_empty()) {
        match part.split_once('-') {
            Some((first, last)) => {
                let (first, last) = (number(first)?, number(last)?);
                (first <= last).then_some(())?;
                all.extend(first..=last);
            }
            None => _ = all.insert(number(part)?),
        }
    }
    Some(all)
}

/// `f0,0000000f`: words of 32 bits, the highest first.
pub(crate) fn mask(text: &str) -> Option<Numbers> {
    let mut all = Numbers::new();
    for (word, at) in text.trim().rsplit(',').zip(0_u32..) {
        let digits = word.trim().trim_start_matches("0x");
        let bits = match digits.is_empty() {
            true => 0,
            false => u32::from_str_radix(digits, 16).ok()?,
        };
        let of_word = (0..32).filter(|bit| bits >> bit & 1 == 1);
        for number in of_word.map(|bit| at.saturating_mul(32).saturating_add(bit)) {
            (number < BEYOND).then(|| all.insert(number))?;
        }
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(numbers: &[u32]) -> Option<Numbers> {
        Some(numbers.iter().copied().collect())
    }

    #[test]
    fn lists_and_masks_are_read_and_others_are_none() {
        assert_eq!(list("0-2,8\n"), of(&[0, 1, 2, 8]));
        assert_eq!(list("4 5\n"), of(&[4, 5]));
        assert_eq!(list("\n"), of(&[]));
        assert_eq!(mask("1,0000000a\n"), of(&[1, 3, 32]));
        assert_eq!(mask("0x80000000,,0x1"), of(&[0, 95]));
        for bad in ["x", "3-1", "0-4294967295", "-1", "0-65536"] {
            assert_eq!(list(bad), None, "{bad}");
        }
        for bad in ["g", "1ffffffff", "-1"] {
            assert_eq!(mask(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_numbers_or_none(text in "[0-9a-fx, -]{0,40}") {
            for numbers in [list(&text), mask(&text)].into_iter().flatten() {
                prop_assert!(numbers.iter().all(|number| *number < BEYOND));
            }
        }
    }
}
