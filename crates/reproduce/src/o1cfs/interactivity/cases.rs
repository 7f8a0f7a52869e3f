// SPDX-License-Identifier: MIT OR Apache-2.0
//! What has to be run for the figures, each case once, and what came of it.

use super::cycles::{Cycles, Latencies, Latency};
use super::parameters::{rows, Computer, Counted, Setting, Tunables};
use super::workload::{Load, Tasks, LEAD_US, LOADS, TASKS, TEST_S};
use crate::error::Error;
use crate::o1cfs::{CFS, ENTRIES, O1};
use crate::pool;
use crate::rig::{linked, linked_at_hz, Length, Rig};
use crate::Job;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A test that is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Case {
    pub(super) policy: &'static str,
    pub(super) load: Load,
    pub(super) tasks: Tasks,
    pub(super) computer: Computer,
    set: Tunables,
}

/// By case, then by repetition.
pub(super) struct Results(BTreeMap<Case, Vec<Latencies>>);

impl Case {
    /// What a policy does under a setting, beside a load.
    pub(super) fn of(policy: &'static str, load: Load, setting: &Setting) -> Self {
        let mut tasks = setting.tasks;
        if load != Load::Full {
            tasks.busy = TASKS.busy;
        }
        let set = match policy {
            p if p == O1.policy => setting.o1,
            p if p == CFS.policy => setting.cfs,
            _ => &[],
        };
        Self { policy, load, tasks, computer: setting.computer, set }
    }

    /// Repetitions differ in their seeds, and so in where tasks begin in their periods.
    pub(super) fn run(&self, repetitions: u64) -> Result<Vec<Latencies>, Error> {
        let file = self.tasks.file(self.load);
        let workload = Arc::new(rota_workload::parse("xwindow", &file)?);
        let mut rig = match self.computer {
            Computer::Ticking(hz) => Rig::ticking(&linked_at_hz(self.policy, self.set, hz)?),
            Computer::Ideal => Rig::new(&linked(self.policy, self.set)?),
        };
        // From the latest start of X on there are that many seconds.
        let end_us = LEAD_US + self.tasks.step_us + TEST_S * 1_000_000;
        let once = |seed| {
            let length = Length { seed, ..Length::of(end_us * 1_000) };
            let mut cycles = Cycles::default();
            let end_ns = rig.run(&workload, length, &mut cycles)?.end_ns;
            let latencies = cycles.latencies(self.tasks.step_us * 1_000, end_ns);
            latencies.ok_or_else(|| Error::Failure(format!("{}: X never woke up", self.policy)))
        };
        (1..=repetitions).map(once).collect()
    }
}

impl Results {
    /// Without the same case twice.
    pub(super) fn cases() -> Vec<Case> {
        let rows = rows();
        let of = |policy, setting| LOADS.map(|load| Case::of(policy, load, setting));
        let compared = rows.iter().flat_map(|row| [&O1, &CFS].map(|e| (e.policy, &row.setting)));
        let figures = ENTRIES.iter().map(|entry| (entry.policy, &rows[0].setting));
        let all = compared.chain(figures).flat_map(|(policy, setting)| of(policy, setting));
        let mut cases: Vec<Case> = all.collect();
        cases.sort_unstable();
        cases.dedup();
        cases
    }

    pub(super) fn measure(job: &Job<'_>, repetitions: u64) -> Result<Self, Error> {
        let cases = Self::cases();
        job.progress.announce(cases.len() as u64 * repetitions);
        let latencies = pool::map(job.threads, &cases, |case| {
            let latencies = case.run(repetitions);
            job.progress.advance(repetitions);
            latencies
        })?;
        Ok(Self(cases.into_iter().zip(latencies).collect()))
    }

    /// Latencies of a policy under a setting beside a load, one of each repetition.
    pub(super) fn of(&self, policy: &'static str, load: Load, setting: &Setting) -> Vec<Latency> {
        let of = |both: &Latencies| match setting.counted {
            Counted::Scheduling => both.scheduling,
            Counted::AsInterbench => both.interbench,
        };
        let found = self.0.get(&Case::of(policy, load, setting));
        found.into_iter().flatten().map(of).collect()
    }
}
