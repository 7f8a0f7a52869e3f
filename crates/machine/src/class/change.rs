// SPDX-License-Identifier: MIT OR Apache-2.0
//! Changes of a task while it may be queued or running (`sched_change_begin()`,
//! `sched_change_end()`), of its class above all, and lent priority (`rt_mutex_setprio()`).

use super::{Class, Takes};
use crate::consts::*;
use crate::ops::{Op, Ops};
use crate::system::System;
use crate::task::Tid;
use crate::tasks::Tasks;
use crate::tracing::Place;
use rota_trace::EventKind;
use rota_workload::{Policy, Settings};
use std::cmp::Ordering;

impl System {
    /// `guard(sched_change)`: a property changes while the task is off its queue.
    pub(crate) fn change_task(
        &mut self,
        o: &mut dyn Ops,
        t: Tid,
        flags: u64,
        change: impl FnOnce(&mut Self, &mut dyn Ops),
    ) {
        self.change_class(o, t, flags, self.task(t).class, change);
    }

    /// `__sched_setscheduler()` and, where only the nice value changes, `set_user_nice()`: a task
    /// gets the class that its settings, and who lends it his, give it.
    pub(crate) fn reclass_task(
        &mut self,
        o: &mut dyn Ops,
        t: Tid,
        old: &Settings,
        change: impl FnOnce(&mut Self, &mut dyn Ops),
    ) {
        let policy = self.task(t).settings.policy;
        let (old_prio, new_prio) = (self.task(t).prio, self.tasks.effective_prio(t));
        let flags = match old_prio.cmp(&new_prio) {
            _ if policy == old.policy && !policy.is_real_time() => 0,
            Ordering::Equal if new_prio >= 0 => 0,
            Ordering::Less => DEQ_MOVE | ENQ_HEAD,
            _ => DEQ_MOVE,
        };
        self.reclass(o, t, flags, change);
    }

    /// `rt_mutex_setprio()`: goes to the head of its new equals only if they are real-time tasks.
    fn relend(&mut self, o: &mut dyn Ops, t: Tid) {
        let (old, new) = (self.task(t).prio, self.tasks.effective_prio(t));
        let to_head = old < new && (0..100).contains(&new);
        let flags = if to_head { DEQ_MOVE | ENQ_HEAD } else { DEQ_MOVE };
        self.reclass(o, t, flags, |system, _| system.publish_priority(t));
    }

    fn reclass(
        &mut self,
        o: &mut dyn Ops,
        t: Tid,
        flags: u64,
        change: impl FnOnce(&mut Self, &mut dyn Ops),
    ) {
        let (new, lent) = self.tasks.effective_class(t);
        let old = self.task(t).class;
        let crosses = old.told() != new.told();
        let flags = flags | DEQ_SAVE | DEQ_NOCLOCK | if crosses { DEQ_CLASS } else { 0 };
        // a reservation that changes hands begins anew
        let anew = old != new && matches!((old, new), (Class::Deadline(_), _));
        if anew && self.task(t).entity.throttled {
            let pid = self.task(t).pid;
            self.emit(None, EventKind::Throttle { pid, throttled: false });
        }
        self.change_class(o, t, flags, new, |system, o| {
            system.task_mut(t).lent = lent;
            if anew {
                system.tasks.end_reservation(t);
            }
            change(system, o);
        });
        if crosses {
            let pid = self.task(t).pid;
            self.emit(None, EventKind::SchedClass { pid, class: new.told() });
        }
    }

    /// Whoever waits for a task's mutex lends it his class, if that is higher; `None` ends it.
    pub(crate) fn set_lender(&mut self, o: &mut dyn Ops, t: Tid, lender: Option<Tid>) {
        if self.task(t).addr == 0 {
            return;
        }
        self.task_mut(t).lender = lender;
        let class = self.tasks.effective_class(t).0;
        if class != self.task(t).class || self.tasks.effective_prio(t) != self.task(t).prio {
            self.relend(o, t);
        }
    }

    /// [`System::change_task`] to a class. The flags are those of `sched_change_begin()`, and
    /// `ENQ_HEAD` of `sched_change_end()`.
    pub(crate) fn change_class(
        &mut self,
        o: &mut dyn Ops,
        t: Tid,
        flags: u64,
        new: Class,
        change: impl FnOnce(&mut Self, &mut dyn Ops),
    ) {
        let cpu = self.task(t).cpu;
        let queued = self.is_queued(t);
        let running = self.rq(cpu).curr == Some(t);
        if running {
            self.update_curr(cpu);
        }
        let (old, before) = (self.task(t).class, self.tasks.rank(t));
        // move_entity(): without DEQUEUE_MOVE, a real-time task that waits keeps its place
        if flags & DEQ_MOVE == 0 && old == new && matches!(old, Class::Realtime { .. }) {
            return self.keeping_place(t, |system| {
                system.drop_clamps(cpu, t);
                change(system, o);
                if queued {
                    system.hold_clamps(cpu, t);
                    system.want_performance(cpu);
                }
            });
        }
        if queued {
            self.dequeue_any(o, cpu, t, flags & !ENQ_HEAD);
        }
        if running && old.is_ext() {
            // without a task to follow; a task off its queue has no ops.stopping()
            let args = [self.rq(cpu).addr, self.task(t).addr, 0, 0];
            self.pass(o, Place::PutPrevTaskScx, &args[..3]);
            self.leave(o, Place::PutPrevTaskScx, &args);
        }
        let moves = (old.is_hosted() || new.is_hosted()) && old.told() != new.told();
        if moves && old.is_hosted() {
            self.switched_from_hosted(o, t, old);
        }
        self.task_mut(t).class = new;
        change(self, o);
        if moves && new.is_hosted() {
            self.switching_to_hosted(o, t, new);
        }
        if queued {
            self.enqueue_any(o, cpu, t, flags);
        }
        if running && queued {
            self.set_next_any(o, cpu, t, false);
        }
        if old != new && queued {
            let lower = self.tasks.rank(t) < before;
            self.class_changed(o, cpu, t, running, lower);
        }
    }

    /// `switched_from_scx()`, `switched_from_fair()`.
    fn switched_from_hosted(&mut self, o: &mut dyn Ops, t: Tid, old: Class) {
        self.hosting(o, old, |system, o| {
            let args = [system.rq(system.task(t).cpu).addr, system.task(t).addr, 0];
            system.pass(o, Place::SwitchedFromScx, &args[..2]);
            system.for_task(o, t, |system, o| system.disable_if_enabled(o, t));
            system.leave(o, Place::SwitchedFromScx, &args);
        });
        if old == Class::Fair {
            self.leave_fair(t);
        }
    }

    /// `switching_to_scx()`.
    fn switching_to_hosted(&mut self, o: &mut dyn Ops, t: Tid, new: Class) {
        if new == Class::Fair {
            self.enter_fair(t);
        }
        self.hosting(o, new, |system, o| {
            let args = [system.rq(system.task(t).cpu).addr, system.task(t).addr, 0];
            system.pass(o, Place::SwitchingToScx, &args[..2]);
            system.for_task(o, t, |system, o| {
                system.enable_task(o, t);
                system.tell_cpumask(o, t);
            });
            system.leave(o, Place::SwitchingToScx, &args);
        });
    }

    /// `ops.set_cpumask()`.
    pub(crate) fn tell_cpumask(&mut self, o: &mut dyn Ops, t: Tid) {
        if self.has(Op::SetCpumask) {
            let cpu = self.task(t).cpu;
            let mask = self.cpus_ptr_addr(t);
            self.call_task(o, Op::SetCpumask, cpu, t, &[mask]);
        }
    }

    /// `switched_to()`, `prio_changed()`: somebody else may have to run now.
    fn class_changed(&mut self, o: &mut dyn Ops, cpu: u32, t: Tid, running: bool, lower: bool) {
        if !running {
            self.check_preempt(cpu, t);
        } else {
            let class = self.task(t).class;
            self.set_next_class(cpu, Some(class));
            if lower {
                self.cpus.resched_curr(cpu);
            } else if !class.is_ext() {
                self.hand_back_immediate(cpu);
            }
        }
        self.push_waiting(o, cpu);
    }
}

/// `__normal_prio()`: the smaller one is before.
pub(crate) fn normal_prio(settings: &Settings) -> i32 {
    match Class::of(settings) {
        Class::Deadline(_) => -1,
        Class::Realtime { priority } => 99 - i32::from(priority),
        Class::Ext | Class::Fair => 120 + settings.priority.clamp(-20, 19),
    }
}

impl Tasks {
    /// The class that a task's own policy gives it: `__setscheduler_class()`,
    /// `task_should_scx()`.
    pub(crate) fn own_class(&self, t: Tid) -> Class {
        let task = self.get(t);
        let class = Class::of(&task.settings);
        let taken = match self.takes {
            Takes::All => true,
            Takes::Marked => task.settings.policy == Policy::Ext && !task.rejected,
            Takes::Nothing => false,
        };
        if class.is_ext() && !taken {
            return Class::Fair;
        }
        class
    }

    /// `p->prio`, with what another task lends it (`__rt_effective_prio()`).
    pub(crate) fn effective_prio(&self, t: Tid) -> i32 {
        let task = self.get(t);
        let lent = task.lender.map(|lender| normal_prio(&self.get(lender).settings));
        lent.into_iter().fold(normal_prio(&task.settings), i32::min)
    }

    /// The class, and whether it is a lent one (`__setscheduler_class()` of the effective priority).
    pub(crate) fn effective_class(&self, t: Tid) -> (Class, bool) {
        let own = self.own_class(t);
        let Some(lender) = self.get(t).lender else { return (own, false) };
        let lent = Class::of(&self.get(lender).settings);
        let greater = match (lent, own) {
            (Class::Deadline(_), Class::Realtime { .. } | Class::Ext | Class::Fair) => true,
            (Class::Realtime { .. }, Class::Ext | Class::Fair) => true,
            (Class::Realtime { priority: lent }, Class::Realtime { priority }) => lent > priority,
            _ => false,
        };
        if greater {
            (lent, true)
        } else {
            (own, false)
        }
    }
}
