// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arguments. The texts here are the help, the man pages and the shell completions.

use crate::commands::bench::BenchArgs;
use crate::commands::boost::BoostArgs;
use crate::commands::check::CheckArgs;
use crate::commands::compare::CompareArgs;
use crate::commands::fluid::FluidArgs;
use crate::commands::record::RecordArgs;
use crate::commands::reproduce::ReproduceArgs;
use crate::commands::run::RunArgs;
use crate::commands::set::SetArgs;
use crate::commands::trace::TraceArgs;
use crate::commands::tune::TuneArgs;
use crate::trace_files::{TraceTarget, Window};
use clap::{Args, Parser, Subcommand, ValueHint};
use clap_complete::Shell;
use rota_machine::config::BUDGET_PER_SECOND;
use rota_workload::parse_duration;
use std::path::PathBuf;

/// Try CPU scheduling policies on your own workload, then run the winner.
///
/// A policy is a sched_ext BPF program. Rota hosts its object file in a simulated machine
/// that follows the rules of the kernel's sched_ext, and measures what your tasks get.
#[derive(Debug, Parser)]
#[command(name = "rota", version, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

pub(crate) const EXIT_CODES: &str = "\
Exit codes: 0 ok, 1 failure, 2 wrong usage or bad input, 3 the policy was ejected.";

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the policies that ship with Rota, and their tunables
    List(ListArgs),
    /// Simulate a workload under a policy
    Sim(SimArgs),
    /// Simulate workloads under several policies with several seeds, side by side
    Compare(CompareArgs),
    /// Run the experiments of a paper, and set the numbers beside the paper's
    Reproduce(ReproduceArgs),
    /// Look for the alpha and beta of PBS that suit a workload
    Tune(TuneArgs),
    /// Solve a policy with infinitely short slices, instead of simulating it
    Fluid(FluidArgs),
    /// Run real programs that measure the scheduler of this machine
    Bench(BenchArgs),
    /// Run a policy in the kernel of this machine (needs root)
    Run(RunArgs),
    /// Run sooner what somebody waits for, on any kernel with BPF (needs root)
    Boost(BoostArgs),
    /// Record what the tasks of this machine get from its scheduler (needs root)
    Record(RecordArgs),
    /// Print what the scheduler of this machine does, as it happens (needs root)
    Trace(TraceArgs),
    /// Change a running policy, or print what can be changed (needs root)
    Set(SetArgs),
    /// Say whether this machine can run policies, and what is missing
    Check(CheckArgs),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
    /// Print the manual page, or write those of all commands
    Man(ManArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct SimArgs {
    /// A shipped policy (see `rota list`), or anyone's FILE.bpf.o or FILE.bpf.c
    #[arg(value_name = "POLICY|FILE", value_hint = ValueHint::FilePath)]
    pub(crate) policy: String,

    /// What the tasks do: an rt-app JSON file
    #[arg(value_name = "WORKLOAD.json", value_hint = ValueHint::FilePath)]
    #[arg(required_unless_present = "help_tunables")]
    pub(crate) workload: Option<PathBuf>,

    /// Set a tunable or any global of the policy (repeatable); comes after --manifest
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = name_and_value)]
    pub(crate) set: Vec<(String, String)>,

    /// What the scheduler's own loader would set, as TOML (docs/third-party.md)
    #[arg(long, value_name = "FILE.toml", value_hint = ValueHint::FilePath)]
    pub(crate) manifest: Option<PathBuf>,

    /// Write every event as FILE.pftrace or FILE.json for ui.perfetto.dev, as FILE.csv or
    /// FILE.parquet, or draw who ran when as FILE.svg (repeatable)
    #[arg(long, value_name = "FILE.pftrace|.json|.csv|.parquet|.svg", value_hint = ValueHint::FilePath)]
    pub(crate) trace: Vec<TraceTarget>,

    /// Part of the run that a picture shows [default: the first 200 ms]
    #[arg(long, value_name = "FROM..TO")]
    pub(crate) trace_window: Option<Window>,

    /// Print the policy's tunables and stop
    #[arg(long)]
    pub(crate) help_tunables: bool,

    /// Give every task a row, however many there are
    #[arg(long)]
    pub(crate) all_tasks: bool,

    /// Print what the policy printed, and its debug dump if it is ejected (on standard error)
    #[arg(short, long)]
    pub(crate) verbose: bool,

    /// Print one JSON object (schema rota.sim/1)
    #[arg(long)]
    pub(crate) json: bool,

    /// CPUs
    #[arg(long, value_name = "N", default_value_t = 4, help_heading = "Machine")]
    pub(crate) cpus: u32,

    #[command(flatten)]
    pub(crate) machine: MachineArgs,

    #[command(flatten)]
    pub(crate) object: ObjectArgs,
}

/// The simulated machine and the run.
#[derive(Debug, Args)]
#[command(next_help_heading = "Machine")]
pub(crate) struct MachineArgs {
    /// CPUs per core, per last-level cache and per node [default: 1 per core, one cache and node]
    #[arg(long, value_name = "smt=N,llc=N,node=N")]
    pub(crate) topology: Option<String>,

    /// Simulated time, as 10s or 1.5ms [default: the workload's own, else 10s]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) duration: Option<u64>,

    /// Leave out of all numbers what happens before this time
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) warmup: Option<u64>,

    /// Seed of all random draws: the same seed gives the same run
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,

    /// Draw lots (from the seed) for the order of what happens at the same time, in place of
    /// the documented order: shows which results depend on it
    #[arg(long)]
    pub(crate) shuffle_ties: bool,

    /// Timer ticks per second
    #[arg(long, value_name = "N", default_value_t = 250)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) hz: u32,

    /// Time from finding nothing to run to being marked idle: shows which wakeups get lost there
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) idle_entry: Option<u64>,

    /// No overheads: switches, migrations, wakeups and callbacks take no time, and a slice
    /// ends when it is used up, not at the next tick
    #[arg(long)]
    pub(crate) ideal: bool,

    /// Instructions that one callback of the policy may execute
    #[arg(long, value_name = "N", default_value_t = 10_000_000)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) budget: u64,

    /// Instructions that all callbacks, timers and programs of the policy may execute in a second
    /// of simulated time, for each CPU
    #[arg(long, value_name = "N", default_value_t = BUDGET_PER_SECOND)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) budget_per_second: u64,
}

/// How objects become policies.
#[derive(Debug, Args)]
#[command(next_help_heading = "Object")]
pub(crate) struct ObjectArgs {
    /// Types of the kernel to simulate, as /sys/kernel/btf/vmlinux or an
    /// uncompressed vmlinux has them [default: 7.2]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) btf: Option<PathBuf>,

    /// Look for headers of a FILE.bpf.c here too (repeatable)
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) include: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// Shell that will read the script
    pub(crate) shell: Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Write rota.1, rota-sim.1 … here instead of printing rota.1
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
}

pub(crate) fn duration(text: &str) -> Result<u64, String> {
    match parse_duration(text).map_err(|e| e.to_string())? {
        0 => Err("a run needs some time: expected more than 0".into()),
        ns => Ok(ns),
    }
}

/// A time, or a number of seconds; at least as long as what is done in it takes.
pub(crate) fn duration_or_seconds(text: &str) -> Result<u64, String> {
    let ns = match text.parse::<u64>() {
        Ok(seconds) => seconds.checked_mul(1_000_000_000).ok_or("too long a time")?,
        Err(_) => duration(text)?,
    };
    match ns {
        ns if ns < 100_000_000 => Err("too short an interval: expected 100ms or more".into()),
        ns => Ok(ns),
    }
}

pub(crate) fn name_and_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err("expected NAME=VALUE, for example quantum_ns=5000000".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn definitions_do_not_contradict_each_other() {
        Cli::command().debug_assert();
    }

    #[test]
    fn interval_is_in_seconds_unless_it_says_otherwise() {
        assert_eq!(duration_or_seconds("2"), Ok(2_000_000_000));
        assert_eq!(duration_or_seconds("500ms"), Ok(500_000_000));
        for bad in ["0", "99ms", "18446744073709551615", "x", "-1"] {
            assert!(duration_or_seconds(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_value_may_hold_an_equals_sign() {
        assert_eq!(name_and_value("a=b=c"), Ok(("a".into(), "b=c".into())));
        assert!(name_and_value("=3").is_err() && name_and_value("a").is_err());
    }
}
