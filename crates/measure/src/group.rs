// SPDX-License-Identifier: MIT OR Apache-2.0
//! Several tasks as one: sums of their times, and one distribution of all their wakeups.

use crate::account::{part_of, Account, Spans};
use crate::lag::Measured;
use crate::latency::Latencies;
use crate::report::{LagReport, LatencyReport, RatioReport, SpanReport};

/// Numbers of a group of tasks.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupReport {
    /// What they have in common.
    pub name: String,
    /// How many there are.
    pub tasks: u64,
    /// Their weight at the end; `None`: they differ.
    pub weight: Option<u32>,
    /// Time on a CPU, summed.
    pub cpu_ns: u64,
    /// Part of the whole machine, summed.
    pub share: f64,
    /// Time runnable but not running, summed.
    pub run_delay_ns: u64,
    /// From a wakeup to the CPU, all wakeups of all of them.
    pub wakeup_latency_ns: LatencyReport,
    /// Times one of them came onto a CPU after another task or idleness.
    pub switches: u64,
    /// Times one of them came onto a CPU other than its last.
    pub migrations: u64,
    /// How far they were behind a fluid machine; `None`: none ever wanted to run.
    pub lag_ns: Option<LagReport>,
    /// From a wakeup until the task slept again or exited.
    pub turnaround_ns: SpanReport,
    /// That time over the CPU time in it.
    pub slowdown: RatioReport,
}

/// A group being added up.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    report: GroupReport,
    latencies: Latencies,
    waiting: u64,
    lag: Measured,
    turnaround: Spans,
    slowdown: Spans,
}

impl Group {
    /// An empty group; `weight` is that of its first task.
    pub(crate) fn new(name: &str, weight: u32) -> Self {
        let report = GroupReport {
            name: name.to_owned(),
            tasks: 0,
            weight: Some(weight),
            cpu_ns: 0,
            share: 0.0,
            run_delay_ns: 0,
            wakeup_latency_ns: LatencyReport::default(),
            switches: 0,
            migrations: 0,
            lag_ns: None,
            turnaround_ns: SpanReport::default(),
            slowdown: RatioReport::default(),
        };
        Group {
            report,
            latencies: Latencies::small(),
            waiting: 0,
            lag: Measured::default(),
            turnaround: Spans::default(),
            slowdown: Spans::default(),
        }
    }

    pub(crate) fn add(&mut self, task: &Account) {
        let sum = &mut self.report;
        sum.tasks += 1;
        sum.weight = sum.weight.filter(|w| *w == task.weight);
        sum.cpu_ns += task.cpu_ns;
        sum.run_delay_ns += task.run_delay_ns;
        sum.switches += task.switches;
        sum.migrations += task.migrations;
        self.latencies.merge(&task.latencies);
        self.waiting += task.waiting;
        self.lag.merge(&task.lag.measured());
        self.turnaround.merge(&task.turnaround);
        self.slowdown.merge(&task.slowdown);
    }

    pub(crate) fn report(mut self, capacity_ns: f64) -> GroupReport {
        self.report.share = part_of(self.report.cpu_ns, capacity_ns);
        self.report.wakeup_latency_ns = self.latencies.report(self.waiting);
        self.report.lag_ns = self.lag.report();
        self.report.turnaround_ns = self.turnaround.times();
        self.report.slowdown = self.slowdown.ratios();
        self.report
    }
}
