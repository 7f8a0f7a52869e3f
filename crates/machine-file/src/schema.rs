// SPDX-License-Identifier: MIT OR Apache-2.0
//! The JSON Schema (draft 2020-12) of machine files, for editors. It is looser than the reader,
//! never stricter: what it refuses, the reader refuses, too.

/// The schema of a machine, without the definitions that it refers to. A file also needs the key
/// `schema`; a machine that is part of a workload file does not.
pub const MACHINE: &str = include_str!("../schema/file.json");

/// Definitions (`$defs`) by their names.
pub const DEFINITIONS: &str = include_str!("../schema/definitions.json");

#[cfg(test)]
mod tests;
