// SPDX-License-Identifier: MIT OR Apache-2.0
//! `--seeds auto`: more seeds, until what is printed is as precise as the user wants.
//!
//! An interval that is narrow enough to stop at still has its 95 %, in the limit of narrow ones:
//! Y. S. Chow, H. Robbins, *On the Asymptotic Theory of Fixed-Width Sequential Confidence Intervals
//! for the Mean*, Annals of Mathematical Statistics 36, 1965. It begins with several seeds, so that
//! two that are alike by chance do not end it.

use super::all_runs::{all_runs, OfFirst};
use super::kept::Kept;
use super::matrix::{Cell, Matrix};
use super::pictures::Pictures;
use super::precision::{widest, Wide};
use super::seeds::Seeds;
use super::CompareArgs;
use crate::comparison::Run;
use crate::error::Error;
use crate::output::messages;
use rota_measure::catalogue::Measure;
use std::sync::Arc;

/// As many as it takes, but no more than these.
const MOST: u32 = 200;

/// All runs, with pictures of those of the first seed.
pub(super) struct Done {
    pub(super) matrix: Arc<Matrix>,
    pub(super) runs: Vec<Run>,
    pub(super) pictures: Vec<Option<Pictures>>,
}

/// Does the runs of a comparison, with more seeds if these are to be enough.
pub(super) fn enough(
    args: &CompareArgs,
    matrix: Arc<Matrix>,
    kept: &mut Kept,
    columns: Option<&[&'static Measure]>,
) -> Result<Done, Error> {
    let (runs, pictures) = all_runs(args, &matrix, kept, OfFirst::Pictures)?;
    let mut done = Done { matrix, runs, pictures };
    if args.seeds != Seeds::Auto {
        return Ok(done);
    }
    loop {
        let comparison = done.matrix.comparison(&done.runs);
        let wide = widest(&comparison, columns);
        let seeds = done.matrix.seeds.len() as u32;
        let Some(wide) = wide.filter(|wide| wide.part > args.precision.part()) else {
            messages::line(&format!(
                "note: {seeds} seeds: all columns are known within {}",
                args.precision
            ));
            return Ok(done);
        };
        if seeds >= MOST {
            messages::warning(&too_wide(&wide, seeds, args));
            return Ok(done);
        }
        done = more(args, done, (seeds + seeds.div_ceil(2)).min(MOST), kept)?;
    }
}

fn too_wide(wide: &Wide, seeds: u32, args: &CompareArgs) -> String {
    let Wide { workload, policy, metric, part } = wide;
    format!(
        "{seeds} seeds, and no more are run: {metric} of {policy} on {workload} is known within \
         {:.1} % only, not within {}",
        100.0 * part,
        args.precision
    )
}

/// The same with so many seeds.
fn more(args: &CompareArgs, had: Done, seeds: u32, kept: &mut Kept) -> Result<Done, Error> {
    let Done { matrix, runs, pictures } = had;
    let first_cells = matrix.cells();
    let matrix = Arc::new(matrix.as_ref().with_seeds(seeds)?);
    for run in runs {
        kept.remember(run);
    }
    let (runs, _) = all_runs(args, &matrix, kept, OfFirst::Numbers)?;
    let mut of_first: Vec<(Cell, Pictures)> =
        first_cells.into_iter().zip(pictures).filter_map(|(cell, p)| Some((cell, p?))).collect();
    let place = |cell: &Cell| {
        let at = of_first.iter().position(|(of, _)| of == cell)?;
        Some(of_first.swap_remove(at).1)
    };
    let pictures = matrix.cells().iter().map(place).collect();
    Ok(Done { matrix, runs, pictures })
}
