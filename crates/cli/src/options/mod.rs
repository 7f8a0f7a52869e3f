// SPDX-License-Identifier: MIT OR Apache-2.0
//! Options that several commands share.

mod machine;
mod object;
mod program;
pub(crate) use rota_session::values;

pub(crate) use machine::MachineArgs;
pub(crate) use object::ObjectArgs;
pub(crate) use program::ProgramArgs;
pub(crate) use values::{
    cpus, duration, duration_or_seconds, html_file, jobs, name_and_value, seed,
};
