// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is wrong with recorded choices.

use thiserror::Error;

/// A recording that cannot be read, or does not fit the run that replays it.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("line {line}: {what}")]
pub struct ChoiceError {
    /// Line of the recording, from 1.
    pub line: u64,
    /// What is there, and what was expected.
    pub what: String,
}
