// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers of a table's row: all in one unit and with one precision, so that they can be compared
//! at a glance.

use super::model::{Cell, Relative, Unit};
use super::numbers::written;

/// Digits behind the point at most.
const MOST_DECIMALS: usize = 3;
/// From here on a number is too wide, and the next larger unit has to do.
const TOO_WIDE: f64 = 99_999.5;
/// Less than this is no ratio that says anything, but that it is less.
const LEAST_RATIO: f64 = 0.01;
/// More than this likewise.
const GREATEST_RATIO: f64 = 1000.0;

/// How all numbers of a row are written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RowForm {
    scale: f64,
    decimals: usize,
    /// The unit, for the head of the row.
    pub(crate) unit: &'static str,
}

impl RowForm {
    /// For these means.
    pub(crate) fn of(unit: Unit, means: impl Iterator<Item = f64>) -> Self {
        let means: Vec<f64> = means.filter(|mean| mean.is_finite()).map(f64::abs).collect();
        let greatest = means.iter().copied().fold(0.0, f64::max);
        let positive = means.iter().copied().filter(|mean| *mean > 0.0);
        let least = positive.fold(greatest, f64::min);
        let fixed = |scale, decimals, unit| RowForm { scale, decimals, unit };
        match unit {
            Unit::Ns => of_times(least, greatest),
            Unit::Fraction => fixed(0.01, 1, "%"),
            // An index between 0 and 1 says something in its last digits only.
            Unit::Number if greatest <= 1.0 => fixed(1.0, 4, ""),
            Unit::Number => fixed(1.0, 2, ""),
            Unit::Count if means.iter().all(|mean| mean.fract() == 0.0) => fixed(1.0, 0, ""),
            Unit::Joules => fixed(1.0, digits(least, greatest).clamp(0, 4) as usize, "J"),
            Unit::Watts => fixed(1.0, digits(least, greatest).clamp(0, 4) as usize, "W"),
            Unit::Count | Unit::PerSecond | Unit::Instructions => {
                let decimals = digits(least, greatest).clamp(0, 2) as usize;
                let name = match unit {
                    Unit::PerSecond => "/s",
                    Unit::Instructions => "insns",
                    _ => "",
                };
                fixed(1.0, decimals, name)
            }
        }
    }

    /// A mean, without its unit.
    pub(crate) fn mean(&self, mean: f64) -> String {
        let scaled = mean / self.scale;
        match self.is_too_small(scaled) {
            // It is something, and no zero.
            true => format!("{}{}", if mean < 0.0 { ">−" } else { "<" }, self.smallest()),
            false => written(scaled, self.decimals, ""),
        }
    }

    /// Half the width of a mean's confidence interval, if there is one.
    pub(crate) fn half_width(&self, cell: &Cell) -> Option<String> {
        let half = cell.half_width.filter(|half| half.is_finite())?.abs() / self.scale;
        Some(match half {
            0.0 => "±\u{a0}0".to_owned(),
            half if self.is_too_small(half) => format!("±\u{a0}<{}", self.smallest()),
            half => format!("±\u{a0}{}", written(half, self.decimals, "")),
        })
    }

    /// The ratio to the baseline as `0.87×`, or the difference where there is no ratio; and what it
    /// means, if it is not significant.
    pub(crate) fn relative(&self, relative: &Relative) -> (String, &'static str) {
        let Relative { ratio, difference, noise } = *relative;
        let (mark, said) = if noise { ("~", " (not significant)") } else { ("", "") };
        let text = match ratio {
            Some(0.0) => "0×".to_owned(),
            Some(ratio) if ratio.abs() < LEAST_RATIO => format!("<{LEAST_RATIO}×"),
            Some(ratio) if ratio.abs() > GREATEST_RATIO => format!(">{GREATEST_RATIO}×"),
            Some(ratio) => format!("{}×", written(ratio, 2, "")),
            // Nothing compared with nothing.
            None if difference == 0.0 => return ("=".to_owned(), ""),
            None => format!("{}{}", if difference > 0.0 { "+" } else { "" }, self.mean(difference)),
        };
        (format!("{mark}{text}"), said)
    }

    /// The smallest number that is written as one.
    fn smallest(&self) -> String {
        written(0.1f64.powi(self.decimals as i32), self.decimals, "")
    }

    fn is_too_small(&self, scaled: f64) -> bool {
        scaled != 0.0 && scaled.abs() < 0.5 * 0.1f64.powi(self.decimals as i32)
    }
}

/// The largest unit in which the least time has enough digits; a larger one if the greatest would
/// be too wide in it.
fn of_times(least: f64, greatest: f64) -> RowForm {
    let units = [(1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")];
    let fits = units.iter().position(|(scale, _)| greatest / scale >= 0.9995);
    let mut at = fits.unwrap_or(units.len() - 1);
    let decimals = |at: usize| digits(least / units[at].0, greatest / units[at].0).max(0) as usize;
    while decimals(at) > MOST_DECIMALS
        && at + 1 < units.len()
        && greatest / units[at + 1].0 < TOO_WIDE
    {
        at += 1;
    }
    let (scale, unit) = units[at];
    // There are no parts of a nanosecond but in means.
    let most = if scale == 1.0 { 1 } else { MOST_DECIMALS };
    RowForm { scale, decimals: decimals(at).min(most), unit }
}

/// Digits behind the point for three significant ones of the least number; two if the greatest is
/// far above it.
fn digits(least: f64, greatest: f64) -> i32 {
    if least <= 0.0 {
        return 0;
    }
    let significant = if greatest / least >= 100.0 { 2 } else { 3 };
    significant - 1 - (least * 1.0005).log10().floor() as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> String {
        text.replace(['\u{a0}', '\u{202f}'], " ")
    }

    fn row(unit: Unit, means: &[f64]) -> (Vec<String>, &'static str) {
        let form = RowForm::of(unit, means.iter().copied());
        (means.iter().map(|mean| plain(&form.mean(*mean))).collect(), form.unit)
    }

    #[test]
    fn a_row_has_one_unit_and_one_precision() {
        let cases: [(Unit, &[f64], &[&str], &str); 13] = [
            (Unit::Ns, &[1_234_567.0, 5e6], &["1.23", "5.00"], "ms"),
            // As far apart as microseconds and milliseconds, or seconds.
            (Unit::Ns, &[20_000.0, 12e6], &["0.020", "12.000"], "ms"),
            (Unit::Ns, &[5_000.0, 2.3e9], &["0.005", "2300.000"], "ms"),
            (Unit::Ns, &[0.0, 640.0], &["0", "640"], "ns"),
            (Unit::Ns, &[0.0, 0.0], &["0", "0"], "ns"),
            (Unit::Ns, &[999_600.0, 2e6], &["1.00", "2.00"], "ms"),
            // Nothing that is there is written as nothing.
            (Unit::Ns, &[3.0, 2.3e9], &["<0.001", "2300.000"], "ms"),
            (Unit::Ns, &[-3.0, -2.3e9], &[">−0.001", "−2300.000"], "ms"),
            (Unit::Number, &[0.99951, 0.5], &["0.9995", "0.5000"], ""),
            (Unit::Number, &[1.016, 532.0], &["1.02", "532.00"], ""),
            (Unit::Count, &[12_345.0, 7.0], &["12 345", "7"], ""),
            (Unit::Instructions, &[135.7, 2810.3], &["136", "2810"], "insns"),
            (Unit::Joules, &[0.01234, 0.2], &["0.0123", "0.2000"], "J"),
        ];
        for (unit, means, texts, name) in cases {
            assert_eq!(row(unit, means), (texts.iter().map(|t| t.to_string()).collect(), name));
        }
    }

    #[test]
    fn half_widths_have_the_precision_of_their_row() {
        let form = RowForm::of(Unit::Ns, [1_234_567.0, 5e6].into_iter());
        let half = |half_width| {
            let (mean, n, best) = (1.0, 10, false);
            let cell = Cell { mean, half_width, n, best, relative: None, few_samples: None };
            form.half_width(&cell).map(|text| plain(&text))
        };
        let cases = [(345_678.0, "± 0.35"), (1_234.0, "± <0.01"), (0.0, "± 0")];
        for (width, text) in cases {
            assert_eq!(half(Some(width)).as_deref(), Some(text));
        }
        assert_eq!((half(None), half(Some(f64::INFINITY))), (None, None));
    }

    #[test]
    fn ratios_are_not_rounded_to_zero_and_marked_where_not_significant() {
        let form = RowForm::of(Unit::Ns, [2e6, 5e6].into_iter());
        let text = |ratio, difference, noise| {
            let (text, said) = form.relative(&Relative { ratio, difference, noise });
            (plain(&text), said)
        };
        assert_eq!(text(Some(0.8712), -1.0, false), ("0.87×".into(), ""));
        assert_eq!(text(Some(1.04), 1.0, true), ("~1.04×".into(), " (not significant)"));
        assert_eq!(text(Some(0.000_002_3), -1.0, false).0, "<0.01×");
        // Nothing at all is exactly that.
        assert_eq!(text(Some(0.0), -1.0, true).0, "~0×");
        assert_eq!(text(Some(12.34), 1.0, false).0, "12.34×");
        assert_eq!(text(Some(4.2e6), 1.0, false).0, ">1000×");
        assert_eq!(text(None, 2_500_000.0, false).0, "+2.50");
        assert_eq!(text(None, -2_500_000.0, true).0, "~−2.50");
        assert_eq!(text(None, 0.0, true), ("=".into(), ""));
    }
}
