// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers for people, with their units.

use super::model::Unit;

/// Between a number and its unit: no line ends here.
const GAP: char = '\u{a0}';
/// Between thousands.
const THIN: char = '\u{202f}';

/// How a number is written: divided by `scale`, then `suffix`.
struct Form {
    scale: f64,
    suffix: &'static str,
}

fn form(unit: Unit, value: f64) -> Form {
    let units = [(1.0, "ns"), (1e3, "µs"), (1e6, "ms"), (1e9, "s")];
    let (scale, suffix) = match unit {
        // 999.5 µs and above are a millisecond once rounded.
        Unit::Ns => units
            .into_iter()
            .rev()
            .find(|(scale, _)| value.abs() / scale >= 0.9995)
            .unwrap_or(units[0]),
        Unit::Fraction => (0.01, "%"),
        Unit::PerSecond => (1.0, "/s"),
        Unit::Instructions => (1.0, "insns"),
        Unit::Joules => (1.0, "J"),
        Unit::Watts => (1.0, "W"),
        Unit::Number | Unit::Count => (1.0, ""),
    };
    Form { scale, suffix }
}

/// Digits behind the point for three significant ones; small counts are whole.
fn decimals(unit: Unit, scaled: f64) -> usize {
    let whole = scaled.fract() == 0.0;
    match (unit, scaled.abs()) {
        (Unit::Number, _) => 4,
        (Unit::Fraction, _) => 1,
        (Unit::Count, _) if whole => 0,
        (Unit::Ns, 0.0) => 0,
        (_, v) if v >= 99.95 => 0,
        (_, v) if v >= 9.995 => 1,
        (Unit::Joules | Unit::Watts, v) if v < 0.995 => 4,
        _ => 2,
    }
}

/// A value with its unit: `1.23 ms`.
pub(crate) fn value(unit: Unit, value: f64) -> String {
    let form = form(unit, value);
    let scaled = value / form.scale;
    written(scaled, decimals(unit, scaled), form.suffix)
}

/// A time with its unit.
pub(crate) fn time(ns: f64) -> String {
    value(Unit::Ns, ns)
}

/// A whole number.
pub(crate) fn count(count: u64) -> String {
    value(Unit::Count, count as f64)
}

/// A length of time as one would type it: `10 s`, `1.5 s`, `250 µs`.
pub(crate) fn duration(ns: u64) -> String {
    crate::timeline::time::text(ns).replace(' ', &GAP.to_string())
}

/// A number with so many decimals, and its unit.
pub(crate) fn written(scaled: f64, decimals: usize, suffix: &str) -> String {
    if !scaled.is_finite() {
        return "–".to_owned();
    }
    let digits = format!("{:.decimals$}", scaled.abs());
    // Nothing is less than zero once rounded to zero.
    let minus = scaled < 0.0 && digits.bytes().any(|digit| matches!(digit, b'1'..=b'9'));
    let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
    let mut text = if minus { "−".to_owned() } else { String::new() };
    for (index, digit) in whole.chars().enumerate() {
        // Four digits are read at a glance.
        if index > 0 && (whole.len() - index) % 3 == 0 && whole.len() > 4 {
            text.push(THIN);
        }
        text.push(digit);
    }
    if !fraction.is_empty() {
        text.push('.');
        text.push_str(fraction);
    }
    if !suffix.is_empty() {
        text.push(GAP);
        text.push_str(suffix);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> String {
        text.replace([GAP, THIN], " ")
    }

    #[test]
    fn values_have_three_digits_and_a_unit() {
        let cases = [
            (Unit::Ns, 0.0, "0 ns"),
            (Unit::Ns, 999.0, "999 ns"),
            (Unit::Ns, 12_345.0, "12.3 µs"),
            (Unit::Ns, 999_500.0, "1.00 ms"),
            (Unit::Ns, -2_500_000_000.0, "−2.50 s"),
            (Unit::Fraction, 0.1234, "12.3 %"),
            (Unit::Fraction, -0.00001, "0.0 %"),
            (Unit::Number, 0.99951, "0.9995"),
            (Unit::Count, 12_345.0, "12 345"),
            (Unit::Count, 6765.0, "6765"),
            (Unit::Count, 7.5, "7.50"),
            (Unit::PerSecond, 123.4, "123 /s"),
            (Unit::Instructions, 135.7, "136 insns"),
            (Unit::Joules, 0.12345, "0.1235 J"),
            (Unit::Watts, 3.456, "3.46 W"),
            (Unit::Ns, f64::NAN, "–"),
        ];
        for (unit, number, text) in cases {
            assert_eq!(plain(&value(unit, number)), text, "{number}");
        }
    }
}
