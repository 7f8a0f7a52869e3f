// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `rota tune` prints and draws.

use super::table;
use super::units::time;
use crate::error::Error;
use crate::tuned::{Point, Tuned};
use rota_measure::catalogue::{Measure, Unit};
use rota_measure::statistics::{estimate, Estimate, SIGNIFICANCE};
use rota_report::chart::{Axis, Line, LineChart, Scale};
use serde::Serialize;
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
    seeds: u32,
    first_seed: u64,
    best: JsonBest<'a>,
    /// As it ships, with the same seeds as the best.
    shipped: Option<JsonEstimate>,
    /// Of such a difference between the best and that if there were none.
    probability: Option<f64>,
    points: Vec<JsonPoint<'a>>,
}

#[derive(Debug, Serialize)]
struct JsonBest<'a> {
    alpha: f64,
    beta: &'a str,
    #[serde(flatten)]
    estimate: JsonEstimate,
}

#[derive(Debug, Serialize)]
struct JsonPoint<'a> {
    alpha: f64,
    beta: &'a str,
    /// By seed of the search; `null`: ejected, or no such number.
    values: &'a [Option<f64>],
}

#[derive(Debug, Serialize)]
struct JsonEstimate {
    mean: f64,
    half_width: Option<f64>,
    n: u32,
}

impl From<Estimate> for JsonEstimate {
    fn from(of: Estimate) -> Self {
        Self { mean: of.mean, half_width: of.half_width, n: of.n }
    }
}

impl<'a> Json<'a> {
    pub(crate) fn new(tuned: &'a Tuned) -> Self {
        let beta = |point: &Point| tuned.betas[point.beta].as_str();
        let point =
            |of: &'a Point| JsonPoint { alpha: of.alpha, beta: beta(of), values: &of.values };
        Self {
            schema: "rota.tune/1",
            policy: &tuned.policy,
            workload: &tuned.workload,
            measure: tuned.measure.key,
            unit: tuned.measure.unit.name(),
            aim: aim(tuned),
            seeds: tuned.seeds,
            first_seed: tuned.first_seed,
            best: JsonBest {
                alpha: tuned.best.alpha,
                beta: beta(&tuned.best),
                estimate: tuned.judged.into(),
            },
            shipped: tuned.shipped.map(JsonEstimate::from),
            probability: tuned.probability,
            points: tuned.points.iter().map(point).collect(),
        }
    }
}

fn aim(tuned: &Tuned) -> &'static str {
    if tuned.maximised {
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

/// What is known of a point; `None`: it was ejected.
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

fn gain(tuned: &Tuned, shipped: &Estimate) -> Gain {
    let is_more = tuned.judged.mean > shipped.mean;
    match tuned.probability {
        Some(p) if p < SIGNIFICANCE && is_more == tuned.maximised => Gain::Better,
        Some(p) if p < SIGNIFICANCE => Gain::Worse,
        _ => Gain::Unknown,
    }
}

/// Tables for people.
pub(crate) fn print(out: &mut dyn Write, tuned: &Tuned) -> Result<(), Error> {
    let Tuned { policy, workload, measure, .. } = tuned;
    let (aim, label) = (aim(tuned), measure.name);
    writeln!(out, "{policy}, {workload}: {aim} {} ({label})\n", measure.key)?;
    let is_best = |point: &Point| point.alpha == tuned.best.alpha && point.beta == tuned.best.beta;
    // The best of the search is no gain by that: it may lie within noise of what ships.
    let is_gain = tuned.shipped.is_none_or(|shipped| gain(tuned, &shipped) == Gain::Better);
    let is_marked = |point: &Point| is_gain && is_best(point);
    print_points(out, &tuned.points, &tuned.betas, measure, &is_marked)?;
    let first = tuned.first_seed + u64::from(tuned.seeds);
    let last = first + u64::from(tuned.seeds) - 1;
    let (alpha, beta) = (tuned.best.alpha, &tuned.betas[tuned.best.beta]);
    let judged = with_width(measure.unit, &tuned.judged);
    writeln!(out, "\nbest: alpha={alpha} beta={beta}: {judged} with seeds {first} to {last}")?;
    if let Some(shipped) = &tuned.shipped {
        let found = match gain(tuned, shipped) {
            Gain::Better => "the best is better, significant at 5 % (paired t-test)",
            Gain::Worse => "the best is worse, significant at 5 % (paired t-test)",
            Gain::Unknown => "no significant difference at 5 % (paired t-test)",
        };
        writeln!(out, "as it ships: {}: {found}", with_width(measure.unit, shipped))?;
    }
    Ok(())
}

/// A row for each setting that was tried.
pub(crate) fn print_points(
    out: &mut dyn Write,
    points: &[Point],
    betas: &[String],
    measure: &Measure,
    is_marked: &dyn Fn(&Point) -> bool,
) -> Result<(), Error> {
    let row = |point: &Point| {
        let mean = known(point).map_or("ejected".into(), |of| with_width(measure.unit, &of));
        let mark = if is_marked(point) { "*" } else { "" };
        let (beta, seeds) = (betas[point.beta].clone(), point.values.len().to_string());
        vec![beta, point.alpha.to_string(), seeds, mean, mark.into()]
    };
    let header = ["beta", "alpha", "seeds", measure.name, ""];
    for line in table::lines(&header, 0, points.iter().map(row).collect()) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// The measure over alpha.
pub(crate) fn picture(tuned: &Tuned) -> LineChart {
    let scale = if tuned.measure.unit == Unit::Ns { 1e6 } else { 1.0 };
    let unit = if tuned.measure.unit == Unit::Ns { " (ms)" } else { "" };
    let line = |(at, beta): (usize, &String)| {
        let own = tuned.points.iter().filter(|point| point.beta == at);
        let points = own.filter_map(|point| Some((point.alpha, known(point)?.mean / scale)));
        Line { name: format!("beta {beta}"), points: points.collect() }
    };
    LineChart {
        title: format!("{} by alpha", tuned.measure.name),
        description: format!("{} of {} under {}", tuned.measure.name, tuned.workload, tuned.policy),
        x: Axis { label: "alpha".into(), scale: Scale::Logarithmic },
        y: Axis { label: format!("{}{unit}", tuned.measure.name), scale: Scale::Linear },
        lines: tuned.betas.iter().enumerate().map(line).collect(),
    }
}
