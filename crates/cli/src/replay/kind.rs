// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tasks of one name, recorded and replayed.

use serde::Serialize;

/// What a measure was, and what it is when the workload is played; nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Pair {
    pub(crate) recorded_ns: u64,
    pub(crate) replayed_ns: u64,
}

/// Tasks of one name.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Kind {
    pub(crate) name: String,
    pub(crate) tasks: u64,
    pub(crate) cpu: Pair,
    pub(crate) run_delay: Pair,
    /// Wakeup latency; `None`: too few wakeups.
    pub(crate) p50: Option<Pair>,
    pub(crate) p99: Option<Pair>,
}

impl Pair {
    /// Replayed over recorded, less one.
    pub(crate) fn off(self) -> f64 {
        self.difference() / self.recorded_ns.max(1) as f64
    }

    /// Replayed less recorded.
    pub(crate) fn difference(self) -> f64 {
        self.replayed_ns as f64 - self.recorded_ns as f64
    }
}
