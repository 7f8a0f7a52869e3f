// SPDX-License-Identifier: MIT OR Apache-2.0
//! Measures of instances of one task together.

use super::Unit;
use crate::group::GroupNumbers;

/// One number of some tasks of a run.
#[derive(Clone, Copy, Debug)]
pub struct TaskMeasure {
    /// Name in JSON and CSV.
    pub key: &'static str,
    /// What it is counted in.
    pub unit: Unit,
    of: fn(&GroupNumbers) -> Option<f64>,
}

impl TaskMeasure {
    /// Its value; `None`: these tasks have no such number.
    pub fn of(&self, tasks: &GroupNumbers) -> Option<f64> {
        (self.of)(tasks)
    }
}

/// All of them.
pub fn of_tasks() -> &'static [TaskMeasure] {
    MEASURES
}

/// The measure of this key.
pub fn find_of_tasks(key: &str) -> Option<&'static TaskMeasure> {
    MEASURES.iter().find(|measure| measure.key == key)
}

const fn measure(
    key: &'static str,
    unit: Unit,
    of: fn(&GroupNumbers) -> Option<f64>,
) -> TaskMeasure {
    TaskMeasure { key, unit, of }
}

const MEASURES: &[TaskMeasure] = &[
    measure("tasks", Unit::Count, |g| Some(g.tasks as f64)),
    measure("cpu", Unit::Ns, |g| Some(g.cpu_ns as f64)),
    measure("share", Unit::Fraction, |g| Some(g.share)),
    measure("run_delay", Unit::Ns, |g| Some(g.run_delay_ns as f64)),
    measure("wakeups", Unit::Count, |g| Some(g.wakeup_latency_ns.count as f64)),
    measure("wakeups_unanswered", Unit::Count, |g| Some(g.wakeup_latency_ns.waiting as f64)),
    measure("wakeup_mean", Unit::Ns, |g| g.wakeup_latency_ns.mean),
    measure("wakeup_p50", Unit::Ns, |g| ns(g.wakeup_latency_ns.p50)),
    measure("wakeup_p95", Unit::Ns, |g| ns(g.wakeup_latency_ns.p95)),
    measure("wakeup_p99", Unit::Ns, |g| ns(g.wakeup_latency_ns.p99)),
    measure("wakeup_p999", Unit::Ns, |g| ns(g.wakeup_latency_ns.p999)),
    measure("wakeup_max", Unit::Ns, |g| ns(g.wakeup_latency_ns.max)),
    measure("lag_max", Unit::Ns, |g| g.lag_ns.map(|lag| lag.max as f64)),
    measure("lag_min", Unit::Ns, |g| g.lag_ns.map(|lag| lag.min as f64)),
    measure("lag_mean", Unit::Ns, |g| g.lag_ns.map(|lag| lag.mean_abs)),
    measure("turnaround_mean", Unit::Ns, |g| g.turnaround_ns.mean),
    measure("turnaround_max", Unit::Ns, |g| ns(g.turnaround_ns.max)),
    measure("slowdown_mean", Unit::Number, |g| g.slowdown.mean),
    measure("slowdown_max", Unit::Number, |g| g.slowdown.max),
    measure("context_switches", Unit::Count, |g| Some(g.switches as f64)),
    measure("migrations", Unit::Count, |g| Some(g.migrations as f64)),
    measure("wasted_wait", Unit::Ns, |g| Some(g.wasted_wait_ns as f64)),
    measure("wait_max", Unit::Ns, |g| Some(g.wait_max_ns as f64)),
    measure("jobs", Unit::Count, |g| Some(g.jobs.as_ref()?.jobs as f64)),
    measure("misses", Unit::Count, |g| Some(g.jobs.as_ref()?.misses as f64)),
    measure("miss_rate", Unit::Fraction, |g| g.jobs.as_ref()?.miss_rate),
    measure("tardiness_mean", Unit::Ns, |g| g.jobs.as_ref()?.tardiness_ns.mean),
    measure("tardiness_p99", Unit::Ns, |g| ns(g.jobs.as_ref()?.tardiness_ns.p99)),
    measure("tardiness_max", Unit::Ns, |g| ns(g.jobs.as_ref()?.tardiness_ns.max)),
    measure("slack_mean", Unit::Ns, |g| g.jobs.as_ref()?.slack_ns.mean),
    measure("slack_min", Unit::Ns, |g| g.jobs.as_ref()?.slack_ns.min.map(|ns| ns as f64)),
    measure("work_rate", Unit::Fraction, |g| g.work?.rate),
    measure("energy", Unit::Joules, |g| Some(g.work?.energy_nj? as f64 / 1e9)),
    measure("lock_blocked", Unit::Ns, |g| g.lock_blocked_ns.map(|ns| ns as f64)),
];

fn ns(value: Option<u64>) -> Option<f64> {
    value.map(|value| value as f64)
}
