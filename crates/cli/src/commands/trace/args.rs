// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arguments of `rota trace`.

use crate::commands::record::TargetArgs;
use crate::error::EXIT_CODES;
use crate::trace_files::Format;
use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct TraceArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,

    /// What to print: lines for people, or what `rota record --trace` writes into a file
    /// of that ending
    #[arg(long, value_enum, default_value_t = Printed::Lines)]
    pub(crate) format: Printed,
}

/// What `rota trace` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Printed {
    /// Aligned text
    Lines,
    /// A line of CSV for each event
    Csv,
    /// Chrome's trace event format
    Json,
    /// Perfetto's, for ui.perfetto.dev
    Pftrace,
    /// A table for DuckDB, pandas …
    Parquet,
}

impl Printed {
    /// The format of the crate that writes it; lines are none of its.
    pub(crate) fn format(self) -> Option<Format> {
        match self {
            Printed::Lines => None,
            Printed::Csv => Some(Format::Csv),
            Printed::Json => Some(Format::Chrome),
            Printed::Pftrace => Some(Format::Perfetto),
            Printed::Parquet => Some(Format::Parquet),
        }
    }

    /// Whether it would only confuse a terminal.
    pub(crate) fn is_binary(self) -> bool {
        matches!(self, Printed::Pftrace | Printed::Parquet)
    }
}
