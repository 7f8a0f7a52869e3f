// SPDX-License-Identifier: MIT OR Apache-2.0
//! Starts programs that are scheduled like any other.

use std::process::Command;

/// A program under `SCHED_OTHER`. `chrt` is started at the caller's real-time priority, and
/// gives it up itself: starting a task waits until it runs, which a policy could put off.
pub(crate) fn program(path: &str) -> Command {
    let mut command = Command::new("/usr/bin/chrt");
    command.args(["-o", "0", path]);
    command
}
