// SPDX-License-Identifier: MIT OR Apache-2.0
//! A mean with its uncertainty for people: `37.3±1.2ms`.

use rota_measure::catalogue::Unit;

/// Scales of times, the largest first.
const TIMES: [(&str, f64); 3] = [("s", 1e9), ("ms", 1e6), ("us", 1e3)];

/// A mean, and half of its confidence interval if there is one, in the same unit and with the same
/// number of digits.
pub(crate) fn text(unit: Unit, mean: f64, half_width: Option<f64>) -> String {
    let (scale, digits, name) = form(unit, mean, half_width);
    let width = half_width.map(|half| format!("±{:.digits$}", half / scale)).unwrap_or_default();
    format!("{:.digits$}{width}{name}", mean / scale)
}

/// The mean alone, as [`text`] has it.
pub(crate) fn mean(unit: Unit, mean: f64, half_width: Option<f64>) -> String {
    let (scale, digits, name) = form(unit, mean, half_width);
    format!("{:.digits$}{name}", mean / scale)
}

/// A ratio with three digits, or two if it is small; beyond a hundredth and a thousand only that,
/// but nothing at all is 0.
pub(crate) fn ratio(ratio: f64) -> String {
    match ratio.abs() {
        0.0 => return "0".into(),
        v if v < 0.01 => return "<0.01".into(),
        v if v >= 1000.5 => return ">1000".into(),
        _ => {}
    }
    let digits = match ratio.abs() {
        // Rounded to 0.10 and above.
        v if v >= 0.095 => three(v),
        v => (1.0 - v.log10().floor()) as usize,
    };
    format!("{ratio:.digits$}")
}

/// What a mean is divided by, its digits after the point, and its unit.
fn form(unit: Unit, mean: f64, half_width: Option<f64>) -> (f64, usize, &'static str) {
    let (scale, name) = match unit {
        Unit::Ns => {
            // 999.5us and above are a millisecond once rounded.
            let fits = |(_, scale): &&(&str, f64)| mean.abs() / scale >= 0.9995;
            TIMES.iter().find(fits).map_or((1.0, "ns"), |(name, scale)| (*scale, *name))
        }
        Unit::Fraction => (0.01, "%"),
        Unit::Joules => (1.0, "J"),
        Unit::Watts => (1.0, "W"),
        Unit::Number | Unit::Count | Unit::PerSecond | Unit::Instructions => (1.0, ""),
    };
    let value = mean / scale;
    let digits = match unit {
        Unit::Ns if name == "ns" => 0,
        Unit::Ns => three(value),
        Unit::Fraction => 1,
        // An index between 0 and 1 says something in its last digits only.
        Unit::Number if value.abs() <= 1.0 => 4,
        Unit::Joules | Unit::Watts if value.abs() <= 1.0 => 4,
        Unit::Number | Unit::Joules | Unit::Watts => three(value),
        Unit::Count if value.fract() == 0.0 && half_width.unwrap_or(0.0) == 0.0 => 0,
        Unit::Count => {
            if value.abs() < 99.95 {
                1
            } else {
                0
            }
        }
        Unit::PerSecond | Unit::Instructions => 1,
    };
    (scale, digits, name)
}

/// Digits after the point of a number with three in all.
fn three(value: f64) -> usize {
    match value.abs() {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_have_three_digits_or_two() {
        let cases = [
            (0.0, "0"),
            (0.00123, "<0.01"),
            (0.0123, "0.012"),
            (0.0949, "0.095"),
            (0.0951, "0.10"),
            (0.876, "0.88"),
            (1.0, "1.00"),
            (12.34, "12.3"),
            (99.96, "100"),
            (1000.4, "1000"),
            (1234.5, ">1000"),
        ];
        for (value, text) in cases {
            assert_eq!(ratio(value), text);
        }
    }

    #[test]
    fn value_and_width_share_unit_and_digits() {
        let cases = [
            (Unit::Ns, 37_345_000.0, Some(1_210_000.0), "37.3±1.2ms"),
            (Unit::Ns, 999_600.0, Some(20.0), "1.00±0.00ms"),
            (Unit::Ns, 640.2, Some(3.0), "640±3ns"),
            (Unit::Ns, 0.0, None, "0ns"),
            (Unit::Ns, -1_500_000_000.0, Some(1e7), "-1.50±0.01s"),
            (Unit::Fraction, 0.0141, Some(0.0023), "1.4±0.2%"),
            (Unit::Number, 0.99987, Some(0.00004), "0.9999±0.0000"),
            (Unit::Number, 12.345, Some(0.5), "12.3±0.5"),
            (Unit::Count, 6765.0, None, "6765"),
            (Unit::Count, 6765.3, Some(12.0), "6765±12"),
            (Unit::Count, 3.5, Some(0.7), "3.5±0.7"),
            (Unit::Instructions, 135.66, Some(0.31), "135.7±0.3"),
            (Unit::Joules, 0.6049, Some(0.0012), "0.6049±0.0012J"),
            (Unit::Watts, 2.5, None, "2.50W"),
        ];
        for (unit, mean, half_width, expected) in cases {
            assert_eq!(text(unit, mean, half_width), expected);
            let (value, rest) = expected.split_once('±').unwrap_or((expected, ""));
            let name = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
            assert_eq!(super::mean(unit, mean, half_width), format!("{value}{name}"));
        }
    }
}
