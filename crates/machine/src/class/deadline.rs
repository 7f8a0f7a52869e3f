// SPDX-License-Identifier: MIT OR Apache-2.0
//! `SCHED_DEADLINE` (`kernel/sched/deadline.c`): earliest deadline first, each task held to its
//! reservation by a constant bandwidth server (Abeni and Buttazzo, *Integrating Multimedia
//! Applications in Hard Real-Time Systems*, RTSS 1998): who has used up its budget is throttled
//! until its next period, and cannot take from the others.
//!
//! The budget is looked at in ticks, as in a kernel without `HRTICK_DL`, so it may be overdrawn
//! by up to one; what was too much is missing in the next period. With exact slices it ends exactly.

use super::entity::Entity;
use super::{Class, Reservation};
use crate::consts::ENQ_WAKEUP;
use crate::event_queue::Due;
use crate::ops::Ops;
use crate::system::System;
use crate::task::Tid;
use crate::tasks::Tasks;
use rota_trace::{EventKind, Job, JobKind, JobStep};

impl System {
    /// A task with a reservation becomes runnable.
    pub(crate) fn begin_reservation(&mut self, t: Tid, flags: u64) {
        self.renew_reservation(t, flags);
        self.begin_job(t);
    }

    /// `enqueue_task_dl()`: which deadline and budget a task has that becomes runnable.
    fn renew_reservation(&mut self, t: Tid, flags: u64) {
        let (now_ns, lent) = (self.now_ns, self.task(t).lent);
        let Some(reservation) = self.tasks.reservation(t) else { return };
        let Reservation { runtime_ns, deadline_ns, period_ns } = reservation;
        let entity = &self.task(t).entity;
        if entity.throttled {
            return;
        }
        let (at_ns, budget_ns) = (entity.deadline_at_ns, entity.budget_ns);
        let constrained = deadline_ns < period_ns;
        // dl_check_constrained_dl(): its deadline is over, its period is not
        let next_ns = at_ns + (period_ns - deadline_ns);
        if at_ns != 0 && constrained && !lent && at_ns < now_ns && now_ns < next_ns {
            let entity = &mut self.task_mut(t).entity;
            entity.budget_ns = entity.budget_ns.min(0);
            return self.throttle(t);
        }
        // what a task brings along from before holds for a wakeup, not for a change of class
        if flags & ENQ_WAKEUP == 0 && at_ns >= now_ns && at_ns != 0 {
            return;
        }
        if at_ns < now_ns || at_ns == 0 {
            return self.new_period(t);
        }
        // dl_entity_overflow(): budget / time left > runtime / deadline
        let left_ns = at_ns - now_ns;
        let overflows = i128::from(budget_ns) * i128::from(deadline_ns)
            > i128::from(left_ns) * i128::from(runtime_ns);
        if overflows && constrained && !lent {
            // update_dl_revised_wakeup()
            let kept = u128::from(left_ns) * u128::from(runtime_ns) / u128::from(deadline_ns);
            self.task_mut(t).entity.budget_ns = kept as i64;
        } else if overflows {
            self.new_period(t);
        }
    }

    /// Tells that a task has work to do by its deadline; where the workload's own timers do not say
    /// what the jobs are.
    fn begin_job(&mut self, t: Tid) {
        let Some(reservation) = self.tasks.reservation(t) else { return };
        let (now_ns, task) = (self.now_ns, self.task_mut(t));
        let Entity { throttled, on_rq, job_from_ns, deadline_at_ns, .. } = task.entity;
        if task.timed || task.lent || throttled || !on_rq || job_from_ns.is_some() {
            return;
        }
        task.entity.job_from_ns = Some(now_ns);
        let slack_ns = deadline_at_ns as i64 - now_ns as i64;
        let step = JobStep::Begin { slack_ns, period_ns: reservation.deadline_ns };
        self.tell_job(t, step);
    }

    /// Its budget is used up, or it sleeps.
    pub(crate) fn end_job(&mut self, t: Tid) {
        let now_ns = self.now_ns;
        let entity = &mut self.task_mut(t).entity;
        let Some(from_ns) = entity.job_from_ns.take() else { return };
        let slack_ns = entity.deadline_at_ns as i64 - now_ns as i64;
        self.tell_job(t, JobStep::End { response_ns: now_ns - from_ns, slack_ns });
    }

    fn tell_job(&mut self, t: Tid, step: JobStep) {
        let pid = self.task(t).pid;
        self.emit(None, EventKind::Job(Job { pid, kind: JobKind::Reservation, step }));
    }

    /// `replenish_dl_new_period()`.
    fn new_period(&mut self, t: Tid) {
        let now_ns = self.now_ns;
        let Some(reservation) = self.tasks.reservation(t) else { return };
        let entity = &mut self.task_mut(t).entity;
        entity.deadline_at_ns = now_ns + reservation.deadline_ns;
        entity.budget_ns = reservation.runtime_ns as i64;
    }

    /// `replenish_dl_entity()`.
    fn replenish(&mut self, t: Tid) {
        let now_ns = self.now_ns;
        let Some(reservation) = self.tasks.reservation(t) else { return };
        let entity = &mut self.task_mut(t).entity;
        if entity.budget_ns <= 0 {
            let runtime_ns = reservation.runtime_ns as i64;
            let periods = (-entity.budget_ns) / runtime_ns + 1;
            entity.deadline_at_ns += reservation.period_ns * periods as u64;
            entity.budget_ns += runtime_ns * periods;
        }
        if entity.deadline_at_ns < now_ns {
            self.new_period(t);
        }
    }

    /// The budget of the task that a CPU runs may be used up: `update_curr_dl_se()`.
    #[inline]
    pub(crate) fn check_budget(&mut self, cpu: u32) {
        if self.above.exist {
            self.check_reservation(cpu);
        }
    }

    fn check_reservation(&mut self, cpu: u32) {
        let Some(t) = self.rq(cpu).curr else { return };
        let entity = &self.task(t).entity;
        if self.tasks.reservation(t).is_some() && entity.budget_ns <= 0 && !entity.throttled {
            self.throttle(t);
            self.cpus.resched_curr(cpu);
        }
    }

    /// A task has nothing left: it waits for its next period. One that runs with a lent
    /// reservation goes on, with a later deadline.
    pub(crate) fn throttle(&mut self, t: Tid) {
        let (now_ns, lent) = (self.now_ns, self.task(t).lent);
        let Some(reservation) = self.tasks.reservation(t) else { return };
        let entity = &self.task(t).entity;
        let next_ns = entity.deadline_at_ns + (reservation.period_ns - reservation.deadline_ns);
        self.end_job(t);
        if lent || next_ns <= now_ns {
            self.replenish(t);
            return self.begin_job(t);
        }
        let entity = &mut self.task_mut(t).entity;
        entity.throttled = true;
        entity.timer += 1;
        let due = Due::Replenish(t.0, entity.timer);
        self.queue.push(next_ns, due);
        let pid = self.task(t).pid;
        self.emit(None, EventKind::Throttle { pid, throttled: true });
    }

    /// `dl_task_timer()`.
    pub(crate) fn replenish_due(&mut self, o: &mut dyn Ops, t: Tid, timer: u64) {
        let entity = &mut self.task_mut(t).entity;
        if entity.timer != timer || !entity.throttled {
            return;
        }
        entity.throttled = false;
        self.replenish(t);
        let pid = self.task(t).pid;
        self.emit(None, EventKind::Throttle { pid, throttled: false });
        self.begin_job(t);
        let cpu = self.task(t).cpu;
        if self.task(t).entity.on_rq && self.rq(cpu).curr != Some(t) {
            self.add_waiting(cpu, t, false);
            self.check_preempt(cpu, t);
            self.push_waiting(o, cpu);
        }
    }
}

impl Tasks {
    fn reservation(&self, t: Tid) -> Option<Reservation> {
        match self.get(t).class {
            Class::Deadline(reservation) => Some(reservation),
            _ => None,
        }
    }

    /// A task leaves the class: what it had there is over.
    pub(crate) fn end_reservation(&mut self, t: Tid) {
        let entity = &mut self.get_mut(t).entity;
        entity.timer += 1;
        entity.throttled = false;
        (entity.budget_ns, entity.deadline_at_ns) = (0, 0);
        entity.job_from_ns = None;
    }
}
