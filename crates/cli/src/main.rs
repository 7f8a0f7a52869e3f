// SPDX-License-Identifier: MIT OR Apache-2.0
//! The `rota` command: reads its arguments, calls the other crates, prints.

mod args;
#[cfg(test)]
mod args_tests;
mod commands;
mod error;
mod machine;
mod object;
mod output;
mod output_file;
mod prepare;
mod progress;
mod simulation;
mod trace_files;

use args::{Cli, Command};
use clap::Parser;
use error::{Error, Status};
use std::process::ExitCode;

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::List(args) => commands::list::run(&args),
        Command::Sim(args) => commands::sim::run(&args),
        Command::Compare(args) => commands::compare::run(&args),
        Command::Reproduce(args) => commands::reproduce::run(&args),
        Command::Tune(args) => commands::tune::run(&args),
        Command::Fluid(args) => commands::fluid::run(&args),
        Command::Bench(args) => commands::bench::run(&args),
        Command::Boost(args) => commands::boost::run(&args),
        Command::Run(args) => commands::run::run(&args),
        Command::Set(args) => commands::set::run(&args),
        Command::Check(args) => commands::check::run(&args),
        Command::Record(args) => commands::record::run(&args),
        Command::Trace(args) => commands::trace::run(&args),
        Command::Completions(args) => commands::completions::run(&args),
        Command::Man(args) => commands::man::run(&args),
    };
    match result {
        Ok(Status::Done) => ExitCode::SUCCESS,
        Ok(Status::Ejected) => ExitCode::from(error::EJECTED),
        Err(Error::PipeClosed) => ExitCode::SUCCESS,
        Err(error) => {
            output::messages::error(&error);
            ExitCode::from(error.code())
        }
    }
}
