// SPDX-License-Identifier: MIT OR Apache-2.0
//! Several tasks as one: sums of their times, and one distribution of all their wakeups.

use crate::account::{part_of, Account};
use crate::jobs::{JobNumbers, Jobs};
use crate::lag::Measured;
use crate::latency::Latencies;
use crate::numbers::{LagNumbers, LatencyNumbers, RatioNumbers, SpanNumbers, WorkNumbers};
use crate::spans::Spans;
use crate::work::Worked;

/// Numbers of a group of tasks.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupNumbers {
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
    pub wakeup_latency_ns: LatencyNumbers,
    /// Times one of them came onto a CPU after another task or idleness.
    pub switches: u64,
    /// Times one of them came onto a CPU other than its last.
    pub migrations: u64,
    /// How far they were behind a fluid machine; `None`: none ever wanted to run.
    pub lag_ns: Option<LagNumbers>,
    /// From a wakeup until the task slept again or exited.
    pub turnaround_ns: SpanNumbers,
    /// That time over the CPU time in it.
    pub slowdown: RatioNumbers,
    /// Of the run delay, while a CPU was idle that the task may use, summed.
    pub wasted_wait_ns: u64,
    /// The longest that one of them waited at a stretch.
    pub wait_max_ns: u64,
    /// Jobs, of tasks that have a timer or a reservation.
    pub jobs: Option<JobNumbers>,
    /// Time blocked at mutexes, summed; `None`: no task ever was.
    pub lock_blocked_ns: Option<u64>,
    /// Work that they got done, on a machine that is not flat.
    pub work: Option<WorkNumbers>,
}

/// A group being added up.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    numbers: GroupNumbers,
    latencies: Latencies,
    waiting: u64,
    lag: Measured,
    turnaround: Spans,
    slowdown: Spans,
    jobs: Option<Jobs>,
    worked: Option<Worked>,
}

impl Group {
    /// An empty group; `weight` is that of its first task.
    pub(crate) fn new(name: &str, weight: u32) -> Self {
        let numbers = GroupNumbers {
            name: name.to_owned(),
            tasks: 0,
            weight: Some(weight),
            cpu_ns: 0,
            share: 0.0,
            run_delay_ns: 0,
            wakeup_latency_ns: LatencyNumbers::default(),
            switches: 0,
            migrations: 0,
            lag_ns: None,
            turnaround_ns: SpanNumbers::default(),
            slowdown: RatioNumbers::default(),
            wasted_wait_ns: 0,
            wait_max_ns: 0,
            jobs: None,
            lock_blocked_ns: None,
            work: None,
        };
        Group {
            numbers,
            latencies: Latencies::small(),
            waiting: 0,
            lag: Measured::default(),
            turnaround: Spans::default(),
            slowdown: Spans::default(),
            jobs: None,
            worked: None,
        }
    }

    /// Adds a task, and the time that it was blocked at mutexes.
    pub(crate) fn add(&mut self, task: &Account, blocked_ns: Option<u64>) {
        let sum = &mut self.numbers;
        sum.tasks += 1;
        sum.weight = sum.weight.filter(|w| *w == task.weight);
        sum.cpu_ns += task.cpu_ns;
        sum.run_delay_ns += task.run_delay_ns;
        sum.switches += task.switches;
        sum.migrations += task.migrations;
        if let Some(ns) = blocked_ns {
            *sum.lock_blocked_ns.get_or_insert_default() += ns;
        }
        sum.wasted_wait_ns += task.wasted_wait_ns;
        sum.wait_max_ns = sum.wait_max_ns.max(task.wait_max_ns);
        self.latencies.merge(&task.latencies);
        self.waiting += task.waiting;
        self.lag.merge(&task.lag.measured());
        self.turnaround.merge(&task.turnaround);
        self.slowdown.merge(&task.slowdown);
        if let Some(worked) = &task.worked {
            self.worked.get_or_insert_default().merge(worked);
        }
        if let Some(jobs) = task.jobs.as_deref() {
            self.jobs.get_or_insert_default().merge(jobs);
        }
    }

    pub(crate) fn numbers(mut self, capacity_ns: f64) -> GroupNumbers {
        self.numbers.share = part_of(self.numbers.cpu_ns, capacity_ns);
        self.numbers.wakeup_latency_ns = self.latencies.numbers(self.waiting);
        self.numbers.lag_ns = self.lag.numbers();
        self.numbers.turnaround_ns = self.turnaround.times();
        self.numbers.slowdown = self.slowdown.ratios();
        self.numbers.work = self.worked.map(|worked| worked.numbers(self.numbers.cpu_ns));
        self.numbers.jobs = self.jobs.map(|jobs| jobs.numbers());
        self.numbers
    }
}
