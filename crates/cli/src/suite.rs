// SPDX-License-Identifier: MIT OR Apache-2.0
//! What became of a suite.

/// What became of an expectation, for one policy on one workload and machine.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(crate) test: String,
    pub(crate) workload: String,
    /// Its name, if it has one.
    pub(crate) machine: Option<String>,
    pub(crate) cpus: u32,
    pub(crate) policy: String,
    pub(crate) condition: String,
    pub(crate) line: usize,
    pub(crate) failed: bool,
    /// What it was judged by.
    pub(crate) seen: String,
    /// The command that shows it.
    pub(crate) command: String,
    /// Files that were kept, if it failed.
    pub(crate) kept: Vec<String>,
}

impl Checked {
    /// `web.json, laptop, 12 CPUs`.
    pub(crate) fn place(&self) -> String {
        let plural = if self.cpus == 1 { "" } else { "s" };
        let machine = self.machine.as_ref().map_or(String::new(), |name| format!("{name}, "));
        format!("{}, {machine}{} CPU{plural}", self.workload, self.cpus)
    }
}
