// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs the functions of a linked eBPF object in user space, for a [`host::Host`].

pub mod errno;
pub mod error;
pub mod format;
mod helpers;
pub mod host;
pub mod interpreter;
pub mod kfuncs;
mod maps;
pub mod memory;
pub mod runtime;
