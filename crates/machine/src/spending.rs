// SPDX-License-Identifier: MIT OR Apache-2.0
//! How many instructions a scheduler may execute: no more in a second of simulated time than its
//! CPUs could. Without a limit one that uses nearly all of its budget in every callback, be it by
//! mistake or on purpose, would keep a run going for days.

use crate::exit::ExitKind;
use crate::system::System;

const SECOND_NS: u64 = 1_000_000_000;

/// What was executed in the current second.
#[derive(Debug, Default)]
pub(crate) struct Spending {
    /// When that is over.
    until_ns: u64,
    instructions: u64,
    /// How many may be.
    limit: u64,
}

impl System {
    fn second(&self) -> u64 {
        self.now_ns / SECOND_NS
    }

    fn spending_limit(&self) -> u64 {
        self.config.budget_per_second.saturating_mul(u64::from(self.nr_cpus()))
    }

    /// Whether programs may run, after `more` instructions that are not counted yet. Ejecting takes
    /// effect after the current step only, which may call for each of many tasks.
    #[inline]
    pub fn may_execute(&self, more: u64) -> bool {
        let spending = &self.hosted.spending;
        if self.now_ns < spending.until_ns {
            return spending.instructions.saturating_add(more) <= spending.limit;
        }
        more <= self.spending_limit()
    }

    /// Counts what a program executed, and ejects the scheduler if that is too much.
    #[inline]
    pub fn count_executed(&mut self, instructions: u64) {
        // the kernel's own class has no limit
        if self.hosted.is_fair {
            return;
        }
        if self.now_ns >= self.hosted.spending.until_ns {
            self.begin_second();
        }
        let spending = &mut self.hosted.spending;
        spending.instructions = spending.instructions.saturating_add(instructions);
        if spending.instructions > spending.limit {
            let spent = spending.instructions;
            self.overspent(spent);
        }
    }

    #[cold]
    fn begin_second(&mut self) {
        let (until_ns, limit) = ((self.second() + 1) * SECOND_NS, self.spending_limit());
        self.hosted.spending = Spending { until_ns, instructions: 0, limit };
    }

    #[cold]
    fn overspent(&mut self, spent: u64) {
        let (second, limit) = (self.second(), self.spending_limit());
        let (cpus, each) = (self.nr_cpus(), self.config.budget_per_second);
        let s = if cpus == 1 { "" } else { "s" };
        self.error(
            ExitKind::Error,
            format!(
                "executed {spent} instructions between {second}s and {}s of simulated time: at \
                 most {limit} are allowed, {each} for each of {cpus} CPU{s}; \
                 --budget-per-second allows more",
                second + 1
            ),
        );
    }

    /// Leaving has as much as a second, whatever was executed before.
    pub(crate) fn spend_anew(&mut self) {
        self.hosted.spending = Spending::default();
    }
}
