// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arguments of `rota test`.

use crate::options::jobs;
use clap::{Args, ValueHint};
use std::num::NonZero;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 all holds, 1 something does not, 2 wrong usage or bad input."
)]
pub(crate) struct TestArgs {
    /// What is expected of which policies on which workloads and machines, as TOML (docs/gates.md)
    #[arg(value_name = "SUITE.toml", value_hint = ValueHint::FilePath)]
    pub(crate) suite: PathBuf,

    /// Only tests that have this in their names (repeatable)
    #[arg(long, value_name = "TEXT")]
    pub(crate) only: Vec<String>,

    /// Write the results as JUnit XML
    #[arg(long, value_name = "FILE.xml", value_hint = ValueHint::FilePath)]
    pub(crate) junit: Option<PathBuf>,

    /// Print failures as annotations of GitHub [default: if GITHUB_ACTIONS is set]
    #[arg(long, overrides_with = "no_github")]
    pub(crate) github: bool,

    /// Print none
    #[arg(long)]
    pub(crate) no_github: bool,

    /// Folder for reports and traces of what failed
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, default_value = "rota-test")]
    pub(crate) keep: PathBuf,

    /// Keep no reports and traces
    #[arg(long, conflicts_with = "keep")]
    pub(crate) keep_nothing: bool,

    /// Runs at the same time [default: one for each CPU of this machine]
    #[arg(short, long, value_name = "N", value_parser = jobs)]
    pub(crate) jobs: Option<NonZero<usize>>,

    /// Print one JSON object (schema rota.test/1)
    #[arg(long)]
    pub(crate) json: bool,
}
