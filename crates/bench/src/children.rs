// SPDX-License-Identifier: MIT OR Apache-2.0
//! Processes that end when we do.

use crate::error::Error;
use rustix::io::Errno;
use rustix::process::{kill_process, setpriority_process, Pid, Signal};
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

    /// Holds it where it is.
    pub(crate) fn hold(&self) -> Result<(), Error> {
        self.signal(Signal::STOP)
    }

    /// Lets it go on.
    pub(crate) fn let_go(&self) -> Result<(), Error> {
        self.signal(Signal::CONT)
    }

    fn signal(&self, signal: Signal) -> Result<(), Error> {
        let sent = self.pid().map_or(Err(Errno::SRCH), |pid| kill_process(pid, signal));
        sent.map_err(|e| Error::system("send a signal to a process", e))
    }

    fn pid(&self) -> Option<Pid> {
        i32::try_from(self.0.id()).ok().and_then(Pid::from_raw)
    }

    /// Sets its nice value.
    pub(crate) fn renice(&self, nice: i32) -> Result<(), Error> {
        let pid = self.pid();
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
