// SPDX-License-Identifier: MIT OR Apache-2.0
//! The JSON Schema of suites.

/// Of suites. It is looser than the reader, never stricter.
pub const SUITE: &str = include_str!("../schema/suite.json");
