// SPDX-License-Identifier: MIT OR Apache-2.0
//! The results of a run. Field names are those of the `rota.sim/1` JSON; times are
//! nanoseconds of simulated time.

use crate::slowdown::SlowdownReport;
use serde::Serialize;

/// All numbers of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// One entry per task, in the order in which the trace names them.
    pub tasks: Vec<TaskReport>,
    /// Numbers of the whole machine.
    pub totals: Totals,
}

/// Numbers of one task.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TaskReport {
    /// Name.
    pub name: String,
    /// Process id in the simulated machine.
    pub pid: u32,
    /// Weight at the end.
    pub weight: u32,
    /// Time on a CPU.
    pub cpu_ns: u64,
    /// `cpu_ns / (cpus * duration)`: part of the whole machine.
    pub share: f64,
    /// Time runnable but not running.
    pub run_delay_ns: u64,
    /// From a wakeup to the CPU.
    pub wakeup_latency_ns: LatencyReport,
    /// Times it came onto a CPU after another task or idleness.
    pub switches: u64,
    /// Times it came onto a CPU other than its last.
    pub migrations: u64,
    /// When it was created.
    pub started_ns: u64,
    /// When it ended; `None`: it did not.
    pub finished_ns: Option<u64>,
    /// How far it was behind a fluid machine; `None`: it never wanted to run.
    pub lag_ns: Option<LagReport>,
    /// From a wakeup until it slept again or exited.
    pub turnaround_ns: SpanReport,
    /// That time over the CPU time in it.
    pub slowdown: RatioReport,
    /// Its class at the end: `ext` (the policy's), `rt` or `deadline`.
    pub class: &'static str,
}

/// A function of time: how far behind the ideal, in nanoseconds; negative: ahead of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LagReport {
    /// The furthest behind.
    pub max: i64,
    /// The furthest ahead, as a negative number.
    pub min: i64,
    /// Mean over time of the absolute value.
    pub mean_abs: f64,
}

/// Some times, without their percentiles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct SpanReport {
    /// How many.
    pub count: u64,
    /// Arithmetic mean.
    pub mean: Option<f64>,
    /// Longest.
    pub max: Option<u64>,
}

/// Some ratios, without their percentiles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct RatioReport {
    /// How many.
    pub count: u64,
    /// Arithmetic mean.
    pub mean: Option<f64>,
    /// Greatest.
    pub max: Option<f64>,
}

/// A distribution of times. Numbers of an empty one are `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LatencyReport {
    /// Number of times, those still open at the end included.
    pub count: u64,
    /// Arithmetic mean.
    pub mean: Option<f64>,
    /// Median.
    pub p50: Option<u64>,
    /// 95th percentile.
    pub p95: Option<u64>,
    /// 99th percentile.
    pub p99: Option<u64>,
    /// Longest.
    pub max: Option<u64>,
    /// How many of `count` were still open at the end, counted with their length so far.
    pub waiting: u64,
    /// 99.9th percentile.
    pub p999: Option<u64>,
}

/// Numbers of the whole machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Totals {
    /// Slices started.
    pub decisions: u64,
    /// Times a CPU began to run a task after another one or idleness.
    pub context_switches: u64,
    /// Time without a task, over all CPUs.
    pub idle_ns: u64,
    /// Jain's index of normalized service over tasks that never slept; `None`: fewer than two.
    pub jain: Option<f64>,
    /// Cost of a decision.
    pub instructions_per_decision: InstructionsPerDecision,
    /// From a wakeup to the CPU, of all tasks together.
    pub wakeup_latency_ns: LatencyReport,
    /// Length of what was measured: of the run without its warm-up.
    pub measured_ns: u64,
    /// Times a task came onto a CPU other than its last.
    pub migrations: u64,
    /// How far tasks were behind a fluid machine: the furthest behind and ahead of all, and the
    /// mean over all tasks and times. `None`: nobody ever wanted to run.
    pub lag_ns: Option<LagReport>,
    /// From a wakeup until the task slept again or exited. Of tasks that ever slept, also one
    /// that was still open at the end.
    pub turnaround_ns: LatencyReport,
    /// That time over the CPU time in it.
    pub slowdown: SlowdownReport,
    /// From creation to exit, of tasks that exited.
    pub completion_ns: SpanReport,
    /// When the last task exited; `None`: not all did.
    pub makespan_ns: Option<u64>,
    /// How often in a second a task was done with what it woke for; `None`: no time passed.
    pub bursts_per_s: Option<f64>,
}

/// Cost of a decision in instructions of the policy; `None`: not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct InstructionsPerDecision {
    /// Mean over all decisions.
    pub mean: Option<f64>,
    /// The dearest decision.
    pub max: Option<u64>,
}
