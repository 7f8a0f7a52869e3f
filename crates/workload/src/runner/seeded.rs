// SPDX-License-Identifier: MIT OR Apache-2.0
//! A workload that runs without a machine.

use super::{Runner, Step};
use crate::model::{TaskIx, Workload};
use rota_choice::{Choices, Seeded};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// A [`Runner`] with choices of its own, where nothing but the workload has any.
#[derive(Debug)]
pub struct SeededRunner {
    runner: Runner,
    choices: Choices,
}

impl SeededRunner {
    /// The workload at its beginning; `seed` decides all that is random.
    pub fn new(workload: Arc<Workload>, seed: u64) -> Self {
        let mut choices = Choices::by(Seeded::new(seed));
        Self { runner: Runner::new(workload, &mut choices), choices }
    }

    /// [`Runner::next`].
    pub fn next(&mut self, task: TaskIx, now_ns: u64) -> Step {
        self.runner.next(task, now_ns, &mut self.choices)
    }

    /// [`Runner::arrive`].
    pub fn arrive(&mut self, now_ns: u64) {
        self.runner.arrive(now_ns, &mut self.choices);
    }
}

impl Deref for SeededRunner {
    type Target = Runner;

    fn deref(&self) -> &Runner {
        &self.runner
    }
}

impl DerefMut for SeededRunner {
    fn deref_mut(&mut self) -> &mut Runner {
        &mut self.runner
    }
}
