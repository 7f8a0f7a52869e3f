// SPDX-License-Identifier: MIT OR Apache-2.0
//! A recorded computer in JSON.

use serde::Serialize;

/// What every recording knows of its computer.
#[derive(Debug, Serialize)]
pub(crate) struct Computer<'a> {
    pub(crate) cpus: u32,
    /// Release of its kernel; `None`: a trace that does not tell.
    pub(crate) kernel: Option<&'a str>,
}
