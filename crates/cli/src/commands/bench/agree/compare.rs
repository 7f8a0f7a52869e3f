// SPDX-License-Identifier: MIT OR Apache-2.0
//! How far the simulator is from this computer: medians of the runs, and their difference.

use super::loads::Played;
use super::Pair;
use crate::commands::bench::median::median;
use rota_measure::GroupNumbers;
use serde::Serialize;

/// A load.
#[derive(Debug, Serialize)]
pub(super) struct Compared {
    pub(super) load: String,
    pub(super) duration_ns: u64,
    /// The part of it that is left out.
    pub(super) warmup_ns: u64,
    /// Part of the computer that tasks of others had, in each live run.
    pub(super) others: Vec<f64>,
    pub(super) values: Vec<Value>,
}

/// A metric of the instances of one task.
#[derive(Debug, Serialize)]
pub(super) struct Value {
    pub(super) task: String,
    pub(super) metric: Metric,
    /// Of each run.
    pub(super) live: Vec<u64>,
    pub(super) simulated: Vec<u64>,
    pub(super) live_median: u64,
    pub(super) simulated_median: u64,
    /// Whether the medians are as near as the goal asks; `None`: there is no goal.
    pub(super) within: Option<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Metric {
    CpuNs,
    RunDelayNs,
    WakeupP50Ns,
    WakeupP99Ns,
    Switches,
}

/// How near the simulator should be: a part of the live value, or so many nanoseconds if that is
/// more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Goal {
    pub(super) part: f64,
    pub(super) ns: u64,
}

impl Metric {
    const ALL: [Metric; 5] = [
        Metric::CpuNs,
        Metric::RunDelayNs,
        Metric::WakeupP50Ns,
        Metric::WakeupP99Ns,
        Metric::Switches,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Metric::CpuNs => "CPU time",
            Metric::RunDelayNs => "run delay",
            Metric::WakeupP50Ns => "wakeup p50",
            Metric::WakeupP99Ns => "wakeup p99",
            Metric::Switches => "switches",
        }
    }

    /// Within 50 us two latencies are the same: what a CPU takes to leave idleness differs by more
    /// between computers.
    pub(super) fn goal(self) -> Option<Goal> {
        match self {
            Metric::CpuNs => Some(Goal { part: 0.05, ns: 0 }),
            Metric::RunDelayNs => Some(Goal { part: 0.10, ns: 0 }),
            Metric::WakeupP50Ns => Some(Goal { part: 0.0, ns: 50_000 }),
            Metric::WakeupP99Ns => Some(Goal { part: 0.15, ns: 50_000 }),
            Metric::Switches => None,
        }
    }

    /// Of the instances of a task together.
    fn of(self, group: &GroupNumbers) -> u64 {
        match self {
            Metric::CpuNs => group.cpu_ns,
            Metric::RunDelayNs => group.run_delay_ns,
            Metric::WakeupP50Ns => group.wakeup_latency_ns.p50.unwrap_or(0),
            Metric::WakeupP99Ns => group.wakeup_latency_ns.p99.unwrap_or(0),
            Metric::Switches => group.switches,
        }
    }
}

impl Goal {
    fn is_met(self, live: u64, simulated: u64) -> bool {
        let allowed = (self.part * live as f64).max(self.ns as f64);
        live.abs_diff(simulated) as f64 <= allowed
    }
}

/// The runs of a load. Latencies of tasks that hardly ever wake up say nothing, and are left out.
pub(super) fn compare(load: &Played, pairs: &[Pair]) -> Compared {
    let mut values = Vec::new();
    let first = pairs.first().map_or(&[][..], |pair| &pair.simulated);
    for group in first {
        let named = |groups: &[GroupNumbers]| -> Option<GroupNumbers> {
            groups.iter().find(|other| other.name == group.name).cloned()
        };
        let live: Vec<_> = pairs.iter().filter_map(|pair| named(&pair.live.groups)).collect();
        let simulated: Vec<_> = pairs.iter().filter_map(|pair| named(&pair.simulated)).collect();
        let sleeps = group.wakeup_latency_ns.count > MOST_STARTS * group.tasks;
        let wanted = Metric::ALL.into_iter().filter(|metric| match metric {
            Metric::WakeupP50Ns | Metric::WakeupP99Ns => sleeps,
            _ => true,
        });
        values.extend(wanted.map(|metric| {
            let of = |groups: &[GroupNumbers]| groups.iter().map(|g| metric.of(g)).collect();
            value(&group.name, metric, of(&live), of(&simulated))
        }));
    }
    Compared {
        load: load.name.clone(),
        duration_ns: load.duration_ns,
        warmup_ns: load.warmup_ns,
        others: pairs.iter().map(|pair| pair.live.others).collect(),
        values,
    }
}

/// A task that woke up no more often than this just started.
const MOST_STARTS: u64 = 3;

fn value(task: &str, metric: Metric, live: Vec<u64>, simulated: Vec<u64>) -> Value {
    let [live_median, simulated_median] = [&live, &simulated].map(|all| median(all));
    let within = metric.goal().map(|goal| goal.is_met(live_median, simulated_median));
    let task = task.to_owned();
    Value { task, metric, live, simulated, live_median, simulated_median, within }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_are_parts_of_the_live_value_or_a_time() {
        let cpu = Metric::CpuNs.goal().unwrap();
        assert!(cpu.is_met(1_000, 1_050) && !cpu.is_met(1_000, 1_051) && !cpu.is_met(1_000, 949));
        let p50 = Metric::WakeupP50Ns.goal().unwrap();
        assert!(p50.is_met(4_000_000, 4_050_000) && !p50.is_met(4_000_000, 4_050_001));
        let p99 = Metric::WakeupP99Ns.goal().unwrap();
        assert!(p99.is_met(2_000_000, 2_300_000) && p99.is_met(3_000, 53_000));
        assert!(!p99.is_met(2_000_000, 2_300_001) && !p99.is_met(3_000, 53_001));
    }

    #[test]
    fn a_value_compares_medians_not_single_runs() {
        let found = value("a", Metric::CpuNs, vec![100, 1_000, 1_010], vec![1_020, 9_000, 1_000]);

        assert_eq!((found.live_median, found.simulated_median), (1_000, 1_020));
        assert_eq!(found.within, Some(true));
    }
}
