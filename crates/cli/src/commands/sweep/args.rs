// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arguments of `rota sweep`.

use crate::complete;
use crate::error::EXIT_CODES;
use crate::options::jobs;
use clap::{Args, ValueHint};
use std::num::NonZero;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct SweepArgs {
    /// What is swept over (docs/sweeps.md), and datasets of sweeps: runs in them are not done again;
    /// datasets alone are merged
    #[arg(value_name = "SWEEP.toml|RUNS.parquet", value_hint = ValueHint::FilePath, required = true)]
    pub(crate) files: Vec<PathBuf>,

    /// The dataset to write, and to go on from if it is there [default: SWEEP.parquet here]
    #[arg(short, long, value_name = "FILE.parquet", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,

    /// A metric of which less is wanted, by its key in docs/measures.md or 'throughput'; of several,
    /// the Pareto front is found (repeatable)
    #[arg(long, value_name = "KEY")]
    #[arg(add = complete::metric())]
    pub(crate) minimise: Vec<String>,

    /// The same, if more of it is wanted
    #[arg(long, value_name = "KEY")]
    #[arg(add = complete::metric())]
    pub(crate) maximise: Vec<String>,

    /// What must hold on each workload and machine, as 'wakeup_p99 <= 5ms' or
    /// 'throughput >= 0.98*baseline' (repeatable)
    #[arg(long, value_name = "CONDITION")]
    pub(crate) subject_to: Vec<String>,

    /// The policy that settings are compared with, as it ships [default: the file's]
    #[arg(long, value_name = "POLICY")]
    pub(crate) baseline: Option<String>,

    /// Runs at the same time [default: one for each CPU of this machine]
    #[arg(short, long, value_name = "N", value_parser = jobs)]
    pub(crate) jobs: Option<NonZero<usize>>,

    /// Print one JSON object (schema rota.sweep/1)
    #[arg(long)]
    pub(crate) json: bool,
}
