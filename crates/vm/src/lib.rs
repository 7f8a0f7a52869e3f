// SPDX-License-Identifier: MIT OR Apache-2.0
#![doc = include_str!("../README.md")]

mod callback;
mod code;
pub mod engine;
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
