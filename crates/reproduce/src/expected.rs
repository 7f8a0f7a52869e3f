// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a paper says: `papers/<name>/expected.toml`.

use crate::effort::Effort;
use crate::error::Error;
use crate::figure::{Expectation, Figure, Found, Number, Reproduction, Verdict};
use serde::Deserialize;

/// A paper's file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expected {
    title: String,
    authors: String,
    published: String,
    #[serde(rename = "figure")]
    figures: Vec<ExpectedFigure>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpectedFigure {
    id: String,
    title: String,
    place: String,
    says: String,
    differs: String,
    #[serde(default, rename = "number")]
    numbers: Vec<ExpectedNumber>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpectedNumber {
    key: String,
    what: String,
    place: String,
    #[serde(default)]
    unit: String,
    value: Option<f64>,
    within: Option<f64>,
    within_percent: Option<f64>,
    at_least: Option<f64>,
    at_most: Option<f64>,
    /// The paper's is of another kind, and only shown: nanoseconds of its computer, say.
    #[serde(default)]
    not_judged: bool,
}

impl Expected {
    /// Reads and checks a paper's file.
    pub(crate) fn parse(paper: &str, text: &str) -> Result<Self, Error> {
        let file = format!("papers/{paper}/expected.toml");
        let expected: Self =
            toml::from_str(text).map_err(|e| Error::Failure(format!("{file}: {e}")))?;
        for figure in &expected.figures {
            for number in &figure.numbers {
                if number.expectation().is_none() {
                    return Err(Error::Failure(format!(
                        "{file}: {}.{}: expected value with within or within_percent, or \
                         at_least, or at_most",
                        figure.id, number.key
                    )));
                }
            }
        }
        Ok(expected)
    }

    /// Sets what was found against what the paper says.
    pub(crate) fn judge(&self, found: &Found) -> Result<Figure, Error> {
        let figure = self.figures.iter().find(|figure| figure.id == found.id);
        let figure = figure
            .ok_or_else(|| Error::Failure(format!("expected.toml has no figure {}", found.id)))?;
        let known = |key: &String| figure.numbers.iter().any(|number| number.key == *key);
        if let Some((key, _)) = found.numbers.iter().find(|(key, _)| !known(key)) {
            let id = found.id;
            return Err(Error::Failure(format!("expected.toml has no number {key} of {id}")));
        }
        Ok(Figure {
            id: figure.id.clone(),
            title: figure.title.clone(),
            place: figure.place.clone(),
            says: figure.says.clone(),
            ran: found.ran.clone(),
            differs: figure.differs.clone(),
            numbers: figure.numbers.iter().filter_map(|number| number.judge(found)).collect(),
            tables: found.tables.clone(),
            drawings: found.drawings.clone(),
        })
    }

    pub(crate) fn reproduction(
        self,
        paper: &str,
        effort: Effort,
        figures: Vec<Figure>,
    ) -> Reproduction {
        let (title, authors, published) = (self.title, self.authors, self.published);
        Reproduction { paper: paper.to_owned(), title, authors, published, effort, figures }
    }
}

impl ExpectedNumber {
    fn expectation(&self) -> Option<Expectation> {
        match (self.value, self.within, self.within_percent, self.at_least, self.at_most) {
            (Some(value), Some(within), None, None, None) => {
                Some(Expectation::Value { value, within })
            }
            (Some(value), None, Some(percent), None, None) => {
                Some(Expectation::Value { value, within: value.abs() * percent / 100.0 })
            }
            (None, None, None, Some(bound), None) => Some(Expectation::AtLeast(bound)),
            (None, None, None, None, Some(bound)) => Some(Expectation::AtMost(bound)),
            _ => None,
        }
    }

    fn judge(&self, found: &Found) -> Option<Number> {
        let expected = self.expectation()?;
        let ours = found.numbers.iter().find(|(key, _)| *key == self.key).map(|(_, ours)| *ours);
        Some(Number {
            key: self.key.clone(),
            what: self.what.clone(),
            place: self.place.clone(),
            unit: self.unit.clone(),
            expected,
            ours,
            verdict: match ours {
                None => Verdict::NotMeasured,
                Some(_) if self.not_judged => Verdict::NotJudged,
                Some(ours) => expected.judge(ours),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::papers;
    use proptest::prelude::*;

    const HEAD: &str = "title = 't'\nauthors = 'a'\npublished = 'p'\n[[figure]]\nid = 'fig1'\n\
                        title = 't'\nplace = 'p'\nsays = 's'\ndiffers = 'd'\n[[figure.number]]\n\
                        key = 'k'\nwhat = 'w'\nplace = 'p'\n";

    fn found(key: &str, ours: f64) -> Found {
        let numbers = vec![(key.to_owned(), ours)];
        Found { id: "fig1", ran: String::new(), numbers, tables: vec![], drawings: vec![] }
    }

    #[test]
    fn every_papers_file_describes_each_of_its_figures() {
        for paper in papers() {
            let expected = Expected::parse(paper.name, paper.expected).expect("is in order");
            let ids: Vec<&str> = expected.figures.iter().map(|figure| figure.id.as_str()).collect();
            assert_eq!(ids, paper.figures());
        }
    }

    #[test]
    fn tolerances_may_be_percentages() {
        let text = format!("{HEAD}value = -398.0\nwithin_percent = 2.0\n");
        let expected = Expected::parse("x", &text).expect("is in order");
        let verdict = |ours| expected.judge(&found("k", ours)).expect("known").numbers[0].verdict;
        assert_eq!(verdict(-391.0), Verdict::Agrees);
        assert_eq!(verdict(-389.0), Verdict::Differs);
    }

    #[test]
    fn what_was_not_measured_is_no_agreement() {
        let expected = Expected::parse("x", &format!("{HEAD}at_most = 2.0\n")).expect("in order");
        let mut found = found("k", 1.0);
        found.numbers.clear();
        let number = &expected.judge(&found).expect("known").numbers[0];
        assert_eq!((number.ours, number.verdict), (None, Verdict::NotMeasured));
    }

    #[test]
    fn a_number_that_the_file_does_not_have_is_an_error() {
        let expected = Expected::parse("x", &format!("{HEAD}at_most = 2.0\n")).expect("in order");
        assert!(expected.judge(&found("other", 1.0)).is_err());
    }

    #[test]
    fn contradictory_expectations_are_refused() {
        for bad in ["", "value = 1.0", "value = 1.0\nat_least = 0.0", "within = 1.0", "odd = 1"] {
            let error = Expected::parse("x", &format!("{HEAD}{bad}\n")).expect_err(bad);
            assert!(error.to_string().contains("papers/x/expected.toml"), "{error}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in ".{0,200}", cut in 0..200usize) {
            let _ = Expected::parse("x", &text);
            let mut broken = format!("{HEAD}value = 1.0\n");
            broken.truncate(cut.min(broken.len()));
            let _ = Expected::parse("x", &(broken + &text));
        }
    }
}
