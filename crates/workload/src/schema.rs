// SPDX-License-Identifier: MIT OR Apache-2.0
//! The JSON Schema (draft 2020-12) of workload files, for editors. It is looser than the parser,
//! never stricter: what it refuses, the parser refuses, too.

/// The schema of a file, without the definitions that it refers to. One of them is not here, as
/// it is for others to say: `machine`, an object with the keys of a machine file.
pub const FILE: &str = include_str!("../schema/file.json");

/// Objects of definitions (`$defs`) by their names.
pub const DEFINITIONS: [&str; 6] = [
    include_str!("../schema/global.json"),
    include_str!("../schema/tasks.json"),
    include_str!("../schema/steps.json"),
    include_str!("../schema/durations.json"),
    include_str!("../schema/requests.json"),
    include_str!("../schema/outside.json"),
];
