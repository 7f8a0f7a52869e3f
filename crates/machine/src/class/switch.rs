// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `core.c` asks of a class, for all classes: enqueue, dequeue, preempt, pick, put, tick.

use super::stop::Next;
use super::{Class, Rank, Takes};
use crate::consts::*;
use crate::ops::{Op, Ops};
use crate::system::System;
use crate::task::Tid;
use crate::tasks::Tasks;
use crate::tracing::Place;

impl System {
    /// `task_on_rq_queued()`.
    pub(crate) fn is_queued(&self, t: Tid) -> bool {
        self.has_flag(t, TASK_QUEUED) || self.task(t).entity.on_rq
    }

    /// `enqueue_task()`.
    #[inline]
    pub(crate) fn enqueue_any(&mut self, o: &mut dyn Ops, cpu: u32, t: Tid, flags: u64) {
        match self.is_of_side(t) {
            true => self.enqueue_task(o, cpu, t, flags),
            false => self.enqueue_other(o, cpu, t, flags),
        }
    }

    /// A task that is not of the class that the machine acts for.
    #[inline(never)]
    fn enqueue_other(&mut self, o: &mut dyn Ops, cpu: u32, t: Tid, flags: u64) {
        let class = self.task(t).class;
        if class.is_hosted() {
            return self.hosting(o, class, |system, o| system.enqueue_task(o, cpu, t, flags));
        }
        self.hold_clamps(cpu, t);
        self.task_mut(t).entity.on_rq = true;
        self.count_higher(cpu, 1);
        self.begin_reservation(t, flags);
        if self.tasks.is_ready(t) {
            self.add_waiting(cpu, t, flags & ENQ_HEAD != 0);
        }
        self.want_performance(cpu);
        self.sched_info_enqueue(t, flags);
        self.core_enqueued(o, cpu, t);
    }

    /// `dequeue_task()`.
    #[inline]
    pub(crate) fn dequeue_any(&mut self, o: &mut dyn Ops, cpu: u32, t: Tid, flags: u64) {
        match self.is_of_side(t) {
            true => self.dequeue_task(o, cpu, t, flags),
            false => self.dequeue_other(o, cpu, t, flags),
        }
    }

    #[inline(never)]
    fn dequeue_other(&mut self, o: &mut dyn Ops, cpu: u32, t: Tid, flags: u64) {
        let class = self.task(t).class;
        if class.is_hosted() {
            return self.hosting(o, class, |system, o| system.dequeue_task(o, cpu, t, flags));
        }
        self.core_dequeued(cpu, t, flags & DEQ_SAVE != 0);
        self.sched_info_dequeue(t, flags);
        if self.rq(cpu).curr == Some(t) {
            self.update_curr(cpu);
            self.check_budget(cpu);
        }
        if flags & DEQ_SLEEP != 0 {
            self.end_job(t);
        }
        self.drop_clamps(cpu, t);
        self.remove_waiting(t);
        self.count_higher(cpu, -1);
        self.task_mut(t).entity.on_rq = false;
        self.want_performance(cpu);
    }

    /// Tasks above sched_ext on a CPU, of which `rq->nr_running` knows too.
    pub(crate) fn count_higher(&mut self, cpu: u32, by: i32) {
        let rq = self.rq_mut(cpu);
        rq.nr_higher = rq.nr_higher.saturating_add_signed(by);
        self.publish_nr_running(cpu);
        if by > 0 {
            self.take_from_fair(cpu);
        }
    }

    /// `migrate_task()` of a runnable task that does not run.
    pub(crate) fn migrate_any(&mut self, o: &mut dyn Ops, t: Tid, src: u32, dst: u32) {
        let class = self.task(t).class;
        if class.is_hosted() {
            let flags = DEQ_NOCLOCK;
            return self
                .hosting(o, class, |system, o| system.migrate_queued(o, t, src, dst, flags));
        }
        self.dequeue_any(o, src, t, DEQ_NOCLOCK);
        self.migrate_to_cpu(o, t, dst);
        self.enqueue_any(o, dst, t, 0);
    }

    /// `wakeup_preempt()`: a task has become runnable on a CPU that may run a lesser one.
    pub(crate) fn check_preempt(&mut self, cpu: u32, t: Tid) {
        let class = self.task(t).class;
        if class.is_hosted() {
            return self.on_side_of(class, |system| system.wakeup_preempt(cpu));
        }
        if self.tasks.is_ready(t) && self.tasks.rank(t) > self.rank_of_curr(cpu) {
            self.set_next_class(cpu, Some(class));
            self.hand_back_immediate(cpu);
            self.cpus.resched_curr(cpu);
        }
    }

    /// `pick_next_task()`: the next task, and whether it starts a slice of the scheduler's.
    #[inline]
    pub(crate) fn pick_any(&mut self, o: &mut dyn Ops, cpu: u32) -> Option<(Tid, bool)> {
        if self.ext_is_alone() {
            return self.pick_task(o, cpu);
        }
        self.pick_any_class(o, cpu)
    }

    fn pick_any_class(&mut self, o: &mut dyn Ops, cpu: u32) -> Option<(Tid, bool)> {
        let own = self.own_rank(cpu);
        self.pull_waiting(o, cpu, own);
        self.pick_classes(o, cpu)
    }

    /// Rank of the task above sched_ext that a CPU runs and that could go on.
    pub(crate) fn own_rank(&self, cpu: u32) -> Rank {
        let prev = self.rq(cpu).curr.filter(|p| self.tasks.is_ready(*p));
        prev.map_or(Rank::EXT, |p| self.tasks.rank(p))
    }

    /// `pick_task()` of one class after the other.
    pub(crate) fn pick_classes(&mut self, o: &mut dyn Ops, cpu: u32) -> Option<(Tid, bool)> {
        let prev = self.rq(cpu).curr.filter(|p| self.tasks.is_ready(*p));
        let own = prev.map_or(Rank::EXT, |p| self.tasks.rank(p));
        let first = self.rq(cpu).waiting.first();
        let yields = prev.is_some_and(|p| self.task(p).entity.to_tail);
        let taken = first.filter(|(rank, _)| *rank > own || yields && *rank == own);
        let higher = taken.map(|(_, t)| t).or(prev);
        while let Some(class) = self.serves(cpu, higher) {
            let served = self.pick_hosted(o, cpu, class);
            if served.is_some() {
                return served;
            }
            self.cpus.stop_server(cpu, class);
        }
        if let Some(t) = higher {
            self.task_mut(t).entity.to_tail &= prev != Some(t);
            return Some((t, false));
        }
        if self.other.is_some() {
            let fair = self.pick_hosted(o, cpu, Class::Fair);
            if fair.is_some() || self.tasks.takes == Takes::Nothing {
                return fair;
            }
        }
        self.pick_task(o, cpu)
    }

    /// `pick_task_scx()`, `pick_task_fair()`. Slices of the fair class are no decisions.
    fn pick_hosted(&mut self, o: &mut dyn Ops, cpu: u32, class: Class) -> Option<(Tid, bool)> {
        let picked = self.hosting(o, class, |system, o| system.pick_task(o, cpu));
        picked.map(|(t, begins)| (t, begins && class.is_ext()))
    }

    /// `put_prev_task()`.
    pub(crate) fn put_prev_any(&mut self, o: &mut dyn Ops, cpu: u32, t: Tid, next: Next) {
        if self.ext_is_alone() && self.is_plain(t) && next != Next::Stopper {
            return self.put_prev_task_scx(o, cpu, t, next == Next::Idle);
        }
        self.put_prev_class(o, cpu, t, next);
    }

    #[inline(never)]
    fn put_prev_class(&mut self, o: &mut dyn Ops, cpu: u32, t: Tid, next: Next) {
        let class = self.task(t).class;
        if class.is_hosted() {
            return self.hosting(o, class, |system, o| system.put_prev_hosted(o, cpu, t, next));
        }
        self.update_curr(cpu);
        let to_tail = std::mem::take(&mut self.task_mut(t).entity.to_tail);
        if self.tasks.is_ready(t) {
            self.add_waiting(cpu, t, !to_tail);
        }
    }

    fn put_prev_hosted(&mut self, o: &mut dyn Ops, cpu: u32, t: Tid, next: Next) {
        let others = match next {
            Next::Task(n) => !self.is_of_side(n),
            next => next == Next::Stopper,
        };
        let watched = self.watches(Place::PutPrevTaskScx);
        let args = if watched { self.put_prev_args(cpu, t, next) } else { [0; 4] };
        self.pass(o, Place::PutPrevTaskScx, &args[..3]);
        self.put_prev_task(o, cpu, t, next == Next::Idle);
        if others {
            let goes_on = self.has_flag(t, TASK_QUEUED) && self.slice(t) != 0;
            self.rq_mut(cpu).goes_on = goes_on.then_some(t);
            self.release_cpu(o, cpu, next);
        }
        self.leave(o, Place::PutPrevTaskScx, &args);
    }

    /// What `put_prev_task_scx()` gets.
    fn put_prev_args(&mut self, cpu: u32, t: Tid, next: Next) -> [u64; 4] {
        let next = self.next_addr(cpu, next);
        [self.rq(cpu).addr, self.task(t).addr, next, 0]
    }

    fn next_addr(&mut self, cpu: u32, next: Next) -> u64 {
        let task = if let Next::Task(t) = next { Some(t) } else { None };
        self.on_cpu_addr(cpu, task, next != Next::Idle)
    }

    fn set_next_hosted(&mut self, o: &mut dyn Ops, cpu: u32, t: Tid, first: bool) {
        let args = [self.rq(cpu).addr, self.task(t).addr, u64::from(first), 0];
        self.pass(o, Place::SetNextTaskScx, &args[..3]);
        self.set_next_task(o, cpu, t);
        self.leave(o, Place::SetNextTaskScx, &args);
    }

    /// `set_next_task()`; `first`: the CPU switches to it, else it only changes while it runs.
    pub(crate) fn set_next_any(&mut self, o: &mut dyn Ops, cpu: u32, t: Tid, first: bool) {
        if self.is_of_side(t) && self.is_plain(t) {
            return self.set_next_task_scx(o, cpu, t);
        }
        self.set_next_class_task(o, cpu, t, first);
    }

    #[inline(never)]
    fn set_next_class_task(&mut self, o: &mut dyn Ops, cpu: u32, t: Tid, first: bool) {
        let class = self.task(t).class;
        if class.is_hosted() {
            return self.hosting(o, class, |system, o| system.set_next_hosted(o, cpu, t, first));
        }
        self.remove_waiting(t);
        let (addr, now_ns) = (self.task(t).addr, self.clock_ns());
        self.guest.put_u64(addr, self.guest.layouts.task.exec_start, now_ns);
    }

    /// `switch_class()`: sched_ext has lost a CPU to a higher class, and is told once.
    fn release_cpu(&mut self, o: &mut dyn Ops, cpu: u32, next: Next) {
        if !self.has(Op::CpuRelease) && !self.has(Op::CpuAcquire) || self.rq(cpu).released {
            return;
        }
        self.rq_mut(cpu).released = true;
        if self.has(Op::CpuRelease) {
            let (args, layout) =
                (self.guest.scratch.cpu_release_args, self.guest.layouts.cpu_release_args.clone());
            let reason = match next {
                Next::Task(next) => self.task(next).class.preempt_reason(),
                _ => PREEMPT_STOP,
            };
            let task = self.next_addr(cpu, next);
            self.guest.put_u32(args, layout.reason, reason);
            self.guest.put_u64(args, layout.task, task);
            self.call(o, Op::CpuRelease, Some(cpu), None, &[self.cpu_arg(cpu), args]);
        }
    }

    /// The part of `balance_one()` that tells a scheduler of a CPU that is its own again.
    pub(crate) fn acquire_cpu(&mut self, o: &mut dyn Ops, cpu: u32) {
        if std::mem::take(&mut self.rq_mut(cpu).released) && self.has(Op::CpuAcquire) {
            self.call(o, Op::CpuAcquire, Some(cpu), None, &[self.cpu_arg(cpu), 0]);
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
            class @ (Class::Ext | Class::Fair) => self.charge_server(cpu, class, delta_ns),
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
            class @ (Class::Ext | Class::Fair) => self.cpus.server_left_ns(cpu, class),
            Class::Deadline(_) => Some(entity.budget_ns.max(0) as u64),
            Class::Realtime { .. } => self.tasks.is_round_robin(t).then_some(entity.rr_left_ns),
        }
    }
}

impl Tasks {
    /// Whether a task above sched_ext could run.
    fn is_ready(&self, t: Tid) -> bool {
        let task = self.get(t);
        !task.class.is_hosted() && task.entity.on_rq && !task.entity.throttled
    }
}
