// SPDX-License-Identifier: MIT OR Apache-2.0
//! The machine that the user names: a preset, a file, a computer's description.

use crate::error::Error;
use crate::session::session;
use rota_machine_file::Machine;

pub(crate) use rota_session::machine::{this_kernel, FLAT, THIS};

/// The machine of `--machine`. Tells once what of a computer is not as it is there.
pub(crate) fn find(name: &str) -> Result<Machine, Error> {
    Ok(session().machine(name)?)
}

/// The machine of `rota machine`, which shows its notes itself.
pub(crate) fn read_new(name: &str) -> Result<Machine, Error> {
    Ok(rota_session::machine::read_new(name)?)
}
