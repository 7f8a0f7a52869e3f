// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a paper says, and in what ours is known to differ: `papers/<name>/expected.toml`.

use crate::effort::Effort;
use crate::error::Error;
use crate::figure::{Expectation, Figure, Found, Holds, Measured, Number, Reproduction, Verdict};
use serde::Deserialize;
use toml::Spanned;

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
    id: Spanned<String>,
    title: String,
    place: String,
    says: String,
    differs: String,
    #[serde(default, rename = "number")]
    rows: Vec<Row>,
    #[serde(skip)]
    numbers: Vec<ExpectedNumber>,
}

/// One number, or a series of them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    key: Spanned<String>,
    what: String,
    place: String,
    #[serde(default)]
    unit: String,
    value: Option<f64>,
    within: Option<f64>,
    within_percent: Option<f64>,
    at_least: Option<f64>,
    at_most: Option<f64>,
    /// The paper does not state it; what it has to be is worked out by us.
    #[serde(default)]
    ours: bool,
    /// The paper's is of another kind, and only shown: nanoseconds of its computer, say.
    #[serde(default)]
    not_judged: bool,
    /// Why ours is known to differ.
    known: Option<String>,
    /// A series: what its numbers are of, `N`, say, and for which of them there is one.
    series: Option<String>,
    at: Option<Vec<f64>>,
    /// The paper's of each, and how far ours may be off; without them, all are the same.
    values: Option<Vec<f64>>,
    withins: Option<Vec<f64>>,
    /// Those of a series that are known to differ; without it, all are.
    known_at: Option<Vec<f64>>,
}

#[derive(Debug)]
struct ExpectedNumber {
    key: String,
    at: Option<String>,
    row: Row,
    expectation: Option<Expectation>,
    known: Option<String>,
}

impl Expected {
    /// Reads and checks a paper's file.
    pub(crate) fn parse(paper: &str, text: &str) -> Result<Self, Error> {
        let file = format!("papers/{paper}/expected.toml");
        let mut expected: Self =
            toml::from_str(text).map_err(|e| Error::Failure(format!("{file}: {e}")))?;
        let mut ids: Vec<&str> = Vec::new();
        for figure in &mut expected.figures {
            let error = |of: &Spanned<String>, why: String| {
                let line = 1 + text[..of.span().start].matches('\n').count();
                Error::Failure(format!("{file}: line {line}: {}: {why}", of.get_ref()))
            };
            if ids.contains(&figure.id.get_ref().as_str()) {
                return Err(error(&figure.id, "there is another figure with this id".into()));
            }
            for row in &figure.rows {
                for number in row.numbers().map_err(|why| error(&row.key, why))? {
                    if figure.numbers.iter().any(|other| other.key == number.key) {
                        let why = format!("there is another number {}", number.key);
                        return Err(error(&row.key, why));
                    }
                    figure.numbers.push(number);
                }
            }
            ids.push(figure.id.get_ref());
        }
        Ok(expected)
    }

    /// Sets what was found against what the paper says.
    pub(crate) fn judge(&self, found: &Found) -> Result<Figure, Error> {
        let figure = self.figures.iter().find(|figure| figure.id.get_ref() == found.id);
        let figure = figure
            .ok_or_else(|| Error::Failure(format!("expected.toml has no figure {}", found.id)))?;
        let known = |key: &String| figure.numbers.iter().any(|number| number.key == *key);
        if let Some((key, _)) = found.numbers.iter().find(|(key, _)| !known(key)) {
            let id = found.id;
            return Err(Error::Failure(format!("expected.toml has no number {key} of {id}")));
        }
        Ok(Figure {
            id: figure.id.get_ref().clone(),
            title: figure.title.clone(),
            place: figure.place.clone(),
            says: figure.says.clone(),
            ran: found.ran.clone(),
            differs: figure.differs.clone(),
            numbers: figure.numbers.iter().map(|number| number.judge(found)).collect(),
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
        let (paper, unfinished) = (paper.to_owned(), Vec::new());
        Reproduction { paper, title, authors, published, effort, figures, unfinished }
    }
}

impl Row {
    /// The numbers that it is of.
    fn numbers(&self) -> Result<Vec<ExpectedNumber>, String> {
        if self.known.as_ref().is_some_and(|why| why.trim().is_empty()) {
            return Err("known = \"\": expected a reason".into());
        }
        if self.known.is_some() && (self.ours || self.not_judged) {
            return Err("known: what is ours or not judged cannot differ from the paper".into());
        }
        let key = self.key.get_ref();
        let Some((name, at)) = self.series.as_ref().zip(self.at.as_ref()) else {
            if self.series.is_some() || self.at.is_some() {
                return Err("expected series and at, or neither".into());
            }
            if self.values.is_some() || self.withins.is_some() || self.known_at.is_some() {
                let why = "values, withins and known_at are of a series: expected series and at";
                return Err(why.into());
            }
            let known = self.known.is_some();
            return Ok(vec![self.number(key.clone(), None, (self.value, self.within), known)?]);
        };
        let values = each("value", self.value, self.values.as_ref(), at.len())?;
        let withins = each("within", self.within, self.withins.as_ref(), at.len())?;
        let known_at = self.known_at.as_ref();
        if let Some(odd) = known_at.and_then(|of| of.iter().find(|one| !at.contains(one))) {
            return Err(format!("known_at = [{odd}]: not one of at"));
        }
        if known_at.is_some() && self.known.is_none() {
            return Err("known_at: expected known, the reason".into());
        }
        let number = |(at, of): (&f64, (Option<f64>, Option<f64>))| {
            let known = self.known.is_some() && known_at.is_none_or(|of| of.contains(at));
            self.number(format!("{key}_{at}"), Some(format!("{name} = {at}")), of, known)
        };
        at.iter().zip(values.into_iter().zip(withins)).map(number).collect()
    }

    fn number(
        &self,
        key: String,
        at: Option<String>,
        (value, within): (Option<f64>, Option<f64>),
        known: bool,
    ) -> Result<ExpectedNumber, String> {
        let within = match (within, self.within_percent) {
            (Some(within), None) => Some(within),
            (None, Some(percent)) => value.map(|value| value.abs() * percent / 100.0),
            (None, None) => None,
            (Some(_), Some(_)) => return Err("expected within or within_percent".into()),
        };
        let expectation = match (value, within, self.at_least, self.at_most) {
            (Some(value), Some(within), None, None) if within >= 0.0 && value.is_finite() => {
                Some(Expectation::Value { value, within })
            }
            (None, None, Some(bound), None) => Some(Expectation::AtLeast(bound)),
            (None, None, None, Some(bound)) => Some(Expectation::AtMost(bound)),
            (None, None, None, None) if self.ours && self.within_percent.is_none() => None,
            _ => {
                return Err(
                    "expected value with within or within_percent, or at_least, or at_most \
                            (or ours = true)"
                        .into(),
                )
            }
        };
        let known = self.known.clone().filter(|_| known);
        Ok(ExpectedNumber { key, at, row: self.clone(), expectation, known })
    }
}

/// A setting of each number of a series: its own, or that of all.
fn each(
    name: &str,
    of_all: Option<f64>,
    own: Option<&Vec<f64>>,
    count: usize,
) -> Result<Vec<Option<f64>>, String> {
    match (of_all, own) {
        (Some(_), Some(_)) => Err(format!("expected {name} or {name}s, not both")),
        (_, None) => Ok(vec![of_all; count]),
        (_, Some(own)) if own.len() == count => Ok(own.iter().copied().map(Some).collect()),
        (_, Some(own)) => {
            Err(format!("expected as many {name}s as at, {count}, not {}", own.len()))
        }
    }
}

impl ExpectedNumber {
    fn judge(&self, found: &Found) -> Number {
        let ours = found.numbers.iter().find(|(key, _)| *key == self.key).map(|(_, ours)| *ours);
        Number {
            key: self.key.clone(),
            what: self.row.what.clone(),
            at: self.at.clone(),
            place: self.row.place.clone(),
            unit: self.row.unit.clone(),
            expected: self.expectation,
            is_ours: self.row.ours,
            ours,
            verdict: ours.map_or(Verdict::NotMeasured, |ours| self.verdict(&ours)),
            known: self.known.clone(),
        }
    }

    fn verdict(&self, ours: &Measured) -> Verdict {
        if self.row.not_judged {
            return Verdict::NotJudged;
        }
        let holds = self.expectation.map_or(Holds::Yes, |expected| expected.judge(ours));
        match (holds, self.row.ours, self.known.is_some()) {
            (Holds::Undecided, ..) => Verdict::Undecided,
            (Holds::Yes, true, _) => Verdict::Ours,
            (Holds::Yes, false, false) => Verdict::Agrees,
            (Holds::Yes, false, true) => Verdict::Vanished,
            (Holds::No, _, true) => Verdict::Known,
            (Holds::No, _, false) => Verdict::Differs,
        }
    }
}

#[cfg(test)]
#[path = "expected_tests.rs"]
mod tests;
