// SPDX-License-Identifier: MIT OR Apache-2.0
//! What runs beside an interactive task.

use super::task::Task;
use crate::busy;
use crate::error::Error;
use serde::{Deserialize, Serialize};

/// A load of the CPUs. Those of disks and swap are not here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Load {
    /// Nothing.
    None,
    /// The interactive task of that name, once more.
    Audio,
    /// Likewise.
    Video,
    /// Likewise.
    X,
    /// Threads that never sleep.
    Burn,
    /// One such thread for each of the CPUs.
    Full,
}

impl Load {
    /// Threads that never sleep.
    pub(crate) fn busy(self, burn: u32, cpus: usize) -> usize {
        match self {
            Self::Burn => burn as usize,
            Self::Full => cpus,
            Self::None | Self::Audio | Self::Video | Self::X => 0,
        }
    }

    fn task(self) -> Option<Task> {
        match self {
            Self::Audio => Some(Task::Audio),
            Self::Video => Some(Task::Video),
            Self::X => Some(Task::X),
            Self::None | Self::Burn | Self::Full => None,
        }
    }

    /// Loads the CPUs until the process is ended.
    pub(crate) fn run(self, busy_threads: usize, loops_per_ms: u64) -> Result<(), Error> {
        for _ in 0..busy_threads {
            std::thread::spawn(move || loop {
                busy::burn(loops_per_ms);
            });
        }
        match self.task() {
            Some(task) => loop {
                task.run(loops_per_ms, HOUR_NS)?;
            },
            None => Ok(()),
        }
    }
}

const HOUR_NS: u64 = 3_600_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_load_has_a_thread_for_each_cpu() {
        assert_eq!(
            [Load::None, Load::X, Load::Burn, Load::Full].map(|l| l.busy(4, 2)),
            [0, 0, 4, 2]
        );
    }
}
