// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why a computer could not be measured.

use thiserror::Error;

/// Why a computer could not be measured.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct CalibrateError(String);

impl CalibrateError {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }
}
