// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota link`: several sources and objects to one object.

use crate::error::{Error, Status};
use crate::object;
use crate::output_file;
use clap::{Args, ValueHint};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct LinkArgs {
    /// Sources (FILE.bpf.c) and objects (FILE.bpf.o) of one scheduler
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath, required = true)]
    pub(crate) files: Vec<String>,

    /// Object to write
    #[arg(short, long, value_name = "FILE.bpf.o", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,

    /// Search for headers of a FILE.bpf.c here too (repeatable)
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) include: Vec<PathBuf>,
}

pub(crate) fn run(args: &LinkArgs) -> Result<Status, Error> {
    let found = object::find_all(&args.files, &args.include)?;
    output_file::write(&args.output, &found.bytes)?;
    Ok(Status::Done)
}
