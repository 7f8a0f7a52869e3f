// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `core.c` asks of a class, for all classes: enqueue, dequeue, preempt, pick, put, tick.

use super::{Class, Rank};
use crate::consts::*;
use crate::ops::{Op, Ops};
use crate::system::System;
use crate::task::Tid;
use crate::tasks::Tasks;

impl System {
    /// `task_on_rq_queued()`.
    pub(crate) fn is_queued(&self, t: Tid) -> bool {
        self.has_flag(t, TASK_QUEUED) || self.task(t).entity.on_rq
    }

    /// `enqueue_task()`.
    pub(crate) fn enqueue_any(&mut self, o: &mut dyn Ops, cpu: u32, t: Tid, flags: u64) {
        if self.task(t).class.is_ext() {
            return self.enqueue_task(o, cpu, t, flags);
        }
        self.task_mut(t).entity.on_rq = true;
        self.count_higher(cpu, 1);
        self.begin_reservation(t, flags);
        if self.tasks.is_ready(t) {
            self.add_waiting(cpu, t, flags & ENQ_HEAD != 0);
        }
    }

    /// `dequeue_task()`.
    pub(crate) fn dequeue_any(&mut self, o: &mut dyn Ops, cpu: u32, t: Tid, flags: u64) {
        if self.task(t).class.is_ext() {
            return self.dequeue_task(o, cpu, t, flags);
        }
        if self.rq(cpu).curr == Some(t) {
            self.update_curr(cpu);
            self.check_budget(cpu);
        }
        self.remove_waiting(t);
        self.count_higher(cpu, -1);
        self.task_mut(t).entity.on_rq = false;
    }

    /// Tasks above sched_ext on a CPU, of which `rq->nr_running` knows too.
    pub(crate) fn count_higher(&mut self, cpu: u32, by: i32) {
        let rq = self.rq_mut(cpu);
        rq.nr_higher = rq.nr_higher.saturating_add_signed(by);
        self.publish_nr_running(cpu);
    }

    /// `migrate_task()` of a runnable task that does not run.
    pub(crate) fn migrate_any(&mut self, o: &mut dyn Ops, t: Tid, src: u32, dst: u32) {
        if self.task(t).class.is_ext() {
            return self.migrate_queued(o, t, src, dst, DEQ_NOCLOCK);
        }
        self.dequeue_any(o, src, t, DEQ_NOCLOCK);
        self.set_task_cpu(t, dst);
        self.enqueue_any(o, dst, t, 0);
    }

    /// `wakeup_preempt()`: a task has become runnable on a CPU that may run a lesser one.
    pub(crate) fn check_preempt(&mut self, cpu: u32, t: Tid) {
        if self.task(t).class.is_ext() {
            return self.wakeup_preempt(cpu);
        }
        if self.tasks.is_ready(t) && self.tasks.rank(t) > self.rank_of_curr(cpu) {
            let rq = self.rq_mut(cpu);
            (rq.next_idle, rq.next_higher) = (false, true);
            // wakeup_preempt_scx(): immediate tasks do not wait behind a higher class
            if rq.nr_immed > 0 {
                self.schedule_reenq_local(cpu, 0);
            }
            self.cpus.resched_curr(cpu);
        }
    }

    /// `pick_next_task()`: the next task, and whether it starts a slice of the scheduler's.
    pub(crate) fn pick_any(&mut self, o: &mut dyn Ops, cpu: u32) -> Option<(Tid, bool)> {
        let prev = self.rq(cpu).curr.filter(|p| self.tasks.is_ready(*p));
        let own = prev.map_or(Rank::EXT, |p| self.tasks.rank(p));
        self.pull_waiting(cpu, own);
        let first = self.rq(cpu).waiting.first();
        let yields = prev.is_some_and(|p| self.task(p).entity.to_tail);
        let taken = first.filter(|(rank, _)| *rank > own || yields && *rank == own);
        let higher = taken.map(|(_, t)| t).or(prev);
        if self.server_precedes(cpu, higher) {
            let served = self.pick_task(o, cpu);
            if served.is_some() {
                return served;
            }
            self.cpus.stop_server(cpu);
        }
        match higher {
            Some(t) => {
                self.task_mut(t).entity.to_tail &= prev != Some(t);
                Some((t, false))
            }
            None => self.pick_task(o, cpu),
        }
    }

    /// `put_prev_task()`.
    pub(crate) fn put_prev_any(&mut self, o: &mut dyn Ops, cpu: u32, t: Tid, next: Option<Tid>) {
        let above = next.filter(|n| !self.task(*n).class.is_ext());
        if self.task(t).class.is_ext() {
            self.put_prev_task(o, cpu, t, next.is_none());
            if let Some(next) = above {
                let goes_on = self.has_flag(t, TASK_QUEUED) && self.slice(t) != 0;
                self.rq_mut(cpu).goes_on = goes_on.then_some(t);
                self.release_cpu(o, cpu, next);
            }
            return;
        }
        self.update_curr(cpu);
        let to_tail = std::mem::take(&mut self.task_mut(t).entity.to_tail);
        if self.tasks.is_ready(t) {
            self.add_waiting(cpu, t, !to_tail);
        }
    }

    /// `set_next_task()`.
    pub(crate) fn set_next_any(&mut self, o: &mut dyn Ops, cpu: u32, t: Tid) {
        if self.task(t).class.is_ext() {
            return self.set_next_task(o, cpu, t);
        }
        self.remove_waiting(t);
        let (addr, now_ns) = (self.task(t).addr, self.clock_ns());
        self.guest.put_u64(addr, self.guest.layouts.task.exec_start, now_ns);
    }

    /// `switch_class()`: sched_ext has lost a CPU to a higher class, and is told once.
    fn release_cpu(&mut self, o: &mut dyn Ops, cpu: u32, next: Tid) {
        if !self.has(Op::CpuRelease) && !self.has(Op::CpuAcquire) || self.rq(cpu).released {
            return;
        }
        self.rq_mut(cpu).released = true;
        if self.has(Op::CpuRelease) {
            let (args, layout) =
                (self.guest.scratch.cpu_release_args, self.guest.layouts.cpu_release_args.clone());
            let (reason, task) = (self.task(next).class.preempt_reason(), self.task(next).addr);
            self.guest.put_u32(args, layout.reason, reason);
            self.guest.put_u64(args, layout.task, task);
            self.call(o, Op::CpuRelease, Some(cpu), None, &[u64::from(cpu), args]);
        }
    }

    /// The part of `balance_one()` that tells a scheduler of a CPU that is its own again.
    pub(crate) fn acquire_cpu(&mut self, o: &mut dyn Ops, cpu: u32) {
        if std::mem::take(&mut self.rq_mut(cpu).released) && self.has(Op::CpuAcquire) {
            self.call(o, Op::CpuAcquire, Some(cpu), None, &[u64::from(cpu), 0]);
        }
    }

    /// `yield_task_rt()`, `yield_task_dl()`.
    pub(crate) fn yield_higher(&mut self, cpu: u32, t: Tid) {
        match self.task(t).class {
            Class::Deadline(_) => {
                self.update_curr(cpu);
                let entity = &mut self.task_mut(t).entity;
                entity.budget_ns = entity.budget_ns.min(0);
                self.check_budget(cpu);
            }
            _ => self.task_mut(t).entity.to_tail = true,
        }
        self.cpus.resched_curr(cpu);
    }

    /// Time that the running task has used, of what its class gives it.
    pub(crate) fn charge_class(&mut self, cpu: u32, t: Tid, delta_ns: u64) {
        match self.task(t).class {
            Class::Ext => self.charge_server(cpu, delta_ns),
            Class::Deadline(_) => self.task_mut(t).entity.budget_ns -= delta_ns as i64,
            Class::Realtime { .. } => {
                if self.config.exact_slices && self.tasks.is_round_robin(t) {
                    self.use_rr_slice(cpu, t, delta_ns);
                }
            }
        }
    }

    /// `task_tick_rt()`, `task_tick_dl()`.
    pub(crate) fn tick_higher(&mut self, cpu: u32, t: Tid) {
        match self.task(t).class {
            Class::Realtime { .. } if !self.config.exact_slices && self.tasks.is_round_robin(t) => {
                self.use_rr_slice(cpu, t, self.config.tick_ns());
            }
            Class::Deadline(_) => self.check_budget(cpu),
            _ => {}
        }
    }

    /// Until when the running task may go on if limits are exact; `None`: without end.
    pub(crate) fn limit_ns(&self, cpu: u32, t: Tid) -> Option<u64> {
        let entity = &self.task(t).entity;
        match self.task(t).class {
            Class::Ext => self.cpus.server_left_ns(cpu),
            Class::Deadline(_) => Some(entity.budget_ns.max(0) as u64),
            Class::Realtime { .. } => self.tasks.is_round_robin(t).then_some(entity.rr_left_ns),
        }
    }
}

impl Tasks {
    /// Whether a task above sched_ext could run.
    fn is_ready(&self, t: Tid) -> bool {
        let task = self.get(t);
        !task.class.is_ext() && task.entity.on_rq && !task.entity.throttled
    }
}
