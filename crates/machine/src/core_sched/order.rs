// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which of two tasks on different CPUs of a core comes first: `prio_less()`, `scx_prio_less()`,
//! and the time stamps that sched_ext compares.

use crate::class::Class;
use crate::ops::{Op, Ops};
use crate::system::System;
use crate::task::Tid;

impl System {
    /// `prio_less()`: whether `a` comes after `b`; `None` is the idle task.
    pub(super) fn prio_less(&mut self, o: &mut dyn Ops, a: Option<Tid>, b: Option<Tid>) -> bool {
        let (a, b) = match (a, b) {
            (Some(a), Some(b)) => (a, b),
            (a, b) => return a.is_none() && b.is_some(),
        };
        let (rank_a, rank_b) = (self.tasks.rank(a), self.tasks.rank(b));
        if rank_a != rank_b {
            return rank_a < rank_b;
        }
        match self.task(a).class {
            // !dl_time_before()
            Class::Deadline(_) => true,
            Class::Realtime { .. } => false,
            class => self.hosting(o, class, |system, o| match system.task(b).sched {
                sched if sched == system.task(a).sched => {
                    system.for_task(o, a, |system, o| system.scx_prio_less(o, a, b))
                }
                _ => system.task(a).core_sched_at > system.task(b).core_sched_at,
            }),
        }
    }

    /// `scx_prio_less()`. The fair class's object has the place of `cfs_prio_less()`.
    fn scx_prio_less(&mut self, o: &mut dyn Ops, a: Tid, b: Tid) -> bool {
        if !self.has(Op::CoreSchedBefore) || self.is_bypassing() {
            return self.task(a).core_sched_at > self.task(b).core_sched_at;
        }
        let (cpu, args) = (self.task(a).cpu, [self.task(b).addr, self.task(a).addr]);
        self.call(o, Op::CoreSchedBefore, Some(cpu), Some(b), &args) != 0
    }

    /// `touch_core_sched()`: a task's turn begins or ends.
    #[inline]
    pub(crate) fn touch_core_sched(&mut self, t: Tid) {
        if self.core_sched.enabled {
            let now_ns = self.clock_ns();
            self.task_mut(t).core_sched_at = now_ns;
            let addr = self.task(t).addr;
            self.guest.put_u64(addr, self.guest.layouts.task.core_sched_at, now_ns);
        }
    }

    /// `touch_core_sched_dispatch()`.
    #[inline]
    pub(crate) fn touch_core_sched_dispatch(&mut self, t: Tid) {
        if self.has(Op::CoreSchedBefore) {
            self.touch_core_sched(t);
        }
    }
}
