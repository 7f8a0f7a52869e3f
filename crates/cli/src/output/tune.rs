// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `rota tune` prints and draws.

use super::sweep::{costs, json::SettingJson};
use super::table;
use super::units::time;
use crate::error::Error;
use crate::tuned::{Point, Tried, Tuned};
use rota_measure::catalogue::Unit;
use rota_measure::statistics::{estimate, Estimate};
use rota_report::chart::{Axis, Line, LineChart, Scale};
use rota_sweep::{Fit, Value};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;

/// `rota tune --json`.
#[derive(Debug, Serialize)]
pub(crate) struct Json<'a> {
    schema: &'static str,
    policy: &'a str,
    workload: &'a str,
    measure: &'a str,
    unit: &'a str,
    aim: &'static str,
    constraints: Vec<&'a str>,
    seeds: u32,
    first_seed: u64,
    /// With seeds that the search did not see; ratios and probabilities are to what ships.
    best: SettingJson<'a>,
    /// As it ships, with the same seeds as the best.
    shipped: SettingJson<'a>,
    points: Vec<JsonPoint<'a>>,
}

#[derive(Debug, Serialize)]
struct JsonPoint<'a> {
    set: BTreeMap<&'a str, &'a Value>,
    /// By seed of the search; `null`: ejected, or no such number.
    values: &'a [Option<f64>],
}

impl<'a> Json<'a> {
    pub(crate) fn new(tuned: &'a Tuned) -> Self {
        let (tried, judged) = (&tuned.tried, &tuned.judged);
        let named = |set: &'a [Value]| {
            tried.axes.iter().map(String::as_str).zip(set).collect::<BTreeMap<_, _>>()
        };
        let point = |of: &'a Point| JsonPoint { set: named(&of.set), values: &of.values };
        Self {
            schema: "rota.tune/2",
            policy: &tuned.policy,
            workload: &tuned.workload,
            measure: tried.measure.key,
            unit: tried.measure.unit.name(),
            aim: aim(tuned),
            constraints: judged.constraints.iter().map(|of| of.text.as_str()).collect(),
            seeds: tuned.seeds,
            first_seed: tuned.first_seed,
            best: SettingJson::new(judged, tuned.at),
            shipped: SettingJson::new(judged, tuned.shipped),
            points: tried.points.iter().map(point).collect(),
        }
    }
}

fn is_maximised(tuned: &Tuned) -> bool {
    tuned.judged.objectives.first().is_some_and(|of| of.maximised)
}

fn aim(tuned: &Tuned) -> &'static str {
    if is_maximised(tuned) {
        "maximise"
    } else {
        "minimise"
    }
}

fn value(unit: Unit, value: f64) -> String {
    match unit {
        Unit::Ns if value >= 0.0 => time(value.round() as u64),
        Unit::Ns => format!("-{}", time(-value.round() as u64)),
        _ => format!("{value:.4}"),
    }
}

fn with_width(unit: Unit, of: &Estimate) -> String {
    let mean = value(unit, of.mean);
    of.half_width.map_or(mean.clone(), |width| format!("{mean} ±{}", value(unit, width)))
}

/// What is known of a point; `None`: it was ejected, or has no number with a seed.
fn known(point: &Point) -> Option<Estimate> {
    estimate(&point.values.iter().copied().collect::<Option<Vec<f64>>>()?)
}

/// What the best of the search gains, by seeds that the search did not see.
#[derive(PartialEq, Eq)]
enum Gain {
    Better,
    Worse,
    Unknown,
}

fn gain(tuned: &Tuned) -> Gain {
    let relative = tuned.judged.relative(tuned.at, tuned.tried.measure);
    match relative.filter(|of| of.is_significant() == Some(true)) {
        Some(of) if (of.difference.mean > 0.0) == is_maximised(tuned) => Gain::Better,
        Some(_) => Gain::Worse,
        None => Gain::Unknown,
    }
}

/// Tables for people.
pub(crate) fn print(out: &mut dyn Write, tuned: &Tuned) -> Result<(), Error> {
    let Tuned { policy, workload, tried, judged, .. } = tuned;
    let (aim, measure) = (aim(tuned), tried.measure);
    writeln!(out, "{policy}, {workload}: {aim} {} ({})\n", measure.key, measure.name)?;
    // The best of the search is no gain by that: it may lie within noise of what ships.
    let gain = gain(tuned);
    print_tried(out, tried, (gain == Gain::Better).then_some(&tuned.best))?;
    let first = tuned.first_seed.wrapping_add(tuned.seeds.into());
    let last = first.wrapping_add(u64::from(tuned.seeds) - 1);
    let mean = |at: usize| {
        let mean = judged.settings[at].mean(measure);
        mean.map_or("-".to_owned(), |of| with_width(measure.unit, &of))
    };
    let set = tried.axes.iter().zip(&tuned.best);
    let set: Vec<String> = set.map(|(name, value)| format!("{name}={value}")).collect();
    let (set, own) = (set.join(" "), mean(tuned.at));
    writeln!(out, "\nbest: {set}: {own} with seeds {first} to {last}")?;
    let found = match gain {
        Gain::Better => "the best is better, significant at 5 % (paired t-test)",
        Gain::Worse => "the best is worse, significant at 5 % (paired t-test)",
        Gain::Unknown => "no significant difference at 5 % (paired t-test)",
    };
    writeln!(out, "as it ships: {}: {found}", mean(tuned.shipped))?;
    for constraint in &judged.constraints {
        let holds = match judged.settings[tuned.at].fit {
            Fit::Fits => "holds",
            _ => "does not hold with these seeds",
        };
        writeln!(out, "{}: {holds}", constraint.text)?;
    }
    costs(out, judged, tuned.at, "the defaults")
}

/// A row for each setting that was tried.
pub(crate) fn print_tried(
    out: &mut dyn Write,
    tried: &Tried,
    marked: Option<&Vec<Value>>,
) -> Result<(), Error> {
    let measure = tried.measure;
    let row = |point: &Point| {
        let none = if point.ejected { "ejected" } else { "none" };
        let mean = known(point).map_or(none.into(), |of| with_width(measure.unit, &of));
        let mark = if marked == Some(&point.set) { "*" } else { "" };
        let mut cells: Vec<String> = turned(&point.set).map(Value::to_string).collect();
        cells.extend([point.values.len().to_string(), mean, mark.into()]);
        cells
    };
    let mut header: Vec<&str> = turned(&tried.axes).map(String::as_str).collect();
    header.extend(["seeds", measure.name, ""]);
    for line in table::lines(&header, 0, tried.points.iter().map(row).collect()) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// The first tunable last.
fn turned<T>(of: &[T]) -> impl Iterator<Item = &T> {
    of.iter().skip(1).chain(of.first())
}

/// The measure over the first tunable, a line for each setting of the others.
pub(crate) fn picture(tried: &Tried) -> LineChart {
    let measure = tried.measure;
    let scale = if measure.unit == Unit::Ns { 1e6 } else { 1.0 };
    let unit = if measure.unit == Unit::Ns { " (ms)" } else { "" };
    let mut lines: Vec<Line> = Vec::new();
    for point in &tried.points {
        let others = tried.axes.iter().zip(&point.set).skip(1);
        let others: Vec<String> = others.map(|(name, value)| format!("{name} {value}")).collect();
        let name = others.join(", ");
        let at = point.set.first().and_then(Value::number);
        let Some((x, y)) = at.zip(known(point)) else { continue };
        match lines.iter_mut().find(|line| line.name == name) {
            Some(line) => line.points.push((x, y.mean / scale)),
            None => lines.push(Line { name, points: vec![(x, y.mean / scale)] }),
        }
    }
    let first = tried.axes.first().cloned().unwrap_or_default();
    let mut places = lines.iter().flat_map(|line| &line.points);
    let is_positive = places.all(|(x, _)| *x > 0.0);
    LineChart {
        title: format!("{} by {first}", measure.name),
        description: format!("{} of each setting that was tried", measure.name),
        x: Axis {
            label: first,
            scale: if is_positive { Scale::Logarithmic } else { Scale::Linear },
        },
        y: Axis { label: format!("{}{unit}", measure.name), scale: Scale::Linear },
        lines,
    }
}
