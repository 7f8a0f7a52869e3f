// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the machine counts by itself: `scx_event_stats`, callbacks, decisions.

use crate::ops::Op;
use crate::tracing::Place;

/// Calls and instructions of one callback.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallbackCount {
    /// Times called.
    pub calls: u64,
    /// Instructions in all, documented kfunc costs included.
    pub instructions: u64,
}

/// Counters of a run.
#[derive(Clone, Debug, Default)]
pub struct Counters {
    /// Picks: slices started, also of the same task again.
    pub decisions: u64,
    /// Instructions of all callbacks on a CPU from one of its picks to the next, summed
    /// over the picks.
    pub decision_instructions: u64,
    /// The most instructions of one decision.
    pub decision_instructions_max: u64,
    /// Events processed.
    pub events: u64,
    /// `SCX_EV_SELECT_CPU_FALLBACK`.
    pub select_cpu_fallback: u64,
    /// `SCX_EV_DISPATCH_KEEP_LAST`.
    pub dispatch_keep_last: u64,
    /// `SCX_EV_DISPATCH_LOCAL_DSQ_OFFLINE`.
    pub dispatch_local_dsq_offline: u64,
    /// `SCX_EV_ENQ_SKIP_EXITING`.
    pub enq_skip_exiting: u64,
    /// `SCX_EV_ENQ_SKIP_MIGRATION_DISABLED`.
    pub enq_skip_migration_disabled: u64,
    /// `SCX_EV_REFILL_SLICE_DFL`.
    pub refill_slice_dfl: u64,
    /// `SCX_EV_BYPASS_DISPATCH`.
    pub bypass_dispatch: u64,
    /// `SCX_EV_REENQ_IMMED`.
    pub reenq_immed: u64,
    /// `SCX_EV_REENQ_LOCAL_REPEAT`.
    pub reenq_local_repeat: u64,
    callbacks: Vec<CallbackCount>,
    places: Vec<CallbackCount>,
}

impl Counters {
    pub(crate) fn new() -> Self {
        Self {
            callbacks: vec![CallbackCount::default(); Op::ALL.len()],
            places: vec![CallbackCount::default(); Place::ALL.len()],
            ..Self::default()
        }
    }

    #[inline]
    pub(crate) fn count_callback(&mut self, op: Op, instructions: u64) {
        let count = &mut self.callbacks[op as usize];
        count.calls += 1;
        count.instructions += instructions;
    }

    pub(crate) fn count_place(&mut self, at: Place, instructions: u64) {
        let count = &mut self.places[at as usize];
        count.calls += 1;
        count.instructions += instructions;
    }

    #[inline]
    pub(crate) fn count_decision(&mut self, instructions: u64) {
        self.decisions += 1;
        self.decision_instructions += instructions;
        self.decision_instructions_max = self.decision_instructions_max.max(instructions);
    }

    /// Callbacks that were called, with their counts.
    pub fn callbacks(&self) -> impl Iterator<Item = (Op, CallbackCount)> + '_ {
        called(Op::ALL, &self.callbacks)
    }

    /// Tracepoints and functions at which programs of the scheduler ran, with their counts.
    pub fn places(&self) -> impl Iterator<Item = (Place, CallbackCount)> + '_ {
        called(Place::ALL, &self.places)
    }
}

fn called<'a, T: Copy>(
    all: &'a [T],
    counts: &'a [CallbackCount],
) -> impl Iterator<Item = (T, CallbackCount)> + 'a {
    all.iter().zip(counts).filter(|(_, c)| c.calls > 0).map(|(which, c)| (*which, *c))
}
