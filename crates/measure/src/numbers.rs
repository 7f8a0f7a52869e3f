// SPDX-License-Identifier: MIT OR Apache-2.0
//! The results of a run. Field names are those of the `rota.sim/1` JSON; times are
//! nanoseconds of simulated time.

use crate::jobs::JobNumbers;
use crate::locks::LockNumbers;
use crate::totals::Totals;
use serde::Serialize;

/// All numbers of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Numbers {
    /// One entry per task, in the order in which the trace names them.
    pub tasks: Vec<TaskNumbers>,
    /// Numbers of the whole machine.
    pub totals: Totals,
    /// One entry per CPU, in order.
    pub cpus: Vec<CpuNumbers>,
    /// Of everything that tasks waited at, in the order in which they first did.
    pub locks: Vec<LockNumbers>,
}

impl Numbers {
    /// Those of the workload: all but the program that brought the policy.
    pub fn load(&self) -> impl Iterator<Item = &TaskNumbers> + Clone {
        self.tasks.iter().filter(|task| !task.is_program)
    }

    /// The program that brought the policy, if it took part.
    pub fn program(&self) -> Option<&TaskNumbers> {
        self.tasks.iter().find(|task| task.is_program)
    }
}

/// Numbers of one CPU.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CpuNumbers {
    /// Its number.
    pub cpu: u32,
    /// Time without a task.
    pub idle_ns: u64,
    /// Of it, while a task waited that could have used this CPU.
    pub wasted_idle_ns: u64,
    /// Of it, while core scheduling kept the CPU's tasks from it; `None`: it never did so anywhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forced_idle_ns: Option<u64>,
}

/// Numbers of one task.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TaskNumbers {
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
    pub wakeup_latency_ns: LatencyNumbers,
    /// Times it came onto a CPU after another task or idleness.
    pub switches: u64,
    /// Times it came onto a CPU other than its last.
    pub migrations: u64,
    /// When it was created.
    pub started_ns: u64,
    /// When it ended; `None`: it did not.
    pub finished_ns: Option<u64>,
    /// How far it was behind a fluid machine; `None`: it never wanted to run.
    pub lag_ns: Option<LagNumbers>,
    /// From a wakeup until it slept again or exited.
    pub turnaround_ns: SpanNumbers,
    /// That time over the CPU time in it.
    pub slowdown: RatioNumbers,
    /// Its class at the end: `ext` (the policy's), `rt` or `deadline`.
    pub class: &'static str,
    /// It is the program that brought the policy: no part of the workload, nor of any number of
    /// all tasks but of CPUs, switches and migrations.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_program: bool,
    /// Of the run delay, while a CPU was idle that it may use.
    pub wasted_wait_ns: u64,
    /// The longest that it was runnable at a stretch without running.
    pub wait_max_ns: u64,
    /// Jobs, of a task that has a timer or a reservation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jobs: Option<JobNumbers>,
    /// Time blocked at mutexes; `None`: it never was, or no task ever was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lock_blocked_ns: Option<u64>,
    /// Work that it got done, on a machine that is not flat.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work: Option<WorkNumbers>,
}

/// What was got done in CPU time, on a machine of which not every CPU is always at full speed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct WorkNumbers {
    /// Work, as nanoseconds of the fastest CPU alone at its highest frequency, rounded down.
    pub full_speed_ns: u64,
    /// Work divided by the CPU time for it: the mean speed. `None`: no CPU time.
    pub rate: Option<f64>,
    /// Energy that busy CPUs took for it, in nanojoules; `None`: the machine does not know its power.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub energy_nj: Option<u64>,
}

/// A function of time: how far behind the ideal, in nanoseconds; negative: ahead of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LagNumbers {
    /// The furthest behind.
    pub max: i64,
    /// The furthest ahead, as a negative number.
    pub min: i64,
    /// Mean over time of the absolute value.
    pub mean_abs: f64,
}

/// Some times, without their percentiles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct SpanNumbers {
    /// How many.
    pub count: u64,
    /// Arithmetic mean.
    pub mean: Option<f64>,
    /// Longest.
    pub max: Option<u64>,
}

/// Some ratios, without their percentiles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct RatioNumbers {
    /// How many.
    pub count: u64,
    /// Arithmetic mean.
    pub mean: Option<f64>,
    /// Greatest.
    pub max: Option<f64>,
}

/// A distribution of times. Numbers of an empty one are `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LatencyNumbers {
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
