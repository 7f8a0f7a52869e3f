// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is simulated: a policy with what its loader would set, or a program with the policy that it
//! brings.

use super::args::SimArgs;
use super::program::{self, WithProgram};
use crate::error::Error;
use crate::load::Load;
use crate::object::{self, Named};
use crate::output::messages;
use crate::prepare::{self, Prepared};
use crate::program::Installed;
use crate::simulation;
use rota_machine::config::Config;
use rota_machine::kernel::Kernel;
use rota_manifest::Setup;
use rota_object::image::Image;
use rota_sim::Policy;
use std::path::Path;

/// What was found, before there is a machine.
pub(super) enum Found {
    /// With its files.
    Policy(object::Found, Vec<String>),
    Program(Installed),
}

/// What is simulated.
pub(super) struct Subject {
    pub(super) name: String,
    /// The name; of a program with its arguments.
    pub(super) label: String,
    pub(super) source: String,
    pub(super) policy: Policy,
    pub(super) setup: Setup,
    pub(super) set: Vec<(String, String)>,
    pub(super) program: Option<WithProgram>,
}

/// Finds what the arguments name.
pub(super) fn find(args: &SimArgs, kernel: &Kernel) -> Result<Found, Error> {
    if !args.program.is_empty() {
        let options = args.of_program.options();
        return Ok(Found::Program(Installed::find(&args.program, &options)?));
    }
    not_swapped(args)?;
    let (files, workload) = args.words();
    one_workload(&files, workload)?;
    let found = object::find_all(&files, args.object.compiler(kernel))?;
    Ok(Found::Policy(found, files))
}

impl Found {
    /// The policy whose tunables can be printed: a program's are its own arguments.
    pub(super) fn policy(self, args: &SimArgs, kernel: &Kernel) -> Result<Policy, Error> {
        match self {
            Self::Policy(found, _) => Ok(linked(found, args, kernel)?.policy),
            Self::Program(chosen) => Err(Error::input(format!(
                "--help-tunables: not with a program, which has arguments: {} --help",
                chosen.path.display()
            ))),
        }
    }

    pub(super) fn workload<'a>(&self, args: &'a SimArgs) -> Result<&'a Path, Error> {
        match self {
            Self::Policy(_, files) => args.words().1.ok_or_else(|| no_workload(files)),
            Self::Program(_) => args.workload_of_program().ok_or_else(|| {
                Error::input(
                    "a policy and a program: expected one of them, as in \
                     rota sim WORKLOAD.json -- PROGRAM",
                )
            }),
        }
    }

    /// For one machine.
    pub(super) fn prepare(
        self,
        args: &SimArgs,
        (config, load): (&Config, &Load),
        kernel: &Kernel,
    ) -> Result<Subject, Error> {
        let Named { name, source, mut policy } = match self {
            Self::Policy(found, _) => linked(found, args, kernel)?,
            Self::Program(chosen) => {
                let (name, label) = (chosen.name.clone(), chosen.label());
                let source = chosen.path.display().to_string();
                let (policy, program) = program::start(chosen, args, (config, load), kernel)?;
                let (setup, set, program) = (Setup::default(), Vec::new(), Some(program));
                return Ok(Subject { name, label, source, policy, setup, set, program });
            }
        };
        let facts = rota_sim::facts(&config.topology);
        let Prepared { setup, note } =
            prepare::of_policy(args.manifest.as_deref(), &facts, &policy)?;
        note.iter().for_each(|note| messages::line(&format!("note: {note}")));
        let set = settings(args, &name, policy.image());
        policy.prepare(&setup, &set)?;
        Ok(Subject { label: name.clone(), name, source, policy, setup, set, program: None })
    }
}

/// For this kernel, and the scheduler that the user chooses.
fn linked(found: object::Found, args: &SimArgs, kernel: &Kernel) -> Result<Named, Error> {
    let mut named = found.simulate(kernel)?;
    object::choose(&mut named.policy, &args.object)?;
    Ok(named)
}

/// What is set of the policy.
pub(super) fn settings(args: &SimArgs, name: &str, image: &Image) -> Vec<(String, String)> {
    match args.no_autogroup {
        true => simulation::without_autogroups((name, image), &args.set),
        false => args.set.clone(),
    }
}

pub(super) fn no_workload(files: &[String]) -> Error {
    let files = files.join(" ");
    Error::input(format!("no workload: expected rota sim {files} WORKLOAD.json"))
}

/// Several files are objects that become one.
fn one_workload(files: &[String], workload: Option<&Path>) -> Result<(), Error> {
    let other = files.iter().skip(1).find(|file| file.ends_with(".json"));
    let Some((other, last)) = other.zip(workload) else { return Ok(()) };
    let last = last.display();
    Err(Error::input(format!(
        "{other}, {last}: expected one workload; each of them: rota compare {} {other} {last}",
        files[0]
    )))
}

/// A workload in the place of the policy is a mistake that is easy to tell.
fn not_swapped(args: &SimArgs) -> Result<(), Error> {
    let policy = &args.policy;
    if !policy.ends_with(".json") {
        return Ok(());
    }
    let (_, workload) = args.words();
    let other = workload.map_or("fifo".into(), Path::to_string_lossy);
    Err(Error::input(format!(
        "{policy}: a workload, expected a policy first: rota sim {other} {policy}"
    )))
}
