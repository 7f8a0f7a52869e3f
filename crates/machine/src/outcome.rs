// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a run ends, or why it cannot begin.

use crate::exit::ExitInfo;
use crate::outside::Happened;
use crate::stats::Counters;
use crate::subs::SubExit;
pub use crate::user_half::ProgramExit;
use rota_choice::ChoiceError;
use rota_workload::{Awaits, Deadlock};
use thiserror::Error;

/// A run that cannot be set up or goes on for ever through the workload's fault.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum RunError {
    /// The target kernel lacks what is needed, or the simulated one failed its audit.
    #[error("{0}")]
    Kernel(String),
    /// A task asks for what the machine does not have or does not simulate.
    #[error("task \"{task}\": {what}")]
    Task {
        /// Task name.
        task: String,
        /// What it asks for, and what there is.
        what: String,
    },
    /// An event from outside asks for what the machine does not have.
    #[error("{event}: {what}")]
    Event {
        /// Place and name of the event.
        event: String,
        /// What it asks for, and what there is.
        what: String,
    },
    /// The scheduler's program does what cannot be simulated.
    #[error("{0}")]
    Program(String),
    /// A task that never uses time.
    #[error("{0}")]
    Stuck(String),
    /// The object cannot be hosted.
    #[error("{0}")]
    Load(String),
    /// The replayed choices are of another run.
    #[error(transparent)]
    Choice(#[from] ChoiceError),
}

/// A scheduler that left.
#[derive(Clone, Debug)]
pub struct SchedulerExit {
    /// When.
    pub at_ns: u64,
    /// Why.
    pub exit: ExitInfo,
}

/// How a run ended.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Why the scheduler left.
    pub exit: ExitInfo,
    /// Schedulers that left, where the machine has a fair class and goes on after that.
    pub exits: Vec<SchedulerExit>,
    /// When: the duration, or earlier if it was ejected or cut short.
    pub end_ns: u64,
    /// The sink had enough before the duration was over.
    pub is_cut: bool,
    /// What the machine counted.
    pub counters: Counters,
    /// Reads of kernel fields that this machine does not fill: type, offset, count.
    pub unfilled_reads: Vec<(String, u32, u64)>,
    /// Lines that the scheduler printed.
    pub printed: Vec<String>,
    /// Tasks that waited for another task when the run ended: name, and what for.
    pub blocked: Vec<(String, Awaits)>,
    /// Those of them that waited for each other, in circles.
    pub deadlocks: Vec<Deadlock>,
    /// What came of events from outside that no trace shows.
    pub outside: Vec<Happened>,
    /// How the scheduler's program ended; `None`: there is none, or it went on to the end.
    pub program: Option<ProgramExit>,
    /// Sub-schedulers that left.
    pub sub_exits: Vec<SubExit>,
}
