// SPDX-License-Identifier: MIT OR Apache-2.0
//! What happens from outside: programs that are run, CPUs that come and go, schedulers that are
//! loaded again.

use crate::host::Host;
use anyhow::{bail, Result};

pub(crate) fn prog_run(_: Host) -> Result<()> {
    bail!("no program can be run while a scheduler is attached")
}

pub(crate) fn hotplug(_: Host) -> Result<()> {
    bail!("CPUs cannot go offline")
}

pub(crate) fn init_enable_count(_: Host) -> Result<()> {
    bail!("there are no tasks before the scheduler, and it cannot be loaded again")
}

pub(crate) fn reload_loop(_: Host) -> Result<()> {
    bail!("a scheduler cannot be loaded again in a run")
}
