// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rota bench`: real programs under the scheduler that this machine has now.

mod args;
mod encoders;
mod fairness;

pub(crate) use args::BenchArgs;

use crate::error::{Error, Status};
use args::Bench;

pub(crate) fn run(args: &BenchArgs) -> Result<Status, Error> {
    match &args.bench {
        Bench::Fairness(args) => fairness::run(args),
        Bench::Encoders(args) => encoders::run(args),
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
