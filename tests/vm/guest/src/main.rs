// SPDX-License-Identifier: MIT OR Apache-2.0
//! The program of the test machine: as process 1 it brings the machine up, then it does the
//! jobs that it was given, and it is the load that they start.

mod ask;
mod command;
mod frames;
mod groups;
mod hog;
mod hogs;
mod init;
mod jobs;
mod measure;
mod ordinary;
mod player;
mod quiet;
mod recording;
mod records;
mod residue;
mod scheduler;
mod sessions;
mod steps;
mod sysfs;
mod web;

use anyhow::{bail, Context, Result};
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
        ["hog", kind] => hog::live(&serde_json::from_str(kind).context("what kind of hog")?),
        ["join", program, args @ ..] => ordinary::join(program, args),
        ["take-over", program, args @ ..] => ordinary::take_over(program, args),
        ["ask", words @ ..] => ask::ask(words),
        ["serve", socket, session, work_us] => ask::serve(socket, session, work_us),
        ["frames", words @ ..] => frames::frames(words),
        ["apart", cpu, program, args @ ..] => web::apart(cpu, program, args),
        ["page", ..] => web::page(),
        ["visit", visits] => web::visit(visits),
        ["jobs"] => jobs::run(),
        ["record", options @ ..] => {
            println!("{}", serde_json::to_string(&recording::record(options, false, None, None)?)?);
            Ok(())
        }
        ["play", options @ ..] => {
            let played = player::play(options)?;
            println!("{}", serde_json::to_string(&played)?);
            Ok(())
        }
        _ if std::process::id() == 1 => init::run(),
        _ => bail!(
            "usage: rota-guest hog KIND|jobs|play|ask …|frames …|visit FILE|page|join PROGRAM …|apart CPU \
             PROGRAM …|take-over PROGRAM …"
        ),
    }
}
