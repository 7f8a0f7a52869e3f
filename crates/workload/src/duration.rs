// SPDX-License-Identifier: MIT OR Apache-2.0
//! Durations as people write them on a command line: `10s`, `1.5ms`, `2min`.

use std::fmt;

/// Units accepted and their length in nanoseconds.
const UNITS: [(&str, u64); 6] = [
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// A text that is no duration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DurationError {
    text: String,
    why: &'static str,
}

impl fmt::Display for DurationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DurationError { text, why } = self;
        write!(f, "invalid duration {text:?}: {why}; write a number and one of the units ")?;
        write!(f, "ns, us, ms, s, min or h, for example 10s or 1.5ms")
    }
}

impl std::error::Error for DurationError {}

/// Nanoseconds of a text like `10s`, `5ms`, `100us`, `250ns`, `1.5s` or `2min`.
///
/// The number is decimal and exact: a fraction finer than a nanosecond is an error.
pub fn parse_duration(text: &str) -> Result<u64, DurationError> {
    let error = |why| DurationError { text: text.to_owned(), why };
    let trimmed = text.trim();
    let end = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
    let (number, unit) = (&trimmed[..end], trimmed[end..].trim_start());
    if number.is_empty() {
        return Err(error("it does not begin with a number"));
    }
    if unit.is_empty() {
        return Err(error("the unit is missing"));
    }
    let Some(&(_, scale)) = UNITS.iter().find(|(name, _)| *name == unit) else {
        return Err(error("the unit is unknown"));
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(fraction) {
        return Err(error("its number is malformed"));
    }
    let too_long = || error("it is longer than 584 years");
    let whole_ns =
        whole.parse::<u64>().ok().and_then(|n| n.checked_mul(scale)).ok_or_else(too_long)?;
    let fraction = fraction.trim_end_matches('0');
    let mut fraction_ns = 0u64;
    let mut place = scale;
    for digit in fraction.bytes() {
        if place % 10 != 0 {
            return Err(error("it is finer than a nanosecond"));
        }
        place /= 10;
        fraction_ns += u64::from(digit - b'0') * place;
    }
    whole_ns.checked_add(fraction_ns).ok_or_else(too_long)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_unit_is_read() {
        let cases = [
            ("250ns", 250),
            ("100us", 100_000),
            ("5ms", 5_000_000),
            ("10s", 10_000_000_000),
            ("1.5s", 1_500_000_000),
            ("2min", 120_000_000_000),
            ("0.25min", 15_000_000_000),
            ("1h", 3_600_000_000_000),
            (" 3 s ", 3_000_000_000),
            ("1.50us", 1_500),
            ("0s", 0),
        ];
        for (text, ns) in cases {
            assert_eq!(parse_duration(text), Ok(ns), "{text}");
        }
    }

    #[test]
    fn parsecs_get_one_clear_message() {
        let message = parse_duration("10 parsecs").unwrap_err().to_string();
        assert_eq!(
            message,
            "invalid duration \"10 parsecs\": the unit is unknown; write a number and one of \
             the units ns, us, ms, s, min or h, for example 10s or 1.5ms"
        );
    }

    #[test]
    fn bad_numbers_are_refused() {
        for text in ["", "s", "10", "-1s", "1.s", ".5s", "1.2.3s", "1e3s", "+1s", "٣s"] {
            assert!(parse_duration(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn too_long_or_too_fine_is_refused() {
        assert!(parse_duration("18446744073709551615ns").is_ok());
        assert!(parse_duration("18446744073709551616ns").is_err());
        assert!(parse_duration("18446744073.8s").is_err());
        assert!(parse_duration("0.5ns").is_err());
        assert!(parse_duration("1.0ns").is_ok());
    }

    proptest! {
        #[test]
        fn arbitrary_text_never_panics(text in ".{0,40}") {
            let _ = parse_duration(&text);
        }

        #[test]
        fn whole_nanoseconds_come_back(ns: u64) {
            prop_assert_eq!(parse_duration(&format!("{ns}ns")), Ok(ns));
            let seconds = format!("{}.{:09}s", ns / 1_000_000_000, ns % 1_000_000_000);
            prop_assert_eq!(parse_duration(&seconds), Ok(ns));
        }
    }
}
