// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why a program does not run, or no longer.

use std::io;
use std::time::Duration;
use thiserror::Error;

/// Why a program does not run, or no longer.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ProgramError {
    /// It cannot be executed.
    #[error("{program}: {why}")]
    Start {
        /// As it was asked for.
        program: String,
        /// What is wrong.
        why: io::Error,
    },
    /// The computer lacks what it takes.
    #[error("{program}: {lacks}")]
    Computer {
        /// As it was asked for.
        program: String,
        /// What lacks, and what it is needed for.
        lacks: String,
    },
    /// It ended before it attached a scheduler.
    #[error("{program}: ended before it attached a scheduler: {how}{output}")]
    Ended {
        /// As it was asked for.
        program: String,
        /// `exit status: 1`.
        how: String,
        /// The end of its output, with a heading, or nothing.
        output: String,
    },
    /// It did nothing that Rota sees for too long.
    #[error(
        "{program}: no system call for {} s: {place}; --program-timeout sets how long one may \
         take{output}", .after.as_secs_f64()
    )]
    Hangs {
        /// As it was asked for.
        program: String,
        /// For how long.
        after: Duration,
        /// Where it is.
        place: String,
        /// The end of its output, with a heading, or nothing.
        output: String,
    },
    /// All its threads wait for something that cannot come.
    #[error(
        "{program}: all of its threads wait for ever, and it has attached no scheduler{output}"
    )]
    Waits {
        /// As it was asked for.
        program: String,
        /// The end of its output, with a heading, or nothing.
        output: String,
    },
    /// What it loaded is no scheduler that can be run.
    #[error("{program}: {what}")]
    Loaded {
        /// As it was asked for.
        program: String,
        /// What is wrong.
        what: String,
    },
    /// The computer's kernel refused something while it ran.
    #[error("{program}: {doing}: {why}")]
    Io {
        /// As it was asked for.
        program: String,
        /// What was being done.
        doing: &'static str,
        /// What is wrong.
        why: io::Error,
    },
}
