// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finding the next task: `balance_one()`, `scx_dispatch_sched()` and what they move.

use crate::consts::*;
use crate::dsq::{Cursor, DsqIx};
use crate::ops::{Op, Ops};
use crate::rq::DspEntry;
use crate::running::Subject;
use crate::system::System;
use crate::task::{OpsState, Tid};

/// `enum scx_dsp_verdict`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing to run.
    None,
    /// The local queue has tasks.
    Local,
    /// The current task goes on.
    Prev,
}

impl System {
    /// `task_can_run_on_remote_rq()`; `enforce` ejects a scheduler that insists.
    pub(crate) fn task_can_run_on_remote_rq(&mut self, t: Tid, cpu: u32, enforce: bool) -> bool {
        if self.task(t).migration_disabled && self.ext_sees_pinned() {
            if enforce {
                let (label, from) = (self.task(t).label(), self.task(t).cpu);
                let text = format!(
                    "SCX_DSQ_LOCAL[_ON] cannot move migration disabled {label} from CPU {from} to \
                     {cpu}"
                );
                self.error_about(t, text);
            }
            return false;
        }
        if self.task(t).cpus_ptr().contains(cpu) {
            let online = self.hotplug.is_active(cpu);
            if !online && enforce {
                self.told.counters.dispatch_local_dsq_offline += 1;
            }
            return online;
        }
        if enforce {
            let label = self.task(t).label();
            let text = format!("SCX_DSQ_LOCAL[_ON] target CPU {cpu} not allowed for {label}");
            self.error_about(t, text);
        }
        false
    }

    /// `move_remote_task_to_local_dsq()`.
    pub(crate) fn move_remote_task_to_local_dsq(
        &mut self,
        o: &mut dyn Ops,
        t: Tid,
        enq_flags: u64,
        dst: u32,
    ) {
        let src = self.task(t).cpu;
        self.set_sticky(t, dst as i32);
        self.rq_mut(dst).extra_enq_flags = enq_flags;
        self.migrate_queued(o, t, src, dst, 0);
        self.rq_mut(dst).extra_enq_flags = 0;
    }

    /// `deactivate_task()`, `set_task_cpu()`, `activate_task()`: to the scheduler the task
    /// stays runnable throughout.
    pub(crate) fn migrate_queued(
        &mut self,
        o: &mut dyn Ops,
        t: Tid,
        src: u32,
        dst: u32,
        deq_flags: u64,
    ) {
        self.task_mut(t).migrating = true;
        self.dequeue_task(o, src, t, deq_flags);
        self.migrate_to_cpu(o, t, dst);
        self.enqueue_task(o, dst, t, ENQ_MIGRATED);
        self.task_mut(t).migrating = false;
    }

    /// `move_task_between_dsqs()`.
    pub(crate) fn move_task_between_dsqs(
        &mut self,
        o: &mut dyn Ops,
        t: Tid,
        mut enq_flags: u64,
        dst: DsqIx,
    ) {
        let src_cpu = self.task(t).cpu;
        let mut dst = dst;
        if self.dsq(dst).id == DSQ_LOCAL {
            let cpu = self.dsq(dst).cpu.unwrap_or(src_cpu);
            if cpu == src_cpu || self.task_can_run_on_remote_rq(t, cpu, true) {
                self.unlink(t);
                if cpu == src_cpu {
                    return self.move_local_task_to_local_dsq(o, t, enq_flags, cpu);
                }
                return self.move_remote_task_to_local_dsq(o, t, enq_flags, cpu);
            }
            dst = self.find_global_dsq(src_cpu);
            enq_flags |= ENQ_GDSQ_FALLBACK;
        }
        self.unlink(t);
        self.dispatch_enqueue(o, dst, t, enq_flags);
    }

    /// `consume_dispatch_q()`.
    pub(crate) fn consume_dispatch_q(
        &mut self,
        o: &mut dyn Ops,
        cpu: u32,
        dsq: DsqIx,
        enq_flags: u64,
    ) -> bool {
        if self.dsq(dsq).is_empty() {
            return false;
        }
        let mut cursor = Cursor::Start;
        while let Some(t) = self.queues.all[dsq.0 as usize].next(
            &self.queues.links,
            &self.tasks.all,
            &mut cursor,
            false,
        ) {
            if self.hosted.exit.is_some() && self.dsq(dsq).id != DSQ_BYPASS {
                break;
            }
            if self.task(t).cpu == cpu {
                self.unlink(t);
                self.move_local_task_to_local_dsq(o, t, enq_flags, cpu);
                return true;
            }
            if self.task_can_run_on_remote_rq(t, cpu, false) {
                self.unlink(t);
                self.move_remote_task_to_local_dsq(o, t, enq_flags, cpu);
                return true;
            }
        }
        false
    }

    /// `consume_global_dsq()`.
    #[inline]
    fn consume_global_dsq(&mut self, o: &mut dyn Ops, cpu: u32) -> bool {
        let dsq = self.find_global_dsq(cpu);
        !self.dsq(dsq).is_empty() && self.consume_dispatch_q(o, cpu, dsq, 0)
    }

    /// `dispatch_to_local_dsq()`.
    pub(crate) fn dispatch_to_local_dsq(
        &mut self,
        o: &mut dyn Ops,
        rq: u32,
        dst: DsqIx,
        t: Tid,
        enq_flags: u64,
    ) {
        let src = self.task(t).cpu;
        let cpu = self.dsq(dst).cpu.unwrap_or(src);
        if rq == src && src == cpu {
            return self.dispatch_enqueue(o, dst, t, enq_flags | ENQ_CLEAR_OPSS);
        }
        self.task_mut(t).ops_state = OpsState::None;
        if src == cpu {
            self.dispatch_enqueue(o, dst, t, enq_flags);
        } else if !self.task_can_run_on_remote_rq(t, cpu, true) {
            let global = self.find_global_dsq(src);
            return self.dispatch_enqueue(o, global, t, enq_flags | ENQ_GDSQ_FALLBACK);
        } else {
            self.move_remote_task_to_local_dsq(o, t, enq_flags, cpu);
        }
        let own = self.class_of_side().level();
        if self.rq(cpu).curr.is_none_or(|curr| self.task(curr).class.level() < own) {
            self.cpus.resched_curr(cpu);
        }
    }

    /// `finish_dispatch()`.
    fn finish_dispatch(&mut self, o: &mut dyn Ops, rq: u32, entry: DspEntry) {
        let DspEntry { task: t, qseq, dsq_id, enq_flags, asked } = entry;
        self.touch_core_sched_dispatch(t);
        match self.task(t).ops_state {
            // it has been through another cycle since: no claim on it
            OpsState::Queued(now) if now == qseq => {}
            _ => return,
        }
        // SCX_EV_INSERT_NOT_OWNED
        if self.task(t).sched != self.subs.acting && !self.hosted.is_fair {
            return;
        }
        self.task_mut(t).ops_state = OpsState::Dispatching;
        self.apply_late(t, asked, enq_flags);
        let task_cpu = self.task(t).cpu;
        self.about(Subject { task: Some(t), site: asked.site }, |system| {
            let dsq = system.find_dsq_for_dispatch(rq, dsq_id, task_cpu);
            if system.dsq(dsq).id == DSQ_LOCAL {
                system.dispatch_to_local_dsq(o, rq, dsq, t, enq_flags);
            } else {
                system.dispatch_enqueue(o, dsq, t, enq_flags | ENQ_CLEAR_OPSS);
            }
        });
    }

    /// `flush_dispatch_buf()`.
    pub(crate) fn flush_dispatch_buf(&mut self, o: &mut dyn Ops, cpu: u32) {
        // of the CPU that dispatches, for itself or for another one of its core
        let here = self.running.this_cpu;
        let mut buf = std::mem::take(&mut self.rq_mut(here).dsp_buf);
        for entry in &buf {
            self.finish_dispatch(o, cpu, *entry);
        }
        let rq = self.rq_mut(here);
        rq.dsp_nr_tasks += buf.len() as u32;
        buf.clear();
        rq.dsp_buf = buf;
    }

    /// `scx_dispatch_sched()`.
    #[inline]
    pub(crate) fn dispatch_sched(
        &mut self,
        o: &mut dyn Ops,
        cpu: u32,
        prev: Option<Tid>,
    ) -> Verdict {
        if self.consume_global_dsq(o, cpu) {
            return Verdict::Local;
        }
        if self.is_bypassing() {
            let bypass = self.rq(cpu).bypass;
            return if self.consume_dispatch_q(o, cpu, bypass, 0) {
                Verdict::Local
            } else {
                Verdict::None
            };
        }
        if !self.has(Op::Dispatch) || !self.hotplug.is_active(cpu) {
            return Verdict::None;
        }
        // scx_task_on_sched()
        let own = prev.filter(|p| self.task(*p).sched == self.subs.acting);
        let prev_addr = own.map_or(0, |p| self.task(p).addr);
        let here = self.running.this_cpu;
        for loops_left in (0..DSP_MAX_LOOPS).rev() {
            self.rq_mut(here).dsp_nr_tasks = 0;
            self.call(o, Op::Dispatch, Some(cpu), own, &[self.cpu_arg(cpu), prev_addr]);
            self.flush_dispatch_buf(o, cpu);
            if prev.is_some_and(|p| self.has_flag(p, TASK_QUEUED) && self.slice(p) != 0) {
                return Verdict::Prev;
            }
            let local = self.rq(cpu).local;
            if !self.dsq(local).is_empty() || self.consume_global_dsq(o, cpu) {
                return Verdict::Local;
            }
            if loops_left == 0 {
                // let the watchdog run: finish this cycle and start another
                self.kick_cpu(cpu, 0);
            }
            if self.rq(here).dsp_nr_tasks == 0 {
                break;
            }
        }
        Verdict::None
    }

    /// `balance_one()`.
    pub(crate) fn balance_one(&mut self, o: &mut dyn Ops, cpu: u32, prev: Option<Tid>) -> Verdict {
        self.rq_mut(cpu).in_balance = true;
        if self.rq(cpu).released {
            self.acquire_cpu(o, cpu);
        }
        let verdict = self.balance_verdict(o, cpu, prev);
        let local = self.rq(cpu).local;
        if verdict != Verdict::None && self.dsq(local).nr > 1 && self.rq(cpu).nr_immed > 0 {
            self.schedule_reenq_local(cpu, 0);
        }
        self.rq_mut(cpu).in_balance = false;
        verdict
    }

    fn balance_verdict(&mut self, o: &mut dyn Ops, cpu: u32, prev: Option<Tid>) -> Verdict {
        if let Some(p) = prev {
            self.update_curr(cpu);
            if self.has_flag(p, TASK_QUEUED) && self.slice(p) != 0 && !self.is_bypassing() {
                return Verdict::Prev;
            }
        }
        let local = self.rq(cpu).local;
        if !self.dsq(local).is_empty() {
            return Verdict::Local;
        }
        let verdict = self.dispatch_sched(o, cpu, prev);
        if verdict != Verdict::None {
            return verdict;
        }
        let queued = prev.is_some_and(|p| self.has_flag(p, TASK_QUEUED));
        if queued && (self.hosted.flags & OPS_ENQ_LAST == 0 || self.is_bypassing()) {
            self.told.counters.dispatch_keep_last += 1;
            return Verdict::Prev;
        }
        Verdict::None
    }
}
