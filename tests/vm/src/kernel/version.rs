// SPDX-License-Identifier: MIT OR Apache-2.0
//! Debian's order of versions (Debian policy, section 5.6.12).

use std::cmp::Ordering;

/// Compares two versions without epochs, as kernels have them.
pub(crate) fn compare(a: &str, b: &str) -> Ordering {
    let (a, b) = (split(a), split(b));
    part(a.0, b.0).then_with(|| part(a.1, b.1))
}

/// Upstream version and Debian revision.
fn split(version: &str) -> (&str, &str) {
    version.rsplit_once('-').unwrap_or((version, ""))
}

/// Texts and numbers take turns, text first.
fn part(mut a: &str, mut b: &str) -> Ordering {
    while !a.is_empty() || !b.is_empty() {
        let texts = (take(&mut a, |c| !c.is_ascii_digit()), take(&mut b, |c| !c.is_ascii_digit()));
        let order = text(texts.0, texts.1);
        let numbers = (take(&mut a, |c| c.is_ascii_digit()), take(&mut b, |c| c.is_ascii_digit()));
        let order = order.then_with(|| number(numbers.0, numbers.1));
        if order.is_ne() {
            return order;
        }
    }
    Ordering::Equal
}

fn take<'a>(from: &mut &'a str, of: impl Fn(char) -> bool) -> &'a str {
    let end = from.find(|c| !of(c)).unwrap_or(from.len());
    let (taken, rest) = from.split_at(end);
    *from = rest;
    taken
}

/// `~` comes before the end, which comes before letters, which come before all else.
fn text(a: &str, b: &str) -> Ordering {
    let rank = |c: Option<char>| match c {
        Some('~') => -1,
        None => 0,
        Some(c) if c.is_ascii_alphabetic() => c as i32,
        Some(c) => c as i32 + 0x11_0000,
    };
    let (mut a, mut b) = (a.chars(), b.chars());
    loop {
        let (x, y) = (a.next(), b.next());
        let order = rank(x).cmp(&rank(y));
        if order.is_ne() || x.is_none() {
            return order;
        }
    }
}

fn number(a: &str, b: &str) -> Ordering {
    let (a, b) = (a.trim_start_matches('0'), b.trim_start_matches('0'));
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn kernels_come_in_the_order_of_debian_policy() {
        let ascending = [
            "6.12.9-1",
            "6.12.94-1",
            "7.2.6-1~bpo13+1",
            "7.2.12-1~bpo13+1",
            "7.2.12-1",
            "7.2.12-1+b1",
            "7.3~rc5-1~exp1",
            "7.3-1~exp1",
            "7.3.4-1",
        ];
        for pair in ascending.windows(2) {
            assert_eq!(compare(pair[0], pair[1]), Ordering::Less, "{pair:?}");
        }
    }

    #[test]
    fn leading_zeros_count_for_nothing() {
        assert_eq!(compare("1.02", "1.2"), Ordering::Equal);
    }

    proptest! {
        #[test]
        fn the_order_is_total(
            a in "[0-9a-c.~+-]{0,6}", b in "[0-9a-c.~+-]{0,6}", c in "[0-9a-c.~+-]{0,6}",
        ) {
            prop_assert_eq!(compare(&a, &a), Ordering::Equal);
            prop_assert_eq!(compare(&a, &b), compare(&b, &a).reverse());
            if compare(&a, &b).is_le() && compare(&b, &c).is_le() {
                prop_assert!(compare(&a, &c).is_le());
            }
        }
    }
}
