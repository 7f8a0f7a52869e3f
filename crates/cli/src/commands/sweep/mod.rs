// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota sweep`: runs over axes of values, and what is the best of them.

mod args;
mod datasets;
mod rounds;

pub(crate) use args::SweepArgs;

use crate::aim::Aims;
use crate::error::{Error, Status};
use crate::output::{json, messages, sweep};
use crate::output_file::OutputFile;
use crate::progress;
use crate::stop::Stop;
use crate::swept::Swept;
use datasets::Known;
use rota_sweep::{Cell, Done, Journal, Runs, Sweep, Table};
use std::io::Write;
use std::num::NonZero;
use std::path::{Path, PathBuf};

pub(crate) fn run(args: &SweepArgs) -> Result<Status, Error> {
    let (sweep, datasets) = sort_out(&args.files)?;
    let aims = aims(args, sweep.as_ref())?;
    let (table, report) = match &sweep {
        Some(sweep) => runs(args, sweep, &datasets, &aims)?,
        None => merged(args, &datasets)?,
    };
    let baseline = baseline(args, sweep.as_ref());
    let swept = match aims.objectives.is_empty() {
        true => None,
        false => Some(Swept::new(&table, &aims, baseline)?),
    };
    let mut out = crate::output::stdout();
    match args.json {
        true => json::print(&mut out, &sweep::json::Json::new(&report, swept.as_ref()))?,
        false => sweep::print(&mut out, &report, swept.as_ref())?,
    }
    out.flush()?;
    Ok(Status::Done)
}

/// The sweep's file, and the datasets.
fn sort_out(files: &[PathBuf]) -> Result<(Option<Sweep>, Vec<PathBuf>), Error> {
    let (mut sweep, mut datasets) = (None, Vec::new());
    for file in files {
        match file.extension().and_then(|ending| ending.to_str()) {
            Some("toml") if sweep.is_none() => sweep = Some(Sweep::read(file)?),
            Some("toml") => {
                let file = file.display();
                return Err(Error::input(format!("{file}: expected one SWEEP.toml, not two")));
            }
            Some("parquet") => datasets.push(file.clone()),
            _ => {
                return Err(Error::input(format!(
                    "{}: expected a SWEEP.toml or datasets, RUNS.parquet",
                    file.display()
                )))
            }
        }
    }
    Ok((sweep, datasets))
}

/// The policy that settings are compared with.
fn baseline<'a>(args: &'a SweepArgs, sweep: Option<&'a Sweep>) -> Option<&'a str> {
    let own = sweep.and_then(|sweep| Some(&sweep.policies[sweep.baseline?].label));
    args.baseline.as_ref().or(own).map(String::as_str)
}

/// Those of the command line; of a kind that is not there, the file's.
fn aims(args: &SweepArgs, sweep: Option<&Sweep>) -> Result<Aims, Error> {
    let of_file = sweep.map(|sweep| sweep.aims.clone()).unwrap_or_default();
    let is_asked = !args.minimise.is_empty() || !args.maximise.is_empty();
    let (minimise, maximise) = match is_asked {
        true => (&args.minimise, &args.maximise),
        false => (&of_file.minimise, &of_file.maximise),
    };
    let conditions = match args.subject_to.is_empty() {
        true => &of_file.subject_to,
        false => &args.subject_to,
    };
    Aims::parse(minimise, maximise, conditions)
}

/// Does what is missing, and writes all of it.
fn runs(
    args: &SweepArgs,
    sweep: &Sweep,
    datasets: &[PathBuf],
    aims: &Aims,
) -> Result<(Table, sweep::Report), Error> {
    let stop = Stop::listen()?;
    let path = args.output.clone().unwrap_or_else(|| {
        let stem = sweep.file.file_stem().unwrap_or(sweep.file.as_os_str());
        Path::new(stem).with_extension("parquet")
    });
    let runs = Runs::new(sweep, Box::new(messages::line))?;
    let cells = runs.cells();
    let mut known = Known::default();
    for file in datasets {
        known.add(&datasets::read(file)?);
    }
    if path.exists() {
        let own = datasets::read(&path)?;
        datasets::is_ours(&path, &own, &runs, &cells)?;
        known.add(&own);
    }
    let (mut journal, rows) = datasets::journal(&path)?;
    known.add(&Table::new(rows));
    let threads = args.jobs.or(std::thread::available_parallelism().ok()).map_or(1, NonZero::get);
    let (flag, mut new) = (stop.flag(), 0);
    let mut keep = |row: &rota_sweep::Row| {
        new += 1;
        let cannot = |e| rota_session::Error::Failure(format!("cannot keep runs: {e}"));
        journal.add(row).map_err(cannot)
    };
    let mut round =
        |cells: &[Cell]| Ok(runs.run(cells, &known.rows, (threads, &*flag), &mut keep)?);
    let judged = (aims, baseline(args, Some(sweep)));
    let work = || rounds::all((sweep, &runs), judged, &mut round);
    let Done { rows, stopped } = progress::show_position(&|| runs.position(), work)?;
    if stopped {
        let (done, (_, all), part) = (rows.len(), runs.position(), datasets::part(&path));
        return Err(Error::Failure(format!(
            "interrupted: {done} of {all} runs are kept in {}; the same command does the others",
            part.display()
        )));
    }
    let table = Table::new(rows);
    write(&path, &table)?;
    remove(journal);
    let report = sweep::Report::new(&table, &path, Some(new));
    Ok((table, report))
}

/// All runs of some datasets.
fn merged(args: &SweepArgs, datasets: &[PathBuf]) -> Result<(Table, sweep::Report), Error> {
    let mut table = Table::default();
    for file in datasets {
        table = table.merge(datasets::read(file)?);
    }
    match (&args.output, datasets) {
        (Some(path), _) => {
            write(path, &table)?;
            let report = sweep::Report::new(&table, path, None);
            Ok((table, report))
        }
        (None, [one]) => {
            let report = sweep::Report::new(&table, one, None);
            Ok((table, report))
        }
        (None, _) => Err(Error::input("expected -o FILE.parquet for what is merged")),
    }
}

fn write(path: &Path, table: &Table) -> Result<(), Error> {
    let failed = |e| Error::Failure(format!("cannot write {}: {e}", path.display()));
    let bytes = rota_sweep::write(table, Vec::new()).map_err(failed)?;
    OutputFile::create(path)?.finish_with(&bytes)
}

/// What it has is in the dataset; if it stays, the next run finds nothing new in it.
fn remove(journal: Journal) {
    let _ = journal.remove();
}
