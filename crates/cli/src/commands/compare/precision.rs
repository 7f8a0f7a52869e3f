// SPDX-License-Identifier: MIT OR Apache-2.0
//! How precise a comparison is.

use crate::comparison::{Cell, Comparison, Stage};
use crate::output::comparison as shown;
use rota_measure::catalogue::Measure;
use std::fmt;

/// `2%`: half of the width of an interval, as a part of the mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Precision(f64);

impl Precision {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let expected = || "expected a percentage from 0.01% to 100%, as 2%".to_owned();
        let number = text.trim().strip_suffix('%').ok_or_else(expected)?;
        let percent: f64 = number.trim().parse().map_err(|_| expected())?;
        (0.01..=100.0).contains(&percent).then_some(Self(percent)).ok_or_else(expected)
    }

    pub(super) fn part(self) -> f64 {
        self.0 / 100.0
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} %", self.0)
    }
}

/// What is known least.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Wide {
    pub(super) workload: String,
    pub(super) policy: String,
    pub(super) metric: &'static str,
    /// Half of the interval's width, as a part of the mean.
    pub(super) part: f64,
}

/// The widest interval of all tables. Of a policy beside the baseline it is that of their
/// difference, seed by seed, and a part of the baseline's mean; of others that of the mean itself.
/// `None`: nothing is random.
pub(super) fn widest(
    comparison: &Comparison<'_>,
    columns: Option<&[&'static Measure]>,
) -> Option<Wide> {
    let mut all = Vec::new();
    for stage in &comparison.stages {
        let measures = shown::columns_of(stage, columns);
        for measure in measures {
            let at = shown::position(measure);
            let baseline = comparison.baseline.map(|baseline| baseline.at);
            let base = baseline.and_then(|at_policy| stage.columns[at_policy].cells[at]);
            for (policy, column) in stage.columns.iter().enumerate() {
                let Some(cell) = column.cells[at] else { continue };
                // its own counts where nobody is compared with it
                if Some(policy) == baseline && stage.columns.len() > 1 {
                    continue;
                }
                let part = part(&cell, base.filter(|_| Some(policy) != baseline));
                all.extend(part.map(|part| wide(stage, policy, measure, part)));
            }
        }
    }
    all.into_iter().max_by(|a, b| a.part.total_cmp(&b.part))
}

fn wide(stage: &Stage<'_>, policy: usize, measure: &'static Measure, part: f64) -> Wide {
    let (workload, policy) = (stage.load.file.clone(), stage.columns[policy].policy.label.clone());
    Wide { workload, policy, metric: measure.name, part }
}

/// `None`: it is the same with each seed, or there is one.
fn part(cell: &Cell, base: Option<Cell>) -> Option<f64> {
    let of_mean = |half: Option<f64>, mean: f64| {
        half.filter(|half| *half > 0.0).map(|half| half / mean.abs())
    };
    match (cell.relative, base.filter(|base| base.estimate.mean != 0.0)) {
        (Some(relative), Some(base)) => of_mean(relative.difference.half_width, base.estimate.mean),
        _ => of_mean(cell.estimate.half_width, cell.estimate.mean),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rota_measure::baseline::Relative;
    use rota_measure::statistics::Estimate;

    fn estimate(mean: f64, half_width: f64) -> Estimate {
        Estimate { mean, half_width: Some(half_width), n: 10 }
    }

    #[test]
    fn a_percentage_is_a_part() {
        assert_eq!(Precision::parse("2%").map(Precision::part), Ok(0.02));
        assert_eq!(Precision::parse(" 0.5 %").expect("blanks").to_string(), "0.5 %");
        for bad in ["2", "0%", "101%", "two%", "-1%", "NaN%", ""] {
            let error = Precision::parse(bad).expect_err(bad);
            assert_eq!(error, "expected a percentage from 0.01% to 100%, as 2%");
        }
    }

    #[test]
    fn pairs_count_where_there_is_a_baseline() {
        // 50 ± 30 of its own, but 10 ± 4 more than a baseline of 40: 4 of 40
        let difference = estimate(10.0, 4.0);
        let relative = Some(Relative { ratio: Some(1.25), difference, probability: Some(0.01) });
        let own = Cell { estimate: estimate(50.0, 30.0), best: false, relative: None };
        let base = Cell { estimate: estimate(40.0, 20.0), best: false, relative: None };
        assert_eq!(part(&Cell { relative, ..own }, Some(base)), Some(0.1));
        assert_eq!(part(&own, None), Some(0.6));
        // of nothing there is no part
        let nothing = Cell { estimate: estimate(0.0, 0.0), ..base };
        assert_eq!(part(&Cell { relative, ..own }, Some(nothing)), Some(0.6));
        assert_eq!(part(&nothing, None), None);
    }
}
