// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota import`: what the trace of another tool holds.

mod json;
mod text;

use crate::error::{Error, Status, EXIT_CODES};
use crate::output;
use clap::{Args, ValueHint};
use rota_measure::{GroupNumbers, Numbers, Results, Summary};
use rota_trace::{Event, Sink};
use rota_trace_import::{open, Facts, ImportError};
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct ImportArgs {
    /// A trace: perf.data of `perf sched record`, trace.dat of trace-cmd, ftrace's or `perf script`'s
    /// text, a Perfetto trace, or what --trace FILE.csv wrote
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,

    /// Give every task a row, however many there are
    #[arg(long)]
    pub(crate) all_tasks: bool,

    /// Print one JSON object (schema rota.import/1)
    #[arg(long)]
    pub(crate) json: bool,
}

/// A trace that was read.
pub(crate) struct Import<'a> {
    file: &'a Path,
    facts: Facts,
    numbers: Numbers,
    /// Tasks of one name together.
    groups: Vec<GroupNumbers>,
}

pub(crate) fn run(args: &ImportArgs) -> Result<Status, Error> {
    let trace = open(&args.file)?;
    let cpus = match trace.header().cpus {
        Some(cpus) => cpus,
        // The records tell: they are read once for that.
        None => open(&args.file)?.read(&mut Nothing)?.cpus,
    };
    let mut summary = Summary::new(cpus);
    let facts = trace.read(&mut summary)?;
    let Results { numbers, groups, .. } = summary.finish_all(facts.duration_ns);
    let import = Import { file: &args.file, facts, numbers, groups };
    let mut out = output::stdout();
    if args.json {
        output::json::print(&mut out, &json::Trace::new(&import))?;
    } else {
        text::print(&mut out, &import, args.all_tasks)?;
    }
    out.flush()?;
    Ok(Status::Done)
}

/// Wants no event.
struct Nothing;

impl Sink for Nothing {
    fn event(&mut self, _: &Event) {}
}

impl From<ImportError> for Error {
    fn from(error: ImportError) -> Self {
        Error::input(error)
    }
}
