// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota link`: several sources and objects to one object.

use crate::error::{Error, Status};
use crate::object;
use crate::output_file;
use crate::source::Compiler;
use clap::{Args, ValueHint};
use rota_machine::kernel::Kernel;
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

    /// Compile sources with the types of this kernel: 6.12, 6.16, 6.19, 7.0, 7.2 or 7.3
    #[arg(long, value_name = "RELEASE", default_value = "7.2")]
    pub(crate) kernel: String,
}

pub(crate) fn run(args: &LinkArgs) -> Result<Status, Error> {
    let kernel = Kernel::bundled(&args.kernel).map_err(|e| Error::input(format!("--{e}")))?;
    let found =
        object::find_all(&args.files, Compiler { include: &args.include, kernel: &kernel })?;
    output_file::write(&args.output, &found.bytes)?;
    Ok(Status::Done)
}
