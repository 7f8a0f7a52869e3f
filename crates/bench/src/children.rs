// SPDX-License-Identifier: MIT OR Apache-2.0
//! Processes that end when we do.

use crate::error::Error;
use rustix::process::{setpriority_process, Pid};
use std::process::{Child, Command, Stdio};

/// A process that is killed when this is dropped.
#[derive(Debug)]
pub(crate) struct Process(pub(crate) Child);

impl Process {
    /// Starts it with its input and output connected to us.
    pub(crate) fn start(command: &mut Command) -> Result<Self, Error> {
        let program = command.get_program().to_string_lossy().into_owned();
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        child.map(Self).map_err(|e| Error::Input(format!("cannot start {program}: {e}")))
    }

    /// Sets its nice value.
    pub(crate) fn renice(&self, nice: i32) -> Result<(), Error> {
        let pid = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw);
        let set = |pid| setpriority_process(pid, nice);
        // Less than our own takes root.
        let permitted = |e| Error::Input(format!("cannot give a process nice {nice}: {e}"));
        set(pid).map_err(permitted)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
