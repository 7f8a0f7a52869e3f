// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota anonymise`: a workload file with other names.

use crate::error::{Error, Status, EXIT_CODES};
use crate::load;
use crate::output_file::OutputFile;
use clap::{Args, ValueHint};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct AnonymiseArgs {
    /// The workload file; -: standard input
    #[arg(value_name = "LOAD.json", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,

    /// File to write; it can be the same
    #[arg(short, long, value_name = "FILE.json", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
}

pub(crate) fn run(args: &AnonymiseArgs) -> Result<Status, Error> {
    let (file, text) = load::text(&args.file)?;
    let text = rota_workload::anonymise(&file, &text)?;
    OutputFile::create(&args.output)?.finish_with(text.as_bytes())?;
    Ok(Status::Done)
}
