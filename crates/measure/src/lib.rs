// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers from a trace: CPU shares, lag, run delay, wakeup latency, fairness; and what may be
//! said of several runs.
//!
//! [`Summary`] reads the event stream as it happens and needs memory per task, not per event.
//! Formulas and sources: `docs/measures.md`.

mod account;
pub mod baseline;
pub mod catalogue;
pub mod curve;
pub mod fairness;
pub mod figures;
mod fluid;
pub mod group;
pub mod jobs;
mod lag;
pub mod latency;
pub mod locks;
pub mod numbers;
pub mod requests;
pub mod service_error;
pub mod slowdown;
mod spans;
pub mod statistics;
pub mod summary;
pub mod totals;
pub mod units;
mod waste;
mod whole;
mod work;

pub use curve::Curve;
pub use fairness::jain;
pub use figures::{FigureSink, Figures, Rows};
pub use group::GroupNumbers;
pub use jobs::{JobNumbers, SlackNumbers};
pub use latency::Latencies;
pub use locks::{LockNumbers, LockTotals, PairNumbers};
pub use numbers::{
    CpuNumbers, LagNumbers, LatencyNumbers, Numbers, RatioNumbers, SpanNumbers, TaskNumbers,
    WorkNumbers,
};
pub use requests::{RequestNumbers, Requests, RequestsNumbers};
pub use service_error::{ErrorRange, ServiceError};
pub use slowdown::SlowdownNumbers;
pub use summary::{Results, Summary};
pub use totals::{InstructionsPerDecision, Totals};
