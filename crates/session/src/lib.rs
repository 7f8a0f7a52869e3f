// SPDX-License-Identifier: MIT OR Apache-2.0
//! From what users name to what runs: policies by name, object or source; workload files; machines
//! by preset, file or computer; what a scheduler's loader would set. The command line and Python
//! both ask here, so that the same words mean the same run and fail with the same message.
//!
//! A [`Session`] remembers the machines that it read, and says what a user should know.

mod error;
pub mod expects;
mod given;
pub mod label;
pub mod load;
pub mod machine;
pub mod metric;
pub mod nearest;
pub mod object;
mod options;
pub mod own_machine;
pub mod prepare;
pub mod program;
mod run;
pub mod simulation;
pub mod source;
pub mod subject;
pub mod time;
pub mod values;
pub mod wanted;

pub use error::Error;
pub use given::Given;
pub use load::Load;
pub use options::{MachineOptions, BUDGET};
pub use run::{Ask, Ready, KERNEL};
pub use subject::Subject;
pub use wanted::Wanted;

use rota_machine_file::Machine;
use std::collections::BTreeMap;
use std::sync::Mutex;

/// Takes a line for the user: `note: …` or `warning: …`.
pub type Tell = Box<dyn Fn(&str) + Send + Sync>;

/// What belongs together: a command, or a call from Python.
pub struct Session {
    tell: Tell,
    /// Machines that were read: who asks several times must get the same one.
    machines: Mutex<BTreeMap<String, Machine>>,
}

impl Session {
    /// One that has read nothing yet.
    pub fn new(tell: Tell) -> Self {
        Self { tell, machines: Mutex::default() }
    }

    /// Says something to the user.
    pub fn tell(&self, line: &str) {
        (self.tell)(line);
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("machines", &self.machines).finish_non_exhaustive()
    }
}
