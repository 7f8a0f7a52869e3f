// SPDX-License-Identifier: MIT OR Apache-2.0
//! Wakeups: `try_to_wake_up()`, `wake_up_new_task()`, `wakeup_preempt()` (`kernel/sched/core.c`).

use crate::consts::*;
use crate::ops::Ops;
use crate::system::System;
use crate::task::{State, Tid, Work};
use crate::tracing::Place;
use rota_trace::EventKind;

impl System {
    /// `wakeup_preempt()` between a task of a hosted class and an idle CPU, or one that runs a
    /// task of a class below; others are preempted by their slices only.
    pub(crate) fn wakeup_preempt(&mut self, cpu: u32) {
        if std::mem::take(&mut self.rq_mut(cpu).next_idle) {
            if self.other.is_some() {
                self.set_next_class(cpu, Some(self.class_of_side()));
                if self.hosted.is_fair {
                    self.hand_back_immediate(cpu);
                }
            }
            self.resched_cpu(cpu);
        }
    }

    /// `try_to_wake_up()`, run on the CPU `here`; of the flags, there is `WAKE_SYNC`.
    pub(crate) fn wake_up(
        &mut self,
        o: &mut dyn Ops,
        t: Tid,
        here: u32,
        waker: u32,
        wake_flags: u64,
    ) {
        match &mut self.task_mut(t).halt {
            Some(halt) => halt.note_wakeup(),
            None => self.wake_up_now(o, t, here, waker, wake_flags),
        }
    }

    /// As [`System::wake_up`], whether it is stopped or not.
    pub(crate) fn wake_up_now(
        &mut self,
        o: &mut dyn Ops,
        t: Tid,
        here: u32,
        waker: u32,
        wake_flags: u64,
    ) {
        match self.task(t).state {
            State::Sleeping => {}
            State::Blocking => {
                // woken before it got to schedule(): it simply goes on
                self.pass_waking(o, t, here, wake_flags);
                self.set_state(t, State::Runnable);
                self.set_work(t, Work::Next);
                self.pass_woken_awake(o, t, here, wake_flags);
                return self.leave_forbidden_cpu(o, t);
            }
            _ => return,
        }
        self.running.this_cpu = here;
        self.update_curr(here);
        self.pass_waking(o, t, here, wake_flags);
        self.set_state(t, State::Runnable);
        self.set_work(t, Work::Next);
        let pid = self.task(t).pid;
        self.emit(Some(here), EventKind::Wakeup { pid, waker });
        self.note_waker(t, here, waker);
        self.charge_overhead(here, self.config.costs.wakeup_ns);
        let old = self.task(t).cpu;
        let (cpu, selected) = self.select_any(o, t, WAKE_TTWU | wake_flags);
        let mut flags = ENQ_WAKEUP | ENQ_NOCLOCK;
        if selected {
            flags |= ENQ_CPU_SELECTED;
        }
        if cpu != old {
            flags |= ENQ_MIGRATED;
            self.migrate_to_cpu(o, t, cpu);
        }
        // sched_ttwu_pending(): the CPU enqueues the task itself, and is told of no selection
        if self.queues_wakeup(here, cpu, t) {
            flags &= !ENQ_CPU_SELECTED;
            self.running.this_cpu = cpu;
            self.as_curr(|system| system.activate(o, cpu, t, flags));
        } else {
            self.activate(o, cpu, t, flags);
        }
        self.running.this_cpu = here;
        self.leave_wake_up(o, t, wake_flags);
    }

    /// `ttwu_queue_cond()`: of sched_ext only with `SCX_OPS_ALLOW_QUEUED_WAKEUP`, for a CPU behind
    /// another cache, or one that has nothing to run.
    fn queues_wakeup(&self, here: u32, cpu: u32, t: Tid) -> bool {
        if self.hosted.flags & OPS_ALLOW_QUEUED_WAKEUP == 0 || !self.task(t).class.is_ext() {
            return false;
        }
        let (ext, fair) = self.nr_hosted(cpu);
        let topology = &self.config.topology;
        topology.llc_of(here) != topology.llc_of(cpu)
            || here != cpu && ext + fair + self.rq(cpu).nr_higher == 0
    }

    /// A task is woken for the first time; one that starts by itself may have slept until now.
    pub(crate) fn wake_first(&mut self, o: &mut dyn Ops, t: Tid, here: u32, parent: Option<Tid>) {
        if parent.is_none() && self.config.lab().starts_are_wakeups {
            self.set_state(t, State::Sleeping);
            self.wake_up(o, t, here, 0, 0);
        } else {
            self.as_parent(t, parent, |system| system.wake_up_new(o, t, here));
        }
    }

    /// `wake_up_new_task()`, run on the CPU `here`.
    fn wake_up_new(&mut self, o: &mut dyn Ops, t: Tid, here: u32) {
        self.running.this_cpu = here;
        self.update_curr(here);
        let addr = self.task(t).addr;
        self.pass(o, Place::WakeUpNewTask, &[addr]);
        self.set_state(t, State::Runnable);
        let pid = self.task(t).pid;
        let waker = self.rq(here).curr.map_or(0, |c| self.task(c).pid);
        self.emit(Some(here), EventKind::Wakeup { pid, waker });
        self.note_waker(t, here, waker);
        self.charge_overhead(here, self.config.costs.wakeup_ns);
        let (cpu, _) = self.select_any(o, t, WAKE_FORK);
        self.set_task_cpu(t, cpu);
        self.activate(o, cpu, t, ENQ_NOCLOCK | ENQ_INITIAL);
        self.leave(o, Place::WakeUpNewTask, &[addr, 0]);
    }

    /// `ttwu_do_activate()`: enqueue, wake an idle CPU, run what had to be deferred.
    fn activate(&mut self, o: &mut dyn Ops, cpu: u32, t: Tid, flags: u64) {
        self.enqueue_any(o, cpu, t, flags);
        let addr = self.task(t).addr;
        self.guest.put_u32(addr, self.guest.layouts.task.on_rq, 1);
        let is_new = flags & ENQ_INITIAL != 0;
        if is_new {
            self.pass(o, Place::SchedWakeupNew, &[addr]);
        }
        self.check_preempt(cpu, t);
        if !is_new {
            self.pass(o, Place::SchedWakeup, &[addr]);
        }
        let class = self.task(t).class;
        if class.is_hosted() {
            self.hosting(o, class, |system, o| system.run_deferred(o, cpu));
        } else {
            self.push_waiting(o, cpu);
        }
    }
}
