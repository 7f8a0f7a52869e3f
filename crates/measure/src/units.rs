// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers for people.

/// A time with three significant digits and its unit: `950ns`, `12.3us`, `1.50s`.
pub fn time(ns: u64) -> String {
    let units = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];
    let value = ns as f64;
    if ns < 1000 {
        return format!("{ns}ns");
    }
    // 999.5us and above are a millisecond once rounded.
    let fits = |(_, scale): &&(&str, f64)| value / scale >= 0.9995;
    let (unit, scale) = units.iter().rev().find(fits).unwrap_or(&units[0]);
    let value = value / scale;
    let digits = match value {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.digits$}{unit}")
}

/// A part of the whole in percent.
pub fn percent(part: f64) -> String {
    format!("{:.1}%", part * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_digits() {
        let cases = [
            (0, "0ns"),
            (999, "999ns"),
            (1_000, "1.00us"),
            (12_345, "12.3us"),
            (999_499, "999us"),
            (999_500, "1.00ms"),
            (9_996_000, "10.0ms"),
            (99_960_000, "100ms"),
            (2_500_000_000, "2.50s"),
            (123_456_000_000_000, "123456s"),
        ];
        for (ns, text) in cases {
            assert_eq!(time(ns), text, "{ns}");
        }
    }
}
