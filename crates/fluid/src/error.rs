// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why a scenario has no solution here.

/// Why a scenario has no solution here.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// A parameter of the policy is none.
    #[error("{name} = {value}: expected {expected}")]
    Parameter {
        /// Its name.
        name: &'static str,
        /// As given.
        value: String,
        /// What could be.
        expected: &'static str,
    },
    /// A task has a weight or a time that cannot be.
    #[error("task {task}: {what}")]
    Task {
        /// Its name.
        task: String,
        /// What is wrong, with the value and what was expected.
        what: String,
    },
    /// There is no end to it.
    #[error("{0}")]
    Endless(String),
}
