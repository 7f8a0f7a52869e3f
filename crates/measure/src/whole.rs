// SPDX-License-Identifier: MIT OR Apache-2.0
//! What all tasks have in common: the ideal they are compared with, and distributions over
//! all of them.

use crate::figures::FigureSink;
use crate::fluid::{Fluid, Tie};
use crate::lag::Sample;
use crate::latency::Latencies;
use crate::slowdown::Slowdowns;
use crate::waste::Waste;

#[derive(Clone, Debug)]
pub(crate) struct Whole {
    pub(crate) fluid: Fluid,
    pub(crate) waste: Waste,
    /// Beginning of what is measured.
    pub(crate) from_ns: u64,
    pub(crate) wakeups: Latencies,
    pub(crate) waiting: u64,
    pub(crate) turnarounds: Latencies,
    pub(crate) turnarounds_open: u64,
    pub(crate) slowdowns: Slowdowns,
    pub(crate) figures: Option<Box<FigureSink>>,
}

impl Whole {
    pub(crate) fn new(cpus: u32) -> Self {
        Whole {
            fluid: Fluid::new(cpus),
            waste: Waste::new(cpus),
            from_ns: 0,
            wakeups: Latencies::default(),
            waiting: 0,
            turnarounds: Latencies::default(),
            turnarounds_open: 0,
            slowdowns: Slowdowns::default(),
            figures: None,
        }
    }

    /// What comes before now is no part of the measures.
    pub(crate) fn restart(&mut self, now_ns: u64) {
        self.from_ns = now_ns;
        self.waste.restart(now_ns);
        self.wakeups = Latencies::default();
        self.turnarounds = Latencies::default();
        self.slowdowns = Slowdowns::default();
    }

    /// What ties a task to these CPUs.
    pub(crate) fn tie(&mut self, cpus: impl Iterator<Item = u32>) -> Tie {
        let tie = self.fluid.tie(cpus);
        self.waste.learn(tie, self.fluid.mask(tie));
        tie
    }

    /// A task above the policy takes a CPU, or gives it back.
    pub(crate) fn capacity_moves(&mut self, took: bool, takes: bool, now_ns: u64) {
        match (took, takes) {
            (false, true) => self.fluid.take_cpu(now_ns),
            (true, false) => self.fluid.give_cpu(now_ns),
            _ => {}
        }
    }

    pub(crate) fn unanswered(&mut self, open_ns: u64) {
        self.wakeups.record(open_ns);
        self.waiting += 1;
    }

    pub(crate) fn unfinished(&mut self, open_ns: u64) {
        self.turnarounds.record(open_ns);
        self.turnarounds_open += 1;
    }

    pub(crate) fn ran(&mut self, row: Option<usize>, from_ns: u64, to_ns: u64) {
        if let (Some(figures), Some(row)) = (&mut self.figures, row) {
            figures.ran(row, from_ns, to_ns);
        }
    }

    pub(crate) fn lagged(&mut self, row: Option<usize>, from: Sample, to: Sample) {
        if let (Some(figures), Some(row)) = (&mut self.figures, row) {
            figures.lagged(row, from, to);
        }
    }
}
