// SPDX-License-Identifier: MIT OR Apache-2.0
//! CPUs that a task may use: `__sched_setaffinity()`, `__set_cpus_allowed_ptr()`
//! (`kernel/sched/syscalls.c`, `core.c`).

use crate::consts::*;
use crate::cpuset::CpuSet;
use crate::ops::Ops;
use crate::system::System;
use crate::task::{State, Tid};
use rota_trace::EventKind;

impl System {
    /// Tells which CPUs a task may use.
    pub(crate) fn tell_affinity(&mut self, t: Tid) {
        let (pid, cpus) = (self.task(t).pid, self.task(t).cpus_ptr().iter().collect());
        self.emit(None, EventKind::Affinity { pid, cpus });
    }

    /// CPUs of an affinity list that this machine has; all if the list is empty or absent.
    pub(crate) fn affinity(&self, cpus: Option<&[u32]>) -> CpuSet {
        let all = CpuSet::first_n(self.nr_cpus());
        match cpus {
            Some(list) => list.iter().copied().collect::<CpuSet>().and(&all),
            None => all,
        }
    }

    /// `__sched_setaffinity()`, `__set_cpus_allowed_ptr()`: a task on a CPU that is no longer
    /// allowed moves.
    pub(crate) fn set_affinity(&mut self, o: &mut dyn Ops, t: Tid, cpus: Option<&[u32]>) {
        let user = self.affinity(cpus);
        let cpus = user.and(&self.cpuset_cpus_allowed(self.task(t).cgroup));
        self.task_mut(t).user_cpus = Some(user);
        if cpus == self.task(t).cpus {
            return;
        }
        self.do_set_affinity(o, t, cpus);
        self.leave_forbidden_cpu(o, t);
    }

    /// `affine_move_task()`, `migration_cpu_stop()`: a queued task goes where it may be. One that
    /// runs leaves its CPU to the stopper, which moves it.
    pub(crate) fn leave_forbidden_cpu(&mut self, o: &mut dyn Ops, t: Tid) {
        let (old, cpus) = (self.task(t).cpu, self.task(t).cpus);
        if cpus.contains(old) {
            return;
        }
        // one that is about to block or to end does so first
        if !self.is_queued(t) || self.task(t).state != State::Runnable {
            return;
        }
        if self.rq(old).curr == Some(t) {
            return self.stop_for(old, t);
        }
        if self.task(t).migration_disabled {
            return;
        }
        let Some(new) = cpus.and(&self.active_cpus()).first() else { return };
        self.migrate_any(o, t, old, new);
        self.check_preempt(new, t);
    }

    /// `__do_set_cpus_allowed()`.
    pub(crate) fn do_set_affinity(&mut self, o: &mut dyn Ops, t: Tid, cpus: CpuSet) {
        self.change_task(o, t, DEQ_SAVE | DEQ_NOCLOCK, |system, o| {
            system.task_mut(t).cpus = cpus;
            system.publish_affinity(t);
            system.tell_affinity(t);
            let class = system.task(t).class;
            if class.is_hosted() {
                system.hosting(o, class, |system, o| {
                    system.for_task(o, t, |system, o| system.tell_cpumask(o, t));
                });
            }
        });
    }

    /// `set_cpus_allowed_force()`.
    pub(crate) fn force_affinity(&mut self, o: &mut dyn Ops, t: Tid, cpus: CpuSet) {
        self.task_mut(t).user_cpus = None;
        self.do_set_affinity(o, t, cpus);
    }
}
