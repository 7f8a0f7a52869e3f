// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a running policy counts, what its callbacks cost, and what the kernel counts about
//! it: samples of totals, and what happened between two of them.

mod interval;
mod kernel_counters;
mod run_stats;
mod sampler;
#[cfg(test)]
mod tests;

pub use interval::{CallbackCost, CounterChange, EventCount, Interval};
pub use run_stats::RunStats;
pub use sampler::Sampler;

use serde::{Deserialize, Serialize};
use serde_json::Number;

/// Totals at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Name of the policy.
    pub policy: String,
    /// The kernel's count of schedulers loaded since it started: another one has other totals.
    pub enable_seq: u64,
    /// `CLOCK_MONOTONIC`.
    pub time_ns: u64,
    /// The policy's own counters.
    pub counters: Vec<Counter>,
    /// Its callbacks, counted while somebody asks for it.
    pub callbacks: Vec<Callback>,
    /// The kernel's counters, `nr_rejected` and `SCX_EV_…`.
    pub kernel: Vec<Event>,
}

/// One of the policy's own counters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Counter {
    /// Name of the struct's member.
    pub name: String,
    /// Sum over all CPUs.
    pub value: Number,
    /// Bits it has.
    pub bits: u32,
    /// A present value; else a count that only grows.
    pub gauge: bool,
    /// Unit.
    pub unit: Option<String>,
    /// What it counts.
    pub help: String,
}

/// A callback, or another program of the object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Callback {
    /// Member of the ops table, else the name of the program.
    pub op: String,
    /// Times it ran.
    pub runs: u64,
    /// How long altogether.
    pub time_ns: u64,
}

/// A counter of the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Name as the kernel has it.
    pub name: String,
    /// Total.
    pub count: u64,
}

/// A number of a counter for JSON.
pub(crate) fn number(value: i128) -> Number {
    u64::try_from(value).map_or_else(|_| Number::from(value as i64), Number::from)
}
