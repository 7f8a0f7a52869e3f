// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota completions SHELL`.

use crate::error::{Error, Status};
use clap::{Args, Command};
use clap_complete::Shell;
use std::io::Write;

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// Shell that will read the script
    pub(crate) shell: Shell,
}

/// The script for the command line `root`.
pub(crate) fn run(args: &CompletionsArgs, mut root: Command) -> Result<Status, Error> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut root, "rota", &mut script);
    std::io::stdout().write_all(&script)?;
    Ok(Status::Done)
}
