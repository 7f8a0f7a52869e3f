// SPDX-License-Identifier: MIT OR Apache-2.0
//! The `rota` command: reads its arguments, calls the other crates, prints.

mod affinity;
mod choices;
mod cli;
#[cfg(test)]
mod cli_tests;
mod commands;
mod comparison;
mod complete;
mod date;
mod decision;
mod error;
mod examples;
mod findings;
mod gate;
mod machine;
mod metric;
mod object;
mod options;
mod output;
mod output_file;
mod own_machine;
mod progress;
mod readiness;
mod replay;
mod schemas;
mod session;
mod simulation;
mod stop;
mod suite;
mod trace_files;
mod tuned;

use clap::FromArgMatches;
use clap_complete::CompleteEnv;
use cli::{Cli, Command};
use error::{Error, Status};
use rota_session::{label, load, nearest, prepare, program, source};
use std::process::ExitCode;

fn main() -> ExitCode {
    CompleteEnv::with_factory(cli::command).var(complete::VARIABLE).complete();
    let matches = cli::command().get_matches();
    let command = match Cli::from_arg_matches(&matches) {
        Ok(cli) => cli.command,
        Err(error) => error.exit(),
    };
    let result = match command {
        Command::List(args) => commands::list::run(&args),
        Command::Sim(args) => commands::sim::run(&args),
        Command::Compare(args) => commands::compare::run(&args),
        Command::Test(args) => commands::test::run(&args),
        Command::Diff(args) => commands::diff::run(&args),
        Command::Reproduce(args) => commands::reproduce::run(&args),
        Command::Sweep(args) => commands::sweep::run(&args),
        Command::Tune(args) => commands::tune::run(&args),
        Command::Fluid(args) => commands::fluid::run(&args),
        Command::Machine(args) => commands::machine::run(&args),
        Command::Calibrate(args) => commands::calibrate::run(&args),
        Command::Bundle(args) => commands::bundle::run(&args),
        Command::Link(args) => commands::link::run(&args),
        Command::Bench(args) => commands::bench::run(&args),
        Command::Boost(args) => commands::boost::run(&args),
        Command::Anonymise(args) => commands::anonymise::run(&args),
        Command::Condense(args) => commands::condense::run(&args),
        Command::Import(args) => commands::import::run(&args),
        Command::Run(args) => commands::run::run(&args),
        Command::Set(args) => commands::set::run(&args),
        Command::Check(args) => commands::check::run(&args),
        Command::Record(args) => commands::record::run(&args),
        Command::Top(args) => commands::top::run(&args),
        Command::Trace(args) => commands::trace::run(&args),
        Command::Schema(args) => commands::schema::run(&args),
        Command::Completions(args) => commands::completions::run(&args),
        Command::Man(args) => commands::man::run(&args, cli::command()),
    };
    match result {
        Ok(Status::Done) => ExitCode::SUCCESS,
        Ok(Status::Failed) => ExitCode::from(error::FAILURE),
        Ok(Status::Ejected) => ExitCode::from(error::EJECTED),
        Ok(Status::Refused) => ExitCode::from(error::BAD_INPUT),
        Ok(Status::Command(code)) => ExitCode::from(code),
        Err(Error::PipeClosed) => ExitCode::SUCCESS,
        Err(error) => {
            output::messages::error(&error);
            ExitCode::from(error.code())
        }
    }
}
