// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why an object cannot be loaded.

use thiserror::Error;

/// An object that cannot be loaded. The message names section, symbol or offset.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
#[error("{object}: {what}")]
pub struct LoadError {
    /// File or policy name.
    pub object: String,
    /// What is wrong, where, and what was expected.
    pub what: String,
}
