// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arguments of `rota bench what-if`.

use super::question::Question;
use crate::complete;
use crate::error::EXIT_CODES;
use clap::{Args, ValueHint};
use std::ffi::OsString;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct WhatIfArgs {
    /// What to ask: same, more, fewer (CPUs), hogs, more-hogs, fewer-hogs, nice, slice [default: all]
    #[arg(long, value_name = "WHAT,…", value_delimiter = ',', hide_possible_values = true)]
    pub(crate) ask: Vec<Question>,

    /// Number of recordings, and of live runs of each question
    #[arg(long, value_name = "N", default_value_t = 5)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: u32,

    /// Runs before each recording without the recorder at the command's calls, as in rota record
    #[arg(long, value_name = "RUNS", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=100))]
    pub(crate) plain: u32,

    /// Machine of the recordings and guesses, as in rota record
    /// [default: this computer, with no model of its hardware]
    #[arg(long, value_name = "NAME|FILE", add = complete::machines())]
    pub(crate) machine: Option<String>,

    /// Name of the load in the table [default: the command]
    #[arg(long)]
    pub(crate) name: Option<String>,

    /// Print one JSON object with every run (schema rota.bench.what-if/1)
    #[arg(long, conflicts_with = "markdown")]
    pub(crate) json: bool,

    /// Print rows of a Markdown table, without its head
    #[arg(long)]
    pub(crate) markdown: bool,

    /// The command: it should take a second or so, and end by itself. Its output goes to standard
    /// error. Where two run side by side, ROTA_COPY is 1 and 2
    #[arg(last = true, required = true, value_name = "COMMAND")]
    #[arg(value_hint = ValueHint::CommandWithArguments)]
    pub(crate) command: Vec<OsString>,
}

/// Of who runs the command: once or twice.
#[derive(Debug, Args)]
pub(crate) struct WhatIfChildArgs {
    /// Where it writes how long each copy took
    #[arg(long)]
    pub(crate) report: PathBuf,

    #[arg(long, default_value_t = 1)]
    pub(crate) copies: u32,

    /// By how much the second copy's nice value is higher
    #[arg(long, default_value_t = 0)]
    pub(crate) nice: i32,

    /// Slice that all of its tasks ask for; 0: none
    #[arg(long, default_value_t = 0)]
    pub(crate) slice_ns: u64,

    #[arg(last = true, required = true)]
    pub(crate) command: Vec<OsString>,
}
