// SPDX-License-Identifier: MIT OR Apache-2.0
//! Jobs of periodic tasks: how many met their deadlines, and by how much the others missed them.
//!
//! Tardiness of a job is `max(0, end - deadline)`, its slack `deadline - end` (J. Liu, *Real-Time
//! Systems*, 2000, §2.2 and §3.1).

use crate::latency::Latencies;
use crate::numbers::LatencyNumbers;
use rota_trace::{JobKind, JobStep};
use serde::Serialize;

/// Jobs that are counted one by one at the end of a run; more of a task have the same tardiness as
/// the last of these.
const MOST_OVERDUE: u64 = 100_000;

/// The jobs of a task, or of several.
#[derive(Clone, Debug)]
pub(crate) struct Jobs {
    met: u64,
    missed: u64,
    /// Of them, not done at the end.
    overdue: u64,
    tardiness: Latencies,
    slack_sum: f64,
    slack_min_ns: i64,
    ended: u64,
    /// What the task has to do next.
    open: Option<Open>,
}

#[derive(Clone, Copy, Debug)]
struct Open {
    deadline_ns: i128,
    period_ns: u64,
    kind: JobKind,
}

/// Numbers of jobs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct JobNumbers {
    /// Jobs that ended, and those whose deadline was over at the end of the run: met and missed.
    pub jobs: u64,
    /// Ended in time.
    pub met: u64,
    /// Ended late, or not at all.
    pub misses: u64,
    /// Missed, as a part of all; `None`: there are no jobs.
    pub miss_rate: Option<f64>,
    /// How late jobs were, 0 if in time; `waiting` of them had not ended, and count with their
    /// tardiness so far.
    pub tardiness_ns: LatencyNumbers,
    /// From the end of a job to its deadline.
    pub slack_ns: SlackNumbers,
}

/// Slack of jobs; below 0: late.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct SlackNumbers {
    /// The least.
    pub min: Option<i64>,
    /// Arithmetic mean of jobs that ended.
    pub mean: Option<f64>,
}

impl Default for Jobs {
    fn default() -> Self {
        Jobs {
            met: 0,
            missed: 0,
            overdue: 0,
            tardiness: Latencies::small(),
            slack_sum: 0.0,
            slack_min_ns: i64::MAX,
            ended: 0,
            open: None,
        }
    }
}

impl Jobs {
    /// A job begins or ends.
    pub(crate) fn step(&mut self, kind: JobKind, step: JobStep, now_ns: u64) {
        match step {
            JobStep::Begin { slack_ns, period_ns } => {
                let deadline_ns = i128::from(now_ns) + i128::from(slack_ns);
                self.open = Some(Open { deadline_ns, period_ns, kind });
            }
            JobStep::End { slack_ns, .. } => {
                self.open = None;
                self.ended += 1;
                self.slack_sum += slack_ns as f64;
                self.count(slack_ns);
            }
        }
    }

    fn count(&mut self, slack_ns: i64) {
        self.slack_min_ns = self.slack_min_ns.min(slack_ns);
        self.tardiness.record(slack_ns.min(0).unsigned_abs());
        if slack_ns < 0 {
            self.missed += 1;
        } else {
            self.met += 1;
        }
    }

    /// The task has nothing more to do; `reservation`: of its reservation.
    pub(crate) fn forget(&mut self, reservation: bool) {
        self.open = self.open.filter(|open| reservation && open.kind != JobKind::Reservation);
    }

    /// What ended before now does not count.
    pub(crate) fn restart(&mut self) {
        *self = Jobs { open: self.open, ..Jobs::default() };
    }

    /// Counts what is overdue at the end. Of a timer that does not begin anew there may be several:
    /// all that came while the task was still at an earlier one.
    pub(crate) fn close(&mut self, end_ns: u64) {
        let Some(Open { deadline_ns, period_ns, kind }) = self.open.take() else { return };
        let late_ns = i128::from(end_ns) - deadline_ns;
        if late_ns <= 0 {
            return;
        }
        let late_ns = late_ns as u64;
        let more = match kind {
            JobKind::Absolute if period_ns > 0 => (late_ns - 1) / period_ns,
            _ => 0,
        };
        for job in 0..=more.min(MOST_OVERDUE) {
            self.overdue += 1;
            self.count(-((late_ns - job * period_ns) as i64));
        }
    }

    pub(crate) fn merge(&mut self, other: &Jobs) {
        self.met += other.met;
        self.missed += other.missed;
        self.overdue += other.overdue;
        self.tardiness.merge(&other.tardiness);
        self.slack_sum += other.slack_sum;
        self.slack_min_ns = self.slack_min_ns.min(other.slack_min_ns);
        self.ended += other.ended;
    }

    pub(crate) fn numbers(&self) -> JobNumbers {
        let jobs = self.met + self.missed;
        JobNumbers {
            jobs,
            met: self.met,
            misses: self.missed,
            miss_rate: (jobs > 0).then(|| self.missed as f64 / jobs as f64),
            tardiness_ns: self.tardiness.numbers(self.overdue),
            slack_ns: SlackNumbers {
                min: (jobs > 0).then_some(self.slack_min_ns),
                mean: (self.ended > 0).then(|| self.slack_sum / self.ended as f64),
            },
        }
    }
}

/// Jobs of all of these; `None`: there are none.
pub(crate) fn of_all<'a>(all: impl Iterator<Item = &'a Jobs>) -> Option<Jobs> {
    let mut sum: Option<Jobs> = None;
    all.for_each(|jobs| sum.get_or_insert_with(Jobs::default).merge(jobs));
    sum
}

#[cfg(test)]
#[path = "jobs_tests.rs"]
mod tests;
