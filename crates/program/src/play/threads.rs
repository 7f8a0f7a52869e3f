// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls that make threads and processes.

use super::{Call, Kept, Played};
use crate::threads::Ret;
use std::io;

/// `execve()` and `execveat()`: the computer finds out whether there is such a program.
pub(super) fn execute(kept: &mut Kept) -> Played {
    kept.executes = true;
    Ret::Pass.into()
}

/// `clone()` and `clone3()`. Another process than this one runs in real time and sees no machine.
pub(super) fn clone(kept: &mut Kept, call: &Call) -> io::Result<Played> {
    let (flags, clears) = match call.number {
        libc::SYS_clone => (call.args[0], call.args[3]),
        // struct clone_args: flags, pidfd, child_tid
        _ => (kept.memory.u64(call.args[0])?, kept.memory.u64(call.args[0] + 16)?),
    };
    if flags & libc::CLONE_THREAD as u64 == 0 {
        kept.has_started = true;
        kept.unplayed("processes that it starts: they run in real time, and see no machine");
        return Ok(Ret::Pass.into());
    }
    let clears = if flags & libc::CLONE_CHILD_CLEARTID as u64 == 0 { 0 } else { clears };
    Ok(Played::NewThread { clears })
}
