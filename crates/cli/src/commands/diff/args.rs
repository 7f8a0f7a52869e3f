// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arguments of `rota diff`: two traces, or a workload and two policies.

use crate::commands::compare::names_policy;
use crate::complete;
use crate::error::{Error, EXIT_CODES};
use crate::object;
use crate::options::{cpus, MachineArgs, ObjectArgs, ProgramArgs};
use clap::{Args, ValueHint};
use rota_session::{Ask, MachineOptions, Wanted, BUDGET, KERNEL};
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct DiffArgs {
    /// The traces of two runs, as rota sim --trace FILE.parquet or FILE.csv wrote them; or a workload
    /// and two policies, as rota compare takes them, which are run
    #[arg(value_name = "A.parquet B.parquet|WORKLOAD.json POLICY POLICY")]
    #[arg(value_hint = ValueHint::FilePath, required = true)]
    #[arg(add = complete::workloads_and_policies())]
    pub(crate) items: Vec<String>,

    /// Give every metric a row, also those that are the same
    #[arg(long)]
    pub(crate) all_metrics: bool,

    /// Print one JSON object (schema rota.diff/1)
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) of_program: ProgramArgs,

    /// CPUs [default: those of the workload's own machine, else 4]
    #[arg(long, value_name = "N", help_heading = "Machine")]
    #[arg(value_parser = cpus)]
    pub(crate) cpus: Option<u32>,

    /// Sessions do not share as groups do, as with kernel.sched_autogroup_enabled=0
    #[arg(long, help_heading = "Machine")]
    pub(crate) no_autogroup: bool,

    #[command(flatten)]
    pub(crate) machine: MachineArgs,

    #[command(flatten)]
    pub(crate) object: ObjectArgs,
}

/// What is compared.
pub(super) enum Asked {
    Traces([PathBuf; 2]),
    Runs(PathBuf, [Wanted; 2]),
}

const EXPECTED: &str = "expected two traces, or a workload and two policies, as \
                        rota diff load.json old.bpf.o new.bpf.o";

impl DiffArgs {
    pub(super) fn asked(&self) -> Result<Asked, Error> {
        if let [first, second] = self.items.as_slice() {
            let is_policy = |item: &&&String| {
                let item = item.as_str();
                let is_file = object::is_file_name(item) && !Path::new(item).is_dir();
                is_file || object::is_shipped(item) || item.ends_with(".json")
            };
            if let Some(item) = [first, second].iter().find(is_policy) {
                return Err(Error::input(format!("{item}: no trace, {EXPECTED}")));
            }
            return match self.of_runs() {
                Some(option) => Err(Error::input(format!("{option}: not with traces, {EXPECTED}"))),
                None => Ok(Asked::Traces([first.into(), second.into()])),
            };
        }
        if self.items.len() != 3 {
            return Err(Error::input(format!("{} words, {EXPECTED}", self.items.len())));
        }
        let (policies, workloads): (Vec<&String>, Vec<&String>) =
            self.items.iter().partition(|item| names_policy(item));
        let ([one, other], [workload]) = (policies.as_slice(), workloads.as_slice()) else {
            return Err(Error::input(format!("{} workloads, {EXPECTED}", workloads.len())));
        };
        Ok(Asked::Runs(workload.into(), [Wanted::parse(one)?, Wanted::parse(other)?]))
    }

    /// The first option of those that need runs.
    fn of_runs(&self) -> Option<&'static str> {
        let (usual, on) = (MachineOptions::default(), self.machine.options());
        let given = [
            ("--cpus", self.cpus.is_some()),
            ("--no-autogroup", self.no_autogroup),
            ("--machine", on.machine.is_some()),
            ("--topology", on.topology.is_some()),
            ("--duration", on.duration.is_some()),
            ("--warmup", on.warmup.is_some()),
            ("--seed", on.seed != usual.seed),
            ("--shuffle-ties", on.shuffle_ties),
            ("--hz", on.hz.is_some()),
            ("--nohz-full", on.nohz_full.is_some()),
            ("--idle-entry", on.idle_entry.is_some()),
            ("--ideal", on.ideal),
            ("--budget", on.budget != BUDGET),
            ("--budget-per-second", on.budget_per_second != usual.budget_per_second),
            ("--engine", on.engine != usual.engine),
            ("--kernel", self.object.kernel != KERNEL),
            ("--btf", self.object.btf.is_some()),
            ("--include", !self.object.include.is_empty()),
            ("--ops", self.object.ops.is_some()),
        ];
        let given = given.into_iter().find(|(_, given)| *given).map(|(option, _)| option);
        given.or(self.of_program.given())
    }

    /// What both runs are asked for.
    pub(super) fn ask(&self) -> Ask {
        Ask {
            ops: self.object.ops.clone(),
            include: self.object.include.clone(),
            kernel: self.object.kernel.clone(),
            btf: self.object.btf.clone(),
            cpus: self.cpus,
            no_autogroup: self.no_autogroup,
            machine: self.machine.options(),
            ..Ask::default()
        }
    }
}
