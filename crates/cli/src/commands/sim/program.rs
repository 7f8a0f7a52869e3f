// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota sim WORKLOAD -- PROGRAM`: a scheduler that its own program brings.

use super::args::SimArgs;
use crate::error::Error;
use crate::object;
use crate::output::units::time;
use crate::output::Program;
use crate::program::{Installed, Started};
use rota_machine::config::Config;
use rota_machine::kernel::Kernel;
use rota_program::Report;
use rota_sim::{Measured, Policy, UserProgram};
use std::path::PathBuf;
use tempfile::TempPath;

/// Lines that are shown of what a program printed that failed.
const LINES: usize = 10;

/// Refuses what a program does itself, or what has no effect with it or without it.
pub(super) fn check(args: &SimArgs) -> Result<(), Error> {
    if args.program.is_empty() {
        let log = args.program_log.as_ref().map(|_| "--program-log");
        let given = log.or(args.of_program.given());
        return given.map_or(Ok(()), |option| Err(without_program(option)));
    }
    if args.object.kernel == object::EVERY_KERNEL && args.object.btf.is_none() {
        let what = "--kernel all: not with a program, expected one release";
        return Err(Error::input(what));
    }
    let not_here = [
        ("--set", !args.set.is_empty(), "it sets its object up itself, by its arguments"),
        ("--manifest", args.manifest.is_some(), "it sets its object up itself"),
        ("--ops", args.object.ops.is_some(), "it chooses its scheduler itself"),
        ("--include", !args.object.include.is_empty(), "nothing is compiled"),
        ("--partial", args.partial, "it has an argument of its own for that, if it can do so"),
    ];
    let given = not_here.iter().find(|(_, given, _)| *given);
    given.map_or(Ok(()), |(option, _, why)| {
        Err(Error::input(format!("{option}: not with a program: {why}")))
    })
}

fn without_program(option: &str) -> Error {
    Error::input(format!(
        "{option}: expected a program: rota sim WORKLOAD.json {option} … -- PROGRAM"
    ))
}

/// The program of a run.
pub(super) struct WithProgram {
    chosen: Installed,
    program: UserProgram,
    report: Report,
    log: Log,
}

/// What is left of it while its run goes on.
pub(super) struct Running {
    chosen: Installed,
    report: Report,
    log: Log,
}

/// Where it prints to.
enum Log {
    Named,
    Temporary(TempPath),
}

/// How it went.
pub(super) struct Ended {
    pub(super) told: Program,
    pub(super) failure: Option<Error>,
}

/// Starts it for this machine.
pub(super) fn start(
    chosen: Installed,
    args: &SimArgs,
    config: &Config,
    kernel: &Kernel,
) -> Result<(Policy, WithProgram), Error> {
    let log = match &args.program_log {
        Some(_) => Log::Named,
        None => {
            let file = tempfile::NamedTempFile::new();
            let file = file.map_err(|e| Error::Failure(format!("cannot make a log: {e}")))?;
            Log::Temporary(file.into_temp_path())
        }
    };
    let path: Option<PathBuf> = match &log {
        Log::Named => args.program_log.clone(),
        Log::Temporary(path) => Some(path.to_path_buf()),
    };
    let started = chosen.start(&config.topology, kernel, config.seed, path.as_deref())?;
    let Started { policy, program, report } = started;
    Ok((policy, WithProgram { chosen, program, report, log }))
}

impl WithProgram {
    /// The part that runs, and the rest.
    pub(super) fn split(self) -> (UserProgram, Running) {
        let Self { chosen, program, report, log } = self;
        (program, Running { chosen, report, log })
    }
}

impl Running {
    /// What to tell of it after the run.
    pub(super) fn ended(self, finished: &Measured) -> Ended {
        let Installed { name, path, sha256, cost_ns, .. } = &self.chosen;
        let failure =
            self.report.take_failure().map(Error::from).or_else(|| self.failure(finished));
        let told = Program {
            name: name.clone(),
            path: path.display().to_string(),
            arguments: self.chosen.arguments().collect(),
            sha256: sha256.clone(),
            cost_ns: *cost_ns,
            unplayed: self.report.unplayed(),
        };
        Ended { told, failure }
    }

    /// It ended with an error of its own accord.
    fn failure(&self, finished: &Measured) -> Option<Error> {
        let end = finished.outcome.program.filter(|end| end.status != 0)?;
        let (name, at) = (&self.chosen.name, time(end.at_ns));
        let text = format!("{name} ended with status {} at {at}", end.status);
        let printed = match &self.log {
            Log::Named => String::new(),
            Log::Temporary(path) => std::fs::read(path).map_or(String::new(), |bytes| {
                let text = String::from_utf8_lossy(&bytes);
                let lines: Vec<&str> = text.lines().filter(|l| !l.trim().is_empty()).collect();
                let last = &lines[lines.len().saturating_sub(LINES)..];
                last.iter().map(|line| format!("\n    {line}")).collect()
            }),
        };
        Some(Error::Log(Box::new(Error::Failure(text + &printed))))
    }
}
