// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why a workload could not be played.

use std::fmt::Display;
use thiserror::Error;

/// Why a workload could not be played.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PlayError {
    /// It asks for something that this computer's threads cannot do.
    #[error("{0}")]
    Workload(String),
    /// Something went wrong on the way.
    #[error("{0}")]
    Failure(String),
}

impl PlayError {
    /// A task failed, and left what all share in the middle of a change.
    pub(crate) fn another_task() -> Self {
        Self::Failure("another task failed".into())
    }
}

pub(crate) type Result<T> = std::result::Result<T, PlayError>;

/// Says what was tried.
pub(crate) trait Tried<T> {
    fn tried(self, what: impl Display) -> Result<T>;
}

impl<T, E: Display> Tried<T> for std::result::Result<T, E> {
    fn tried(self, what: impl Display) -> Result<T> {
        self.map_err(|error| PlayError::Failure(format!("{what}: {error}")))
    }
}
