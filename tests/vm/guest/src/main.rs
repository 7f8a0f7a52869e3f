// SPDX-License-Identifier: MIT OR Apache-2.0
//! The program of the test machine: as process 1 it runs the jobs it was given, and it
//! has the loads that they start.

mod hog;

use anyhow::{bail, Result};
use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match command(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("rota-guest: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn command(args: &[String]) -> Result<()> {
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["hog"] => hog::spin(),
        _ => bail!("usage: rota-guest hog"),
    }
}
