// SPDX-License-Identifier: MIT OR Apache-2.0
//! How much is run.

use serde::Serialize;

/// How much is run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// Seconds: enough to see that nothing is broken.
    Quick,
    /// Two minutes.
    #[default]
    Default,
    /// As much as the paper ran: a quarter of an hour.
    Full,
}
