// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers from a trace: CPU shares, run delay, wakeup latency, fairness.
//!
//! [`Summary`] reads the event stream as it happens and needs memory per task, not per event.
//! Formulas and sources: `docs/measures.md`.

pub mod fairness;
pub mod group;
pub mod latency;
pub mod report;
pub mod summary;

pub use fairness::jain;
pub use group::GroupReport;
pub use latency::Latencies;
pub use report::{InstructionsPerDecision, LatencyReport, Report, TaskReport, Totals};
pub use summary::Summary;
