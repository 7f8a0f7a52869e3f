// SPDX-License-Identifier: MIT OR Apache-2.0
//! The machine that a workload file names as its own: runs are on it unless the user asks for
//! another one.

use crate::error::Error;
use crate::load::Load;
use crate::options::MachineArgs;
use crate::session::session;
use rota_machine_file::Machine;

/// The options for runs of this workload; `cpus`: those that the user asks for. Says once which
/// machine it is, and what does not fit it.
pub(crate) fn options(args: &MachineArgs, cpus: &[u32], load: &Load) -> Result<MachineArgs, Error> {
    let machine = session().machine_of(&args.options(), cpus, load)?;
    Ok(MachineArgs { machine, ..args.clone() })
}

/// The machine of a workload, and the name by which it is found; `None`: it has none of its own.
pub(crate) fn find(load: &Load) -> Result<Option<(String, Machine)>, Error> {
    Ok(session().own_machine(load)?)
}
