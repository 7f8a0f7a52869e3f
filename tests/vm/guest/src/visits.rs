// SPDX-License-Identifier: MIT OR Apache-2.0
//! Clients of a web server: what each asks for and when, and when it had its answers.

use serde::{Deserialize, Serialize};

/// What clients do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Visits {
    /// From this time on nobody asks any more.
    pub until_us: u64,
    /// What each client does, one after the other.
    pub clients: Vec<Vec<Visit>>,
}

/// A client thinks, and then asks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Visit {
    /// How long it thinks, after the last answer.
    pub think_us: u64,
    /// What it asks for.
    pub path: String,
    /// How the answer has to begin.
    pub begins: String,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Visited {
    /// Part of the time that the server's CPU was busy, until the last answer.
    pub busy: f64,
    /// Of each client, in the order of its visits.
    pub clients: Vec<Vec<Answer>>,
}

/// An answer that was as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// When it was asked for, since the beginning.
    pub asked_us: u64,
    /// How long it took, to its last byte.
    pub took_us: u64,
}

/// What came of a film.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frames {
    /// Frames of the film.
    pub due: u32,
    /// Those that were decoded.
    pub shown: u32,
}
