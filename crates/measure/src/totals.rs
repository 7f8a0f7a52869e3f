// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers of the whole machine: what they are, what is counted for them, and how they come of that
//! and of the books of the tasks. Field names are those of the JSON.

use crate::account::Account;
use crate::fairness::jain;
use crate::jobs::{of_all, JobNumbers};
use crate::lag::Measured;
use crate::locks::LockTotals;
use crate::numbers::{LagNumbers, LatencyNumbers, SpanNumbers, WorkNumbers};
use crate::slowdown::SlowdownNumbers;
use crate::spans::Spans;
use crate::whole::Whole;
use crate::work::Worked;
use rota_trace::{EventKind, OffCpu};
use serde::Serialize;

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
    pub wakeup_latency_ns: LatencyNumbers,
    /// Length of what was measured: of the run without its warm-up.
    pub measured_ns: u64,
    /// Times a task came onto a CPU other than its last.
    pub migrations: u64,
    /// How far tasks were behind a fluid machine: the furthest behind and ahead of all, and the
    /// mean over all tasks and times. `None`: nobody ever wanted to run.
    pub lag_ns: Option<LagNumbers>,
    /// From a wakeup until the task slept again or exited. Of tasks that ever slept, also one
    /// that was still open at the end.
    pub turnaround_ns: LatencyNumbers,
    /// That time over the CPU time in it.
    pub slowdown: SlowdownNumbers,
    /// From creation to exit, of tasks that exited.
    pub completion_ns: SpanNumbers,
    /// When the last task exited; `None`: not all did.
    pub makespan_ns: Option<u64>,
    /// How often in a second a task was done with what it woke for; `None`: no time passed.
    pub bursts_per_s: Option<f64>,
    /// How often in a second a task left its CPU though it could go on; `None`: no time passed.
    pub nonvoluntary_per_s: Option<f64>,
    /// CPU time that was idle while a task waited that could have used it.
    pub wasted_idle_ns: u64,
    /// CPU time that was idle because core scheduling kept the CPU's tasks from it; `None`: it
    /// never did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forced_idle_ns: Option<u64>,
    /// Jobs of all tasks that have any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jobs: Option<JobNumbers>,
    /// Waits for all mutexes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locks: Option<LockTotals>,
    /// Work that all tasks got done, on a machine that is not flat.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work: Option<WorkNumbers>,
}

/// Cost of a decision in instructions of the policy; `None`: not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct InstructionsPerDecision {
    /// Mean over all decisions.
    pub mean: Option<f64>,
    /// The dearest decision.
    pub max: Option<u64>,
}

/// What is counted of the run's events, from the end of the warm-up on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    decisions: u64,
    nonvoluntary: u64,
}

impl Counts {
    /// Counts an event.
    pub(crate) fn event(&mut self, kind: &EventKind) {
        match kind {
            EventKind::Pick { .. } => self.decisions += 1,
            EventKind::SwitchOut { why: OffCpu::Runnable, .. } => self.nonvoluntary += 1,
            _ => {}
        }
    }
}

impl Totals {
    /// Of a run that ended at `end_ns`, whose CPUs were idle for `idle_ns` together.
    pub(crate) fn of(
        tasks: &[Account],
        (idle_ns, wasted_idle_ns): (u64, u64),
        counts: &Counts,
        cost: InstructionsPerDecision,
        whole: &Whole,
        end_ns: u64,
    ) -> Self {
        let load = || tasks.iter().filter(|task| !task.is_program);
        let has_groups = whole.fluid.has_groups();
        let rates: Vec<f64> =
            tasks.iter().filter_map(|t| t.service_rate(has_groups, end_ns)).collect();
        let (mut lag, mut completion, mut bursts) = (Measured::default(), Spans::default(), 0);
        for task in load() {
            lag.merge(&task.lag.measured());
            bursts += task.turnaround.count();
            let finished_ns = task.finished_ns.filter(|at_ns| *at_ns >= whole.from_ns);
            if let Some(at_ns) = finished_ns {
                completion.add(at_ns.saturating_sub(task.started_ns) as f64);
            }
        }
        let last_ns = load().map(|t| t.finished_ns).max().flatten();
        let all_finished = load().all(|t| t.finished_ns.is_some());
        let measured_ns = end_ns.saturating_sub(whole.from_ns);
        let per_s =
            |count: u64| (measured_ns > 0).then(|| count as f64 / (measured_ns as f64 / 1e9));
        Totals {
            decisions: counts.decisions,
            context_switches: tasks.iter().map(|t| t.switches).sum(),
            idle_ns,
            jain: jain(&rates),
            instructions_per_decision: cost,
            wakeup_latency_ns: whole.wakeups.numbers(whole.waiting),
            measured_ns,
            migrations: tasks.iter().map(|t| t.migrations).sum(),
            lag_ns: lag.numbers(),
            turnaround_ns: whole.turnarounds.numbers(whole.turnarounds_open),
            slowdown: whole.slowdowns.numbers(0),
            completion_ns: completion.times(),
            makespan_ns: last_ns.filter(|_| all_finished),
            bursts_per_s: per_s(bursts),
            nonvoluntary_per_s: per_s(counts.nonvoluntary),
            wasted_idle_ns,
            forced_idle_ns: None,
            jobs: of_all(tasks.iter().filter_map(|t| t.jobs.as_deref())).map(|jobs| jobs.numbers()),
            locks: None,
            work: work(load()),
        }
    }
}

/// Of these tasks together.
fn work<'a>(tasks: impl Iterator<Item = &'a Account> + Clone) -> Option<WorkNumbers> {
    let cpu_ns = tasks.clone().map(|task| task.cpu_ns).sum();
    let worked = tasks.filter_map(|task| task.worked).reduce(|mut all: Worked, task| {
        all.merge(&task);
        all
    });
    worked.map(|worked| worked.numbers(cpu_ns))
}
