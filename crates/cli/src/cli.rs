// SPDX-License-Identifier: MIT OR Apache-2.0
//! The command line as a whole: `rota` and the names of its commands. The texts of all arguments are
//! the help, the man pages and the shell completions.

use crate::commands::anonymise::AnonymiseArgs;
use crate::commands::bench::BenchArgs;
use crate::commands::boost::BoostArgs;
use crate::commands::bundle::BundleArgs;
use crate::commands::calibrate::CalibrateArgs;
use crate::commands::check::CheckArgs;
use crate::commands::compare::CompareArgs;
use crate::commands::completions::CompletionsArgs;
use crate::commands::condense::CondenseArgs;
use crate::commands::diff::DiffArgs;
use crate::commands::fluid::FluidArgs;
use crate::commands::import::ImportArgs;
use crate::commands::link::LinkArgs;
use crate::commands::list::ListArgs;
use crate::commands::machine::MachineCommand;
use crate::commands::man::ManArgs;
use crate::commands::record::RecordArgs;
use crate::commands::reproduce::ReproduceArgs;
use crate::commands::run::RunArgs;
use crate::commands::schema::SchemaArgs;
use crate::commands::set::SetArgs;
use crate::commands::sim::SimArgs;
use crate::commands::sweep::SweepArgs;
use crate::commands::test::TestArgs;
use crate::commands::top::TopArgs;
use crate::commands::trace::TraceArgs;
use crate::commands::tune::TuneArgs;
use crate::error::EXIT_CODES;
use crate::examples;
use clap::{CommandFactory, Parser, Subcommand};

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

/// The command line with its examples.
pub(crate) fn command() -> clap::Command {
    examples::add(Cli::command())
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the policies that ship with Rota, and their tunables
    List(ListArgs),
    /// Simulate a workload under a policy
    Sim(SimArgs),
    /// Simulate workloads under several policies with several seeds, side by side
    Compare(CompareArgs),
    /// Check what a suite expects of policies, and fail where that does not hold
    Test(TestArgs),
    /// Show the first decision in which two runs differ, and how their metrics moved
    Diff(DiffArgs),
    /// Run the experiments of a paper, and compare the numbers with the paper's
    Reproduce(ReproduceArgs),
    /// Run a policy's tunables, workloads and machines over ranges of values, and find the best
    Sweep(SweepArgs),
    /// Search for the alpha and beta of PBS that suit a workload
    Tune(TuneArgs),
    /// Solve a policy with infinitely short slices, instead of simulating it
    Fluid(FluidArgs),
    /// Make one object of a scheduler that has several sources
    Link(LinkArgs),
    /// Write what a scheduler's own program sets up to a file, to simulate it without the program
    Bundle(BundleArgs),
    /// Show a machine to simulate: its cores, caches and nodes, what work costs on it
    Machine(MachineCommand),
    /// Measure this machine, and write a file to simulate it
    Calibrate(CalibrateArgs),
    /// Run real programs that measure the scheduler of this machine
    Bench(BenchArgs),
    /// Run a policy in the kernel of this machine (needs root)
    Run(RunArgs),
    /// Boost threads that are serving requests, on any kernel with BPF (needs root)
    Boost(BoostArgs),
    /// Record what the tasks of this machine get from its scheduler (needs root)
    Record(RecordArgs),
    /// Read a trace of perf, trace-cmd, ftrace or Perfetto, and print what its tasks got
    Import(ImportArgs),
    /// Write a small workload with the statistics of a long one, and say how well it fits
    Condense(CondenseArgs),
    /// Write a workload with other names, to share it
    Anonymise(AnonymiseArgs),
    /// Print what the scheduler of this machine does, as it happens (needs root)
    Trace(TraceArgs),
    /// Show what the scheduler of this machine does, on the terminal (needs root), or play a trace
    Top(TopArgs),
    /// Change a running policy, or print what can be changed (needs root)
    Set(SetArgs),
    /// Check whether this machine can run policies, and print what is missing
    Check(CheckArgs),
    /// Print JSON Schemas of the files that Rota reads, for editors and programs
    Schema(SchemaArgs),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
    /// Print the manual page, or write those of all commands
    Man(ManArgs),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_do_not_contradict_each_other() {
        Cli::command().debug_assert();
    }

    /// Every command that can be called, by its words.
    fn paths(command: &clap::Command, path: &str) -> Vec<String> {
        let mut all = vec![path.to_owned()];
        for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
            all.extend(paths(below, format!("{path} {}", below.get_name()).trim_start()));
        }
        all
    }

    #[test]
    fn every_command_has_two_examples_that_it_understands() {
        for path in paths(&Cli::command(), "") {
            assert_eq!(examples::of(&path).len(), 2, "{path}");
            for (line, _) in examples::of(&path) {
                let line = line.split(['|', '>']).next().expect("a command");
                let words: Vec<&str> = line.trim().trim_start_matches("sudo ").split(' ').collect();
                // A quoted word that is two: its value does not matter here.
                let words = words.into_iter().filter(|word| !word.ends_with("response'"));
                let result = Cli::command().try_get_matches_from(words);
                let is_help = |e: &clap::Error| e.kind() == clap::error::ErrorKind::DisplayHelp;
                let error = result.err().filter(|error| !is_help(error));
                assert!(error.is_none(), "{line}: {}", error.expect("one"));
                let above = path.split(' ').next().expect("a word");
                assert!(line.contains(&format!("rota {above}")), "{path}: {line}");
            }
        }
    }
}
