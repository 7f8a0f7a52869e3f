// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota-speed`: what a decision takes the simulator, on a grid of policies, CPUs, tasks and engines.
//!
//! Builds that are compared take turns in each cell, so that what else the computer does meets all of
//! them. `make bench` and `make bench-compare` run it.

mod args;
mod grid;
mod history;
mod load;
mod measure;
mod run;
mod table;

use anyhow::{Context, Result};
use args::Args;
use clap::Parser;
use history::History;
use measure::Measured;
use std::process::ExitCode;

fn main() -> ExitCode {
    match speed(&Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("rota-speed: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Measures all cells; false if there was no result for one.
fn speed(args: &Args) -> Result<bool> {
    let grid = args.grid();
    let history = args.history.as_deref().map(History::open).transpose()?;
    let directory = tempfile::tempdir().context("a directory for workloads")?;
    let mut out = table::Output::new(args.json, args.builds.len());
    let mut all = true;
    for (nr, cell) in grid.iter().enumerate() {
        if !args.json {
            eprint!("\r\x1b[K{} of {}: {cell} ", nr + 1, grid.len());
        }
        let measured = match measure::cell(cell, &args.builds, args.repeat, directory.path()) {
            Ok(measured) => measured,
            Err(error) => {
                eprintln!("\r\x1b[K{cell}: {error:#}");
                all = false;
                continue;
            }
        };
        let before = history.as_ref().and_then(|history| history.last(cell, &measured[0].build));
        out.row(cell, &measured, before);
        if let Some(history) = &history {
            measured.iter().try_for_each(|measured: &Measured| history.add(cell, measured))?;
        }
    }
    eprint!("\r\x1b[K");
    out.end();
    Ok(all)
}
