// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the figures of a report are drawn from, gathered during one run.

use crate::load::Load;
use rota_measure::{FigureSink, Figures, Rows};
use rota_report::html::model::Slices;
use rota_report::html::SliceSink;
use std::collections::HashSet;

/// With more tasks than this, instances of one task share a row.
const MOST_TASKS: usize = 40;
/// Slices of the timeline at most: then it ends early.
const MOST_SLICES: usize = 40_000;

/// Who ran when, and curves over time.
pub(crate) struct Pictures {
    pub(crate) figures: Figures,
    pub(crate) timeline: Slices,
}

/// What is gathered of a run besides its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gather {
    Nothing,
    /// Curves of distributions.
    Curves,
    /// Curves, and all that figures are drawn from.
    Pictures,
}

/// What gathers [`Pictures`] of a run of this workload.
pub(crate) fn sinks(load: &Load, cpus: u32) -> (FigureSink, SliceSink) {
    let rows = Rows::new(rows(load));
    let slices = SliceSink::new(cpus, rows.names().iter().cloned(), MOST_SLICES);
    (FigureSink::new(rows), slices)
}

/// Names of the rows: tasks that there are at the beginning, unless there are too many of them,
/// and kinds of tasks.
fn rows(load: &Load) -> Vec<String> {
    let workload = &load.workload;
    let instances =
        if workload.tasks.len() <= MOST_TASKS { workload.tasks.as_slice() } else { &[] };
    let covered: HashSet<&str> = instances.iter().map(|task| workload.name_of(task)).collect();
    // One whose instances have rows already needs none itself; one that is only forked does.
    let kinds = workload.task_names().filter(|kind| !covered.contains(kind));
    let names = instances.iter().map(|task| task.name.as_str());
    names.chain(kinds).map(str::to_owned).collect()
}
