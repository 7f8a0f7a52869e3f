// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why a policy could not be timed.

use thiserror::Error;

/// Why a policy could not be timed.
#[derive(Debug, Error)]
pub enum Failure {
    /// This machine or user cannot run it at all: a reason to skip, not to fail.
    #[error("{0}")]
    Unavailable(String),
    /// The object is not what a policy's object looks like.
    #[error("{policy}: {reason}")]
    Object {
        /// The policy.
        policy: String,
        /// What was expected and found.
        reason: String,
    },
    /// The policy calls kernel functions that nothing here plays.
    #[error(
        "{policy}: no stand-in for {}; add one to tests/decision-cost/bpf/standins.bpf.h",
        .missing.join(", ")
    )]
    NoStandIn {
        /// The policy.
        policy: String,
        /// Names of the functions.
        missing: Vec<String>,
    },
    /// The kernel refused the linked object.
    #[error("{policy}: the kernel did not load it: {reason}\n{log}")]
    Load {
        /// The policy.
        policy: String,
        /// What libbpf said.
        reason: String,
        /// The end of the verifier's log.
        log: String,
    },
    /// It ran, but what it did was no sequence of decisions.
    #[error("{policy}: {reason}")]
    Run {
        /// The policy.
        policy: String,
        /// What happened.
        reason: String,
    },
}

impl Failure {
    /// An error about the form of an object.
    pub(crate) fn object(policy: &str, reason: impl ToString) -> Self {
        Self::Object { policy: policy.into(), reason: reason.to_string() }
    }

    /// An error while running.
    pub(crate) fn run(policy: &str, reason: impl ToString) -> Self {
        Self::Run { policy: policy.into(), reason: reason.to_string() }
    }
}
