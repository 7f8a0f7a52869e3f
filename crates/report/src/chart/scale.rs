// SPDX-License-Identifier: MIT OR Apache-2.0
//! From numbers to places on an axis, and the marks of an axis.

/// How an axis counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// Equal steps.
    #[default]
    Linear,
    /// Equal factors; what is not above 0 has no place.
    Logarithmic,
}

/// One axis of a chart.
#[derive(Clone, Debug, Default)]
pub struct Axis {
    /// What it counts, with its unit.
    pub label: String,
    /// How.
    pub scale: Scale,
}

/// More than a linear axis has in any of its steps.
const MARKS: usize = 16;

/// An axis of a known range and length.
pub(crate) struct Span {
    scale: Scale,
    low: f64,
    high: f64,
    /// Where `low` and `high` are.
    from: f64,
    to: f64,
}

impl Span {
    /// For these values; a linear axis that can begin at 0 does.
    pub(crate) fn of(scale: Scale, values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let usable = |value: &f64| value.is_finite() && (scale == Scale::Linear || *value > 0.0);
        let range = |(low, high): (f64, f64), value: f64| (low.min(value), high.max(value));
        let (mut low, mut high) = values.filter(usable).fold((f64::MAX, f64::MIN), range);
        if low > high {
            (low, high) = (1.0, 1.0);
        }
        match scale {
            Scale::Linear => {
                low = low.min(0.0);
                high = if high > low { high } else { low + 1.0 };
            }
            Scale::Logarithmic if high > low => {}
            Scale::Logarithmic if low * 10.0 <= f64::MAX => high = low * 10.0,
            Scale::Logarithmic => low /= 10.0,
        }
        Self { scale, low, high, from, to }
    }

    /// Where it begins and ends.
    pub(crate) fn ends(&self) -> (f64, f64) {
        (self.from, self.to)
    }

    pub(crate) fn place(&self, value: f64) -> Option<f64> {
        let part = match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Logarithmic => (value / self.low).ln() / (self.high / self.low).ln(),
        };
        part.is_finite().then_some(self.from + part * (self.to - self.from))
    }

    /// Values with a mark: round numbers, a handful.
    pub(crate) fn marks(&self) -> Vec<f64> {
        match self.scale {
            Scale::Linear => {
                let step = round_step((self.high - self.low) / 5.0);
                let first = (self.low / step).ceil() as i64;
                (first..)
                    .map(|n| n as f64 * step)
                    // Of numbers at the ends of what there is, steps may be 0.
                    .take(MARKS)
                    .take_while(|m| *m <= (self.high * 1.0001).min(f64::MAX))
                    .collect()
            }
            Scale::Logarithmic => {
                let decades = (self.high / self.low).log10();
                let factors: &[f64] = if decades < 2.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
                let first = self.low.log10().floor() as i32;
                let last = self.high.log10().ceil() as i32;
                let all = (first..=last)
                    .flat_map(|exponent| factors.iter().map(move |f| f * 10f64.powi(exponent)));
                let (low, high) = (self.low * 0.999, (self.high * 1.001).min(f64::MAX));
                all.filter(|mark| (low..=high).contains(mark)).collect()
            }
        }
    }
}

/// 1, 2 or 5 times a power of ten, at least this.
fn round_step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * power >= least * 0.9999);
    factor.unwrap_or(10.0) * power
}

/// A mark's name: `12,000`.
pub(crate) fn name(mark: f64) -> String {
    let text = format!("{}", (mark.abs() * 1e9).round() / 1e9);
    let (whole, rest) = text.split_once('.').map_or((text.as_str(), None), |(w, r)| (w, Some(r)));
    let mut grouped = String::new();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    let sign = if mark < 0.0 { "−" } else { "" };
    rest.map_or(format!("{sign}{grouped}"), |rest| format!("{sign}{grouped}.{rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linear_marks_are_round_and_begin_at_nothing() {
        let span = Span::of(Scale::Linear, [3.0, 47.0].into_iter(), 0.0, 100.0);
        assert_eq!(span.marks(), [0.0, 10.0, 20.0, 30.0, 40.0]);
        assert_eq!(span.place(47.0), Some(100.0));
    }

    #[test]
    fn logarithmic_marks_are_powers_of_ten() {
        let span = Span::of(Scale::Logarithmic, [1.0, 10_000.0].into_iter(), 0.0, 100.0);
        assert_eq!(span.marks(), [1.0, 10.0, 100.0, 1_000.0, 10_000.0]);
        assert_eq!(span.place(100.0), Some(50.0));
        assert_eq!(span.place(0.0), None);
    }

    #[test]
    fn one_value_is_a_range_too() {
        for scale in [Scale::Linear, Scale::Logarithmic] {
            let span = Span::of(scale, [5.0].into_iter(), 0.0, 100.0);
            assert!(span.place(5.0).is_some() && !span.marks().is_empty());
        }
    }

    #[test]
    fn the_smallest_and_the_largest_numbers_have_an_end() {
        for value in [5e-324, 1e-320, f64::MAX] {
            for scale in [Scale::Linear, Scale::Logarithmic] {
                let span = Span::of(scale, [value].into_iter(), 0.0, 100.0);
                assert!(span.marks().len() <= MARKS, "{scale:?} {value}");
                assert!(span.marks().iter().all(|mark| mark.is_finite()), "{scale:?} {value}");
            }
        }
    }

    #[test]
    fn names_are_grouped() {
        assert_eq!([12_000.0, -0.5, 100.0].map(name), ["12,000", "−0.5", "100"]);
    }
}
