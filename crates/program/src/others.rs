// SPDX-License-Identifier: MIT OR Apache-2.0
//! Processes that the program starts, as a shell script does: they run in real time.

use crate::error::ProgramError;
use crate::listener::Came;
use crate::program::Program;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// How often the program's files are looked at.
const LOOK: Duration = Duration::from_millis(1);

impl Program {
    /// All of its threads wait, one of them for a file, which a process that it has started may make
    /// ready: gives such processes real time. False if nothing came of it.
    pub(crate) fn wait_for_others(&mut self) -> Result<bool, ProgramError> {
        if !self.kept.has_started {
            return Ok(false);
        }
        let end = Instant::now() + self.timeout;
        while self.threads.current().is_none() && Instant::now() < end {
            if self.threads.on_files().is_empty() {
                return Ok(false);
            }
            let came = self.listener.wait(self.kept.pidfd.as_fd(), LOOK);
            match came.map_err(self.io("waiting for a process that it has started"))? {
                Came::Call(call) => self.called(call)?,
                Came::End => return Ok(false),
                Came::Nothing => {}
            }
            self.wake_ready();
        }
        Ok(self.threads.current().is_some())
    }
}
