// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota import`: what the trace of another tool holds.

mod first;
mod json;
mod text;

use crate::complete;
use crate::error::{Error, Status, EXIT_CODES};
use crate::output;
use crate::output_file::OutputFile;
use crate::replay::{Circumstances, Compared, Making};
use clap::{Args, ValueHint};
use first::First;
use rota_measure::{GroupNumbers, Numbers, Results, Summary};
use rota_replay::{Taken, Waits};
use rota_trace::Tee;
use rota_trace_import::{open, Facts, ImportError};
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct ImportArgs {
    /// A trace: perf.data of `perf sched record`, trace.dat of trace-cmd, ftrace's or `perf script`'s
    /// text, a Perfetto trace, or what --trace FILE.csv or FILE.parquet wrote
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,

    /// Write what the tasks did as a workload that `rota sim` and `rota compare` play
    #[arg(short, long, value_name = "FILE.json", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,

    /// Machine that the workload names as its own: as in rota sim [default: one with as many CPUs
    /// and one cache]
    #[arg(long, value_name = "NAME|FILE", requires = "output", add = complete::machines())]
    pub(crate) machine: Option<String>,

    /// Scheduler that was recorded: one that ships replays the workload for the comparison
    /// [default: Linux's own]
    #[arg(long, value_name = "NAME", requires = "output", add = complete::policies())]
    pub(crate) policy: Option<String>,

    /// Replace all names in that workload, to share it: process-1-1, process-1/thread-1-1
    #[arg(long, requires = "output")]
    pub(crate) anonymise: bool,

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
    /// What the workload's sleeps wait for, and how well it does what was recorded.
    workload: Option<(Waits, Compared)>,
    /// Only the first part of the trace was compared, up to here; `None`: all of it.
    compared_ns: Option<u64>,
}

/// Pids of the kernel's threads.
fn kernel_threads(facts: &Facts) -> BTreeSet<u32> {
    facts.tasks.iter().filter(|(_, task)| task.kernel_thread).map(|(pid, _)| *pid).collect()
}

pub(crate) fn run(args: &ImportArgs) -> Result<Status, Error> {
    let trace = open(&args.file)?;
    // Where only the records tell how many CPUs there are, it grows with them.
    let mut summary = Summary::new(trace.header().cpus.unwrap_or(1));
    let machine = args.machine.as_deref();
    let mut making = match &args.output {
        // Early, as nobody wants to read in vain.
        Some(path) => {
            let file = OutputFile::create(path)?;
            Some((file, Making::elsewhere(machine)?, First::new(&trace, machine)?))
        }
        None => None,
    };
    let facts = {
        let mut sinks = Tee::new();
        sinks.push(&mut summary);
        if let Some((_, making, first)) = &mut making {
            sinks.push(&mut making.gatherer);
            sinks.push(first);
        }
        trace.read(&mut sinks)?
    };
    let Results { numbers, groups, .. } = summary.finish_all(facts.duration_ns);
    let mut compared_ns = None;
    let workload = match making {
        Some((file, mut making, first)) => {
            making.is_of(facts.cpus, facts.header.kernel.as_deref(), machine.is_none())?;
            let about = text::about(args, &facts);
            let threads = kernel_threads(&facts);
            let made =
                making.finish(facts.duration_ns, &about, false, (threads, Taken::default()))?;
            made.write(file, args.anonymise)?;
            let lost = facts.lost.values().map(|lost| lost.records.max(lost.gaps)).sum();
            let scheduler = args.policy.as_deref();
            let circumstances = Circumstances { scheduler, lost, others: 0.0 };
            let waits = made.replay.waits;
            let compared = match first.finish(&facts, machine.is_none(), &about)? {
                Some(first) => {
                    drop(made);
                    compared_ns = Some(first.end_ns);
                    Compared::of(&first.made, (&first.numbers, &first.groups), &circumstances)
                }
                None => Compared::of(&made, (&numbers, &groups), &circumstances),
            };
            compared.map(|compared| (waits, compared))
        }
        None => None,
    };
    let import = Import { file: &args.file, facts, numbers, groups, workload, compared_ns };
    let mut out = output::stdout();
    if args.json {
        output::json::print(&mut out, &json::Trace::new(&import))?;
    } else {
        text::print(&mut out, &import, args)?;
    }
    out.flush()?;
    Ok(Status::Done)
}

impl From<ImportError> for Error {
    fn from(error: ImportError) -> Self {
        Error::input(error)
    }
}
