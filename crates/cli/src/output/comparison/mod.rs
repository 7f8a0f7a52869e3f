// SPDX-License-Identifier: MIT OR Apache-2.0
//! The text of `rota compare`: a table for each workload and machine, a row for each policy.

pub(crate) mod csv;
pub(crate) mod findings;
pub(crate) mod gates;
pub(crate) mod json;
pub(crate) mod numbers;
mod relative;

use super::{summary, table, uncharged};
use crate::comparison::{Cell, Column, Comparison, Stage};
use crate::error::Error;
use crate::nearest;
use rota_measure::catalogue::{self, Measure};
use rota_sim::Ignored;
use std::io::{self, Write};

/// Marks a value that is significantly the best.
const BEST: &str = "*";
/// Stands for every metric.
const ALL_METRICS: &str = "all";
/// Columns of a table for which none are chosen.
const USUAL: usize = 6;
/// Characters of a line.
const WIDTH: usize = 100;

/// Columns that the user asks for, by keys, by groups, or all; `None`: no wish.
pub(crate) fn columns(wishes: &[String]) -> Result<Option<Vec<&'static Measure>>, Error> {
    let mut columns: Vec<&'static Measure> = Vec::new();
    for wish in wishes {
        let name = wish.trim();
        let is_meant = |m: &&Measure| m.key == name || m.group == name || name == ALL_METRICS;
        let meant: Vec<&Measure> = catalogue::measures().iter().filter(is_meant).collect();
        if meant.is_empty() {
            return Err(unknown_metric(wish));
        }
        for measure in meant {
            if !columns.iter().any(|known| known.key == measure.key) {
                columns.push(measure);
            }
        }
    }
    Ok((!columns.is_empty()).then_some(columns))
}

fn unknown_metric(wish: &str) -> Error {
    let groups = catalogue::groups().into_iter().chain([ALL_METRICS]);
    let known: Vec<&str> = groups.chain(catalogue::measures().iter().map(|m| m.key)).collect();
    let nearest = nearest::hint(wish, &known);
    Error::input(format!(
        "--metrics {wish}: no such metric or group{nearest}; expected one of {}",
        known.join(", ")
    ))
}

/// Prints all tables, and what their signs mean.
pub(crate) fn print(
    out: &mut dyn Write,
    comparison: &Comparison<'_>,
    columns: Option<&[&'static Measure]>,
) -> io::Result<()> {
    let (mut is_marked, mut compared) = (false, Compared::default());
    for (at, stage) in comparison.stages.iter().enumerate() {
        if at > 0 {
            writeln!(out)?;
        }
        writeln!(out, "{}\n", title(comparison, stage))?;
        let columns = columns_of(stage, columns);
        compared.shown.extend(&columns);
        is_marked |= columns.iter().any(|measure| marked(stage, measure).is_some());
        rows(stage, &columns).iter().try_for_each(|line| writeln!(out, "{line}"))?;
        if let Some(rows) = relative::rows(comparison, stage, &columns) {
            writeln!(out)?;
            rows.iter().try_for_each(|line| writeln!(out, "{line}"))?;
            compared.any = true;
            compared.noise |= rows.iter().any(|line| line.contains(relative::NOISE));
        }
    }
    let notes = notes(comparison, is_marked, &compared);
    if !notes.is_empty() {
        writeln!(out)?;
    }
    notes.iter().try_for_each(|note| {
        let lines = textwrap::wrap(note, textwrap::Options::new(WIDTH).subsequent_indent("  "));
        lines.iter().try_for_each(|line| writeln!(out, "{line}"))
    })
}

/// What the tables of ratios have.
#[derive(Default)]
struct Compared {
    /// Columns of all tables.
    shown: Vec<&'static Measure>,
    any: bool,
    noise: bool,
}

fn title(comparison: &Comparison<'_>, stage: &Stage<'_>) -> String {
    let seeds = match comparison.seeds {
        [one] => format!("seed {one}"),
        [first, .., last] => format!("seeds {first} to {last}"),
        [] => String::new(),
    };
    format!("{}: {}", stage.load.file, summary::machine_with(stage.config, &seeds))
}

/// The columns of a table: those that are chosen, or else the usual ones.
pub(crate) fn columns_of(
    stage: &Stage<'_>,
    chosen: Option<&[&'static Measure]>,
) -> Vec<&'static Measure> {
    chosen.map_or_else(|| usual(stage), <[_]>::to_vec)
}

/// The metrics of a table for which none are chosen, without those that are 0 or unknown under
/// each policy.
fn usual(stage: &Stage<'_>) -> Vec<&'static Measure> {
    let is_there = |measure: &Measure| {
        let at = position(measure);
        let mut cells = stage.columns.iter().filter_map(|column| column.cells[at]);
        cells.any(|cell| cell.estimate.mean != 0.0)
    };
    catalogue::headlines(USUAL, is_there)
}

fn rows(stage: &Stage<'_>, columns: &[&'static Measure]) -> Vec<String> {
    let header: Vec<&str> =
        std::iter::once("policy").chain(columns.iter().map(|measure| measure.name)).collect();
    let row = |column: &Column<'_>| {
        let name = match column.ejected().count() {
            0 => column.policy.label.clone(),
            _ if column.runs.len() == 1 => format!("{} (ejected)", column.policy.label),
            count => format!("{} (ejected: {count})", column.policy.label),
        };
        let cells = columns.iter().map(|measure| {
            let mark = match marked(stage, measure) {
                Some(best) if std::ptr::eq(best, column) => BEST,
                // So that digits stand below each other.
                Some(_) => " ",
                None => "",
            };
            let Some(cell) = column.cells[position(measure)] else { return format!("-{mark}") };
            let half_width = half_width(stage, &cell);
            format!("{}{mark}", numbers::text(measure.unit, cell.estimate.mean, half_width))
        });
        std::iter::once(name).chain(cells).collect()
    };
    table::fitting(WIDTH, &header, stage.columns.iter().map(row).collect())
}

/// Place of a measure in the list of all.
pub(crate) fn position(measure: &Measure) -> usize {
    let all = catalogue::measures().iter();
    all.take_while(|other| other.key != measure.key).count()
}

/// The policy whose value is marked as the best: none if another's looks the same as printed.
fn marked<'a>(stage: &'a Stage<'_>, measure: &Measure) -> Option<&'a Column<'a>> {
    let at = position(measure);
    let best = stage.columns.iter().find(|c| c.cells[at].is_some_and(|cell| cell.best))?;
    let printed = |column: &Column<'_>| {
        let cell = column.cells[at]?;
        Some(numbers::mean(measure.unit, cell.estimate.mean, half_width(stage, &cell)))
    };
    let others = stage.columns.iter().filter(|column| !std::ptr::eq(*column, best));
    let is_seen = others.map(printed).all(|other| other != printed(best));
    is_seen.then_some(best)
}

/// What is printed of the interval.
fn half_width(stage: &Stage<'_>, cell: &Cell) -> Option<f64> {
    cell.estimate.half_width.filter(|_| !stage.is_alike)
}

/// What the tables' signs mean, as far as there are any.
fn notes(comparison: &Comparison<'_>, is_marked: bool, compared: &Compared) -> Vec<String> {
    let mut notes = Vec::new();
    let seeds = comparison.seeds.len();
    let stages = &comparison.stages;
    let alike = stages.iter().filter(|stage| stage.is_alike).count();
    if seeds > 1 && alike < stages.len() {
        notes.push(format!(
            "mean of {seeds} seeds ± half of its 95 % confidence interval (Student's t)"
        ));
    }
    if alike > 0 {
        let which = if alike < stages.len() { "without ±: " } else { "" };
        notes.push(format!(
            "{which}all {seeds} seeds gave the same numbers, as nothing in it is random; \
             differences are exact"
        ));
    }
    if is_marked {
        notes.push(format!(
            "{BEST} best in column, significant at 5 % (paired t-test, Holm-corrected)"
        ));
    }
    notes.extend(baseline_notes(comparison, compared));
    if seeds == 1 && comparison.policies.len() > 1 {
        notes.push(
            "one seed is one sample: no best values are marked, and there are no findings".into(),
        );
    }
    notes.extend(few_samples(stages, &compared.shown));
    notes.extend(ignored(stages));
    notes.extend(stages.iter().find_map(uncharged_in));
    let mut columns = stages.iter().flat_map(|stage| &stage.columns);
    if columns.any(|column| column.ejected().next().is_some()) {
        notes.push(
            "runs that ended with an ejection are left out; an ejected policy is never best".into(),
        );
    }
    notes
}

/// A line for each policy that ignores something of any workload or machine.
fn ignored(stages: &[Stage<'_>]) -> Vec<String> {
    let policies = stages.first().map_or(0, |stage| stage.columns.len());
    let line = |at: usize| {
        let mut all: Option<Ignored> = None;
        for stage in stages {
            let here = ignored_by(stage, &stage.columns[at]);
            let all = all.get_or_insert_with(|| Ignored { features: Vec::new(), ..here.clone() });
            all.features.extend(here.features);
            all.features.sort_unstable();
            all.features.dedup();
        }
        all?.message(&stages.first()?.columns[at].policy.label)
    };
    (0..policies).filter_map(line).collect()
}

/// A line for the policies whose instructions take no time.
fn uncharged_in(stage: &Stage<'_>) -> Option<String> {
    let policies = stage.columns.iter().map(|column| (&*column.policy.label, column.image));
    uncharged::note(policies, stage.config)
}

/// What a policy ignores of a workload and machine.
pub(crate) fn ignored_by(stage: &Stage<'_>, column: &Column<'_>) -> Ignored {
    rota_sim::ignored(column.image, &stage.load.workload, stage.config)
}

/// Percentiles that rest on few samples, by metric, with the fewest that a run has.
fn few_samples(stages: &[Stage<'_>], shown: &[&Measure]) -> Option<String> {
    let mut few: Vec<(&str, u64)> = Vec::new();
    for measure in shown {
        let columns = stages.iter().flat_map(|stage| &stage.columns);
        let fewest = columns.filter_map(|column| column.few_samples(measure.key)).min();
        let is_new = few.iter().all(|(known, _)| *known != measure.name);
        few.extend(fewest.filter(|_| is_new).map(|fewest| (measure.name, fewest)));
    }
    let told = few.iter().map(|(column, fewest)| format!("{column} (n = {fewest})"));
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| format!("few samples in some run: {}", told.join(", ")))
}

/// What the ratios mean, and why a policy is there that was not named.
fn baseline_notes(comparison: &Comparison<'_>, compared: &Compared) -> Vec<String> {
    let Some(baseline) = comparison.baseline else { return Vec::new() };
    let label = &comparison.policies[baseline.at].label;
    let mut notes = Vec::new();
    if compared.any {
        notes.push(format!("x: ratio to {label}'s mean over the same seeds"));
    }
    if compared.noise {
        notes.push(format!(
            "{} within noise: not significant at 5 % compared with {label} (paired t-test, \
             Holm-corrected)",
            relative::NOISE
        ));
    }
    if baseline.is_added {
        notes.push(format!("{label} ran as the baseline; --baseline none leaves it out"));
    }
    notes
}
