// SPDX-License-Identifier: MIT OR Apache-2.0
//! Options of runs with a scheduler's own program.

use super::values::{program_cost, program_timeout};
use clap::Args;
use rota_session::program::ProgramOptions;

/// How a scheduler's own program runs.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Program")]
pub(crate) struct ProgramArgs {
    /// CPU time that each system call of the scheduler's program takes in the simulated machine
    /// [default: 1us]
    #[arg(long, value_name = "TIME", value_parser = program_cost, allow_hyphen_values = true)]
    pub(crate) program_cost: Option<u64>,

    /// How long the program may take, in real time, from one system call to the next
    /// [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = program_timeout, allow_hyphen_values = true)]
    pub(crate) program_timeout: Option<u64>,
}

impl ProgramArgs {
    /// The same, as what starts programs takes them.
    pub(crate) fn options(&self) -> ProgramOptions {
        ProgramOptions { cost_ns: self.program_cost, timeout_ns: self.program_timeout }
    }

    /// The first of them that is given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let cost = self.program_cost.map(|_| "--program-cost");
        cost.or(self.program_timeout.map(|_| "--program-timeout"))
    }
}
