// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the values of options mean: times, and names with values.

use rota_workload::parse_duration;

/// A time that is not zero, in nanoseconds.
pub(crate) fn duration(text: &str) -> Result<u64, String> {
    match parse_duration(text).map_err(|e| e.to_string())? {
        0 => Err("a run needs some time: expected more than 0".into()),
        ns => Ok(ns),
    }
}

/// A time, or a number of seconds; at least as long as what is done in it takes.
pub(crate) fn duration_or_seconds(text: &str) -> Result<u64, String> {
    let ns = match text.parse::<u64>() {
        Ok(seconds) => seconds.checked_mul(1_000_000_000).ok_or("too long a time")?,
        Err(_) => duration(text)?,
    };
    match ns {
        ns if ns < 100_000_000 => Err("too short an interval: expected 100ms or more".into()),
        ns => Ok(ns),
    }
}

/// What `--set` takes: `NAME=VALUE`.
pub(crate) fn name_and_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err("expected NAME=VALUE, for example quantum_ns=5000000".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interval_is_in_seconds_unless_it_says_otherwise() {
        assert_eq!(duration_or_seconds("2"), Ok(2_000_000_000));
        assert_eq!(duration_or_seconds("500ms"), Ok(500_000_000));
        for bad in ["0", "99ms", "18446744073709551615", "x", "-1"] {
            assert!(duration_or_seconds(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_value_may_hold_an_equals_sign() {
        assert_eq!(name_and_value("a=b=c"), Ok(("a".into(), "b=c".into())));
        assert!(name_and_value("=3").is_err() && name_and_value("a").is_err());
    }
}
