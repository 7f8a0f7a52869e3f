// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arguments of `rota compare`.

use super::precision::Precision;
use super::seeds::Seeds;
use crate::complete;
use crate::error::EXIT_CODES;
use crate::options::{cpus, html_file, jobs, MachineArgs, ObjectArgs, ProgramArgs};
use clap::{Args, ValueHint};
use std::num::NonZero;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct CompareArgs {
    /// What the tasks do, as rt-app JSON files or folders of them; or policies, as in --policies,
    /// or schedulers' own programs, as 'scx_simple -f' (docs/programs.md)
    #[arg(value_name = "WORKLOAD.json|POLICY", value_hint = ValueHint::FilePath, required = true)]
    #[arg(add = complete::workloads_and_policies())]
    pub(crate) items: Vec<String>,

    /// Shipped policies, FILE.bpf.o or FILE.bpf.c, each with what to set (and @FILE.toml for a
    /// manifest), and with a label in front if you like, as old=main.bpf.o [default: fifo, rr, wfq, vtrr, pbs, o1 and cfs]
    #[arg(long, value_name = "POLICY[:NAME=VALUE]…,…", value_delimiter = ',')]
    #[arg(add = complete::policy_list())]
    pub(crate) policies: Vec<String>,

    /// All policies that ship, and those that are named
    #[arg(long)]
    pub(crate) all: bool,

    /// The policy that all others are compared with, run as well if it is not named [default:
    /// eevdf; with --fail-if and several policies the first of them]
    #[arg(long, value_name = "POLICY[:NAME=VALUE]…|none")]
    #[arg(add = complete::baselines())]
    pub(crate) baseline: Option<String>,

    /// Runs of each policy on each workload: --seed and those after it; auto: as many as
    /// --precision takes, 10 to 200
    #[arg(long, value_name = "N|auto", default_value = "10")]
    #[arg(value_parser = Seeds::parse)]
    pub(crate) seeds: Seeds,

    /// With --seeds auto: how narrow the intervals of all columns shall be, those of differences
    /// from the baseline where there is one
    #[arg(long, value_name = "PERCENT%", default_value = "2%")]
    #[arg(value_parser = Precision::parse)]
    pub(crate) precision: Precision,

    /// Columns of the table: metrics (docs/measures.md), groups of them (fairness, latency,
    /// progress, requests, deadlines, locks, cost), or all [default: the six most informative]
    #[arg(long, value_name = "METRIC|GROUP,…", value_delimiter = ',', visible_alias = "measures")]
    #[arg(add = complete::metrics())]
    pub(crate) metrics: Vec<String>,

    /// What the scheduler is for; several times, the most important first: latency, throughput,
    /// fairness, overhead, a metric, or TASK:METRIC [default: latency, throughput, fairness and
    /// deadlines]
    #[arg(long, value_name = "GOAL")]
    #[arg(add = complete::goals())]
    pub(crate) goal: Vec<String>,

    /// End with exit code 1 if this holds for a policy other than the baseline, as 'p99_wakeup worse
    /// by 5%', 'p99_wakeup("ui") > 5ms' or 'exit != ok' (repeatable; docs/gates.md)
    #[arg(long, value_name = "CONDITION")]
    pub(crate) fail_if: Vec<String>,

    /// Runs at the same time [default: one for each CPU of this machine]
    #[arg(short, long, value_name = "N", value_parser = jobs)]
    pub(crate) jobs: Option<NonZero<usize>>,

    /// Write tables and figures as one HTML file, and all numbers as .json and .csv next to it
    #[arg(long, value_name = "FILE.html", value_hint = ValueHint::FilePath)]
    #[arg(value_parser = html_file)]
    pub(crate) report: Option<PathBuf>,

    /// Save finished runs to FILE and skip those that it already has
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) resume: Option<PathBuf>,

    /// Print one JSON object with every number (schema rota.compare/2)
    #[arg(long, conflicts_with = "csv")]
    pub(crate) json: bool,

    /// Print every number as CSV
    #[arg(long)]
    pub(crate) csv: bool,

    #[command(flatten)]
    pub(crate) of_program: ProgramArgs,

    /// CPUs; several numbers: a table for each [default: those of each workload's own machine, else 4]
    #[arg(long, value_name = "N,…", help_heading = "Machine")]
    #[arg(value_delimiter = ',', value_parser = cpus)]
    pub(crate) cpus: Vec<u32>,

    /// Sessions do not share as groups do, as with kernel.sched_autogroup_enabled=0
    #[arg(long, help_heading = "Machine")]
    pub(crate) no_autogroup: bool,

    #[command(flatten)]
    pub(crate) machine: MachineArgs,

    #[command(flatten)]
    pub(crate) object: ObjectArgs,
}
