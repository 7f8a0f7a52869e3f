// SPDX-License-Identifier: MIT OR Apache-2.0
//! A CPU that core scheduling forces to idle takes a task that fits from another CPU
//! (`sched_core_balance()`).

use super::pick::wrapped;
use crate::ops::Ops;
use crate::system::System;
use crate::task::Tid;

impl System {
    /// `queue_core_balance()`, and its callback after the switch.
    #[inline]
    pub(crate) fn core_balance(&mut self, o: &mut dyn Ops, cpu: u32) {
        if self.core_sched.enabled {
            self.sched_core_balance(o, cpu);
        }
    }

    /// `sched_core_balance()`: from CPUs that share the most first.
    #[cold]
    fn sched_core_balance(&mut self, o: &mut dyn Ops, cpu: u32) {
        let core = self.core_of(cpu);
        let cookie = core.cookie;
        if core.forceidle_count == 0 || cookie == 0 || self.nr_running(cpu) == 0 {
            return;
        }
        let topology = &self.config.topology;
        let mut domains = vec![
            *topology.siblings(cpu),
            *topology.llc_cpus(cpu),
            *topology.node_cpus(cpu),
            self.online_cpus(),
        ];
        domains.dedup();
        for span in domains {
            for from in wrapped(&span.and(&self.online_cpus()), cpu + 1) {
                if self.rq(cpu).need_resched || self.rq(cpu).curr.is_some() {
                    return;
                }
                if from != cpu && self.try_steal_cookie(o, cpu, from, cookie) {
                    return;
                }
            }
        }
    }

    /// `try_steal_cookie()`.
    fn try_steal_cookie(&mut self, o: &mut dyn Ops, this: u32, that: u32, cookie: u64) -> bool {
        let found = self.core_sched.rq(that).tree.with_cookie(cookie);
        let Some(t) = found.iter().copied().find(|t| self.may_steal(*t, this, that)) else {
            return false;
        };
        // move_queued_task_locked()
        let class = self.task(t).class;
        if class.is_hosted() {
            self.hosting(o, class, |system, o| system.migrate_queued(o, t, that, this, 0));
        } else {
            self.migrate_any(o, t, that, this);
        }
        self.cpus.resched_curr(this);
        true
    }

    fn may_steal(&self, t: Tid, this: u32, that: u32) -> bool {
        let task = self.task(t);
        let picked = self.core_sched.rq(that).pick.flatten().map(|(picked, _)| picked);
        // is_cpu_allowed()
        let allowed = match task.migration_disabled {
            true => false,
            false => task.cpus_ptr().contains(this) && self.hotplug.is_active(this),
        };
        let fits = task.core_occupation <= self.core_sched.rq(this).idle_occupation;
        let waits = picked != Some(t) && self.rq(that).curr != Some(t);
        waits && allowed && fits && !self.is_core_throttled(t)
    }
}
