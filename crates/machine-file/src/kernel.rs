// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads how a machine's kernel was built and set.

use crate::document::{KernelTable, Maybe};
use crate::error::MachineError;
use crate::read::Read;
use rota_machine::kernel::{Preempt, Release, Settings};
use std::fmt::Display;

/// Ticks in a second that a machine may have.
const HZ: (u32, u32) = (1, 100_000);

/// Slices that tasks can have, in nanoseconds (`__setparam_fair()`).
const SLICES_NS: (u64, u64) = (100_000, 100_000_000);

pub(crate) fn settings(
    read: &Read<'_>,
    table: Option<&KernelTable>,
) -> Result<Settings, MachineError> {
    let Some(table) = table else { return Ok(Settings::default()) };
    let preempt =
        match &table.preempt {
            None => None,
            Some(name) => Some(Preempt::find(name.get_ref()).ok_or_else(|| {
                read.refuse(name, "\"none\", \"voluntary\", \"full\" or \"lazy\"")
            })?),
        };
    let release = match &table.release {
        None => None,
        Some(name) => Some(
            Release::find(name.get_ref())
                .ok_or_else(|| read.refuse(name, "a release of Linux, as \"6.18\""))?,
        ),
    };
    let hz = within(read, &table.hz, HZ)?;
    let base_slice_ns = within(read, &table.base_slice_ns, SLICES_NS)?;
    Ok(Settings { release, hz, preempt, base_slice_ns })
}

/// The value if there is one, which must be in a range.
fn within<T: Copy + Display + PartialOrd>(
    read: &Read<'_>,
    given: &Maybe<T>,
    (low, high): (T, T),
) -> Result<Option<T>, MachineError> {
    match given {
        Some(value) if !(low..=high).contains(value.get_ref()) => {
            Err(read.refuse(value, &format!("{low} to {high}")))
        }
        given => Ok(given.as_ref().map(|value| *value.get_ref())),
    }
}
