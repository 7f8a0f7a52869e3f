// SPDX-License-Identifier: MIT OR Apache-2.0
//! Work and energy, as a machine tells of them each time a task leaves a CPU.

use crate::numbers::WorkNumbers;

/// Parts of a nanosecond that work is counted in.
const PARTS: u128 = 1024;

/// Work that was done, and energy that it took.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Worked {
    /// In 1/1024 ns at full speed.
    done: u128,
    energy_nj: Option<u64>,
}

impl Worked {
    /// More of both.
    pub(crate) fn add(&mut self, done: u64, energy_nj: Option<u64>) {
        self.merge(&Worked { done: done.into(), energy_nj });
    }

    /// That of another task.
    pub(crate) fn merge(&mut self, other: &Worked) {
        self.done += other.done;
        if let Some(nj) = other.energy_nj {
            let sum = self.energy_nj.get_or_insert(0);
            *sum = sum.saturating_add(nj);
        }
    }

    /// In so much CPU time.
    pub(crate) fn numbers(&self, cpu_ns: u64) -> WorkNumbers {
        let full_speed_ns = u64::try_from(self.done / PARTS).unwrap_or(u64::MAX);
        let ns = self.done as f64 / PARTS as f64;
        let rate = (cpu_ns > 0).then(|| ns / cpu_ns as f64);
        WorkNumbers { full_speed_ns, rate, energy_nj: self.energy_nj }
    }
}
