// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is known of the policy that `rota run` has loaded, as plain data.

/// A policy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// Its name.
    pub name: String,
    /// The process that holds it.
    pub pid: u32,
    /// Its counters and callbacks over the last interval, as `rota run --stats` prints them.
    pub statistics: Vec<String>,
    /// What can be set.
    pub tunables: Vec<Tunable>,
}

/// A tunable with its value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tunable {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
    /// Whether it can be changed while the policy runs.
    pub live: bool,
    /// What it does.
    pub help: String,
}
