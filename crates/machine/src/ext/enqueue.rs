// SPDX-License-Identifier: MIT OR Apache-2.0
//! Becoming runnable and stopping to be: `enqueue_task_scx()`, `dequeue_task_scx()`.

use crate::consts::*;
use crate::ops::{Op, Ops};
use crate::rq::{Asked, Direct};
use crate::running::Subject;
use crate::system::System;
use crate::task::{OpsState, Tid};
use crate::tasks::Tasks;
use crate::tracing::Place;
use rota_trace::EventKind;

impl System {
    /// `mark_direct_dispatch()`.
    pub(crate) fn mark_direct_dispatch(
        &mut self,
        t: Tid,
        dsq_id: u64,
        enq_flags: u64,
        asked: Asked,
    ) {
        let cpu = self.running.this_cpu;
        let direct = std::mem::replace(&mut self.rq_mut(cpu).direct, Direct::Done);
        match direct {
            Direct::Task(expected) if expected == t => {
                let task = self.task_mut(t);
                task.ddsp_dsq_id = dsq_id;
                task.ddsp_enq_flags = enq_flags;
                task.ddsp_asked = asked;
            }
            Direct::Task(expected) => {
                let (want, got) = (self.task(expected).label(), self.task(t).label());
                let text = format!("scheduling for {want} but trying to direct-dispatch {got}");
                self.error_about(t, text);
            }
            _ => {
                let label = self.task(t).label();
                self.error_about(t, format!("{label} already direct-dispatched"));
            }
        }
    }

    /// `direct_dispatch()`.
    fn direct_dispatch(&mut self, o: &mut dyn Ops, t: Tid, enq_flags: u64) {
        let cpu = self.task(t).cpu;
        let id = self.task(t).ddsp_dsq_id;
        let subject = Subject { task: Some(t), site: self.task(t).ddsp_asked.site };
        let dsq = self.about(subject, |system| system.find_dsq_for_dispatch(cpu, id, cpu));
        self.touch_core_sched_dispatch(t);
        self.task_mut(t).ddsp_enq_flags |= enq_flags;
        // a remote local queue has to wait until this CPU's lock can be dropped
        if self.dsq(dsq).id == DSQ_LOCAL && dsq != self.rq(cpu).local {
            let task = self.task_mut(t);
            task.ops_state = OpsState::None;
            task.ddsp_deferred = true;
            self.rq_mut(cpu).ddsp_deferred.push_back(t);
            self.cpus.deferred.insert(cpu);
            return;
        }
        let (flags, asked) = (self.task(t).ddsp_enq_flags, self.task(t).ddsp_asked);
        self.tasks.clear_direct_dispatch(t);
        self.apply_late(t, asked, flags);
        self.dispatch_enqueue(o, dsq, t, flags | ENQ_CLEAR_OPSS);
    }

    /// `do_enqueue_task()`.
    pub(crate) fn do_enqueue_task(
        &mut self,
        o: &mut dyn Ops,
        cpu: u32,
        t: Tid,
        enq_flags: u64,
        sticky_cpu: i32,
    ) {
        if sticky_cpu == cpu as i32 {
            let local = self.rq(cpu).local;
            return self.dispatch_enqueue(o, local, t, enq_flags);
        }
        self.change_flags(t, TASK_IMMED, 0);
        // scx_rq_online(): the scheduler knows already that the CPU goes
        if !self.hotplug.is_active(cpu) {
            let local = self.rq(cpu).local;
            return self.enqueue_refilled(o, t, local, enq_flags);
        }
        if self.is_bypassing() {
            self.told.counters.bypass_dispatch += 1;
            let target = self.rq(cpu).bypass;
            return self.enqueue_refilled(o, t, target, enq_flags);
        }
        if self.task(t).ddsp_dsq_id != DSQ_INVALID {
            return self.direct_dispatch(o, t, enq_flags);
        }
        if self.hosted.flags & OPS_ENQ_EXITING == 0 && self.task(t).is_exiting() {
            self.told.counters.enq_skip_exiting += 1;
            let local = self.rq(cpu).local;
            return self.enqueue_refilled(o, t, local, enq_flags);
        }
        let pinned = self.task(t).migration_disabled && self.ext_sees_pinned();
        if pinned && self.hosted.flags & OPS_ENQ_MIGRATION_DISABLED == 0 {
            self.told.counters.enq_skip_migration_disabled += 1;
            let local = self.rq(cpu).local;
            return self.enqueue_refilled(o, t, local, enq_flags);
        }
        if !self.has(Op::Enqueue) {
            let global = self.find_global_dsq(cpu);
            return self.enqueue_refilled(o, t, global, enq_flags);
        }
        self.hand_to_scheduler(o, cpu, t, enq_flags);
    }

    /// The part of `do_enqueue_task()` that calls `ops.enqueue()`.
    fn hand_to_scheduler(&mut self, o: &mut dyn Ops, cpu: u32, t: Tid, enq_flags: u64) {
        let task = self.task_mut(t);
        task.ops_qseq += 1;
        task.ops_state = OpsState::Queueing;
        let qseq = task.ops_qseq;
        if self.tells_detail() {
            let pid = self.task(t).pid;
            self.emit(Some(cpu), EventKind::Enqueue { pid, enq_flags });
        }
        let here = self.running.this_cpu;
        self.rq_mut(here).direct = Direct::Task(t);
        self.call_task(o, Op::Enqueue, cpu, t, &[enq_flags]);
        self.rq_mut(here).direct = Direct::No;
        if self.task(t).ddsp_dsq_id != DSQ_INVALID {
            return self.direct_dispatch(o, t, enq_flags);
        }
        self.change_flags(t, 0, TASK_IN_CUSTODY);
        self.task_mut(t).ops_state = OpsState::Queued(qseq);
    }

    /// The `enqueue:` label of `do_enqueue_task()`.
    fn enqueue_refilled(
        &mut self,
        o: &mut dyn Ops,
        t: Tid,
        dsq: crate::dsq::DsqIx,
        enq_flags: u64,
    ) {
        self.touch_core_sched(t);
        self.refill_slice(t);
        self.tasks.clear_direct_dispatch(t);
        self.dispatch_enqueue(o, dsq, t, enq_flags);
    }

    /// `refill_task_slice_dfl()`.
    pub(crate) fn refill_slice(&mut self, t: Tid) {
        self.set_slice(t, SLICE_DFL_NS);
        self.told.counters.refill_slice_dfl += 1;
    }

    /// `set_task_runnable()`.
    pub(crate) fn set_task_runnable(&mut self, cpu: u32, t: Tid) {
        if self.has_flag(t, TASK_RESET_RUNNABLE_AT) {
            let jiffies = self.jiffies();
            self.task_mut(t).runnable_at_jiffies = jiffies;
            let addr = self.task(t).addr;
            self.guest.put_u64(addr, self.guest.layouts.task.scx_runnable_at, jiffies);
            self.change_flags(t, TASK_RESET_RUNNABLE_AT, 0);
        }
        self.task_mut(t).on_runnable_list = true;
        let rq = &mut self.cpus.rqs[cpu as usize];
        self.cpus.links.push_back(&mut rq.runnable, t.0);
    }

    /// `clr_task_runnable()`.
    pub(crate) fn clr_task_runnable(&mut self, cpu: u32, t: Tid, reset_runnable_at: bool) {
        if std::mem::take(&mut self.task_mut(t).on_runnable_list) {
            let rq = &mut self.cpus.rqs[cpu as usize];
            self.cpus.links.remove(&mut rq.runnable, t.0);
        }
        if reset_runnable_at {
            self.change_flags(t, 0, TASK_RESET_RUNNABLE_AT);
        }
    }

    /// `enqueue_task_scx()` of a task's scheduler.
    #[inline]
    pub(crate) fn enqueue_task(&mut self, o: &mut dyn Ops, cpu: u32, t: Tid, core_flags: u64) {
        self.hold_clamps(cpu, t);
        match self.is_plain(t) {
            true => self.enqueue_task_scx(o, cpu, t, core_flags),
            false => self.enqueue_task_seen(o, cpu, t, core_flags),
        }
    }

    /// The same with all that takes part.
    #[cold]
    fn enqueue_task_seen(&mut self, o: &mut dyn Ops, cpu: u32, t: Tid, core_flags: u64) {
        let args = [self.rq(cpu).addr, self.task(t).addr, core_flags, 0];
        self.pass(o, Place::EnqueueTaskScx, &args[..3]);
        self.for_task(o, t, |system, o| system.enqueue_task_scx(o, cpu, t, core_flags));
        self.core_enqueued(o, cpu, t);
        self.leave(o, Place::EnqueueTaskScx, &args);
        self.sched_info_enqueue(t, core_flags);
    }

    /// `enqueue_task_scx()`.
    fn enqueue_task_scx(&mut self, o: &mut dyn Ops, cpu: u32, t: Tid, core_flags: u64) {
        let enq_flags = core_flags | self.rq(cpu).extra_enq_flags;
        let mut sticky_cpu = self.task(t).sticky_cpu;
        if sticky_cpu >= 0 {
            self.set_sticky(t, -1);
        }
        // a running task that is restored goes straight back to its CPU
        if enq_flags & ENQ_RESTORE != 0 && self.rq(cpu).curr == Some(t) {
            sticky_cpu = cpu as i32;
        }
        if self.has_flag(t, TASK_QUEUED) {
            return;
        }
        self.set_task_runnable(cpu, t);
        self.change_flags(t, 0, TASK_QUEUED);
        self.add_nr_running(cpu, 1);
        if self.has(Op::Runnable) && !self.task(t).migrating {
            self.call_task(o, Op::Runnable, cpu, t, &[enq_flags]);
        }
        if enq_flags & ENQ_WAKEUP != 0 {
            self.touch_core_sched(t);
        }
        self.do_enqueue_task(o, cpu, t, enq_flags, sticky_cpu);
        if enq_flags & ENQ_CPU_SELECTED != 0 && self.task(t).selected_cpu != cpu as i32 {
            self.told.counters.select_cpu_fallback += 1;
        }
    }

    /// `ops_dequeue()`.
    pub(crate) fn ops_dequeue(&mut self, o: &mut dyn Ops, cpu: u32, t: Tid, deq_flags: u64) {
        self.clr_task_runnable(cpu, t, false);
        let queued = matches!(self.task(t).ops_state, OpsState::Queued(_));
        if queued {
            self.task_mut(t).ops_state = OpsState::None;
        }
        if queued || self.config.rules.dequeue_ends_custody {
            self.end_custody(o, t, deq_flags);
        } else {
            self.leave_custody(t);
        }
    }

    /// `dequeue_task_scx()` of a task's scheduler.
    #[inline]
    pub(crate) fn dequeue_task(&mut self, o: &mut dyn Ops, cpu: u32, t: Tid, core_flags: u64) {
        self.drop_clamps(cpu, t);
        match self.is_plain(t) {
            true => self.dequeue_task_scx(o, cpu, t, core_flags),
            false => self.dequeue_task_seen(o, cpu, t, core_flags),
        }
    }

    /// The same with all that takes part.
    #[cold]
    fn dequeue_task_seen(&mut self, o: &mut dyn Ops, cpu: u32, t: Tid, core_flags: u64) {
        self.core_dequeued(cpu, t, core_flags & DEQ_SAVE != 0);
        self.sched_info_dequeue(t, core_flags);
        let args = [self.rq(cpu).addr, self.task(t).addr, core_flags, 1];
        self.pass(o, Place::DequeueTaskScx, &args[..3]);
        self.for_task(o, t, |system, o| system.dequeue_task_scx(o, cpu, t, core_flags));
        self.leave(o, Place::DequeueTaskScx, &args);
    }

    /// `dequeue_task_scx()`.
    fn dequeue_task_scx(&mut self, o: &mut dyn Ops, cpu: u32, t: Tid, core_flags: u64) {
        let mut deq_flags = core_flags;
        if deq_flags & (DEQ_SLEEP | DEQ_CORE_SCHED_EXEC) == 0
            && self.config.rules.dequeue_ends_custody
        {
            deq_flags |= DEQ_SCHED_CHANGE;
        }
        if !self.has_flag(t, TASK_QUEUED) {
            return;
        }
        self.ops_dequeue(o, cpu, t, deq_flags);
        // running <-> stopping stays inside runnable <-> quiescent
        if self.has(Op::Stopping) && self.rq(cpu).curr == Some(t) {
            self.update_curr(cpu);
            self.call_task(o, Op::Stopping, cpu, t, &[0]);
        }
        if self.has(Op::Quiescent) && !self.task(t).migrating {
            self.call_task(o, Op::Quiescent, cpu, t, &[deq_flags]);
        }
        if deq_flags & DEQ_SLEEP != 0 {
            self.change_flags(t, TASK_QUEUED, TASK_DEQD_FOR_SLEEP);
        } else {
            self.change_flags(t, TASK_QUEUED | TASK_DEQD_FOR_SLEEP, 0);
        }
        self.add_nr_running(cpu, -1);
        self.dispatch_dequeue(t);
        self.tasks.clear_direct_dispatch(t);
    }

    #[inline]
    fn add_nr_running(&mut self, cpu: u32, by: i32) {
        let rq = self.rq_mut(cpu);
        rq.nr_running = rq.nr_running.saturating_add_signed(by);
        self.publish_nr_running(cpu);
        if by > 0 {
            self.follow_server(cpu);
            self.take_from_fair(cpu);
        }
    }

    #[inline]
    pub(crate) fn publish_nr_running(&mut self, cpu: u32) {
        let rq = self.rq(cpu);
        let (ext, fair) = self.nr_hosted(cpu);
        let (addr, all) = (rq.addr, ext + fair + rq.nr_higher);
        self.guest.put_u32(addr, self.guest.layouts.rq.nr_running, all);
        self.guest.put_u32(addr, self.guest.layouts.rq.scx_nr_running, ext);
    }

    pub(crate) fn set_sticky(&mut self, t: Tid, cpu: i32) {
        self.task_mut(t).sticky_cpu = cpu;
        let addr = self.task(t).addr;
        self.guest.put_u32(addr, self.guest.layouts.task.scx_sticky_cpu, cpu as u32);
    }
}

impl Tasks {
    /// `clear_direct_dispatch()`.
    pub(crate) fn clear_direct_dispatch(&mut self, t: Tid) {
        let task = self.get_mut(t);
        task.ddsp_dsq_id = DSQ_INVALID;
        task.ddsp_enq_flags = 0;
        task.ddsp_asked = Asked::default();
    }
}
