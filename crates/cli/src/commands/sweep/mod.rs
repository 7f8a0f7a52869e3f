// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota sweep`: runs over axes of values, and what is the best of them.

mod args;

pub(crate) use args::SweepArgs;

use crate::error::{Error, Status};
use crate::output::{json, messages, sweep};
use crate::output_file::OutputFile;
use crate::progress;
use crate::stop::Stop;
use rota_sweep::{Aims, Done, Output, Rounds, Row, Runs, Sweep, Swept, Table};
use std::collections::HashMap;
use std::io::Write;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) fn run(args: &SweepArgs) -> Result<Status, Error> {
    let (sweep, datasets) = sort_out(&args.files)?;
    let aims = aims(args, sweep.as_deref())?;
    let (table, report) = match &sweep {
        Some(sweep) => runs(args, sweep, &datasets, &aims)?,
        None => merged(args, &datasets)?,
    };
    let baseline = baseline(args, sweep.as_deref());
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
fn sort_out(files: &[PathBuf]) -> Result<(Option<Arc<Sweep>>, Vec<PathBuf>), Error> {
    let (mut sweep, mut datasets) = (None, Vec::new());
    for file in files {
        match file.extension().and_then(|ending| ending.to_str()) {
            Some("toml") if sweep.is_none() => sweep = Some(Arc::new(Sweep::read(file)?)),
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
    Ok(Aims::parse(minimise, maximise, conditions)?)
}

/// Does what is missing, and writes all of it.
fn runs(
    args: &SweepArgs,
    sweep: &Arc<Sweep>,
    datasets: &[PathBuf],
    aims: &Aims,
) -> Result<(Table, sweep::Report), Error> {
    let stop = Stop::listen()?;
    let path = args.output.clone().unwrap_or_else(|| {
        let stem = sweep.file.file_stem().unwrap_or(sweep.file.as_os_str());
        Path::new(stem).with_extension("parquet")
    });
    let runs = Runs::new(Arc::clone(sweep), Box::new(messages::line))?;
    let judged = (aims, baseline(args, Some(sweep)));
    let mut rounds = Rounds::new(&runs, judged.0, judged.1)?;
    let mut known: HashMap<String, Row> = HashMap::new();
    for file in datasets {
        rota_sweep::add(&mut known, rota_sweep::dataset(file)?.rows());
    }
    let (mut output, kept) = Output::open(&path, &runs, &runs.cells(), &mut known)?;
    if kept > 0 {
        let part = output.part();
        messages::line(&format!("note: {}: goes on after {kept} runs", part.display()));
    }
    let threads = args.jobs.or(std::thread::available_parallelism().ok()).map_or(1, NonZero::get);
    let (flag, mut new) = (stop.flag(), 0);
    let mut keep = |row: &Row| {
        new += 1;
        output.keep(row)
    };
    let work = || -> Result<bool, Error> {
        loop {
            let cells = rounds.cells(&runs);
            let Done { rows, stopped } = runs.run(&cells, &known, (threads, &*flag), &mut keep)?;
            if stopped {
                return Ok(true);
            }
            if !rounds.end(&runs, judged, rows)? {
                return Ok(false);
            }
        }
    };
    if progress::show_position(&|| runs.position(), work)? {
        let ((done, all), part) = (runs.position(), output.part());
        return Err(Error::Failure(format!(
            "interrupted: {done} of {all} runs are kept in {}; the same command does the others",
            part.display()
        )));
    }
    let table = Table::new(rounds.rows().to_vec());
    write(&path, &table)?;
    output.remove_part();
    let report = sweep::Report::new(&table, &path, Some(new));
    Ok((table, report))
}

/// All runs of some datasets.
fn merged(args: &SweepArgs, datasets: &[PathBuf]) -> Result<(Table, sweep::Report), Error> {
    let mut table = Table::default();
    for file in datasets {
        table = table.merge(rota_sweep::dataset(file)?);
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
