// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota machine`: shows a machine, or writes its file.

use crate::complete;
use crate::error::{Error, Status};
use crate::machine;
use crate::output;
use crate::output_file;
use clap::{Args, ValueHint};
use std::io::Write;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct MachineCommand {
    /// flat, server, two-socket, hybrid, phone, cloud-2, this (the computer that Rota runs on), a
    /// machine file, hwloc's XML (lstopo --of xml), or a folder with a copy of a computer's /sys
    /// (docs/machines.md)
    #[arg(value_name = "NAME|FILE|DIR", default_value = "flat", add = complete::machines())]
    pub(crate) machine: String,

    /// Print it as a machine file, with every value that a run uses
    #[arg(long)]
    pub(crate) toml: bool,

    /// Draw it: nodes, caches, cores and CPUs, with what kinds of cores are like
    #[arg(long, value_name = "FILE.svg", value_hint = ValueHint::FilePath)]
    pub(crate) picture: Option<PathBuf>,
}

pub(crate) fn run(args: &MachineCommand) -> Result<Status, Error> {
    let machine = machine::read_new(&args.machine)?;
    if let Some(path) = &args.picture {
        let picture = rota_report::machine::render(&output::machine_picture::picture(&machine));
        output_file::write(path, picture.as_bytes())?;
    }
    let mut out = output::stdout();
    let text = match args.toml {
        true => machine.to_toml(),
        false => output::machine::text(&machine),
    };
    for line in text.lines() {
        writeln!(out, "{line}")?;
    }
    out.flush()?;
    Ok(Status::Done)
}
