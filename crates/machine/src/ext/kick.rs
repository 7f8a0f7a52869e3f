// SPDX-License-Identifier: MIT OR Apache-2.0
//! Work that waits until a lock can be dropped: kicks (`irq_work`), dispatches to remote
//! local queues, re-enqueues. The machine runs it at the end of each event.

use crate::class::Class;
use crate::consts::*;
use crate::exit::ExitKind;
use crate::ops::Ops;
use crate::rq::Cpus;
use crate::running::Subject;
use crate::system::System;

impl System {
    /// `scx_kick_cpu()`.
    pub(crate) fn kick_cpu(&mut self, cpu: u32, flags: u64) {
        if self.is_bypassing() {
            return;
        }
        let here = self.running.this_cpu;
        if flags & KICK_IDLE != 0 {
            if flags & (KICK_PREEMPT | KICK_WAIT) != 0 {
                self.error(
                    ExitKind::Error,
                    "PREEMPT/WAIT cannot be used with SCX_KICK_IDLE".into(),
                );
            }
            // the rq that the callback holds cannot be looked at: decided once it is dropped
            if self.running.ctx.locked_rq != Some(cpu) && self.cpus.can_skip_idle_kick(cpu) {
                return;
            }
            self.rq_mut(here).kick_if_idle.insert(cpu);
        } else {
            self.rq_mut(here).kick.insert(cpu);
            if flags & KICK_PREEMPT != 0 {
                self.rq_mut(here).preempt.insert(cpu);
            }
            if flags & KICK_WAIT != 0 {
                self.rq_mut(here).wait.insert(cpu);
            }
        }
        self.cpus.deferred.insert(here);
    }

    /// `kick_cpus_irq_workfn()`.
    fn kick_cpus(&mut self, here: u32) {
        let kicks = std::mem::take(&mut self.rq_mut(here).kick);
        let preempts = std::mem::take(&mut self.rq_mut(here).preempt);
        let waits = std::mem::take(&mut self.rq_mut(here).wait);
        let idle_kicks = std::mem::take(&mut self.rq_mut(here).kick_if_idle);
        let (mut goes_through, mut has_to_wait, mut wait_ns) = (false, false, 0);
        for cpu in kicks.iter() {
            let curr = self.rq(cpu).curr;
            // nothing to say about a CPU that a higher class has
            let own = self.class_of_side().level();
            if curr.is_some_and(|c| self.task(c).class.level() > own) {
                continue;
            }
            // nor does the fair class have one where sched_ext runs, as its own tasks preempt that
            if self.hosted.is_fair && curr.is_some_and(|c| self.task(c).class.is_ext()) {
                continue;
            }
            if preempts.contains(cpu) {
                if let Some(curr) = curr.filter(|c| self.is_of_side(*c)) {
                    self.update_curr(cpu);
                    self.set_slice(curr, 0);
                }
            }
            if waits.contains(cpu) && curr.is_some() {
                goes_through = true;
                has_to_wait |= cpu != here;
                wait_ns = wait_ns.max(self.ipi_ns(cpu));
            }
            self.resched_cpu(cpu);
        }
        for cpu in idle_kicks.minus(&kicks).iter() {
            if !self.cpus.can_skip_idle_kick(cpu) {
                self.resched_cpu(cpu);
            }
        }
        if goes_through {
            self.cpus.resched_curr(here);
        }
        // kick_sync_wait_bal_cb(): until the others have gone through their schedulers, too, which
        // they do when the interrupt reaches them
        if has_to_wait {
            self.charge_overhead(here, wait_ns);
        }
    }

    /// `process_ddsp_deferred_locals()`.
    fn process_ddsp_deferred_locals(&mut self, o: &mut dyn Ops, cpu: u32) {
        while let Some(t) = self.rq_mut(cpu).ddsp_deferred.pop_front() {
            let task = self.task_mut(t);
            task.ddsp_deferred = false;
            let (id, enq_flags, task_cpu) = (task.ddsp_dsq_id, task.ddsp_enq_flags, task.cpu);
            let asked = task.ddsp_asked;
            self.tasks.clear_direct_dispatch(t);
            self.apply_late(t, asked, enq_flags);
            self.for_task(o, t, |system, o| {
                system.about(Subject { task: Some(t), site: asked.site }, |system| {
                    let dsq = system.find_dsq_for_dispatch(cpu, id, task_cpu);
                    if system.dsq(dsq).id == DSQ_LOCAL {
                        system.dispatch_to_local_dsq(o, cpu, dsq, t, enq_flags);
                    }
                });
            });
        }
    }

    /// `run_deferred()`.
    pub(crate) fn run_deferred(&mut self, o: &mut dyn Ops, cpu: u32) {
        self.process_ddsp_deferred_locals(o, cpu);
        self.process_reenq(o, cpu);
    }

    /// Everything pending on any CPU, until nothing is.
    #[inline]
    pub(crate) fn drain_deferred(&mut self, o: &mut dyn Ops) {
        if !self.cpus.deferred.is_empty() || self.other.is_some() {
            self.drain_sides(o);
        }
    }

    #[inline(never)]
    fn drain_sides(&mut self, o: &mut dyn Ops) {
        let mut rounds = 0;
        loop {
            self.drain_side(o);
            let fair = self.other.as_ref().is_some_and(|side| !side.deferred.is_empty());
            if !fair || self.goes_in_circles(&mut rounds) {
                return;
            }
            self.hosting(o, Class::Fair, Self::drain_side);
        }
    }

    fn drain_side(&mut self, o: &mut dyn Ops) {
        let mut rounds = 0;
        while let Some(cpu) = self.cpus.deferred.first() {
            if self.goes_in_circles(&mut rounds) {
                break;
            }
            self.cpus.deferred.remove(cpu);
            self.running.this_cpu = cpu;
            self.as_curr(|system| system.run_deferred(o, cpu));
            self.kick_cpus(cpu);
        }
    }
}

impl Cpus {
    /// `can_skip_idle_kick()`.
    fn can_skip_idle_kick(&self, cpu: u32) -> bool {
        let rq = self.rq(cpu);
        rq.curr.is_some() && !rq.in_balance
    }
}
