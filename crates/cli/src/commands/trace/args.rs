// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arguments of `rota trace`.

use crate::args::EXIT_CODES;
use crate::commands::record::TargetArgs;
use clap::Args;

#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct TraceArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,

    /// Print lines of CSV, as `rota record --trace FILE.csv` writes them
    #[arg(long)]
    pub(crate) csv: bool,
}
