// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers for people, with their units.

use super::model::{Cell, Relative, Unit};

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

/// Mean and half width of its confidence interval, as `("1.234 ms", "± 0.012 ms")`: the half
/// width has two significant digits, the mean as many decimals.
pub(crate) fn mean(unit: Unit, cell: &Cell) -> (String, Option<String>) {
    let form = form(unit, cell.mean);
    let scaled = cell.mean / form.scale;
    let Some(half_width) = cell.half_width.filter(|half| half.is_finite()) else {
        return (value(unit, cell.mean), None);
    };
    let half = half_width.abs() / form.scale;
    let shown = match half {
        half if half > 0.0 => {
            let wanted = 1.0 - half.log10().floor();
            // As many as one reads.
            wanted.clamp(0.0, decimals(unit, scaled) as f64 + 1.0) as usize
        }
        _ => decimals(unit, scaled),
    };
    let half = match half {
        half if half > 0.0 => written(half, shown, form.suffix),
        _ => "0".to_owned(),
    };
    (written(scaled, shown, form.suffix), Some(format!("±{GAP}{half}")))
}

/// A measure beside the baseline's, as `0.87×`, or the difference where there is no ratio; and
/// what is said of chance, if it may be that.
pub(crate) fn relative(unit: Unit, relative: &Relative) -> (String, &'static str) {
    let Relative { ratio, difference, noise } = *relative;
    let (mark, said) = if noise { ("~", " (within the noise)") } else { ("", "") };
    let text = match ratio {
        Some(ratio) => {
            let decimals = match ratio.abs() {
                r if r >= 99.95 => 0,
                r if r >= 9.995 => 1,
                r if !(1e-9..0.095).contains(&r) => 2,
                r => (1.0 - r.log10().floor()) as usize,
            };
            format!("{mark}{}×", written(ratio, decimals, ""))
        }
        None => {
            let sign = if difference > 0.0 { "+" } else { "" };
            format!("{mark}{sign}{}", value(unit, difference))
        }
    };
    (text, said)
}

fn written(scaled: f64, decimals: usize, suffix: &str) -> String {
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
            (Unit::Ns, f64::NAN, "–"),
        ];
        for (unit, number, text) in cases {
            assert_eq!(plain(&value(unit, number)), text, "{number}");
        }
    }

    #[test]
    fn ratios_are_marked_where_they_are_noise() {
        let text = |ratio, difference, noise| {
            let (text, said) = relative(Unit::Ns, &Relative { ratio, difference, noise });
            (plain(&text), said)
        };
        assert_eq!(text(Some(0.8712), -1.0, false), ("0.87×".into(), ""));
        let noise = ("~1.04×".to_owned(), " (within the noise)");
        assert_eq!(text(Some(1.04), 1.0, true), noise);
        assert_eq!(text(Some(0.00123), 1.0, false).0, "0.0012×");
        assert_eq!(text(None, 2_500_000.0, false).0, "+2.50 ms");
        assert_eq!(text(None, -2_500_000.0, true).0, "~−2.50 ms");
    }

    #[test]
    fn the_half_width_has_two_digits_and_the_mean_as_many_decimals() {
        let cell = |mean, half_width| Cell { mean, half_width, n: 10, best: false, relative: None };
        let cases = [
            (Unit::Ns, 1_234_567.0, Some(12_345.0), "1.235 ms", "± 0.012 ms"),
            (Unit::Ns, 1_234_567.0, Some(345_678.0), "1.23 ms", "± 0.35 ms"),
            (Unit::Ns, 3_200_000.0, Some(15_000_000.0), "3 ms", "± 15 ms"),
            (Unit::Ns, 3_200_000.0, Some(0.1), "3.200 ms", "± 0.000 ms"),
            (Unit::Ns, 3_200_000.0, Some(0.0), "3.20 ms", "± 0"),
            (Unit::Number, 0.99951, Some(0.0002), "0.99951", "± 0.00020"),
            (Unit::Count, 12_345.0, Some(120.0), "12 345", "± 120"),
        ];
        for (unit, number, half, text, half_text) in cases {
            let (found, found_half) = mean(unit, &cell(number, half));
            assert_eq!(
                (plain(&found), plain(&found_half.unwrap())),
                (text.into(), half_text.into())
            );
        }
        assert_eq!(mean(Unit::Count, &cell(3.0, None)), ("3".to_owned(), None));
        assert_eq!(mean(Unit::Count, &cell(3.0, Some(f64::INFINITY))).1, None);
    }
}
