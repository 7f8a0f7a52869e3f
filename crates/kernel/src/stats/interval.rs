// SPDX-License-Identifier: MIT OR Apache-2.0
//! What happened between two samples.

use super::{Callback, Counter, Event, Sample};
use serde::Serialize;
use serde_json::Number;

/// What happened between two samples; `rota.stats/1` of the command line.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// Format of this object.
    pub schema: &'static str,
    /// Name of the policy.
    pub policy: String,
    /// End of the interval, `CLOCK_MONOTONIC`.
    pub time_ns: u64,
    /// Its length.
    pub interval_ns: u64,
    /// The policy's own counters.
    pub counters: Vec<CounterChange>,
    /// Callbacks that ran.
    pub callbacks: Vec<CallbackCost>,
    /// The kernel's counters.
    pub kernel: Vec<EventCount>,
}

/// One of the policy's counters.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CounterChange {
    /// Name.
    pub name: String,
    /// Value at the end.
    pub value: Number,
    /// How much it grew; a gauge does not count.
    pub delta: Option<u64>,
    /// Unit.
    pub unit: Option<String>,
    /// What it counts.
    pub help: String,
}

/// What a callback cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CallbackCost {
    /// Member of the ops table, or program.
    pub op: String,
    /// Times it ran.
    pub runs: u64,
    /// How long altogether.
    pub time_ns: u64,
    /// How long on average.
    pub mean_ns: f64,
}

/// A counter of the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EventCount {
    /// Name.
    pub name: String,
    /// Value at the end.
    pub value: u64,
    /// How much it grew.
    pub delta: u64,
}

impl Interval {
    /// From one sample to a later one. Totals of a policy that was loaded in between began
    /// at 0.
    pub fn between(before: &Sample, now: &Sample) -> Self {
        let fresh = Sample { time_ns: before.time_ns, ..Sample::default() };
        let same = before.enable_seq == now.enable_seq && before.policy == now.policy;
        let before = if same { before } else { &fresh };
        Self {
            schema: "rota.stats/1",
            policy: now.policy.clone(),
            time_ns: now.time_ns,
            interval_ns: now.time_ns.saturating_sub(before.time_ns),
            counters: now.counters.iter().map(|c| changed(c, &before.counters)).collect(),
            callbacks: now.callbacks.iter().filter_map(|c| cost(c, &before.callbacks)).collect(),
            kernel: now.kernel.iter().map(|e| counted(e, &before.kernel)).collect(),
        }
    }

    /// Something that happened so often, per second.
    pub fn per_second(&self, count: u64) -> f64 {
        count as f64 * 1e9 / self.interval_ns.max(1) as f64
    }
}

fn changed(now: &Counter, before: &[Counter]) -> CounterChange {
    let before = before.iter().find(|b| b.name == now.name);
    let before = before.map_or(0, |b| raw(&b.value));
    let mask = u64::MAX >> (64 - now.bits.clamp(1, 64));
    CounterChange {
        name: now.name.clone(),
        value: now.value.clone(),
        // A count that went over its top has grown all the same.
        delta: (!now.gauge).then(|| raw(&now.value).wrapping_sub(before) & mask),
        unit: now.unit.clone(),
        help: now.help.clone(),
    }
}

/// The bits of a number.
fn raw(number: &Number) -> u64 {
    number.as_u64().or_else(|| number.as_i64().map(|n| n as u64)).unwrap_or(0)
}

fn cost(now: &Callback, before: &[Callback]) -> Option<CallbackCost> {
    let before = before.iter().find(|b| b.op == now.op);
    let runs = now.runs.saturating_sub(before.map_or(0, |b| b.runs));
    let time_ns = now.time_ns.saturating_sub(before.map_or(0, |b| b.time_ns));
    let mean_ns = time_ns as f64 / runs.max(1) as f64;
    (runs > 0).then(|| CallbackCost { op: now.op.clone(), runs, time_ns, mean_ns })
}

fn counted(now: &Event, before: &[Event]) -> EventCount {
    let before = before.iter().find(|b| b.name == now.name).map_or(0, |b| b.count);
    let delta = now.count.saturating_sub(before);
    EventCount { name: now.name.clone(), value: now.count, delta }
}
