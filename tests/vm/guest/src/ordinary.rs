// SPDX-License-Identifier: MIT OR Apache-2.0
//! Starts programs that are scheduled like any other.

use anyhow::{Context, Result};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// A program under `SCHED_OTHER`. `chrt` is started at the caller's real-time priority, and
/// gives it up itself: starting a task waits until it runs, which a policy could put off.
pub(crate) fn program(path: &str) -> Command {
    let mut command = Command::new("/usr/bin/chrt");
    command.args(["-o", "0", path]);
    command
}

/// Becomes a program that asks for the policy: a client of one that was loaded with `--partial`.
pub(crate) fn join(program: &str, args: &[&str]) -> Result<()> {
    rota_kernel::join_sched_ext(std::process::id()).context("cannot join SCHED_EXT")?;
    Err(Command::new(program).args(args).exec()).with_context(|| program.to_owned())
}

/// Becomes a program by the `exec` of a thread that does not lead the process. It lives on with
/// the process's number instead of its own, and the thread that led is gone.
pub(crate) fn take_over(program: &str, args: &[&str]) -> Result<()> {
    std::thread::scope(|threads| {
        let heir = threads.spawn(|| Command::new(program).args(args).exec());
        let error = heir.join().expect("exec returns errors, and does not panic");
        Err(error).with_context(|| program.to_owned())
    })
}
