// SPDX-License-Identifier: MIT OR Apache-2.0
//! A scheduler's own program: found, and started anew for each run.

mod find;

pub(crate) use find::{file, is_meant};

use crate::error::Error;
use crate::load::hex;
use crate::options::{duration, ProgramArgs};
use rota_machine::config::Config;
use rota_machine::kernel::Kernel;
use rota_machine::user_half::UserHalf;
use rota_program::{Launch, Program, ProgramError, Relay, Report, Switch};
use rota_sim::{Policy, UserProgram};
use rota_workload::Group;
use sha2::{Digest, Sha256};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// CPU time of each of its system calls.
const COST_NS: u64 = 1_000;
const TIMEOUT_NS: u64 = 10_000_000_000;

/// A program as the user asked for it.
#[derive(Clone, Debug)]
pub(crate) struct Installed {
    /// Its file's name.
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    /// SHA-256 of the file, as hexadecimal digits.
    pub(crate) sha256: String,
    /// As typed.
    command: Vec<OsString>,
    pub(crate) cost_ns: u64,
    timeout: Duration,
}

/// A program that takes the place of another.
#[derive(Clone, Debug)]
pub(crate) struct Then {
    /// When the one before is to end.
    pub(crate) at_ns: u64,
    pub(crate) program: Installed,
}

impl Then {
    /// Of `TIME PROGRAM ARGUMENTS…`.
    pub(crate) fn parse(text: &str, args: &ProgramArgs) -> Result<Self, Error> {
        let refused = |why: &str| Error::input(format!("--then {text:?}: {why}"));
        let (time, program) = text
            .trim()
            .split_once(char::is_whitespace)
            .ok_or_else(|| refused("expected a time and a program, as '5s scx_simple -f'"))?;
        let at_ns = duration(time).map_err(|why| refused(&why))?;
        Ok(Self { at_ns, program: Installed::parse(program, args)? })
    }
}

/// A program that has set its scheduler up, and waits for the machine to attach it to.
pub(crate) struct Started {
    pub(crate) policy: Policy,
    pub(crate) program: UserProgram,
    pub(crate) report: Report,
}

impl Installed {
    /// Finds the program of a command.
    pub(crate) fn find(command: &[OsString], args: &ProgramArgs) -> Result<Self, Error> {
        let program = command.first().map(OsString::as_os_str).unwrap_or_default();
        let path = find::file(program)?;
        let bytes = std::fs::read(&path).map_err(|e| Error::file("read", &path, &e))?;
        let name = path.file_name().unwrap_or(program).to_string_lossy().into_owned();
        Ok(Self {
            name,
            path,
            sha256: hex(Sha256::new_with_prefix(bytes)),
            command: command.to_vec(),
            cost_ns: args.program_cost.unwrap_or(COST_NS),
            timeout: Duration::from_nanos(args.program_timeout.unwrap_or(TIMEOUT_NS)),
        })
    }

    /// Finds the program of an entry of a comparison, whose words are split as a shell does.
    pub(crate) fn parse(entry: &str, args: &ProgramArgs) -> Result<Self, Error> {
        let words = shlex::split(entry).filter(|words| !words.is_empty());
        let expected = "expected words as in a shell: a quote has no end";
        let words = words.ok_or_else(|| Error::input(format!("{entry}: {expected}")))?;
        let command: Vec<OsString> = words.into_iter().map(OsString::from).collect();
        Self::find(&command, args)
    }

    /// What follows the program's name.
    pub(crate) fn arguments(&self) -> impl Iterator<Item = String> + '_ {
        self.command.iter().skip(1).map(|word| word.to_string_lossy().into_owned())
    }

    /// What it says for `--version`, if it knows that option.
    pub(crate) fn version(&self) -> Option<String> {
        rota_program::version(&self.command)
    }

    /// Its name, and what follows.
    pub(crate) fn label(&self) -> String {
        let words = std::iter::once(self.name.clone()).chain(self.arguments());
        words.collect::<Vec<_>>().join(" ")
    }

    /// Starts it on a machine with the cgroups of its workload, and lets it set up its scheduler.
    /// What it prints goes to `log`. Others follow it at their times.
    pub(crate) fn start(
        &self,
        (config, groups): (&Config, &[Group]),
        kernel: &Kernel,
        log: Option<&Path>,
        then: &[Then],
    ) -> Result<Started, Error> {
        let launch = |installed: &Self| Launch {
            command: installed.command.clone(),
            topology: config.topology.clone(),
            hardware: config.hardware.clone(),
            kernel: kernel.clone(),
            groups: groups.to_vec(),
            call_ns: installed.cost_ns,
            seed: config.seed,
            log: log.map(Path::to_path_buf),
            timeout: installed.timeout,
        };
        let mut program = Program::start(launch(self))?;
        let policy = Policy::of_image(Program::set_up(&mut program)?, kernel);
        let report = program.report();
        let half: Box<dyn UserHalf> = match then {
            [] => Box::new(program),
            _ => {
                let switch =
                    |then: &Then| Switch { at_ns: then.at_ns, launch: launch(&then.program) };
                Box::new(Relay::new(program, then.iter().map(switch).collect())?)
            }
        };
        Ok(Started { policy, program: UserProgram { name: self.name.clone(), half }, report })
    }
}

impl From<ProgramError> for Error {
    fn from(error: ProgramError) -> Self {
        let of_computer = matches!(error, ProgramError::Computer { .. } | ProgramError::Io { .. });
        Self::Log(Box::new(match of_computer {
            true => Self::Failure(error.to_string()),
            false => Self::input(error),
        }))
    }
}
