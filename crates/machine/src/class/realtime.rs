// SPDX-License-Identifier: MIT OR Apache-2.0
//! `SCHED_FIFO` and `SCHED_RR` (`kernel/sched/rt.c`): a task runs until it blocks, yields or a
//! greater one comes; round robin lets equals alternate.

use crate::system::System;
use crate::task::Tid;
use crate::tasks::Tasks;
use rota_workload::Policy;

/// `RR_TIMESLICE`.
pub(crate) const RR_SLICE_NS: u64 = 100_000_000;

impl System {
    /// `task_tick_rt()`: so much of its slice is over, whole ticks as the kernel counts them.
    pub(crate) fn use_rr_slice(&mut self, cpu: u32, t: Tid, ns: u64) {
        let entity = &mut self.task_mut(t).entity;
        entity.rr_left_ns = entity.rr_left_ns.saturating_sub(ns);
        if entity.rr_left_ns > 0 {
            return;
        }
        entity.rr_left_ns = RR_SLICE_NS;
        let rank = self.tasks.rank(t);
        if self.rq(cpu).waiting.has(rank) {
            self.task_mut(t).entity.to_tail = true;
            self.cpus.resched_curr(cpu);
        }
    }
}

impl Tasks {
    /// Whether a task has round-robin slices. Lent priority brings none (`p->policy` stays).
    pub(crate) fn is_round_robin(&self, t: Tid) -> bool {
        self.get(t).settings.policy == Policy::Rr
    }
}
