// SPDX-License-Identifier: MIT OR Apache-2.0
//! What comes out of a reproduction: plain data.

use crate::effort::Effort;
use serde::Serialize;

/// A paper, reproduced.
#[derive(Clone, Debug, Serialize)]
pub struct Reproduction {
    /// Short name.
    pub paper: String,
    /// Title of the paper.
    pub title: String,
    /// Its authors.
    pub authors: String,
    /// Where and when it was published.
    pub published: String,
    /// How much was run.
    pub effort: Effort,
    /// Those that were asked for, in the order of the paper.
    pub figures: Vec<Figure>,
    /// Ids of those that were asked for and not done, as it was interrupted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unfinished: Vec<String>,
}

/// A figure, or an experiment without one.
#[derive(Clone, Debug, Serialize)]
pub struct Figure {
    /// Name on the command line.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// Section and figure of the paper.
    pub place: String,
    /// What the paper says, in our words.
    pub says: String,
    /// What was run here.
    pub ran: String,
    /// Why the two differ.
    pub differs: String,
    /// The paper's numbers and ours.
    pub numbers: Vec<Number>,
    /// Numbers that the paper does not have.
    pub tables: Vec<Table>,
    /// Pictures.
    #[serde(skip)]
    pub drawings: Vec<Drawing>,
}

/// A number of the paper, and ours.
#[derive(Clone, Debug, Serialize)]
pub struct Number {
    /// Name in JSON.
    pub key: String,
    /// What it is.
    pub what: String,
    /// What sets it apart from the others of its row, `N = 2`, say: numbers that follow each other
    /// with the same `what` are printed as one row.
    pub at: Option<String>,
    /// Where the paper has it.
    pub place: String,
    /// What it is counted in; may be empty.
    pub unit: String,
    /// What the paper has, or, of a number of ours, what it has to be; `None`: anything.
    pub expected: Option<Expectation>,
    /// The paper does not state it: `expected` is ours.
    pub is_ours: bool,
    /// What came out here; `None`: not measured with this effort.
    pub ours: Option<Measured>,
    /// Whether they agree.
    pub verdict: Verdict,
    /// Why it is known to differ.
    pub known: Option<String>,
}

/// What was measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// The number.
    pub value: f64,
    /// Half the width of its 95 % confidence interval, if it is a mean over seeds.
    pub half_width: Option<f64>,
    /// The least and the greatest of what `value` is the mean of, if each of them is judged.
    pub range: Option<(f64, f64)>,
}

impl Measured {
    /// The mean of some over the mean of others that were measured with the same seeds. Its interval
    /// is that of a ratio of means, to first order.
    pub(crate) fn ratio(of: &[f64], over: &[f64]) -> Self {
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let (value, unit) = (mean(of) / mean(over), mean(over));
        let rest = of.iter().zip(over).map(|(of, over)| (of - value * over) / unit);
        Self { value, ..Self::over_seeds(&rest.collect::<Vec<f64>>()) }
    }

    /// The mean of what was measured with several seeds.
    pub(crate) fn over_seeds(values: &[f64]) -> Self {
        let of = rota_measure::statistics::estimate(values);
        let value = of.map_or(f64::NAN, |of| of.mean);
        Self { value, half_width: of.and_then(|of| of.half_width), range: None }
    }
}

/// Numbers without intervals, by key.
pub(crate) fn plain<K: Into<String>>(
    numbers: impl IntoIterator<Item = (K, f64)>,
) -> Vec<(String, Measured)> {
    numbers.into_iter().map(|(key, number)| (key.into(), number.into())).collect()
}

impl From<f64> for Measured {
    fn from(value: f64) -> Self {
        Self { value, half_width: None, range: None }
    }
}

/// What a paper says of a number.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Expectation {
    /// It is this, give or take.
    Value {
        /// The paper's.
        value: f64,
        /// How far ours may be from it.
        within: f64,
    },
    /// It is no less than this.
    AtLeast(f64),
    /// It is no more than this.
    AtMost(f64),
}

/// Whether ours is what the paper says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Within the tolerance.
    Agrees,
    /// Not, and the paper's file says why.
    Known,
    /// The paper does not state it.
    Ours,
    /// Not within the tolerance, and nobody knows why: a regression.
    Differs,
    /// Within the tolerance, but the paper's file says why it is not.
    Vanished,
    /// The confidence interval is too wide to tell.
    Undecided,
    /// Not measured with this effort.
    NotMeasured,
    /// The paper's is of another kind, so that they cannot be compared.
    NotJudged,
}

/// Whether a number is as expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holds {
    Yes,
    No,
    Undecided,
}

impl Expectation {
    /// Whether a number is as expected; bounds allow for the rounding of sums. A mean whose
    /// interval is wider than the tolerance and reaches into it, or has the bound in it, tells
    /// nothing.
    pub(crate) fn judge(&self, ours: &Measured) -> Holds {
        let holds = |ours: f64| match self {
            Self::Value { value, within } => (ours - value).abs() <= *within,
            Self::AtLeast(bound) => ours >= bound - 1e-9,
            Self::AtMost(bound) => ours <= bound + 1e-9,
        };
        if let Some(half_width) = ours.half_width {
            let undecided = match self {
                Self::Value { value, within } => {
                    let off = (ours.value - value).abs();
                    half_width > *within && (off - within).abs() < half_width
                }
                Self::AtLeast(bound) | Self::AtMost(bound) => {
                    (ours.value - bound).abs() < half_width
                }
            };
            if undecided {
                return Holds::Undecided;
            }
        }
        let all = match ours.range {
            Some((least, most)) => holds(least) && holds(most) && holds(ours.value),
            None => holds(ours.value),
        };
        match all {
            true => Holds::Yes,
            false => Holds::No,
        }
    }
}

/// Rows under a header; the first column is text, the others numbers.
#[derive(Clone, Debug, Serialize)]
pub struct Table {
    /// What it is.
    pub title: String,
    /// Names of the columns, with units.
    pub header: Vec<String>,
    /// As they are printed.
    pub rows: Vec<Vec<String>>,
    /// Too long to be printed with the numbers: for reports and JSON.
    #[serde(skip)]
    pub long: bool,
}

/// A picture.
#[derive(Clone, Debug)]
pub struct Drawing {
    /// An SVG document.
    pub svg: String,
}

/// What an experiment found of one of its figures.
pub(crate) struct Found {
    pub(crate) id: &'static str,
    /// What was run.
    pub(crate) ran: String,
    /// By the keys of the paper's numbers.
    pub(crate) numbers: Vec<(String, Measured)>,
    pub(crate) tables: Vec<Table>,
    pub(crate) drawings: Vec<Drawing>,
}

impl Reproduction {
    /// All numbers.
    pub fn numbers(&self) -> impl Iterator<Item = &Number> {
        self.figures.iter().flat_map(|figure| &figure.numbers)
    }

    /// How many numbers have that verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.numbers().filter(|number| number.verdict == verdict).count()
    }

    /// Numbers that are not what the paper's file expects: those that differ and, with the effort
    /// that the file is of, those that should differ and do not.
    pub fn unexpected(&self) -> impl Iterator<Item = &Number> {
        let default = self.effort == Effort::Default;
        self.numbers().filter(move |number| match number.verdict {
            Verdict::Differs => true,
            Verdict::Vanished => default,
            _ => false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_agrees_up_to_its_tolerance() {
        let expected = Expectation::Value { value: 10.6, within: 0.2 };
        assert_eq!(expected.judge(&10.75.into()), Holds::Yes);
        assert_eq!(expected.judge(&10.85.into()), Holds::No);
        assert_eq!(expected.judge(&f64::NAN.into()), Holds::No);
        assert_eq!(Expectation::AtLeast(-1.0).judge(&(-1.01).into()), Holds::No);
        assert_eq!(Expectation::AtMost(2.0).judge(&2.0.into()), Holds::Yes);
    }

    #[test]
    fn a_ratio_of_means_is_as_sure_as_its_parts_go_together() {
        // Twice as long with each seed, whatever the seed.
        let ratio = Measured::ratio(&[2.0, 8.0, 20.0], &[1.0, 4.0, 10.0]);
        assert_eq!((ratio.value, ratio.half_width), (2.0, Some(0.0)));
        let ratio = Measured::ratio(&[10.0, 20.0], &[5.0, 25.0]);
        // 15 over 15; residuals of 5/15 and -5/15, whose standard error is 1/3, times 12.706.
        assert_eq!(ratio.value, 1.0);
        assert!((ratio.half_width.expect("of two") - 12.706 / 3.0).abs() < 1e-3);
    }

    #[test]
    fn a_mean_does_not_hide_what_it_is_of() {
        let expected = Expectation::Value { value: 4.5, within: 0.5 };
        let range = |least, most| Measured { range: Some((least, most)), ..4.5.into() };
        assert_eq!(expected.judge(&range(4.0, 5.0)), Holds::Yes);
        assert_eq!(expected.judge(&range(3.6, 4.9)), Holds::No);
        assert_eq!(expected.judge(&range(4.2, 5.2)), Holds::No);
    }

    #[test]
    fn an_interval_wider_than_the_tolerance_decides_nothing() {
        let mean =
            |value: f64, half_width| Measured { half_width: Some(half_width), ..value.into() };
        let expected = Expectation::Value { value: 4.5, within: 0.5 };
        assert_eq!(expected.judge(&mean(4.5, 0.6)), Holds::Undecided);
        assert_eq!(expected.judge(&mean(4.5, 0.4)), Holds::Yes);
        assert_eq!(expected.judge(&mean(3.5, 0.4)), Holds::No);
        // However wide, all of it is too far off.
        assert_eq!(expected.judge(&mean(1.0, 2.0)), Holds::No);
        assert_eq!(Expectation::AtMost(1.0).judge(&mean(0.97, 0.1)), Holds::Undecided);
        assert_eq!(Expectation::AtMost(1.0).judge(&mean(0.8, 0.1)), Holds::Yes);
        assert_eq!(Expectation::AtLeast(1.0).judge(&mean(0.8, 0.1)), Holds::No);
    }
}
