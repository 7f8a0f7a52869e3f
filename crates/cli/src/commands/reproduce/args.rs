// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arguments of `rota reproduce`.

use crate::complete;
use crate::options::{html_file, jobs};
use clap::{Args, ValueHint};
use rota_reproduce::Effort;
use std::num::NonZero;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 nothing differs from the paper but what is known to, 1 something else differs, or what \
is known to differ does not (default effort), or something failed, 2 wrong usage.")]
pub(crate) struct ReproduceArgs {
    /// A paper: vtrr, o1cfs, pbs, pfs or cas; all: every one, in one table
    #[arg(value_name = "PAPER")]
    #[arg(add = complete::papers())]
    pub(crate) paper: String,

    /// Figures, as fig1 [default: all of the paper]
    #[arg(value_name = "FIGURE")]
    #[arg(add = complete::figures())]
    pub(crate) figures: Vec<String>,

    /// Little: some seconds
    #[arg(long, conflicts_with = "full")]
    pub(crate) quick: bool,

    /// As much as the paper: a quarter of an hour
    #[arg(long)]
    pub(crate) full: bool,

    /// Threads [default: one for each CPU of this machine]
    #[arg(short, long, value_name = "N", value_parser = jobs)]
    pub(crate) jobs: Option<NonZero<usize>>,

    /// Show nanoseconds of decisions, too, not only instructions: the JSON that the bench of
    /// decision costs printed on some computer
    #[arg(long, value_name = "FILE.json", value_hint = ValueHint::FilePath)]
    pub(crate) decision_cost: Option<PathBuf>,

    /// Write texts, numbers and figures as one HTML file
    #[arg(long, value_name = "FILE.html", value_hint = ValueHint::FilePath)]
    #[arg(num_args = 0..=1, require_equals = true, value_parser = html_file)]
    pub(crate) report: Option<Option<PathBuf>>,

    /// Print one JSON object with every number (schema rota.reproduce/2, of all
    /// rota.reproduce-all/1)
    #[arg(long, conflicts_with = "markdown")]
    pub(crate) json: bool,

    /// Print texts and numbers as Markdown
    #[arg(long)]
    pub(crate) markdown: bool,
}

impl ReproduceArgs {
    pub(crate) fn effort(&self) -> Effort {
        match (self.quick, self.full) {
            (true, _) => Effort::Quick,
            (_, true) => Effort::Full,
            _ => Effort::Default,
        }
    }

    /// Where the report goes, if one is wanted.
    pub(crate) fn report(&self) -> Option<PathBuf> {
        let named = self.report.as_ref()?;
        Some(named.clone().unwrap_or_else(|| format!("{}.html", self.paper).into()))
    }
}
