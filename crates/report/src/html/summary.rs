// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table of a workload: a row for each metric, a column for each policy, the baseline first.

use super::markup::Html;
use super::model::{Better, Cell, Comparison, Measure, Outcome, PolicyResult, Unit, Workload};
use super::numbers::count;
use super::row::RowForm;

/// With more policies, a cell's numbers stand below each other.
const MOST_IN_LINE: usize = 5;

/// A metric, and what each policy has of it.
struct Row<'a> {
    measure: &'a Measure,
    form: RowForm,
    cells: Vec<Option<&'a Cell>>,
}

impl Row<'_> {
    /// Which cell is marked as the best: none, if another looks the same as written.
    fn marked(&self) -> Option<usize> {
        let best = self.cells.iter().position(|cell| cell.is_some_and(|cell| cell.best))?;
        let written = |cell: &Option<&Cell>| cell.map(|cell| self.form.mean(cell.mean));
        let mut others = self.cells.iter().enumerate().filter(|(at, _)| *at != best);
        others.all(|(_, cell)| written(cell) != written(&self.cells[best])).then_some(best)
    }
}

/// Writes the table, and below it what its metrics mean.
pub(crate) fn write(html: &mut Html, comparison: &Comparison, workload: &Workload) {
    let rows = rows(comparison, workload);
    let is_marked = rows.iter().any(|row| row.marked().is_some());
    html.element("p", &[("class", "conditions")], &caption(workload, is_marked));
    let mut relatives = rows.iter().flat_map(|row| &row.cells).filter_map(|c| (*c)?.relative);
    if relatives.any(|of| of.ratio.is_some()) {
        let text = format!(
            "×: ratio to the mean of {}, the baseline, over the same seeds. ~: not significant.",
            comparison.baseline
        );
        html.element("p", &[("class", "conditions")], &text);
    }
    let label = format!("Summary of {}", workload.name);
    html.open("div", &[("class", "scroller")]);
    html.open(
        "div",
        &[("class", "scroll"), ("tabindex", "0"), ("role", "region"), ("aria-label", &label)],
    );
    let class = if workload.policies.len() > MOST_IN_LINE { "summary many" } else { "summary" };
    html.open("table", &[("class", class)]);
    head(html, workload, &comparison.baseline);
    html.open("tbody", &[]);
    let mut group = "";
    for row in &rows {
        if row.measure.group != group {
            group = &row.measure.group;
            let is_main = rows.iter().any(|row| row.measure.group == group && row.measure.main);
            html.open("tr", &[("class", "group"), fold(is_main)]);
            html.element("th", &[("colspan", "99"), ("scope", "rowgroup")], group);
            html.close("tr");
        }
        write_row(html, row, workload, &comparison.baseline);
    }
    html.close("tbody");
    html.close("table");
    html.close("div");
    html.close("div");
    ejected(html, workload);
    definitions(html, &rows);
}

/// Metrics of which this workload has a number.
fn rows<'a>(comparison: &'a Comparison, workload: &'a Workload) -> Vec<Row<'a>> {
    let rows = comparison.measures.iter().enumerate().map(|(at, measure)| {
        let cell = |policy: &'a PolicyResult| policy.cells.get(at).and_then(Option::as_ref);
        let cells: Vec<Option<&Cell>> = workload.policies.iter().map(cell).collect();
        let form = RowForm::of(measure.unit, cells.iter().flatten().map(|cell| cell.mean));
        Row { measure, form, cells }
    });
    rows.filter(|row| row.cells.iter().any(Option::is_some)).collect()
}

fn caption(workload: &Workload, is_marked: bool) -> String {
    let several = workload.seeds.len() > 1;
    let mean = match several {
        true => format!(
            "Mean over {} seeds, ± half the width of its 95 % confidence interval.",
            workload.seeds.len()
        ),
        false => "One seed: differences of a few percent mean little.".to_owned(),
    };
    match is_marked {
        true => format!(
            "{mean} Marked: best in row, significant at 5 % (paired t-test, Holm-corrected)."
        ),
        false if several => format!("{mean} No policy is best with significance at 5 %."),
        false => mean,
    }
}

fn head(html: &mut Html, workload: &Workload, baseline: &str) {
    html.open("thead", &[]);
    html.open("tr", &[]);
    html.element("th", &[("scope", "col")], "metric");
    for policy in &workload.policies {
        html.open("th", &[("scope", "col"), class_of(policy, baseline)]);
        html.open("span", &[("class", "policy")]);
        // A long name may be broken between its settings.
        for part in policy.name.split_inclusive([':', ',']) {
            html.text(part);
            html.raw("<wbr>");
        }
        html.close("span");
        if policy.name == baseline {
            html.element("span", &[("class", "setting")], "baseline");
        }
        let settings = policy.settings.iter().map(|(name, value)| format!("{name}={value}"));
        // A name that has its settings needs them no second time.
        for setting in settings.filter(|setting| !policy.name.contains(setting)) {
            html.element("span", &[("class", "setting")], &setting);
        }
        if matches!(policy.outcome, Outcome::Ejected { .. }) {
            html.element("span", &[("class", "ejected")], "ejected");
        }
        html.close("th");
    }
    html.close("tr");
    html.close("thead");
}

/// The baseline's column stays in sight.
fn class_of(policy: &PolicyResult, baseline: &str) -> (&'static str, &'static str) {
    ("class", if policy.name == baseline { "baseline" } else { "" })
}

fn write_row(html: &mut Html, row: &Row<'_>, workload: &Workload, baseline: &str) {
    let Measure { key, name, definition, better, .. } = row.measure;
    let (direction, arrow, words) = match better {
        Better::Lower => ("lower", "↓", "lower is better"),
        Better::Higher => ("higher", "↑", "higher is better"),
        Better::None => ("none", "", ""),
    };
    html.open("tr", &[("data-measure", key), ("data-better", direction), fold(row.measure.main)]);
    html.open("th", &[("scope", "row"), ("title", definition)]);
    let said = match words {
        "" => ("aria-hidden", "true"),
        words => ("aria-label", words),
    };
    html.element("span", &[("class", "better"), ("role", "img"), said], arrow);
    html.element("span", &[("class", "label")], name);
    if !row.form.unit.is_empty() {
        html.element("span", &[("class", "unit")], &format!(" [{}]", row.form.unit));
    }
    html.close("th");
    let (longest, marked) = (longest_bar(row), row.marked());
    for ((at, cell), policy) in row.cells.iter().enumerate().zip(&workload.policies) {
        let is_baseline = policy.name == baseline;
        let look = Look { form: row.form, longest, is_marked: marked == Some(at), is_baseline };
        write_cell(html, *cell, &look, workload.seeds.len());
    }
    html.close("tr");
}

/// Marks what a script folds away until it is asked for.
fn fold(is_main: bool) -> (&'static str, &'static str) {
    ("data-fold", if is_main { "no" } else { "yes" })
}

/// The value that a whole bar stands for, of a part the whole; `None`: bars would say nothing.
fn longest_bar(row: &Row<'_>) -> Option<f64> {
    if row.measure.unit == Unit::Fraction {
        return Some(1.0);
    }
    let means: Vec<f64> = row.cells.iter().flatten().map(|cell| cell.mean).collect();
    let greatest = means.iter().copied().fold(0.0, f64::max);
    let all = means.iter().all(|mean| mean.is_finite() && *mean >= 0.0);
    (all && greatest > 0.0 && row.measure.unit != Unit::Number).then_some(greatest)
}

/// How a cell is to look.
struct Look {
    form: RowForm,
    /// The value of a whole bar.
    longest: Option<f64>,
    is_marked: bool,
    is_baseline: bool,
}

impl Look {
    fn class(&self, of: &str) -> String {
        format!("{of}{}", if self.is_baseline { " baseline" } else { "" })
    }
}

fn write_cell(html: &mut Html, cell: Option<&Cell>, look: &Look, seeds: usize) {
    let Some(cell) = cell else {
        html.element("td", &[("class", &look.class("none"))], "–");
        return;
    };
    let (mean, half_width) = (look.form.mean(cell.mean), look.form.half_width(cell));
    let class = look.class(if look.is_marked { "best" } else { "other" });
    html.open("td", &[("class", &class), ("data-value", &cell.mean.to_string())]);
    html.element("span", &[("class", "mean")], &mean);
    if look.is_marked {
        html.element("span", &[("class", "unseen")], " (best)");
    }
    if let Some(half_width) = half_width {
        html.element("span", &[("class", "half")], &half_width);
    }
    if usize::try_from(cell.n).is_ok_and(|n| n < seeds) {
        html.element("span", &[("class", "half")], &format!("{} of {seeds} seeds", cell.n));
    }
    if let Some(samples) = cell.few_samples {
        let text = format!("n\u{a0}=\u{a0}{}", count(samples));
        let title =
            "So few samples a run that percentiles and the greatest value are much the same";
        html.element("span", &[("class", "few"), ("title", title)], &text);
    }
    if let Some(relative) = &cell.relative {
        let (text, said) = look.form.relative(relative);
        let class = if said.is_empty() { "relative" } else { "relative noise" };
        html.open("span", &[("class", class)]);
        html.text(&text);
        if !said.is_empty() {
            html.element("span", &[("class", "unseen")], said);
        }
        html.close("span");
    }
    if let Some(longest) = look.longest {
        bar(html, cell.mean / longest);
    }
    html.close("td");
}

/// How much of the longest bar: the number again, for the eye.
fn bar(html: &mut Html, part: f64) {
    let width = format!("{:.1}", (part * 100.0).clamp(0.0, 100.0));
    html.open(
        "svg",
        &[
            ("class", "bar"),
            ("viewBox", "0 0 100 2"),
            ("preserveAspectRatio", "none"),
            ("aria-hidden", "true"),
        ],
    );
    html.open("rect", &[("width", &width), ("height", "2")]);
    html.close("rect");
    html.close("svg");
}

/// Why policies did not finish.
fn ejected(html: &mut Html, workload: &Workload) {
    for policy in &workload.policies {
        if let Outcome::Ejected { reason, runs } = &policy.outcome {
            let seeds = workload.seeds.len();
            let text = format!("{} was ejected in {runs} of {seeds} runs: {reason}", policy.name);
            html.element("p", &[("class", "warning")], &text);
        }
    }
}

fn definitions(html: &mut Html, rows: &[Row<'_>]) {
    html.open("details", &[]);
    html.element("summary", &[], "What these metrics mean");
    html.open("dl", &[("class", "definitions")]);
    for Row { measure, .. } in rows {
        html.element("dt", &[], &measure.name);
        html.element("dd", &[], &measure.definition);
    }
    html.close("dl");
    html.close("details");
}
