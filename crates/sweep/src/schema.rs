// SPDX-License-Identifier: MIT OR Apache-2.0
//! The JSON Schema (draft 2020-12) of sweep files, for editors. It is looser than the reader, never
//! stricter: what it refuses, the reader refuses, too.

/// The schema of a file, with its definitions (`$defs`).
pub const SWEEP: &str = include_str!("../schema/file.json");

#[cfg(test)]
mod tests;
