// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota compare`: workloads under several policies, each with several seeds.

mod all_runs;
mod args;
mod cell;
mod enough;
mod gates;
mod kept;
mod matrix;
mod pictures;
mod policies;
mod pool;
mod precision;
mod provenance;
mod report;
mod seeds;

pub(crate) use args::CompareArgs;
pub(crate) use matrix::Matrix;
pub(crate) use policies::names_policy;

use crate::comparison::{Comparison, Run};
use crate::error::{Error, Status};
use crate::findings::{self, Findings};
use crate::gate::Judged;
use crate::load::Load;
use crate::output::{comparison, json, messages};
use crate::output_file::{self, OutputFile};
use all_runs::{all_runs, OfFirst};
use gates::Gates;
use kept::Kept;
use std::io::Write;
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
    let done = enough::enough(args, Arc::clone(&matrix), &mut kept, columns.as_deref())?;
    let enough::Done { matrix, runs, pictures } = done;
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
    let (runs, _) = all_runs(args, matrix, &mut kept, OfFirst::Pictures)?;
    kept.finish();
    Ok(runs)
}

/// Only writes the report that the arguments name.
pub(crate) fn report_of(args: &CompareArgs, matrix: &Arc<Matrix>) -> Result<(), Error> {
    let Some(path) = &args.report else { return Ok(()) };
    let goals = findings::parse(&args.goal)?;
    let provenance = provenance::of(matrix)?;
    let mut kept = Kept::open(args, matrix)?;
    let (runs, pictures) = all_runs(args, matrix, &mut kept, OfFirst::Pictures)?;
    kept.finish();
    let comparison = matrix.comparison(&runs);
    let found = Findings::new(&comparison, &goals);
    let html = report::html((args, matrix.machine()), &comparison, &pictures, &found, provenance);
    output_file::write(path, html.as_bytes())?;
    numbers_beside(path, &comparison, &found, &[])
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
