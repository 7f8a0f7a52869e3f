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
    /// Where the paper has it.
    pub place: String,
    /// What it is counted in; may be empty.
    pub unit: String,
    /// What the paper has.
    pub expected: Expectation,
    /// What came out here; `None`: not measured with this effort.
    pub ours: Option<f64>,
    /// Whether they agree.
    pub verdict: Verdict,
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
    /// Not.
    Differs,
    /// Not measured with this effort.
    NotMeasured,
    /// The paper's is of another kind, so that they cannot be compared.
    NotJudged,
}

impl Expectation {
    /// Whether a number is as expected; bounds allow for the rounding of sums.
    pub(crate) fn judge(&self, ours: f64) -> Verdict {
        let holds = match self {
            Self::Value { value, within } => (ours - value).abs() <= *within,
            Self::AtLeast(bound) => ours >= bound - 1e-9,
            Self::AtMost(bound) => ours <= bound + 1e-9,
        };
        match holds {
            true => Verdict::Agrees,
            false => Verdict::Differs,
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
    pub(crate) numbers: Vec<(String, f64)>,
    pub(crate) tables: Vec<Table>,
    pub(crate) drawings: Vec<Drawing>,
}

impl Reproduction {
    /// How many numbers have that verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        let numbers = self.figures.iter().flat_map(|figure| &figure.numbers);
        numbers.filter(|number| number.verdict == verdict).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_agrees_up_to_its_tolerance() {
        let expected = Expectation::Value { value: 10.6, within: 0.2 };
        assert_eq!(expected.judge(10.75), Verdict::Agrees);
        assert_eq!(expected.judge(10.85), Verdict::Differs);
        assert_eq!(expected.judge(f64::NAN), Verdict::Differs);
        assert_eq!(Expectation::AtLeast(-1.0).judge(-1.01), Verdict::Differs);
        assert_eq!(Expectation::AtMost(2.0).judge(2.0), Verdict::Agrees);
    }
}
