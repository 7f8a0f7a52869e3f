// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is done to a process before the first call of its program is answered: when it is started, and
//! each time that it executes another program, as a script that starts a scheduler does.

use crate::auxv;
use crate::error::ProgramError;
use crate::kept::Kept;
use crate::listener::Call;
use crate::program::Program;
use crate::remote::Remote;
use crate::vdso;

impl Program {
    /// It has no clock and no random numbers but those that it is given.
    pub(crate) fn begin(&mut self) -> Result<(), ProgramError> {
        let Kept { pid, memory, random, .. } = &mut self.kept;
        let (hidden, seeded) = (vdso::hide(*pid, memory), auxv::seed(*pid, memory, random));
        hidden.map_err(self.io("hiding the computer's clock"))?;
        seeded.map_err(self.io("giving it random bytes"))
    }

    /// A call has come from the process since it was to execute another program: if it has, that is
    /// its first, from its only thread. True if that is so.
    pub(crate) fn has_executed(&mut self, call: Call) -> Result<bool, ProgramError> {
        self.kept.executes = false;
        let pid = self.kept.pid;
        if call.tid != pid || self.kept.memory.is_of(pid) {
            return Ok(false);
        }
        self.kept.memory = Remote::open(pid).map_err(self.io("reading its memory"))?;
        self.kept.epolls.clear();
        // All descriptors of bpf(2) are closed with that. A link that is pinned stays.
        if self.kept.link.is_some_and(|link| self.kept.played.closed(link)) {
            self.kept.link = None;
            self.detached = true;
        }
        self.threads.executed(call);
        self.forget_new_thread();
        self.begin()?;
        Ok(true)
    }
}
