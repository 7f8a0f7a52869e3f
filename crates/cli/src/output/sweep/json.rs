// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota sweep --json`.

use super::Report;
use rota_measure::catalogue;
use rota_sweep::{Fit, Swept, Value};
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Debug, Serialize)]
pub(crate) struct Json<'a> {
    schema: &'static str,
    dataset: &'a str,
    runs: usize,
    new_runs: Option<usize>,
    ejected: usize,
    /// What was looked for, and what was found; `null`: nothing was looked for.
    verdict: Option<Verdict<'a>>,
}

#[derive(Debug, Serialize)]
struct Verdict<'a> {
    objectives: Vec<Objective>,
    constraints: Vec<&'a str>,
    scenarios: &'a [String],
    baseline: Option<usize>,
    /// Places among the settings; of one objective the best alone.
    front: &'a [usize],
    /// Settings that are not significantly worse than the best, of one objective.
    as_good: usize,
    left_out: usize,
    settings: Vec<SettingJson<'a>>,
}

#[derive(Debug, Serialize)]
struct Objective {
    metric: &'static str,
    unit: &'static str,
    aim: &'static str,
}

#[derive(Debug, Serialize)]
pub(crate) struct SettingJson<'a> {
    policy: &'a str,
    set: BTreeMap<&'a str, &'a Value>,
    /// It was not ejected, has all numbers and fulfils what must hold.
    fits: bool,
    /// The first condition that does not hold, and where.
    fails: Option<Fails<'a>>,
    metrics: BTreeMap<&'static str, Metric>,
}

#[derive(Debug, Serialize)]
struct Fails<'a> {
    constraint: &'a str,
    scenario: &'a str,
    mean: f64,
    bound: f64,
}

#[derive(Debug, Serialize)]
struct Metric {
    mean: f64,
    half_width: Option<f64>,
    n: u32,
    /// To the baseline's mean.
    ratio: Option<f64>,
    /// Of such a difference from the baseline if there were none; of an objective, corrected for the
    /// number of settings.
    probability: Option<f64>,
}

impl<'a> Json<'a> {
    pub(crate) fn new(report: &'a Report, swept: Option<&'a Swept>) -> Self {
        Self {
            schema: "rota.sweep/1",
            dataset: &report.path,
            runs: report.runs,
            new_runs: report.new,
            ejected: report.ejected,
            verdict: swept.map(verdict),
        }
    }
}

fn verdict(swept: &Swept) -> Verdict<'_> {
    let objective = |of: &rota_sweep::Objective| Objective {
        metric: of.metric.key,
        unit: of.metric.unit.name(),
        aim: if of.maximised { "maximise" } else { "minimise" },
    };
    Verdict {
        objectives: swept.objectives.iter().map(objective).collect(),
        constraints: swept.constraints.iter().map(|of| of.text.as_str()).collect(),
        scenarios: &swept.scenarios,
        baseline: swept.baseline,
        front: &swept.front,
        as_good: swept.as_good(),
        left_out: swept.left_out,
        settings: (0..swept.settings.len()).map(|at| SettingJson::new(swept, at)).collect(),
    }
}

impl<'a> SettingJson<'a> {
    /// The setting at a place.
    pub(crate) fn new(swept: &'a Swept, at: usize) -> Self {
        let setting = &swept.settings[at];
        let metric = |measure: &'static catalogue::Measure| {
            let mean = setting.mean(measure)?;
            let relative = swept.relative(at, measure);
            let metric = Metric {
                mean: mean.mean,
                half_width: mean.half_width,
                n: mean.n,
                ratio: relative.and_then(|of| of.ratio),
                probability: relative.and_then(|of| of.probability),
            };
            Some((measure.key, metric))
        };
        let fails = match &setting.fit {
            Fit::Fails { constraint, scenario, mean, bound } => Some(Fails {
                constraint: &swept.constraints[*constraint].text,
                scenario: &swept.scenarios[*scenario],
                mean: *mean,
                bound: *bound,
            }),
            _ => None,
        };
        Self {
            policy: &setting.policy,
            set: setting.set.iter().map(|(name, value)| (name.as_str(), value)).collect(),
            fits: setting.fit == Fit::Fits,
            fails,
            metrics: catalogue::measures().iter().filter_map(metric).collect(),
        }
    }
}
