// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arguments of `rota sim`.

use crate::complete;
use crate::error::EXIT_CODES;
use crate::options::{cpus, duration, name_and_value, MachineArgs, ObjectArgs, ProgramArgs};
use crate::trace_files::{TraceTarget, Window};
use clap::{Args, ValueHint};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct SimArgs {
    /// A shipped policy (see `rota list`), or anyone's FILE.bpf.o or FILE.bpf.c; several files are
    /// linked to one policy. Left out where a program is given
    #[arg(value_name = "POLICY|FILE", value_hint = ValueHint::FilePath)]
    #[arg(add = complete::policies())]
    pub(crate) policy: String,

    /// What the tasks do: an rt-app JSON file; - for standard input
    #[arg(value_name = "WORKLOAD.json", value_hint = ValueHint::FilePath)]
    #[arg(required_unless_present_any = ["help_tunables", "program"])]
    #[arg(add = complete::workloads())]
    words: Vec<PathBuf>,

    /// A scheduler's own program, as it is installed, and its arguments: it brings the policy, and
    /// takes part in the run as a task of the simulated machine (docs/programs.md)
    #[arg(value_name = "PROGRAM", last = true, value_hint = ValueHint::CommandWithArguments)]
    pub(crate) program: Vec<OsString>,

    /// Set a tunable or any global of the policy (repeatable); comes after --manifest
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = name_and_value)]
    #[arg(add = complete::tunables())]
    pub(crate) set: Vec<(String, String)>,

    /// What the scheduler's own loader would set, as TOML (docs/third-party.md)
    #[arg(long, value_name = "FILE.toml", value_hint = ValueHint::FilePath)]
    pub(crate) manifest: Option<PathBuf>,

    /// Schedule only tasks that ask for it, with the policy SCHED_EXT: the others are above it, in
    /// Linux's fair class (the policy eevdf)
    #[arg(long)]
    pub(crate) partial: bool,

    /// Attach the policy at this time, to the tasks that there are then; before that they are in
    /// Linux's fair class
    #[arg(long, value_name = "TIME", value_parser = duration, allow_hyphen_values = true)]
    pub(crate) attach_at: Option<u64>,

    /// Go on after an ejection, under Linux's fair class
    #[arg(long)]
    pub(crate) go_on: bool,

    /// Attach a scheduler to a cgroup, below the policy, which must allow it (ops.sub_attach);
    /// repeatable
    #[arg(long, value_name = "CGROUP=POLICY|FILE", value_parser = name_and_value)]
    pub(crate) sub: Vec<(String, String)>,

    /// As --manifest, of the scheduler of a cgroup (repeatable)
    #[arg(long, value_name = "CGROUP=FILE.toml", value_parser = name_and_value, requires = "sub")]
    pub(crate) sub_manifest: Vec<(String, String)>,

    /// Write every event as FILE.pftrace or FILE.json for ui.perfetto.dev, as FILE.csv or
    /// FILE.parquet, or draw which task ran when as FILE.svg (repeatable)
    #[arg(long, value_name = "FILE.pftrace|.json|.csv|.parquet|.svg", value_hint = ValueHint::FilePath)]
    pub(crate) trace: Vec<TraceTarget>,

    /// Part of the run that a picture shows [default: the first 200 ms]
    #[arg(long, value_name = "FROM..TO")]
    pub(crate) trace_window: Option<Window>,

    /// Write all random numbers and tie-breaks of the run to a file, for --replay-choices
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    #[arg(conflicts_with = "help_tunables")]
    pub(crate) record_choices: Option<PathBuf>,

    /// Take all random numbers and tie-breaks from a file that --record-choices wrote, in place of
    /// --seed; it must be of the same policy, workload and machine
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    #[arg(conflicts_with_all = ["help_tunables", "shuffle_ties"])]
    pub(crate) replay_choices: Option<PathBuf>,

    /// Print the policy's tunables and stop
    #[arg(long)]
    pub(crate) help_tunables: bool,

    /// Give every task a row, however many there are
    #[arg(long)]
    pub(crate) all_tasks: bool,

    /// Print what the policy printed, and its debug dump if it is ejected (on standard error)
    #[arg(short, long)]
    pub(crate) verbose: bool,

    /// Print all globals and maps of the policy as they are at the end
    #[arg(long)]
    pub(crate) dump_globals: bool,

    /// Write what the program prints to a file; without it, it is shown if the program fails
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Program")]
    pub(crate) program_log: Option<PathBuf>,

    /// Switch to another program at a time: the one before is sent SIGINT, and when it has ended
    /// this one is started (repeatable). Between them Linux's fair class schedules
    #[arg(long, value_name = "TIME PROGRAM", help_heading = "Program")]
    pub(crate) then: Vec<String>,

    #[command(flatten)]
    pub(crate) of_program: ProgramArgs,

    /// Print one JSON object (schema rota.sim/1)
    #[arg(long)]
    pub(crate) json: bool,

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

impl SimArgs {
    /// The workload of a run with a program: the only word before it.
    pub(crate) fn workload_of_program(&self) -> Option<&Path> {
        self.words.is_empty().then(|| Path::new(&self.policy))
    }

    /// Name or files of the policy, and the workload: the last word.
    pub(crate) fn words(&self) -> (Vec<String>, Option<&Path>) {
        let is_part = |path: &Path| {
            let ending = path.extension().unwrap_or_default();
            ending == "c" || ending == "o"
        };
        let (parts, workload) = match self.words.split_last() {
            Some((last, before)) if !is_part(last) => (before, Some(last.as_path())),
            _ => (self.words.as_slice(), None),
        };
        let parts = parts.iter().map(|part| part.to_string_lossy().into_owned());
        (std::iter::once(self.policy.clone()).chain(parts).collect(), workload)
    }
}
