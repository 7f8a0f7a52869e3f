// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a sweep looks for: metrics of which less or more is wanted, and conditions that a setting has
//! to fulfil, as `wakeup_p99 <= 5ms` or `throughput >= 0.98*baseline`.

use rota_measure::catalogue::{self, Measure};
use rota_session::metric::{self, unknown_metric, value_of};
use rota_session::Error;

/// Of which one of two values is wanted.
#[derive(Clone, Debug)]
pub struct Objective {
    /// The metric, or several that mean the same of different workloads: the first that there is.
    pub metrics: Vec<&'static Measure>,
    /// More of it is wanted.
    pub maximised: bool,
}

/// What must hold.
#[derive(Clone, Debug)]
pub struct Constraint {
    /// As the user wrote it.
    pub text: String,
    /// As of objectives.
    pub metrics: Vec<&'static Measure>,
    /// How it is compared.
    pub sign: Sign,
    /// With what.
    pub bound: Bound,
}

/// How a metric is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// `>=`.
    AtLeast,
    /// `<=`.
    AtMost,
    /// `>`.
    Above,
    /// `<`.
    Below,
}

/// What a metric is compared with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// This, in the metric's unit.
    Value(f64),
    /// This times the baseline's.
    OfBaseline(f64),
}

/// All that is wanted.
#[derive(Clone, Debug, Default)]
pub struct Aims {
    /// Of these the best.
    pub objectives: Vec<Objective>,
    /// What must hold.
    pub constraints: Vec<Constraint>,
}

/// The longer ones first, as they begin with the others.
const SIGNS: [(&str, Sign); 4] =
    [(">=", Sign::AtLeast), ("<=", Sign::AtMost), (">", Sign::Above), ("<", Sign::Below)];
const BASELINE: &str = "baseline";
/// What is done per second: requests where there are some, else bursts.
const THROUGHPUT: (&str, [&str; 2]) = ("throughput", ["answered_per_s", "bursts_per_s"]);

impl Sign {
    /// Whether it holds.
    pub fn holds(self, value: f64, bound: f64) -> bool {
        match self {
            Self::AtLeast => value >= bound,
            Self::AtMost => value <= bound,
            Self::Above => value > bound,
            Self::Below => value < bound,
        }
    }
}

impl Aims {
    /// Reads the texts of options, or of a sweep file.
    pub fn parse(
        minimise: &[String],
        maximise: &[String],
        subject_to: &[String],
    ) -> Result<Self, Error> {
        let mut aims = Self::default();
        let texts = |of: &'static str, maximised| move |text| (of, text, maximised);
        let wanted = minimise.iter().map(texts("minimise", false));
        for (of, text, maximised) in wanted.chain(maximise.iter().map(texts("maximise", true))) {
            let metrics = metrics(text).map_err(|why| Error::input(format!("{of}: {why}")))?;
            let same = |other: &Objective| other.metrics[0].key == metrics[0].key;
            if aims.objectives.iter().any(same) {
                return Err(Error::input(format!("{of}: {text} is there twice, expected it once")));
            }
            aims.objectives.push(Objective { metrics, maximised });
        }
        for text in subject_to {
            let constraint = Constraint::parse(text);
            aims.constraints
                .push(constraint.map_err(|why| Error::input(format!("'{text}': {why}")))?);
        }
        if aims.objectives.is_empty() && !aims.constraints.is_empty() {
            return Err(Error::input(
                "subject-to: expected a metric to minimise or maximise as well",
            ));
        }
        Ok(aims)
    }

    /// Whether something is compared with the baseline.
    pub fn needs_baseline(&self) -> bool {
        self.constraints.iter().any(|of| matches!(of.bound, Bound::OfBaseline(_)))
    }
}

impl Constraint {
    /// `KEY op VALUE`, `KEY op baseline`, `KEY op FACTOR*baseline`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let at = text.find(['<', '>']).ok_or(
            "expected a comparison, as 'wakeup_p99 <= 5ms' or 'throughput >= 0.98*baseline'",
        )?;
        let (left, right) = text.split_at(at);
        if left.ends_with('=') {
            return Err("expected <, <=, > or >=".into());
        }
        let found = SIGNS.iter().find_map(|(name, sign)| Some((*sign, right.strip_prefix(name)?)));
        let (sign, right) = found.ok_or("expected <, <=, > or >=")?;
        let metrics = metrics(left.trim())?;
        let bound = bound(metrics[0], right.trim())?;
        Ok(Self { text: text.trim().to_owned(), metrics, sign, bound })
    }
}

fn bound(metric: &Measure, text: &str) -> Result<Bound, String> {
    if text.is_empty() {
        return Err("the value is missing".into());
    }
    if !text.contains(BASELINE) {
        return value_of(metric.unit, text).map(Bound::Value);
    }
    let expected = || format!("{text}: expected a factor above 0, as 0.98*{BASELINE}");
    let factor = match text.split_once('*') {
        None if text == BASELINE => return Ok(Bound::OfBaseline(1.0)),
        Some((factor, of)) if of.trim() == BASELINE => factor,
        Some((of, factor)) if of.trim() == BASELINE => factor,
        _ => return Err(expected()),
    };
    let factor: Option<f64> = factor.trim().parse().ok();
    let factor = factor.filter(|factor| factor.is_finite() && *factor > 0.0);
    factor.map(Bound::OfBaseline).ok_or_else(expected)
}

/// The metric of this key or these words.
fn metrics(text: &str) -> Result<Vec<&'static Measure>, String> {
    if text == THROUGHPUT.0 {
        return Ok(THROUGHPUT.1.iter().filter_map(|key| catalogue::find(key)).collect());
    }
    match metric::find(text, &metric::known(false, false)) {
        Some(measure) => Ok(vec![measure]),
        None => Err(unknown_metric(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parsed(text: &str) -> (&'static str, Sign, Bound) {
        let of = Constraint::parse(text).expect(text);
        (of.metrics[0].key, of.sign, of.bound)
    }

    #[test]
    fn a_metric_is_compared_with_a_value_or_a_part_of_the_baseline() {
        let ms = |ms: f64| Bound::Value(ms * 1e6);
        assert_eq!(parsed("wakeup_p99 <= 5ms"), ("wakeup_p99", Sign::AtMost, ms(5.0)));
        assert_eq!(parsed("p99_wakeup<5ms"), ("wakeup_p99", Sign::Below, ms(5.0)));
        assert_eq!(parsed("miss_rate < 1%"), ("miss_rate", Sign::Below, Bound::Value(0.01)));
        let of = Bound::OfBaseline;
        assert_eq!(parsed("jain >= baseline"), ("jain", Sign::AtLeast, of(1.0)));
        assert_eq!(parsed("jain > 0.98 * baseline"), ("jain", Sign::Above, of(0.98)));
        assert_eq!(parsed("jain>baseline*2"), ("jain", Sign::Above, of(2.0)));
        let throughput = Constraint::parse("throughput >= 0.98*baseline").expect("a condition");
        let keys: Vec<&str> = throughput.metrics.iter().map(|metric| metric.key).collect();
        assert_eq!(keys, ["answered_per_s", "bursts_per_s"]);
    }

    #[test]
    fn what_cannot_be_compared_is_told() {
        for (text, expected) in [
            ("jain", "expected a comparison"),
            ("jian >= 1", "no metric is called \"jian\" (did you mean jain?); expected one of"),
            ("jain >= ", "the value is missing"),
            ("jain >= 5ms", "\"5ms\": expected a number"),
            ("wakeup_p99 <= 5", "\"5\": expected a time such as 5ms"),
            ("jain >= 0*baseline", "expected a factor above 0, as 0.98*baseline"),
            ("jain >= inf*baseline", "expected a factor above 0"),
            ("jain >= baseline + 1", "expected a factor above 0"),
            ("jain => 1", "expected <, <=, > or >="),
        ] {
            let error = Constraint::parse(text).expect_err(text);
            assert!(error.contains(expected), "{text}: {error}");
        }
        let alone = Aims::parse(&[], &[], &["jain > 0".to_owned()]).expect_err("no objective");
        assert!(alone.to_string().contains("expected a metric to minimise"), "{alone}");
        let twice = ["response_p99".to_owned(), "p99_response".to_owned()];
        assert!(Aims::parse(&twice, &[], &[]).is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_a_condition_or_refused(
            text in "(jain|throughput|wakeup_p99)? ?[<>=]{0,2} ?([0-9.]{0,4}(ms|%)?|\\*|baseline| ){0,4}|\\PC{0,20}",
        ) {
            if let Ok(of) = Constraint::parse(&text) {
                let again = Constraint::parse(&of.text).expect("the same text");
                prop_assert_eq!((again.sign, again.bound), (of.sign, of.bound));
            }
        }
    }
}
