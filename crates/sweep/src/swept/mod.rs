// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a sweep found: the settings that were tried, which of them fulfil what must hold, and which
//! are the best.

mod judge;

pub(crate) use judge::NONE_ALIKE;

use crate::aim::{Bound, Sign};
use crate::value::Value;
use rota_measure::baseline::{self, Relative};
use rota_measure::catalogue::{self, Measure};
use rota_measure::statistics::{estimate, Estimate};

/// What a sweep found.
#[derive(Debug)]
pub struct Swept {
    /// Settings that ran under all conditions.
    pub settings: Vec<Setting>,
    /// How many others there were.
    pub left_out: usize,
    /// Workloads on machines, on each of which every setting ran.
    pub scenarios: Vec<String>,
    /// The place of the setting that others are compared with.
    pub baseline: Option<usize>,
    /// What was looked for: the metrics that there are.
    pub objectives: Vec<Objective>,
    /// What must hold.
    pub constraints: Vec<Constraint>,
    /// Those that fit and are not surpassed by another one in all objectives, the best in the first
    /// objective first. Of a single objective, it is the best alone.
    pub front: Vec<usize>,
    relatives: Vec<Vec<Option<Relative>>>,
}

/// Of which one of two values is wanted.
#[derive(Clone, Copy, Debug)]
pub struct Objective {
    /// The metric.
    pub metric: &'static Measure,
    /// More of it is wanted.
    pub maximised: bool,
}

/// What must hold in each scenario.
#[derive(Clone, Debug)]
pub struct Constraint {
    /// As the user wrote it.
    pub text: String,
    /// What is compared.
    pub metric: &'static Measure,
    /// How.
    pub sign: Sign,
    /// With what.
    pub bound: Bound,
}

/// A policy with values of its tunables.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Its label.
    pub policy: String,
    /// Its tunables that were swept over.
    pub set: Vec<(String, Value)>,
    /// For each metric of the catalogue, by conditions: scenarios and seeds.
    pub values: Vec<Vec<Option<f64>>>,
    /// Whether it can be chosen.
    pub fit: Fit,
}

/// Whether a setting can be chosen.
#[derive(Clone, Debug, PartialEq)]
pub enum Fit {
    /// It can.
    Fits,
    /// In so many runs.
    Ejected(usize),
    /// Of one objective or constraint there is no number.
    Lacks(&'static str),
    /// The place of a constraint, and where and by what it fails.
    Fails {
        /// Its place.
        constraint: usize,
        /// The place of the scenario.
        scenario: usize,
        /// The setting's mean there.
        mean: f64,
        /// What it was compared with.
        bound: f64,
    },
}

impl Setting {
    /// `pbs alpha=0.5 beta=-3`.
    pub fn name(&self) -> String {
        let set = self.set.iter().map(|(name, value)| format!(" {name}={value}"));
        std::iter::once(self.policy.clone()).chain(set).collect()
    }

    /// Over all conditions; `None`: one of them has no number.
    pub fn mean(&self, metric: &Measure) -> Option<Estimate> {
        let values = self.values_of(metric);
        estimate(&values.iter().copied().collect::<Option<Vec<f64>>>()?)
    }

    /// By conditions.
    pub fn values_of(&self, metric: &Measure) -> &[Option<f64>] {
        let at = catalogue::measures().iter().position(|other| other.key == metric.key);
        at.map_or(&[], |at| &self.values[at])
    }
}

impl Swept {
    /// The best, if there is one objective.
    pub fn winner(&self) -> Option<usize> {
        self.front.first().copied().filter(|_| self.objectives.len() == 1)
    }

    /// All settings, the best in the first objective first; those that cannot be chosen are last.
    pub fn order(&self) -> Vec<usize> {
        let Some(objective) = self.objectives.first() else { return Vec::new() };
        let sign = if objective.maximised { -1.0 } else { 1.0 };
        let keyed = self.settings.iter().enumerate().map(|(at, setting)| {
            let mean = setting.mean(objective.metric).map_or(f64::INFINITY, |of| sign * of.mean);
            (at, setting.fit != Fit::Fits, mean)
        });
        let mut keyed: Vec<(usize, bool, f64)> = keyed.collect();
        keyed.sort_by(|one, other| one.1.cmp(&other.1).then(one.2.total_cmp(&other.2)));
        keyed.into_iter().map(|(at, ..)| at).collect()
    }

    /// A setting next to the baseline. Of an objective, it is corrected for the number of settings.
    pub fn relative(&self, at: usize, metric: &Measure) -> Option<Relative> {
        let baseline = self.baseline.filter(|baseline| *baseline != at)?;
        if let Some(of) = self.objectives.iter().position(|of| of.metric.key == metric.key) {
            return self.relatives[of][at];
        }
        let values = |at: usize| self.settings[at].values_of(metric).to_vec();
        baseline::against(&[values(at), values(baseline)], 1)[0]
    }

    /// All settings next to the baseline, for each objective.
    fn relatives(&self) -> Vec<Vec<Option<Relative>>> {
        let Some(baseline) = self.baseline else { return Vec::new() };
        let of = |objective: &Objective| {
            let values = self.settings.iter().map(|of| of.values_of(objective.metric).to_vec());
            baseline::against(&values.collect::<Vec<_>>(), baseline)
        };
        self.objectives.iter().map(of).collect()
    }

    /// How many settings that fit are not significantly worse than the best.
    pub fn as_good(&self) -> usize {
        let (Some(winner), Some(objective)) = (self.winner(), self.objectives.first()) else {
            return 0;
        };
        let fitting: Vec<usize> =
            (0..self.settings.len()).filter(|at| self.settings[*at].fit == Fit::Fits).collect();
        let values: Vec<Vec<Option<f64>>> = fitting
            .iter()
            .map(|at| self.settings[*at].values_of(objective.metric).to_vec())
            .collect();
        let Some(own) = fitting.iter().position(|at| *at == winner) else { return 0 };
        let all = baseline::against(&values, own);
        all.iter().flatten().filter(|relative| relative.is_significant() != Some(true)).count()
    }
}
