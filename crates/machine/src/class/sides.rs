// SPDX-License-Identifier: MIT OR Apache-2.0
//! The fair class (`kernel/sched/fair.c`), hosted: between real-time and sched_ext. Its rules are
//! those of a scheduler's object that the machine hosts with the functions of `ext/`, as a second
//! one. What these keep of a scheduler is held twice, a *side* each. They see one side at a time:
//! sched_ext's, except while they act for the fair class. A machine without a fair class has one.

use super::{Class, Takes};
use crate::consts::SLICE_DFL_NS;
use crate::cpuset::CpuSet;
use crate::dsq::DsqIx;
use crate::ext::idle::IdleMasks;
use crate::hosted::Hosted;
use crate::ops::Ops;
use crate::rq::ScxRq;
use crate::stats::Counters;
use crate::system::System;
use crate::task::Tid;
use rustc_hash::FxHashMap;
use std::mem::swap;

/// What the machine keeps of a hosted scheduler, and what is queued for it.
pub(crate) struct Side {
    pub(crate) hosted: Hosted,
    /// [`crate::dsq::Queues`]: `user` and `global`.
    user: FxHashMap<u64, DsqIx>,
    global: Vec<DsqIx>,
    pub(crate) idle: IdleMasks,
    /// CPUs with work in deferred lists.
    pub(crate) deferred: CpuSet,
    counters: Counters,
    pub(crate) rqs: Vec<ScxRq>,
}

impl System {
    /// Makes room for a fair class, which has all ordinary tasks that no scheduler takes.
    pub(crate) fn add_fair_side(&mut self) {
        let (global, rqs) = self.new_queues();
        let hosted = Hosted { is_fair: true, watched: self.always, ..Hosted::default() };
        let (user, deferred) = (FxHashMap::default(), CpuSet::default());
        let (idle, counters) = (self.new_idle_masks(), Counters::new());
        self.tasks.takes = Takes::Nothing;
        self.other = Some(Box::new(Side { hosted, user, global, idle, deferred, counters, rqs }));
    }

    #[cold]
    fn swap_sides(&mut self) {
        let Some(other) = &mut self.other else { return };
        swap(&mut self.hosted, &mut other.hosted);
        swap(&mut self.queues.user, &mut other.user);
        swap(&mut self.queues.global, &mut other.global);
        swap(&mut self.idle, &mut other.idle);
        swap(&mut self.cpus.deferred, &mut other.deferred);
        swap(&mut self.told.counters, &mut other.counters);
        for (rq, scx) in self.cpus.rqs.iter_mut().zip(&mut other.rqs) {
            swap(&mut rq.scx, scx);
        }
    }

    /// Acts on the side of a hosted class.
    #[inline]
    pub(crate) fn on_side_of<R>(&mut self, class: Class, act: impl FnOnce(&mut Self) -> R) -> R {
        let is_away = !self.acts_on(class);
        if is_away {
            self.swap_sides();
        }
        let result = act(self);
        if is_away {
            self.swap_sides();
        }
        result
    }

    /// Lets the scheduler of a hosted class act, on its side.
    #[inline]
    pub(crate) fn hosting<R>(
        &mut self,
        o: &mut dyn Ops,
        class: Class,
        act: impl FnOnce(&mut Self, &mut dyn Ops) -> R,
    ) -> R {
        let is_away = class == Class::Fair && !self.hosted.is_fair;
        let host = match is_away {
            true => match o.lifecycle() {
                Some(lifecycle) => lifecycle.fair(),
                None => o,
            },
            false => o,
        };
        if is_away {
            self.swap_sides();
        }
        // called in one place, so that it can be inlined
        let result = act(self, host);
        if is_away {
            self.swap_sides();
        }
        result
    }

    /// Whether nothing is above sched_ext: no class has tasks, and there is no fair class.
    #[inline]
    pub(crate) fn ext_is_alone(&self) -> bool {
        !self.above.exist && self.other.is_none()
    }

    /// Whether the machine acts on the side of a hosted class.
    #[inline]
    pub(crate) fn acts_on(&self, class: Class) -> bool {
        self.hosted.is_fair == (class == Class::Fair)
    }

    /// Whether a task's scheduler is the one that the machine acts for, and nothing else takes part:
    /// no tracing program, and no cookie.
    #[inline]
    pub(crate) fn is_plain(&self, t: Tid) -> bool {
        self.hosted.watched.is_empty() && !self.core_sched.enabled && self.acts_for(t)
    }

    /// A CPU has picked this task, or idles.
    #[inline]
    pub(crate) fn set_next_class_of(&mut self, cpu: u32, next: Option<Tid>) {
        if self.ext_is_alone() {
            let rq = self.rq_mut(cpu);
            (rq.next_idle, rq.next_higher) = (next.is_none(), false);
        } else {
            self.set_next_class(cpu, next.map(|next| self.task(next).class));
        }
    }

    /// A CPU runs, or is about to run, a task of this class (`rq->next_class`); `None`: it idles.
    pub(crate) fn set_next_class(&mut self, cpu: u32, next: Option<Class>) {
        let next = next.map_or(0, Class::level);
        let flags = |own: Class| (next < own.level(), next > own.level());
        let (own, other) = match self.hosted.is_fair {
            true => (Class::Fair, Class::Ext),
            false => (Class::Ext, Class::Fair),
        };
        let rq = self.rq_mut(cpu);
        (rq.next_idle, rq.next_higher) = flags(own);
        if let Some(side) = &mut self.other {
            let rq = &mut side.rqs[cpu as usize];
            (rq.next_idle, rq.next_higher) = flags(other);
        }
    }

    /// A CPU is about to run its stopper.
    pub(crate) fn set_next_stopper(&mut self, cpu: u32) {
        let rq = self.rq_mut(cpu);
        (rq.next_idle, rq.next_higher) = (false, true);
        if let Some(side) = &mut self.other {
            let rq = &mut side.rqs[cpu as usize];
            (rq.next_idle, rq.next_higher) = (false, true);
        }
    }

    /// A CPU is not idle, whatever it runs.
    pub(crate) fn set_next_other(&mut self, cpu: u32) {
        self.rq_mut(cpu).next_idle = false;
        if let Some(side) = &mut self.other {
            side.rqs[cpu as usize].next_idle = false;
        }
    }

    /// Immediate tasks do not wait behind a higher class (`wakeup_preempt_scx()`).
    pub(crate) fn hand_back_immediate(&mut self, cpu: u32) {
        self.on_side_of(Class::Ext, |system| {
            if system.rq(cpu).nr_immed > 0 {
                system.schedule_reenq_local(cpu, 0);
            }
        });
    }

    /// A task of another class waits on an idle CPU, which is none to the fair class from then on
    /// (`idle_cpu()`); sched_ext sees the switch only.
    #[inline]
    pub(crate) fn take_from_fair(&mut self, cpu: u32) {
        if self.other.is_some() && !self.hosted.is_fair && self.rq(cpu).curr.is_none() {
            self.on_side_of(Class::Fair, |system| system.idle_test_and_clear(cpu));
        }
    }

    /// Whether a task is of the hosted class that the machine acts for.
    #[inline]
    pub(crate) fn is_of_side(&self, t: Tid) -> bool {
        match self.task(t).class {
            Class::Ext => !self.hosted.is_fair,
            Class::Fair => self.hosted.is_fair,
            _ => false,
        }
    }

    /// The class whose scheduler the machine acts for.
    #[inline]
    pub(crate) fn class_of_side(&self) -> Class {
        if self.hosted.is_fair {
            Class::Fair
        } else {
            Class::Ext
        }
    }

    /// `p->scx.slice` and `dsq_vtime` belong to the fair class's scheduler from here on, and look
    /// to sched_ext's as they are now again after that.
    pub(crate) fn enter_fair(&mut self, t: Tid) {
        let parked = (self.slice(t), self.vtime(t));
        self.task_mut(t).parked = parked;
    }

    pub(crate) fn leave_fair(&mut self, t: Tid) {
        let (slice_ns, vtime) = self.task(t).parked;
        self.set_slice(t, slice_ns);
        self.set_vtime(t, vtime);
    }

    /// `p->scx.slice = SCX_SLICE_DFL`, as sched_ext sees it.
    pub(crate) fn reset_ext_slice(&mut self, t: Tid) {
        if self.task(t).class == Class::Fair {
            self.task_mut(t).parked.0 = SLICE_DFL_NS;
        } else {
            self.set_slice(t, SLICE_DFL_NS);
        }
    }

    /// Runnable tasks of both sides on a CPU: of sched_ext, and of the fair class.
    #[inline]
    pub(crate) fn nr_hosted(&self, cpu: u32) -> (u32, u32) {
        let here = self.rq(cpu).nr_running;
        let there = self.other.as_ref().map_or(0, |side| side.rqs[cpu as usize].nr_running);
        if self.hosted.is_fair {
            (there, here)
        } else {
            (here, there)
        }
    }
}
