// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tasks that disable migration for a while (`migrate_disable()`, `migrate_enable()`).

use crate::consts::*;
use crate::cpuset::CpuSet;
use crate::ops::Ops;
use crate::system::System;
use crate::task::{Task, Tid};
use rota_vm::memory::Perm;

impl Task {
    /// `p->cpus_ptr`: the CPUs that it may use now.
    #[inline]
    pub(crate) fn cpus_ptr(&self) -> CpuSet {
        match self.pinned {
            Some(cpu) => [cpu].into_iter().collect(),
            None => self.cpus,
        }
    }
}

impl System {
    /// `migrate_disable()`, called by the task itself.
    pub(crate) fn migrate_disable(&mut self, t: Tid) {
        let cpu = self.task(t).cpu;
        if !std::mem::replace(&mut self.task_mut(t).migration_disabled, true) {
            self.rq_mut(cpu).nr_pinned += 1;
            self.publish_migration_disabled(t);
        }
    }

    /// `migrate_disable_switch()`: the first time that a CPU goes through its scheduler, the task
    /// that it runs may use this CPU only.
    pub(crate) fn migrate_disable_switch(&mut self, o: &mut dyn Ops, cpu: u32, t: Tid) {
        if self.task(t).migration_disabled && self.task(t).pinned.is_none() {
            self.set_cpus_ptr(o, t, Some(cpu));
        }
    }

    /// `migrate_enable()`, called by the task itself: an affinity that was set meanwhile takes
    /// effect.
    pub(crate) fn migrate_enable(&mut self, o: &mut dyn Ops, t: Tid) {
        if !self.task(t).migration_disabled {
            return;
        }
        let cpu = self.task(t).cpu;
        let was_pinned = self.task(t).pinned.is_some();
        if was_pinned {
            self.set_cpus_ptr(o, t, None);
        }
        self.task_mut(t).migration_disabled = false;
        self.rq_mut(cpu).nr_pinned -= 1;
        self.publish_migration_disabled(t);
        if was_pinned {
            // affine_move_task()
            self.leave_forbidden_cpu(o, t);
        }
        if !self.hotplug.is_active(cpu) {
            // balance_push()
            self.cpus.resched_curr(cpu);
        }
    }

    /// `do_set_cpus_allowed()` with `SCA_MIGRATE_DISABLE` or `SCA_MIGRATE_ENABLE`.
    fn set_cpus_ptr(&mut self, o: &mut dyn Ops, t: Tid, pinned: Option<u32>) {
        self.change_task(o, t, DEQ_SAVE | DEQ_NOCLOCK, |system, o| {
            system.task_mut(t).pinned = pinned;
            let ptr = system.cpus_ptr_addr(t);
            let (addr, at) = (system.task(t).addr, system.guest.layouts.task.cpus_ptr);
            system.guest.put_u64(addr, at, ptr);
            system.tell_affinity(t);
            let class = system.task(t).class;
            if class.is_hosted() {
                system.hosting(o, class, |system, o| {
                    system.for_task(o, t, |system, o| system.tell_cpumask(o, t));
                });
            }
        });
    }

    /// The `struct cpumask` that `p->cpus_ptr` points to: `cpumask_of()` of one CPU, or its own.
    pub(crate) fn cpus_ptr_addr(&mut self, t: Tid) -> u64 {
        let own = self.task(t).addr + u64::from(self.guest.layouts.task.cpus_mask);
        let Some(cpu) = self.task(t).pinned else { return own };
        if self.rq(cpu).cpumask_addr == 0 {
            let size = self.guest.layouts.cpumask_size;
            let addr = self.guest.mem.alloc("cpumask_of", size, Perm::ReadOnly);
            self.rq_mut(cpu).cpumask_addr = addr;
            self.write_cpumask(addr, &[cpu].into_iter().collect());
        }
        self.rq(cpu).cpumask_addr
    }

    fn publish_migration_disabled(&mut self, t: Tid) {
        let at = self.guest.layouts.task.migration_disabled;
        if at != crate::layout::ABSENT {
            let addr = self.task(t).addr + u64::from(at);
            self.guest.mem.set_u16(addr, u16::from(self.task(t).migration_disabled));
        }
    }

    /// Whether the kernel's sched_ext knows of such tasks (`SCX_OPS_ENQ_MIGRATION_DISABLED`).
    pub(crate) fn ext_sees_pinned(&self) -> bool {
        self.config.rules.ops_flags & OPS_ENQ_MIGRATION_DISABLED != 0
    }
}
