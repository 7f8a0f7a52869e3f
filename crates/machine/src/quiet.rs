// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ticks that do nothing but charge the running task: most of them, as a slice is several ticks long. They are
//! done one after the other, without all that an instant has to look at, and with what comes of it the same.

use crate::consts::SLICE_INF;
use crate::ops::Op;
use crate::run::Machine;
use crate::system::System;
use crate::tracing::Place;

/// So many instants at once: whoever watches the run is asked in between whether it has enough.
const MOST_INSTANTS: u32 = 1_024;

impl Machine {
    /// Time stands at an instant of which nothing happened yet. Does what is due as long as that is ticks
    /// which nobody notices, and stops at the first instant with something else, or of the end.
    #[inline(never)]
    pub(crate) fn quiet_ticks(&mut self, end_ns: u64) {
        let system = &mut self.system;
        if !system.ticks_can_be_quiet() {
            return;
        }
        let tick_ns = system.config.tick_ns();
        for _ in 0..MOST_INSTANTS {
            let now_ns = system.now_ns;
            while let Some(cpu) = system.quiet_tick() {
                system.told.counters.events += 1;
                system.running.this_cpu = cpu;
                system.account_tick(cpu, tick_ns);
                system.update_curr(cpu);
                system.end_tick(cpu);
                system.rq_mut(cpu).tick_due_ns = now_ns + tick_ns;
                system.queue.tick_at(now_ns + tick_ns, cpu);
            }
            // What else is due now comes before tasks are armed.
            if system.queue.next_at() == Some(now_ns) {
                return;
            }
            system.arm_touched();
            match system.queue.next_at() {
                Some(at_ns) if at_ns > now_ns && at_ns < end_ns => system.now_ns = at_ns,
                _ => return,
            }
        }
    }
}

impl System {
    /// Whether anybody but the running task could notice any tick.
    fn ticks_can_be_quiet(&self) -> bool {
        let config = &self.config;
        self.ext_is_alone()
            && !self.has(Op::Tick)
            && !self.is_bypassing()
            && !self.watches(Place::SchedTick)
            && !self.watches(Place::TaskTickScx)
            && self.subs.is_empty()
            && !self.core_sched.enabled
            && !config.audit
            && !config.exact_slices
            && config.lab().tick_turn_ns == 0
            && config.nohz_full.is_empty()
            && !self.choices.orders_ties()
            && self.told.events.is_empty()
            && self.cpus.resched.is_empty()
            && self.cpus.deferred.is_empty()
            && self.cpus.touched.is_empty()
    }

    /// The CPU whose tick is next at this instant, if all that comes of it is that its task is charged and has
    /// some of its slice left.
    #[inline]
    fn quiet_tick(&self) -> Option<u32> {
        let cpu = self.queue.due_tick(self.now_ns)?;
        let rq = self.rq(cpu);
        let t = rq.curr?;
        let slice_ns = self.slice(t);
        let charged_ns = self.now_ns.saturating_sub(rq.charged_at_ns);
        let goes_on = slice_ns == SLICE_INF || slice_ns > charged_ns;
        let due = rq.tick_due_ns == self.now_ns && !rq.tick_stopped;
        (goes_on && due && !rq.need_resched && self.task(t).class.is_hosted()).then_some(cpu)
    }
}
