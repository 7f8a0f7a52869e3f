// SPDX-License-Identifier: MIT OR Apache-2.0
//! The requests of one class, or of one socket, being added up.

use super::numbers::RequestNumbers;
use crate::curve::Curve;
use crate::latency::Latencies;
use crate::slowdown::Slowdowns;

/// Counts and distributions.
#[derive(Clone, Debug, Default)]
pub(super) struct Account {
    pub(super) arrived: u64,
    pub(super) dropped: u64,
    answered: u64,
    queue: Latencies,
    queued: u64,
    response: Latencies,
    open: u64,
    slowdown: Slowdowns,
    slowdown_open: u64,
    demand_ns: u128,
    cycle: Latencies,
}

impl Account {
    /// A request was taken after so long; `open`: it still waits.
    pub(super) fn queue(&mut self, ns: u64, open: bool) {
        self.queue.record(ns);
        self.queued += u64::from(open);
    }

    /// A request was answered after so long; `open`: it still is not.
    pub(super) fn respond(&mut self, ns: u64, demand_ns: u64, open: bool) {
        self.response.record(ns);
        self.open += u64::from(open);
        self.answered += u64::from(!open);
        if demand_ns > 0 {
            self.slowdown.record(ns, demand_ns);
            self.slowdown_open += u64::from(open);
            self.demand_ns += u128::from(demand_ns);
        }
    }

    /// A customer thought and got an answer in this time.
    pub(super) fn cycle(&mut self, ns: u64) {
        self.cycle.record(ns);
    }

    pub(super) fn merge(&mut self, other: &Account) {
        self.arrived += other.arrived;
        self.dropped += other.dropped;
        self.answered += other.answered;
        self.queue.merge(&other.queue);
        self.queued += other.queued;
        self.response.merge(&other.response);
        self.open += other.open;
        self.slowdown.merge(&other.slowdown);
        self.slowdown_open += other.slowdown_open;
        self.demand_ns += other.demand_ns;
        self.cycle.merge(&other.cycle);
    }

    pub(super) fn response_curve(&self) -> Curve {
        Curve::new("response time", &self.response, self.open)
    }

    pub(super) fn numbers(self, name: String, socket: String, length_ns: u64) -> RequestNumbers {
        let seconds = length_ns as f64 / 1e9;
        let with_demand = self.slowdown.count();
        RequestNumbers {
            name: (!name.is_empty()).then_some(name),
            socket,
            arrived: self.arrived,
            answered: self.answered,
            open: self.open,
            dropped: self.dropped,
            answered_per_s: (seconds > 0.0).then(|| self.answered as f64 / seconds),
            demand_mean_ns: (with_demand > 0).then(|| self.demand_ns as f64 / with_demand as f64),
            queue_ns: self.queue.numbers(self.queued),
            response_ns: self.response.numbers(self.open),
            slowdown: self.slowdown.numbers(self.slowdown_open),
            cycle_ns: self.cycle.numbers(0),
        }
    }
}
