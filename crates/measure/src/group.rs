// SPDX-License-Identifier: MIT OR Apache-2.0
//! Several tasks as one: sums of their times, and one distribution of all their wakeups.

use crate::latency::Latencies;
use crate::report::LatencyReport;
use crate::summary::{part_of, Account};

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
}

/// A group being added up.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    report: GroupReport,
    latencies: Latencies,
    waiting: u64,
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
        };
        Group { report, latencies: Latencies::default(), waiting: 0 }
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
    }

    pub(crate) fn report(mut self, capacity_ns: f64) -> GroupReport {
        self.report.share = part_of(self.report.cpu_ns, capacity_ns);
        self.report.wakeup_latency_ns = self.latencies.report(self.waiting);
        self.report
    }
}
