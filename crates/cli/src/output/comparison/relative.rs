// SPDX-License-Identifier: MIT OR Apache-2.0
//! How the policies of a workload compare with the baseline: a second table, of ratios.

use super::{numbers, position};
use crate::comparison::{Cell, Column, Comparison, Stage};
use crate::output::table;
use rota_measure::baseline::Relative;
use rota_measure::catalogue::Measure;

/// Marks what may be chance.
pub(super) const NOISE: &str = "~";

/// The table, with a row for each policy but the baseline; `None`: there is nothing to compare.
pub(super) fn rows(
    comparison: &Comparison<'_>,
    stage: &Stage<'_>,
    columns: &[&'static Measure],
) -> Option<Vec<String>> {
    let at = comparison.baseline?.at;
    let baseline = &stage.columns[at];
    let others: Vec<&Column<'_>> =
        stage.columns.iter().enumerate().filter(|(i, _)| *i != at).map(|(_, c)| c).collect();
    let relatives = |column: &Column<'_>| -> Vec<Option<Relative>> {
        columns.iter().map(|measure| cell(column, measure)?.relative).collect()
    };
    let all: Vec<Vec<Option<Relative>>> = others.iter().map(|column| relatives(column)).collect();
    if all.iter().flatten().all(Option::is_none) {
        return None;
    }
    let is_noisy = |at: usize| all.iter().filter_map(|row| row[at]).any(|of| of.is_noise());
    let noisy: Vec<bool> = (0..columns.len()).map(is_noisy).collect();
    let row = |(column, relatives): (&&Column<'_>, &Vec<Option<Relative>>)| {
        let texts = columns.iter().zip(relatives).zip(&noisy).map(|((measure, of), is_noisy)| {
            let mark = match of {
                Some(of) if of.is_noise() => NOISE,
                // So that digits stand below each other.
                _ if *is_noisy => " ",
                _ => "",
            };
            let base = cell(baseline, measure).map_or(0.0, |cell| cell.estimate.mean);
            let of = of.map_or_else(|| "-".to_owned(), |of| text(measure, &of, base));
            format!("{of}{mark}")
        });
        std::iter::once(column.policy.label.clone()).chain(texts).collect()
    };
    let first = format!("to {}", baseline.policy.label);
    let header: Vec<&str> =
        std::iter::once(first.as_str()).chain(columns.iter().map(|measure| measure.name)).collect();
    Some(table::fitting(super::WIDTH, &header, others.iter().zip(&all).map(row).collect()))
}

fn cell(column: &Column<'_>, measure: &Measure) -> Option<Cell> {
    column.cells[position(measure)]
}

/// `1.23x`; where there is no ratio, the difference as `+1.23ms`.
fn text(measure: &Measure, relative: &Relative, base: f64) -> String {
    let difference = relative.difference.mean;
    match relative.ratio {
        Some(ratio) => format!("{}x", numbers::ratio(ratio)),
        // Both are nothing.
        None if base == 0.0 && difference == 0.0 => "=".to_owned(),
        None => {
            let sign = if difference >= 0.0 { "+" } else { "" };
            format!("{sign}{}", numbers::mean(measure.unit, difference, None))
        }
    }
}
