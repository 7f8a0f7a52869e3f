// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs the functions of a linked eBPF object in user space, for a [`host::Host`].

mod callback;
mod code;
pub mod errno;
pub mod error;
pub mod format;
mod frames;
mod graph;
mod helper_names;
pub mod helpers;
pub mod host;
mod interpreter;
pub mod kfuncs;
mod layout;
mod maps;
pub mod memory;
mod objects;
mod places;
pub mod runtime;
mod start;
pub mod table;
mod timers;
