// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota bench`: real programs under the scheduler that this machine has now.

mod agree;
mod args;
mod calibrated;
mod computer;
mod encoders;
mod fairness;
mod interactivity;
mod median;
mod servers;
mod shares;
mod threads;
mod values;
mod what_if;

pub(crate) use args::BenchArgs;

use crate::error::{Error, Status};
use args::Bench;
use std::process::Command;

pub(crate) fn run(args: &BenchArgs) -> Result<Status, Error> {
    match &args.bench {
        Bench::Fairness(args) => fairness::run(args),
        Bench::Encoders(args) => encoders::run(args),
        Bench::Interactivity(args) => interactivity::run(args),
        Bench::Shares(args) => shares::run(args),
        Bench::Threads(args) => threads::run(args),
        Bench::Servers(args) => servers::run(args),
        Bench::Agree(args) => agree::run(args),
        Bench::Calibrated(args) => calibrated::run(args),
        Bench::AgreeChild(args) => agree::child(args),
        Bench::WhatIf(args) => what_if::run(args),
        Bench::WhatIfChild(args) => what_if::child(args),
        Bench::WhatIfHog => what_if::hog(),
        Bench::ServersChild { words } => {
            rota_bench::servers::child(words)?;
            Ok(Status::Done)
        }
        Bench::ThreadsChild => {
            rota_bench::threads::child(std::io::stdin(), std::io::stdout())?;
            Ok(Status::Done)
        }
        Bench::InteractiveChild => {
            rota_bench::interactivity::child(std::io::stdin(), std::io::stdout())?;
            Ok(Status::Done)
        }
        Bench::Child => {
            rota_bench::fairness::child(std::io::stdin(), std::io::stdout())?;
            Ok(Status::Done)
        }
    }
}

/// Who schedules on this machine now: a sched_ext scheduler, or the kernel itself.
fn scheduler() -> String {
    rota_kernel::sysfs::loaded().unwrap_or_else(|| "the kernel's own".into())
}

/// Starts this program again, as a child of a bench.
fn child_command(child: &'static str) -> Result<impl Fn() -> Command, Error> {
    let own = std::env::current_exe()
        .map_err(|e| Error::Failure(format!("cannot find this program: {e}")))?;
    Ok(move || {
        let mut command = Command::new(&own);
        command.args(["bench", child]);
        command
    })
}
