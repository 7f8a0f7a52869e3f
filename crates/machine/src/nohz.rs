// SPDX-License-Identifier: MIT OR Apache-2.0
//! CPUs whose tick stops while nothing needs it (`nohz_full=`, `kernel/time/tick-sched.c`).

use crate::class::Class;
use crate::ops::Ops;
use crate::run::Machine;
use crate::system::System;
use crate::task::Tid;
use rota_workload::Policy;

/// Another CPU does what a stopped tick would have done (`sched_tick_remote()`).
const REMOTE_TICK_NS: u64 = 1_000_000_000;

impl Machine {
    /// Ticks of CPUs whose tick may stop begin and stop with what needs them
    /// (`sched_update_tick_dependency()`).
    #[inline(never)]
    pub(crate) fn rearm_ticks(&mut self) {
        let full = self.system.cpus.nohz_full;
        full.iter().for_each(|cpu| self.arm_tick(cpu));
    }

    /// The tick of a CPU that was stopped, once a second, by one whose tick never stops.
    pub(crate) fn remote_tick(&mut self, o: &mut dyn Ops, cpu: u32) {
        let system = &mut self.system;
        system.running.this_cpu = system.cpus.housekeeping();
        system.task_tick(o, cpu);
        self.arm_tick(cpu);
    }
}

impl System {
    /// When the tick of a CPU comes next if it is stopped.
    pub(crate) fn remote_tick_at_ns(&self) -> u64 {
        (self.now_ns / REMOTE_TICK_NS + 1) * REMOTE_TICK_NS
    }

    /// `sched_can_stop_tick()`, of a busy CPU.
    pub(crate) fn can_stop_tick(&self, cpu: u32) -> bool {
        if !self.cpus.nohz_full.contains(cpu) {
            return false;
        }
        let rq = self.rq(cpu);
        let above = || {
            let running = rq.curr.filter(|t| !self.task(*t).class.is_hosted());
            running.into_iter().chain(rq.waiting.iter())
        };
        if above().any(|t| matches!(self.task(t).class, Class::Deadline(_))) {
            return false;
        }
        let takes_turns = |t: &Tid| self.task(*t).settings.policy == Policy::Rr;
        match (above().filter(takes_turns).count(), above().next()) {
            (0, None) => {}
            (0, Some(_)) => return true,
            (of_rr, _) => return of_rr == 1,
        }
        self.scx_can_stop_tick(cpu) && self.nr_hosted(cpu).1 <= 1
    }

    /// `scx_can_stop_tick()`. No hosted scheduler acts when it is asked, so that the side is
    /// sched_ext's.
    fn scx_can_stop_tick(&self, cpu: u32) -> bool {
        let rq = self.rq(cpu);
        let is_ext = rq.curr.is_some_and(|t| self.task(t).class.is_ext());
        !is_ext || rq.nr_running == 0 || !self.is_bypassing() && rq.can_stop_tick
    }
}
