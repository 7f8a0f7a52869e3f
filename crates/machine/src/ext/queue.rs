// SPDX-License-Identifier: MIT OR Apache-2.0
//! Putting tasks on dispatch queues and taking them off: `dispatch_enqueue()` and its kin.

use crate::consts::*;
use crate::dsq::Queues;
use crate::dsq::{Dsq, DsqIx};
use crate::exit::ExitKind;
use crate::ops::{Op, Ops};
use crate::rq::Cpus;
use crate::system::System;
use crate::task::{OpsState, Tid};
use rota_trace::EventKind;

impl System {
    /// `find_global_dsq()`.
    pub(crate) fn find_global_dsq(&self, cpu: u32) -> DsqIx {
        self.queues.global[self.config.topology.node_of(cpu) as usize]
    }

    /// `find_dsq_for_dispatch()`.
    pub(crate) fn find_dsq_for_dispatch(&mut self, rq: u32, id: u64, task_cpu: u32) -> DsqIx {
        if id == DSQ_LOCAL {
            return self.rq(rq).local;
        }
        if id & DSQ_LOCAL_ON == DSQ_LOCAL_ON {
            let cpu = i64::from(self.cpu_ret((id & DSQ_LOCAL_CPU_MASK) as i32));
            if !self.cpu_valid(cpu, "in SCX_DSQ_LOCAL_ON dispatch verdict") {
                return self.find_global_dsq(task_cpu);
            }
            return self.rq(cpu as u32).local;
        }
        if id == DSQ_GLOBAL {
            return self.find_global_dsq(task_cpu);
        }
        match self.queues.find_user_dsq(id) {
            Some(dsq) => dsq,
            None => {
                self.error(ExitKind::Error, format!("non-existent DSQ {id:#x}"));
                self.find_global_dsq(task_cpu)
            }
        }
    }

    /// `dsq_inc_nr()`, the queue insertion itself included.
    fn link(&mut self, dsq: DsqIx, t: Tid, enq_flags: u64) {
        let vtime = self.vtime(t);
        let queue = &mut self.queues.all[dsq.0 as usize];
        if enq_flags & ENQ_DSQ_PRIQ != 0 {
            queue.push_priq(&mut self.tasks.all, t, vtime);
        } else {
            let head = enq_flags & (ENQ_HEAD | ENQ_PREEMPT) != 0;
            queue.push_fifo(&mut self.queues.links, &mut self.tasks.all, t, head);
        }
        let (addr, nr, seq) = (queue.addr, queue.nr, queue.seq);
        let task = self.task_mut(t);
        task.dsq = Some(dsq);
        task.dsq_seq = seq;
        let task_addr = task.addr;
        self.guest.put_u32(addr, self.guest.layouts.dsq.nr, nr);
        self.guest.put_u64(task_addr, self.guest.layouts.task.scx_dsq, addr);
        self.count_immed(dsq, t, enq_flags);
    }

    fn count_immed(&mut self, dsq: DsqIx, t: Tid, enq_flags: u64) {
        let Some(cpu) = self.queues.local_cpu(dsq) else { return };
        if enq_flags & ENQ_IMMED != 0 {
            self.change_flags(t, 0, TASK_IMMED);
        }
        if self.has_flag(t, TASK_IMMED) {
            self.rq_mut(cpu).nr_immed += 1;
            if self.dsq(dsq).nr > 1 || !self.cpus.rq_is_open(cpu, enq_flags) {
                self.schedule_reenq_local(cpu, 0);
            }
        }
    }

    /// `task_unlink_from_dsq()`.
    pub(crate) fn unlink(&mut self, t: Tid) {
        let Some(dsq) = self.task(t).dsq else { return };
        let queue = &mut self.queues.all[dsq.0 as usize];
        queue.remove(&mut self.queues.links, &mut self.tasks.all, t);
        let (addr, nr) = (queue.addr, queue.nr);
        self.guest.put_u32(addr, self.guest.layouts.dsq.nr, nr);
        let task = self.task_mut(t);
        task.dsq = None;
        let task_addr = task.addr;
        self.guest.put_u64(task_addr, self.guest.layouts.task.scx_dsq, 0);
        if let Some(cpu) = self.queues.local_cpu(dsq) {
            if self.has_flag(t, TASK_IMMED) {
                self.rq_mut(cpu).nr_immed -= 1;
            }
        }
    }

    /// `task_leave_custody()`.
    pub(crate) fn leave_custody(&mut self, t: Tid) -> bool {
        // sticky_cpu >= 0 only while sched_ext itself moves the task between CPUs
        if !self.has_flag(t, TASK_IN_CUSTODY) || self.task(t).sticky_cpu >= 0 {
            return false;
        }
        self.change_flags(t, TASK_IN_CUSTODY, 0);
        true
    }

    /// Takes the task out of the scheduler's custody and tells it so.
    pub(crate) fn end_custody(&mut self, o: &mut dyn Ops, t: Tid, deq_flags: u64) {
        if self.leave_custody(t) && self.has(Op::Dequeue) {
            let cpu = self.task(t).cpu;
            self.call_task(o, Op::Dequeue, cpu, t, &[deq_flags]);
        }
    }

    /// The task goes to a CPU. Older kernels do not tell of that.
    fn dispatch_ends_custody(&mut self, o: &mut dyn Ops, t: Tid) {
        if self.config.rules.dequeue_ends_custody {
            self.end_custody(o, t, 0);
        } else {
            self.leave_custody(t);
        }
    }

    /// `local_dsq_post_enq()`.
    fn local_post_enq(&mut self, o: &mut dyn Ops, cpu: u32, t: Tid, enq_flags: u64) {
        self.dispatch_ends_custody(o, t);
        if self.rq(cpu).next_idle {
            self.wakeup_preempt(cpu);
        }
        if self.rq(cpu).in_balance {
            return;
        }
        if enq_flags & ENQ_PREEMPT != 0 {
            let ours = |c: &Tid| self.is_of_side(*c);
            if let Some(curr) = self.rq(cpu).curr.filter(|c| *c != t).filter(ours) {
                self.set_slice(curr, 0);
                self.resched_cpu(cpu);
            }
        }
    }

    /// `dispatch_enqueue()`.
    pub(crate) fn dispatch_enqueue(
        &mut self,
        o: &mut dyn Ops,
        dsq: DsqIx,
        t: Tid,
        mut enq_flags: u64,
    ) {
        let id = self.dsq(dsq).id;
        if id & DSQ_FLAG_BUILTIN != 0 && enq_flags & ENQ_DSQ_PRIQ != 0 {
            self.error(ExitKind::Error, "cannot use vtime ordering for built-in DSQs".into());
            enq_flags &= !ENQ_DSQ_PRIQ;
        }
        if enq_flags & ENQ_DSQ_PRIQ != 0 && self.dsq(dsq).has_fifo() {
            self.error(
                ExitKind::Error,
                format!("DSQ ID {id:#018x} already had FIFO-enqueued tasks"),
            );
            enq_flags &= !ENQ_DSQ_PRIQ;
        } else if enq_flags & ENQ_DSQ_PRIQ == 0 && self.dsq(dsq).has_priq() {
            self.error(
                ExitKind::Error,
                format!("DSQ ID {id:#018x} already had PRIQ-enqueued tasks"),
            );
            enq_flags |= ENQ_DSQ_PRIQ;
        }
        self.link(dsq, t, enq_flags);
        if self.tells_detail() {
            let (cpu, pid) = (self.running.this_cpu, self.task(t).pid);
            self.emit(Some(cpu), EventKind::Dispatch { pid, dsq: id });
        }
        match self.queues.local_cpu(dsq) {
            Some(cpu) => self.local_post_enq(o, cpu, t, enq_flags),
            None if id == DSQ_GLOBAL || id == DSQ_BYPASS => self.dispatch_ends_custody(o, t),
            None => self.change_flags(t, 0, TASK_IN_CUSTODY),
        }
        if enq_flags & ENQ_CLEAR_OPSS != 0 {
            self.task_mut(t).ops_state = OpsState::None;
        }
    }

    /// `dispatch_dequeue()`.
    pub(crate) fn dispatch_dequeue(&mut self, t: Tid) {
        if self.task(t).dsq.is_none() {
            if std::mem::take(&mut self.task_mut(t).ddsp_deferred) {
                let cpu = self.task(t).cpu;
                self.rq_mut(cpu).ddsp_deferred.retain(|d| *d != t);
            }
            return;
        }
        self.unlink(t);
    }

    /// `move_local_task_to_local_dsq()`.
    pub(crate) fn move_local_task_to_local_dsq(
        &mut self,
        o: &mut dyn Ops,
        t: Tid,
        enq_flags: u64,
        cpu: u32,
    ) {
        let dsq = self.rq(cpu).local;
        self.link(dsq, t, enq_flags & !ENQ_DSQ_PRIQ);
        if self.tells_detail() {
            let pid = self.task(t).pid;
            self.emit(Some(cpu), EventKind::Dispatch { pid, dsq: DSQ_LOCAL });
        }
        self.local_post_enq(o, cpu, t, enq_flags);
    }

    /// Creates a dispatch queue object.
    pub(crate) fn new_dsq(&mut self, id: u64, cpu: Option<u32>, addr: u64) -> DsqIx {
        let ix = DsqIx(self.queues.all.len() as u32);
        self.queues.all.push(Dsq::new(ix, id, cpu, addr));
        self.guest.put_u64(addr, self.guest.layouts.dsq.id, id);
        ix
    }
}

impl Queues {
    /// `find_user_dsq()`.
    pub(crate) fn find_user_dsq(&self, id: u64) -> Option<DsqIx> {
        self.user.get(&id).copied()
    }

    /// CPU of a local queue.
    fn local_cpu(&self, dsq: DsqIx) -> Option<u32> {
        let dsq = self.get(dsq);
        (dsq.id == DSQ_LOCAL).then_some(dsq.cpu).flatten()
    }
}

impl Cpus {
    /// `rq_is_open()`: whether a task put on the local queue now would run next.
    pub(crate) fn rq_is_open(&self, cpu: u32, enq_flags: u64) -> bool {
        let rq = self.rq(cpu);
        if rq.next_higher {
            return false;
        }
        if rq.next_idle || rq.in_balance || enq_flags & ENQ_PREEMPT != 0 {
            return true;
        }
        // running, or in transition to, a task: it dispatches again before it can go idle
        false
    }
}
