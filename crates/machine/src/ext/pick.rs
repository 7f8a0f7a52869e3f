// SPDX-License-Identifier: MIT OR Apache-2.0
//! Switching tasks on a CPU: `do_pick_task_scx()`, `set_next_task_scx()`,
//! `put_prev_task_scx()`, `task_tick_scx()`.

use super::dispatch::Verdict;
use crate::consts::*;
use crate::ops::{Op, Ops};
use crate::system::System;
use crate::task::{Tid, Work};
use crate::tracing::Place;

impl System {
    /// Charges the running task for the time since it was last charged:
    /// `update_curr_scx()`, and its progress through its work.
    #[inline]
    pub(crate) fn update_curr(&mut self, cpu: u32) {
        let now_ns = self.now_ns;
        let rq = self.rq_mut(cpu);
        // later than now while the CPU is in its tick interrupt
        let delta_ns = now_ns.saturating_sub(rq.charged_at_ns);
        if delta_ns == 0 {
            return;
        }
        rq.charged_at_ns = now_ns;
        self.charge(cpu, delta_ns);
    }

    /// A CPU gets on with its work, at the speed that it has had: nobody is charged for it yet.
    #[inline]
    pub(crate) fn progress(&mut self, cpu: u32) {
        let now_ns = self.now_ns;
        let rq = self.rq_mut(cpu);
        let ns = now_ns.saturating_sub(rq.progressed_at_ns);
        if ns != 0 {
            rq.progressed_at_ns = now_ns;
            self.progress_by(cpu, ns);
        }
    }

    #[inline]
    fn progress_by(&mut self, cpu: u32, ns: u64) {
        let rq = self.rq_mut(cpu);
        // an idle CPU works off its overhead by itself
        let done = rq.pace.advance(ns, &mut rq.debt);
        let (Some(t), power_uw) = (rq.curr, rq.pace.power_uw) else { return };
        let task = self.task_mut(t);
        if power_uw != 0 {
            task.draw(power_uw, ns);
        }
        let part = match &mut task.work {
            Work::Run { left } => {
                let part = done.min(*left);
                *left -= part;
                part
            }
            Work::Until { .. } => done,
            Work::Next | Work::Block => return,
        };
        task.worked = task.worked.saturating_add(part);
    }

    /// The end of a tick's interrupt, for which nobody is charged (`update_rq_clock_task()`), or
    /// the current task. Another one begins after it in any case. So a slice that begins at a
    /// tick is not quite used up a whole number of ticks later, and gets one more.
    pub(crate) fn end_tick(&mut self, cpu: u32) {
        let (now_ns, tick_ns) = (self.now_ns, self.kernel_ns(cpu, self.config.costs.tick_ns));
        let charged = self.config.lab().ticks_are_charged;
        let rq = self.rq_mut(cpu);
        if rq.curr.is_none() || charged && !rq.need_resched {
            return;
        }
        (rq.charged_at_ns, rq.progressed_at_ns) = (now_ns + tick_ns, now_ns + tick_ns);
        if charged {
            self.progress_by(cpu, tick_ns);
            self.charge(cpu, tick_ns);
        }
    }

    /// Charges the current task.
    #[inline(never)]
    fn charge(&mut self, cpu: u32, delta_ns: u64) {
        self.progress(cpu);
        let now_ns = self.now_ns;
        let rq = self.rq_mut(cpu);
        let Some(t) = rq.curr else { return self.charge_idle(cpu, delta_ns) };
        rq.busy_ns += delta_ns;
        let slice_ns = self.slice(t);
        if self.task(t).class.is_hosted() && slice_ns != SLICE_INF {
            self.set_slice(t, slice_ns.saturating_sub(delta_ns));
            if slice_ns <= delta_ns {
                self.touch_core_sched(t);
            }
        }
        if !self.ext_is_alone() {
            self.charge_class(cpu, t, delta_ns);
        }
        let addr = self.task(t).addr;
        let at = self.guest.layouts.task.sum_exec_runtime;
        if at != crate::layout::ABSENT {
            let sum = self.guest.mem.get_u64(addr + u64::from(at));
            self.guest.put_u64(addr, at, sum + delta_ns);
        }
        self.guest.put_u64(addr, self.guest.layouts.task.exec_start, now_ns + BOOT_NS);
    }

    /// `account_process_tick()`: the time of a whole tick is that of the task it finds running.
    #[inline]
    pub(crate) fn account_tick(&mut self, cpu: u32, tick_ns: u64) {
        let (Some(t), at) = (self.rq(cpu).curr, self.guest.layouts.task.utime) else { return };
        if at != crate::layout::ABSENT {
            let addr = self.task(t).addr;
            let before = self.guest.mem.get_u64(addr + u64::from(at));
            self.guest.put_u64(addr, at, before + tick_ns);
        }
    }

    /// `do_pick_task_scx()`: the next task, `None` for idle; and whether it starts a
    /// slice (a task that merely goes on with its old slice does not).
    pub(crate) fn pick_task(&mut self, o: &mut dyn Ops, cpu: u32) -> Option<(Tid, bool)> {
        let prev = self.rq(cpu).curr.filter(|p| self.is_of_side(*p));
        let goes_on = self.rq_mut(cpu).goes_on.take();
        let had_slice = prev.is_some_and(|p| self.slice(p) != 0);
        if self.balance_one(o, cpu, prev) == Verdict::Prev {
            let p = prev?;
            if self.slice(p) == 0 {
                self.refill_slice(p);
            }
            return Some((p, !had_slice));
        }
        let local = self.rq(cpu).local;
        let p = self.dsq(local).first()?;
        if self.slice(p) == 0 {
            self.refill_slice(p);
            return Some((p, true));
        }
        Some((p, goes_on != Some(p)))
    }

    /// `set_next_task_scx()`.
    pub(crate) fn set_next_task(&mut self, o: &mut dyn Ops, cpu: u32, t: Tid) {
        self.for_task(o, t, |system, o| system.set_next_task_scx(o, cpu, t));
    }

    pub(crate) fn set_next_task_scx(&mut self, o: &mut dyn Ops, cpu: u32, t: Tid) {
        if self.has_flag(t, TASK_QUEUED) {
            self.ops_dequeue(o, cpu, t, DEQ_CORE_SCHED_EXEC);
            self.dispatch_dequeue(t);
        }
        let (addr, now_ns) = (self.task(t).addr, self.clock_ns());
        self.guest.put_u64(addr, self.guest.layouts.task.exec_start, now_ns);
        if self.has(Op::Running) && self.has_flag(t, TASK_QUEUED) {
            self.call_task(o, Op::Running, cpu, t, &[]);
        }
        self.clr_task_runnable(cpu, t, true);
        if !self.config.nohz_full.is_empty() {
            self.rq_mut(cpu).can_stop_tick = self.slice(t) == SLICE_INF;
        }
    }

    /// `put_prev_task_scx()`; `to_idle`: the next task is the idle task.
    pub(crate) fn put_prev_task(&mut self, o: &mut dyn Ops, cpu: u32, t: Tid, to_idle: bool) {
        self.for_task(o, t, |system, o| system.put_prev_task_scx(o, cpu, t, to_idle));
    }

    pub(crate) fn put_prev_task_scx(&mut self, o: &mut dyn Ops, cpu: u32, t: Tid, to_idle: bool) {
        self.update_curr(cpu);
        let queued = self.has_flag(t, TASK_QUEUED);
        if self.has(Op::Stopping) && queued {
            self.call_task(o, Op::Stopping, cpu, t, &[1]);
        }
        if !queued {
            return;
        }
        self.set_task_runnable(cpu, t);
        self.task_mut(t).put_back = Some((self.now_ns, cpu));
        if to_idle {
            self.rq_mut(cpu).put_last = Some(t);
        }
        if self.slice(t) != 0 && !self.is_bypassing() {
            if self.has_flag(t, TASK_IMMED) {
                self.change_flags(t, 0, TASK_REENQ_PREEMPTED);
                self.do_enqueue_task(o, cpu, t, ENQ_REENQ, -1);
                self.change_flags(t, TASK_REENQ_REASON_MASK, 0);
            } else {
                let local = self.rq(cpu).local;
                self.dispatch_enqueue(o, local, t, ENQ_HEAD);
            }
            return;
        }
        let flags = if to_idle { ENQ_LAST } else { 0 };
        self.do_enqueue_task(o, cpu, t, flags, -1);
    }

    /// `task_tick_scx()`.
    pub(crate) fn task_tick(&mut self, o: &mut dyn Ops, cpu: u32) {
        let Some(t) = self.rq(cpu).curr else { return };
        self.update_curr(cpu);
        let class = self.task(t).class;
        if !class.is_hosted() {
            return self.tick_higher(cpu, t);
        }
        self.hosting(o, class, |system, o| system.tick_hosted(o, cpu, t));
    }

    fn tick_hosted(&mut self, o: &mut dyn Ops, cpu: u32, t: Tid) {
        let args = [self.rq(cpu).addr, self.task(t).addr, 0, 0];
        self.pass(o, Place::TaskTickScx, &args[..3]);
        self.for_task(o, t, |system, o| {
            if system.is_bypassing() {
                system.set_slice(t, 0);
                system.touch_core_sched(t);
            } else if system.has(Op::Tick) {
                system.running.this_cpu = cpu;
                system.call_task(o, Op::Tick, cpu, t, &[]);
            }
        });
        if self.slice(t) == 0 {
            self.cpus.resched_curr(cpu);
        }
        self.leave(o, Place::TaskTickScx, &args);
    }
}
