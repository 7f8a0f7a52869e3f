// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota completions SHELL`.

use crate::args::{Cli, CompletionsArgs};
use crate::error::{Error, Status};
use clap::CommandFactory;
use std::io::Write;

pub(crate) fn run(args: &CompletionsArgs) -> Result<Status, Error> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "rota", &mut script);
    std::io::stdout().write_all(&script)?;
    Ok(Status::Done)
}
