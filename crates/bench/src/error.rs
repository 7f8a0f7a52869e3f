// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why a bench could not be run.

use std::io;
use thiserror::Error;

/// Why a bench could not be run.
#[derive(Debug, Error)]
pub enum Error {
    /// What was asked for cannot be done.
    #[error("{0}")]
    Input(String),
    /// Something went wrong on the way.
    #[error("{0}")]
    Failure(String),
}

impl Error {
    /// A call of the system that did not work.
    pub(crate) fn system(what: &str, error: impl Into<io::Error>) -> Self {
        Self::Failure(format!("cannot {what}: {}", error.into()))
    }
}
