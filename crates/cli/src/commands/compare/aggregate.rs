// SPDX-License-Identifier: MIT OR Apache-2.0
//! From single runs to what is said of a policy: means, intervals, and who is best.

use super::cell::{Result as Run, Tasks};
use super::matrix::{Matrix, Policy};
use super::policies::Baseline;
use super::CompareArgs;
use crate::simulation::Load;
use rota_machine::config::Config;
use rota_measure::baseline::{self, Relative};
use rota_measure::catalogue::{self, Measure};
use rota_measure::statistics::{self, Estimate};
use rota_object::image::Image;
use std::collections::BTreeMap;

/// Everything that is printed.
pub(crate) struct Comparison<'a> {
    pub(crate) args: &'a CompareArgs,
    pub(crate) measures: &'static [Measure],
    pub(crate) policies: &'a [Policy],
    pub(crate) baseline: Option<Baseline>,
    pub(crate) seeds: &'a [u64],
    pub(crate) stages: Vec<Stage<'a>>,
}

/// A workload on a machine.
pub(crate) struct Stage<'a> {
    pub(crate) load: &'a Load,
    pub(crate) config: &'a Config,
    /// One for each policy.
    pub(crate) columns: Vec<Column<'a>>,
    /// All seeds gave the same numbers, and there were several.
    pub(crate) is_alike: bool,
}

/// A policy there.
pub(crate) struct Column<'a> {
    pub(crate) policy: &'a Policy,
    pub(crate) image: &'a Image,
    /// One for each seed.
    pub(crate) runs: Vec<&'a Run>,
    /// One for each measure, of runs that were not ejected.
    pub(crate) cells: Vec<Option<Cell>>,
    /// Of instances of one task together.
    pub(crate) tasks: Vec<(&'a str, BTreeMap<&'a str, Estimate>)>,
}

/// A measure of a policy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cell {
    pub(crate) estimate: Estimate,
    /// Significantly the best of all policies.
    pub(crate) best: bool,
    /// Beside the baseline; `None`: this is it, or there is none, or one of the two has no number.
    pub(crate) relative: Option<Relative>,
}

impl Column<'_> {
    /// Runs from which the policy was thrown out.
    pub(crate) fn ejected(&self) -> impl Iterator<Item = &Run> {
        self.runs.iter().filter(|run| run.exit.ejected).copied()
    }
}

impl<'a> Comparison<'a> {
    /// Of the runs of all cells, in their order.
    pub(crate) fn new(args: &'a CompareArgs, matrix: &'a Matrix, runs: &'a [Run]) -> Self {
        let per_stage = matrix.policies.len() * matrix.seeds.len();
        let stages = matrix.stages.iter().zip(runs.chunks(per_stage));
        let stages = stages.map(|(stage, runs)| {
            let columns = matrix.policies.iter().enumerate().map(|(at, policy)| {
                let runs = runs.iter().skip(at).step_by(matrix.policies.len()).collect();
                column(policy, stage.objects[at].policy.image(), runs)
            });
            let mut columns: Vec<Column<'a>> = columns.collect();
            mark_best(&mut columns);
            if let Some(Baseline { at, .. }) = matrix.baseline {
                set_against(&mut columns, at);
            }
            let is_alike = matrix.seeds.len() > 1 && columns.iter().all(is_alike);
            Stage { load: &stage.load, config: &stage.config, columns, is_alike }
        });
        Comparison {
            args,
            measures: catalogue::measures(),
            policies: &matrix.policies,
            baseline: matrix.baseline,
            seeds: &matrix.seeds,
            stages: stages.collect(),
        }
    }
}

fn column<'a>(policy: &'a Policy, image: &'a Image, runs: Vec<&'a Run>) -> Column<'a> {
    let whole: Vec<&Run> = runs.iter().filter(|run| !run.exit.ejected).copied().collect();
    let cell = |measure: &Measure| {
        let values = whole.iter().filter_map(|run| run.measures.get(measure.key).copied());
        let estimate = statistics::estimate(&values.collect::<Vec<f64>>())?;
        Some(Cell { estimate, best: false, relative: None })
    };
    let cells = catalogue::measures().iter().map(cell).collect();
    let tasks = of_tasks(&whole);
    Column { policy, image, runs, cells, tasks }
}

/// Means over the runs, for every task that one of them had.
fn of_tasks<'a>(runs: &[&'a Run]) -> Vec<(&'a str, BTreeMap<&'a str, Estimate>)> {
    let mut names: Vec<&str> = Vec::new();
    let mut values: BTreeMap<(&str, &str), Vec<f64>> = BTreeMap::new();
    for Tasks { name, measures } in runs.iter().flat_map(|run| &run.tasks) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
        for (key, value) in measures {
            values.entry((name, key)).or_default().push(*value);
        }
    }
    let of_task = |name: &'a str| {
        let own = values.range((name, "")..).take_while(move |((of, _), _)| *of == name);
        let means = own.filter_map(|((_, key), of)| Some((*key, statistics::estimate(of)?)));
        (name, means.collect())
    };
    names.into_iter().map(of_task).collect()
}

fn mark_best(columns: &mut [Column<'_>]) {
    for (at, measure) in catalogue::measures().iter().enumerate() {
        if let Some(best) = statistics::winner(&values(columns, measure), measure.better) {
            if let Some(cell) = &mut columns[best].cells[at] {
                cell.best = true;
            }
        }
    }
}

fn set_against(columns: &mut [Column<'_>], baseline: usize) {
    for (at, measure) in catalogue::measures().iter().enumerate() {
        let compared = baseline::against(&values(columns, measure), baseline);
        for (column, relative) in columns.iter_mut().zip(compared) {
            if let Some(cell) = &mut column.cells[at] {
                cell.relative = relative;
            }
        }
    }
}

/// Of each policy, by seed.
fn values(columns: &[Column<'_>], measure: &Measure) -> Vec<Vec<Option<f64>>> {
    columns.iter().map(|column| column.values(measure)).collect()
}

impl Column<'_> {
    /// By seed, for comparison with others; none of a policy that was ever ejected.
    fn values(&self, measure: &Measure) -> Vec<Option<f64>> {
        if self.ejected().next().is_some() {
            return vec![None; self.runs.len()];
        }
        self.runs.iter().map(|run| run.measures.get(measure.key).copied()).collect()
    }
}

fn is_alike(column: &Column<'_>) -> bool {
    column.runs.windows(2).all(|pair| {
        (&pair[0].measures, &pair[0].tasks, &pair[0].exit, pair[0].duration_ns)
            == (&pair[1].measures, &pair[1].tasks, &pair[1].exit, pair[1].duration_ns)
    })
}
