// SPDX-License-Identifier: MIT OR Apache-2.0
//! A scheduler's own program: found, and started anew for each run.

mod find;

pub use find::{file, is_meant};

use crate::error::Error;
use crate::load::{hex, Load};
use crate::simulation;
use crate::values::duration;
use rota_machine::config::Config;
use rota_machine::kernel::Kernel;
use rota_machine::user_half::UserHalf;
use rota_program::{Launch, Program, ProgramError, Relay, Report, Switch};
use rota_sim::{Policy, Simulation, UserProgram};
use rota_workload::Group;
use sha2::{Digest, Sha256};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// CPU time of each of its system calls.
const COST_NS: u64 = 1_000;
const TIMEOUT_NS: u64 = 10_000_000_000;

/// How a program runs, as far as the user says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProgramOptions {
    /// CPU time of each of its system calls.
    pub cost_ns: Option<u64>,
    /// How long it may take, in real time, from one to the next.
    pub timeout_ns: Option<u64>,
}

/// A program as the user asked for it.
#[derive(Clone, Debug)]
pub struct Installed {
    /// Its file's name.
    pub name: String,
    /// Its file.
    pub path: PathBuf,
    /// SHA-256 of the file, as hexadecimal digits.
    pub sha256: String,
    /// As typed.
    command: Vec<OsString>,
    /// CPU time of each of its system calls.
    pub cost_ns: u64,
    timeout: Duration,
}

/// A program that takes the place of another.
#[derive(Clone, Debug)]
pub struct Then {
    /// When the one before is to end.
    pub at_ns: u64,
    /// What comes then.
    pub program: Installed,
}

impl Then {
    /// Of `TIME PROGRAM ARGUMENTS…`.
    pub fn parse(text: &str, options: &ProgramOptions) -> Result<Self, Error> {
        let refused = |why: &str| Error::input(format!("--then {text:?}: {why}"));
        let (time, program) = text
            .trim()
            .split_once(char::is_whitespace)
            .ok_or_else(|| refused("expected a time and a program, as '5s scx_simple -f'"))?;
        let at_ns = duration(time).map_err(|why| refused(&why))?;
        Ok(Self { at_ns, program: Installed::parse(program, options)? })
    }
}

/// A program that has set its scheduler up, and waits for the machine to attach it to.
#[derive(Debug)]
pub struct Started {
    /// The scheduler.
    pub policy: Policy,
    /// The half that is no scheduler's.
    pub program: UserProgram,
    /// What is known of it in the end.
    pub report: Report,
}

impl Installed {
    /// Finds the program of a command.
    pub fn find(command: &[OsString], options: &ProgramOptions) -> Result<Self, Error> {
        let program = command.first().map(OsString::as_os_str).unwrap_or_default();
        let path = find::file(program)?;
        let bytes = std::fs::read(&path).map_err(|e| Error::file("read", &path, &e))?;
        let name = path.file_name().unwrap_or(program).to_string_lossy().into_owned();
        Ok(Self {
            name,
            path,
            sha256: hex(Sha256::new_with_prefix(bytes)),
            command: command.to_vec(),
            cost_ns: options.cost_ns.unwrap_or(COST_NS),
            timeout: Duration::from_nanos(options.timeout_ns.unwrap_or(TIMEOUT_NS)),
        })
    }

    /// Finds the program of an entry of a comparison, whose words are split as a shell does.
    pub fn parse(entry: &str, options: &ProgramOptions) -> Result<Self, Error> {
        let words = words(entry).map_err(|why| Error::input(format!("{entry}: {why}")))?;
        let command: Vec<OsString> = words.into_iter().map(OsString::from).collect();
        Self::find(&command, options)
    }

    /// What follows the program's name.
    pub fn arguments(&self) -> impl Iterator<Item = String> + '_ {
        self.command.iter().skip(1).map(|word| word.to_string_lossy().into_owned())
    }

    /// Of all of it that decides about a run.
    pub fn hash(&self) -> Sha256 {
        let mut hash = Sha256::new_with_prefix(format!("{}\0{}", self.sha256, self.cost_ns));
        self.arguments().for_each(|argument| hash.update(format!("\0{argument}")));
        hash
    }

    /// What it says for `--version`, if it knows that option.
    pub fn version(&self) -> Option<String> {
        rota_program::version(&self.command)
    }

    /// Its name, and what follows.
    pub fn label(&self) -> String {
        let words: Vec<_> = self.command.iter().map(|word| word.to_string_lossy()).collect();
        called(&words)
    }

    /// The same with these values in the place of `{NAME}` in its arguments.
    #[must_use]
    pub fn with(&self, values: &[(String, String)]) -> Self {
        let word = |word: &OsString| match word.to_str() {
            Some(text) => filled(text, values).into(),
            None => word.clone(),
        };
        let program = self.command.iter().take(1).cloned();
        let command = program.chain(self.command.iter().skip(1).map(word)).collect();
        Self { command, ..self.clone() }
    }

    /// Starts it on a machine with the cgroups of its workload, and lets it set up its scheduler.
    /// What it prints goes to `log`. Others follow it at their times.
    pub fn start(
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

impl Started {
    /// The run that it takes part in.
    pub fn simulation(
        &self,
        load: &Load,
        config: Config,
        no_autogroup: bool,
    ) -> Result<Simulation, Error> {
        let reloads = load.workload.plugs();
        simulation::of(&self.policy, load, config, no_autogroup, reloads)
    }
}

/// A text with values in the place of `{NAME}`; other braces are left alone.
fn filled(text: &str, values: &[(String, String)]) -> String {
    let (mut filled, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        let named = values.iter().find_map(|(name, value)| {
            Some((value, after.strip_prefix(name.as_str())?.strip_prefix('}')?))
        });
        rest = match named {
            Some((value, after)) => {
                filled.push_str(value);
                after
            }
            None => {
                filled.push('{');
                after
            }
        };
    }
    filled + rest
}

/// What stands in braces in the arguments of a command: names that values can be put in for.
pub fn names(words: &[String]) -> Vec<&str> {
    let after = words.iter().skip(1).flat_map(|word| word.split('{').skip(1));
    let names = after.filter_map(|after| Some(after.split_once('}')?.0));
    let is_part = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    let mut names: Vec<&str> =
        names.filter(|name| !name.is_empty() && name.chars().all(is_part)).collect();
    names.dedup();
    names
}

/// The name of a program's file, and its arguments.
pub fn called(words: &[impl AsRef<str>]) -> String {
    let mut words = words.iter().map(AsRef::as_ref);
    let program = words.next().unwrap_or_default();
    let name = Path::new(program).file_name().unwrap_or(program.as_ref()).to_string_lossy();
    std::iter::once(name.as_ref()).chain(words).collect::<Vec<_>>().join(" ")
}

/// The words of a command, split as a shell does.
pub fn words(command: &str) -> Result<Vec<String>, String> {
    let words = shlex::split(command).filter(|words| !words.is_empty());
    words.ok_or_else(|| "expected words as in a shell: a quote has no end".into())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_put_in_for_their_names_and_other_braces_stay() {
        let values = [("a".to_owned(), "{b}".to_owned()), ("b".to_owned(), "2".to_owned())];
        for (text, expected) in [
            ("--slice={a}", "--slice={b}"),
            ("{b}{b}x", "22x"),
            ("{\"layers\": {b}}", "{\"layers\": 2}"),
            ("{c} {ab} {a", "{c} {ab} {a"),
            ("", ""),
        ] {
            assert_eq!(filled(text, &values), expected, "{text}");
        }
    }

    #[test]
    fn names_are_what_stands_in_braces_after_the_program() {
        let words = ["{p}", "--slice={us}", "{\"a\": {b}}", "{}{x y}{c-1}"].map(str::to_owned);
        assert_eq!(names(&words), ["us", "b", "c-1"]);
    }
}
