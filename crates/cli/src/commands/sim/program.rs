// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota sim WORKLOAD -- PROGRAM`: a scheduler that its own program brings.

use super::args::SimArgs;
use crate::error::Error;
use crate::load::Load;
use crate::object;
use crate::output::units::time;
use crate::output::{Following, Program};
use crate::program::{Installed, Started, Then};
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
        let then = args.then.first().map(|_| "--then");
        let given = log.or(then).or(args.of_program.given());
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
    then: Vec<Then>,
    report: Report,
    log: Log,
}

/// What is left of it while its run goes on.
pub(super) struct Running {
    chosen: Installed,
    then: Vec<Then>,
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
    (config, load): (&Config, &Load),
    kernel: &Kernel,
) -> Result<(Policy, WithProgram), Error> {
    let then = then(args, config.duration_ns)?;
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
    let started = chosen.start((config, &load.workload.groups), kernel, path.as_deref(), &then)?;
    let Started { policy, program, report } = started;
    Ok((policy, WithProgram { chosen, program, then, report, log }))
}

/// The programs that follow: each after the one before, and before the end.
fn then(args: &SimArgs, duration_ns: u64) -> Result<Vec<Then>, Error> {
    let mut all: Vec<Then> = Vec::new();
    for text in &args.then {
        let then = Then::parse(text, &args.of_program.options())?;
        let after_ns = all.last().map_or(0, |last| last.at_ns);
        if !(after_ns..duration_ns).contains(&then.at_ns) {
            return Err(Error::input(format!(
                "--then {text:?}: expected times in their order, and less than the run's {}",
                time(duration_ns)
            )));
        }
        all.push(then);
    }
    Ok(all)
}

fn following(then: &Then, asks_version: bool) -> Following {
    let Installed { name, path, sha256, .. } = &then.program;
    Following {
        at_ns: then.at_ns,
        name: name.clone(),
        path: path.display().to_string(),
        arguments: then.program.arguments().collect(),
        version: asks_version.then(|| then.program.version()).flatten(),
        sha256: sha256.clone(),
    }
}

impl WithProgram {
    /// The part that runs, and the rest.
    pub(super) fn split(self) -> (UserProgram, Running) {
        let Self { chosen, program, then, report, log } = self;
        (program, Running { chosen, then, report, log })
    }
}

impl Running {
    /// What to tell of it after the run, if that is wanted with its version, which takes another run.
    pub(super) fn ended(self, finished: &Measured, asks_version: bool) -> Ended {
        let Installed { name, path, sha256, cost_ns, .. } = &self.chosen;
        let failure =
            self.report.take_failure().map(Error::from).or_else(|| self.failure(finished));
        let told = Program {
            name: name.clone(),
            path: path.display().to_string(),
            arguments: self.chosen.arguments().collect(),
            version: asks_version.then(|| self.chosen.version()).flatten(),
            sha256: sha256.clone(),
            cost_ns: *cost_ns,
            then: self.then.iter().map(|then| following(then, asks_version)).collect(),
            ends: self.report.ends(),
            unplayed: self.report.unplayed(),
        };
        Ended { told, failure }
    }

    /// One ended with an error of its own accord.
    fn failure(&self, finished: &Measured) -> Option<Error> {
        let ends = self.report.ends();
        let last = finished.outcome.program.map(|end| (end.at_ns, end.status));
        let names = std::iter::once(&self.chosen.name);
        let names = names.chain(self.then.iter().map(|then| &then.program.name));
        let mut all = names.zip(ends.into_iter().chain(last));
        let (name, (at_ns, status)) = all.find(|(_, (_, status))| *status != 0)?;
        let text = format!("{name} ended with status {status} at {}", time(at_ns));
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
