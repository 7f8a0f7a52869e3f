// SPDX-License-Identifier: MIT OR Apache-2.0
//! A distribution of slowdowns: how many times longer something took than it would have alone.

use crate::latency::Latencies;
use serde::Serialize;

/// Slowdowns are kept in thousandths, so that the distribution of times fits them.
const SCALE: u64 = 1000;

/// Slowdowns being gathered.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slowdowns(Latencies);

/// A distribution of slowdowns. Numbers of an empty one are `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct SlowdownNumbers {
    /// How many, those still open at the end included.
    pub count: u64,
    /// Arithmetic mean.
    pub mean: Option<f64>,
    /// Median.
    pub p50: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// Greatest.
    pub max: Option<f64>,
    /// How many of `count` were still open at the end, counted with their time so far.
    pub waiting: u64,
}

impl Slowdowns {
    /// What takes `demand_ns` alone took `ns`; without a demand there is none.
    pub(crate) fn record(&mut self, ns: u64, demand_ns: u64) {
        if demand_ns > 0 {
            let scaled = u128::from(ns) * u128::from(SCALE);
            let rounded = (scaled + u128::from(demand_ns / 2)) / u128::from(demand_ns);
            self.0.record(u64::try_from(rounded).unwrap_or(u64::MAX));
        }
    }

    pub(crate) fn merge(&mut self, other: &Slowdowns) {
        self.0.merge(&other.0);
    }

    /// How many.
    pub(crate) fn count(&self) -> u64 {
        self.0.count()
    }

    /// The numbers of the distribution; `waiting` is passed through.
    pub(crate) fn numbers(&self, waiting: u64) -> SlowdownNumbers {
        let numbers = self.0.numbers(waiting);
        let scale = SCALE as f64;
        let quotient = |scaled: Option<u64>| scaled.map(|s| s as f64 / scale);
        SlowdownNumbers {
            count: numbers.count,
            mean: numbers.mean.map(|mean| mean / scale),
            p50: quotient(numbers.p50),
            p95: quotient(numbers.p95),
            p99: quotient(numbers.p99),
            max: quotient(numbers.max),
            waiting: numbers.waiting,
        }
    }
}
