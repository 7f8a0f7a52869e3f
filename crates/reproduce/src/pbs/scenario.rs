// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tasks that arrive and want some time, for the fluid model and for the machine.

use crate::error::Error;
use crate::rig::tasks;
use rota_fluid::{solve, Beta, Pbs, Script, Solution};
use rota_workload::Workload;
use std::borrow::Cow;
use std::sync::Arc;

/// Arrival and demand of each task; seconds.
pub(super) struct Scenario {
    tasks: Cow<'static, [(f64, f64)]>,
    pub(super) end: f64,
}

/// Four tasks [PBS §3.1].
pub(super) const FOUR: Scenario =
    Scenario { tasks: Cow::Borrowed(&[(0.0, 4.5), (1.0, 2.5), (3.0, 3.0), (5.0, 2.0)]), end: 12.0 };

/// Four that come when the first is 2.5 s old [PBS §3.1]; none of them ends.
pub(super) const NEWCOMERS: Scenario = Scenario {
    tasks: Cow::Borrowed(&[
        (0.0, FOREVER),
        (2.5, FOREVER),
        (2.5, FOREVER),
        (2.5, FOREVER),
        (2.5, FOREVER),
    ]),
    end: 12.0,
};

/// More than any scenario lasts.
pub(super) const FOREVER: f64 = 1e6;

impl Scenario {
    pub(super) fn of(tasks: Vec<(f64, f64)>, end: f64) -> Self {
        Self { tasks: Cow::Owned(tasks), end }
    }

    pub(super) fn count(&self) -> usize {
        self.tasks.len()
    }

    fn script(&self) -> Script {
        let task = |all: Script, (number, (arrival, demand)): (usize, &(f64, f64))| {
            all.once(&format!("task {number}"), *arrival, *demand)
        };
        (1..).zip(self.tasks.iter()).fold(Script::default(), task)
    }

    pub(super) fn solve(&self, alpha: f64) -> Result<Solution, Error> {
        self.solve_to(alpha, self.end)
    }

    pub(super) fn solve_to(&self, alpha: f64, end: f64) -> Result<Solution, Error> {
        // The last task may end a moment after that, by rounding.
        Ok(solve(&mut self.script(), &Pbs::new(alpha, Beta::INFINITE)?, end * (1.0 + 1e-6))?)
    }

    /// When each task comes, as a workload file has it.
    pub(super) fn came_ns(&self) -> Vec<u64> {
        self.tasks.iter().map(|(arrival, _)| us(*arrival) * 1_000).collect()
    }

    /// As a workload file has it.
    pub(super) fn workload(&self) -> Result<Arc<Workload>, Error> {
        let told = self.tasks.iter().map(|(arrival, demand)| {
            let (delay, run) = (us(*arrival), us(*demand));
            format!("\"delay\": {delay}, \"loop\": 1, \"run\": {run}")
        });
        tasks(told, |at| format!("task{}", at + 1))
    }
}

fn us(seconds: f64) -> u64 {
    (seconds * 1e6).round() as u64
}
