// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota compare`: workloads under several policies, each with several seeds.

mod args;
mod cell;
mod gates;
mod kept;
mod matrix;
mod pictures;
mod policies;
mod pool;
mod provenance;
mod report;

pub(crate) use args::CompareArgs;
pub(crate) use matrix::Matrix;
pub(crate) use policies::Wanted;

use crate::comparison::{Comparison, Run};
use crate::error::{Error, Status};
use crate::findings::{self, Findings};
use crate::gate::Judged;
use crate::load::Load;
use crate::output::{comparison, json, messages};
use crate::output_file::{self, OutputFile};
use crate::progress::{self, Clock};
use gates::Gates;
use kept::Kept;
use pictures::{Gather, Pictures};
use pool::{Done, Work};
use std::io::Write;
use std::num::NonZero;
use std::path::Path;
use std::sync::Arc;

pub(crate) fn run(args: &CompareArgs) -> Result<Status, Error> {
    let columns = comparison::columns(&args.metrics)?;
    let goals = findings::parse(&args.goal)?;
    let matrix = Arc::new(Matrix::new(args)?);
    let loads: Vec<&Load> = matrix.stages.iter().map(|stage| &*stage.load).collect();
    findings::check(&goals, &loads)?;
    let gates = Gates::new(args, &matrix, &loads)?;
    // Early, as nobody wants to run in vain; what is there stays until there is another.
    let provenance = args.report.as_ref().map(|_| provenance::of(&matrix)).transpose()?;
    let page = args.report.as_deref().map(OutputFile::create).transpose()?;
    let mut kept = Kept::open(args, &matrix)?;
    let (runs, pictures) = all_runs(args, &matrix, &mut kept)?;
    let comparison = matrix.comparison(&runs);
    let found = Findings::new(&comparison, &goals);
    let judged = gates.judge(&comparison);

    // Before it is printed: whoever reads that may have enough of it after a line.
    if let Some((page, path)) = page.zip(args.report.as_deref()) {
        let provenance = provenance.unwrap_or_default();
        let html =
            report::html((args, matrix.machine()), &comparison, &pictures, &found, provenance);
        page.finish_with(html.as_bytes())?;
        numbers_beside(path, &comparison, &found, &judged)?;
    }
    kept.finish();
    let mut out = crate::output::stdout();
    if args.json {
        json::print(&mut out, &comparison::json::Json::new(&comparison, &found, &judged))?;
    } else if args.csv {
        comparison::csv::write(&mut out, &comparison)?;
    } else {
        comparison::print(&mut out, &comparison, columns.as_deref())?;
        comparison::findings::print(&mut out, &comparison, &found)?;
    }
    out.flush()?;
    let status = tell(&comparison);
    Ok(if comparison::gates::tell(&comparison, &judged) { Status::Failed } else { status })
}

/// All numbers of a report, in files next to it.
fn numbers_beside(
    path: &Path,
    comparison: &Comparison<'_>,
    found: &Findings<'_>,
    judged: &[Judged],
) -> Result<(), Error> {
    let (mut json, mut csv) = (Vec::new(), Vec::new());
    json::print(&mut json, &comparison::json::Json::new(comparison, found, judged))?;
    output_file::write(&path.with_extension("json"), &json)?;
    comparison::csv::write(&mut csv, comparison)?;
    output_file::write(&path.with_extension("csv"), &csv)
}

/// The runs of all cells of a comparison, for whoever judges them.
pub(crate) fn runs_of(args: &CompareArgs, matrix: &Arc<Matrix>) -> Result<Vec<Run>, Error> {
    let mut kept = Kept::open(args, matrix)?;
    let (runs, _) = all_runs(args, matrix, &mut kept)?;
    kept.finish();
    Ok(runs)
}

/// Only writes the report that the arguments name.
pub(crate) fn report_of(args: &CompareArgs, matrix: &Arc<Matrix>) -> Result<(), Error> {
    let Some(path) = &args.report else { return Ok(()) };
    let goals = findings::parse(&args.goal)?;
    let provenance = provenance::of(matrix)?;
    let mut kept = Kept::open(args, matrix)?;
    let (runs, pictures) = all_runs(args, matrix, &mut kept)?;
    kept.finish();
    let comparison = matrix.comparison(&runs);
    let found = Findings::new(&comparison, &goals);
    let html = report::html((args, matrix.machine()), &comparison, &pictures, &found, provenance);
    output_file::write(path, html.as_bytes())?;
    numbers_beside(path, &comparison, &found, &[])
}

/// The runs of all cells, in their order: those that were kept, and the others, which are done
/// now. Pictures are of the first seed; as they are not kept, those runs are always done. Curves
/// are kept, so that a report can be made of runs that were kept without one.
fn all_runs(
    args: &CompareArgs,
    matrix: &Arc<Matrix>,
    kept: &mut Kept,
) -> Result<(Vec<Run>, Vec<Option<Pictures>>), Error> {
    let cells = matrix.cells();
    let gather = |cell: &matrix::Cell| match (&args.report, &args.resume) {
        (Some(_), _) if cell.seed == 0 => Gather::Pictures,
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

/// Names the policies that left before the end.
fn tell(comparison: &Comparison<'_>) -> Status {
    let mut status = Status::Done;
    for stage in &comparison.stages {
        for column in &stage.columns {
            let is_early = |run: &&&Run| !run.exit.is_whole();
            let early: Vec<&Run> = column.runs.iter().filter(is_early).copied().collect();
            let Some(first) = early.first() else { continue };
            let others = match early.len() - 1 {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let cpus = if first.cpus == 1 { "CPU" } else { "CPUs" };
            let (file, count, seed) = (&first.workload, first.cpus, first.seed);
            let runs = format!("{file}, {count} {cpus}, seed {seed}{others}");
            messages::exit_of(&column.policy.label, &runs, &first.exit.reason, first.exit.ejected);
            if early.iter().any(|run| run.exit.ejected) {
                status = Status::Ejected;
            }
        }
    }
    status
}
