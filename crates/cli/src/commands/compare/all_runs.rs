// SPDX-License-Identifier: MIT OR Apache-2.0
//! Does the runs of all cells that were not kept.

use super::kept::Kept;
use super::matrix::{self, Matrix};
use super::pictures::{Gather, Pictures};
use super::pool::{self, Done, Work};
use super::CompareArgs;
use crate::comparison::Run;
use crate::error::Error;
use crate::progress::{self, Clock};
use std::num::NonZero;
use std::sync::Arc;

/// What is wanted of runs with the first seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OfFirst {
    /// Pictures, too, if there is to be a report.
    Pictures,
    Numbers,
}

/// The runs of all cells, in their order: those that were kept, and the others, which are done
/// now. Pictures are of the first seed; as they are not kept, those runs are always done. Curves
/// are kept, so that a report can be made of runs that were kept without one.
pub(super) fn all_runs(
    args: &CompareArgs,
    matrix: &Arc<Matrix>,
    kept: &mut Kept,
    of_first: OfFirst,
) -> Result<(Vec<Run>, Vec<Option<Pictures>>), Error> {
    let cells = matrix.cells();
    let gather = |cell: &matrix::Cell| match (&args.report, &args.resume) {
        (Some(_), _) if cell.seed == 0 && of_first == OfFirst::Pictures => Gather::Pictures,
        (None, None) => Gather::Nothing,
        _ => Gather::Curves,
    };
    let mut known: Vec<Option<Run>> = cells.iter().map(|cell| kept.find(matrix, *cell)).collect();
    let is_todo = |(cell, run): (&matrix::Cell, &Option<Run>)| {
        let gather = gather(cell);
        (run.is_none() || gather == Gather::Pictures).then_some((*cell, gather))
    };
    let todo: Vec<(matrix::Cell, Gather)> = cells.iter().zip(&known).filter_map(is_todo).collect();

    let clock = Arc::new(Clock::default());
    let length_ns =
        |(cell, _): &(matrix::Cell, Gather)| matrix.stages[cell.stage].config.duration_ns;
    let total_ns = todo.iter().map(length_ns).fold(0, u64::saturating_add);
    let work = Work { matrix: Arc::clone(matrix), cells: todo.clone(), clock: Arc::clone(&clock) };
    let jobs = args.jobs.or(std::thread::available_parallelism().ok()).map_or(1, NonZero::get);
    let done = progress::show(&clock, total_ns, || pool::run(work, jobs, kept))?;

    let mut pictures: Vec<Option<Pictures>> = cells.iter().map(|_| None).collect();
    let mut done = done.into_iter().zip(&todo).peekable();
    for (at, cell) in cells.iter().enumerate() {
        if let Some((Done { run, pictures: picture }, _)) = done.next_if(|(_, t)| t.0 == *cell) {
            known[at] = Some(run);
            pictures[at] = picture;
        }
    }
    Ok((known.into_iter().flatten().collect(), pictures))
}
