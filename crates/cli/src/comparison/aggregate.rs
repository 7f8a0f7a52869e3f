// SPDX-License-Identifier: MIT OR Apache-2.0
//! From single runs to what is said of a policy: means, intervals, and who is best.

use super::{Cell, Column, Policy, Run, Stage, Tasks};
use crate::load::Load;
use rota_machine::config::Config;
use rota_measure::baseline;
use rota_measure::catalogue::{self, Measure};
use rota_measure::statistics::{self, Estimate};
use std::collections::BTreeMap;

impl<'a> Stage<'a> {
    /// Of columns that are set against the one at `baseline`.
    pub(crate) fn new(
        load: &'a Load,
        config: &'a Config,
        mut columns: Vec<Column<'a>>,
        baseline: Option<usize>,
    ) -> Self {
        mark_best(&mut columns);
        if let Some(at) = baseline {
            set_against(&mut columns, at);
        }
        let several_seeds = columns.iter().any(|column| column.runs.len() > 1);
        let is_alike = several_seeds && columns.iter().all(is_alike);
        Stage { load, config, columns, is_alike }
    }
}

impl<'a> Column<'a> {
    /// Of the runs of a policy, one for each seed.
    pub(crate) fn new(
        policy: &'a Policy,
        object: &'a rota_sim::Policy,
        runs: Vec<&'a Run>,
    ) -> Self {
        let whole: Vec<&Run> = runs.iter().filter(|run| !run.exit.ejected).copied().collect();
        let cell = |measure: &Measure| {
            let values = whole.iter().filter_map(|run| run.measures.get(measure.key).copied());
            let estimate = statistics::estimate(&values.collect::<Vec<f64>>())?;
            Some(Cell { estimate, best: false, relative: None })
        };
        let cells = catalogue::measures().iter().map(cell).collect();
        let tasks = of_tasks(&whole);
        let (image, origin) = (object.image().as_ref(), object.origin());
        Column { policy, image, origin, runs, cells, tasks }
    }
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
    pub(crate) fn values(&self, measure: &Measure) -> Vec<Option<f64>> {
        if self.ejected().next().is_some() {
            return vec![None; self.runs.len()];
        }
        self.runs.iter().map(|run| run.measures.get(measure.key).copied()).collect()
    }

    /// As [`Column::values`], of the instances of one task.
    pub(crate) fn task_values(&self, task: &str, key: &str) -> Vec<Option<f64>> {
        if self.ejected().next().is_some() {
            return vec![None; self.runs.len()];
        }
        let of = |run: &&Run| {
            let own = run.tasks.iter().find(|tasks| tasks.name == task)?;
            own.measures.get(key).copied()
        };
        self.runs.iter().map(of).collect()
    }
}

fn is_alike(column: &Column<'_>) -> bool {
    column.runs.windows(2).all(|pair| {
        (&pair[0].measures, &pair[0].tasks, &pair[0].exit, pair[0].duration_ns)
            == (&pair[1].measures, &pair[1].tasks, &pair[1].exit, pair[1].duration_ns)
    })
}
