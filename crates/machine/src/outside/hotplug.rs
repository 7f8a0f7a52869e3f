// SPDX-License-Identifier: MIT OR Apache-2.0
//! CPUs that go offline and come back: `sched_cpu_deactivate()`, `balance_push()`,
//! `sched_cpu_activate()`, `handle_hotplug()`.

use crate::class::Class;
use crate::consts::*;
use crate::cpuset::CpuSet;
use crate::exit::ExitKind;
use crate::ops::{Op, Ops};
use crate::system::System;
use crate::task::{State, Tid};
use rota_trace::{EventKind, OffCpu};
use rota_vm::memory::Perm;

/// `SCX_ECODE_RSN_HOTPLUG` and `SCX_ECODE_ACT_RESTART`.
const RESTART: i64 = 1 << 32 | 1 << 48;

/// Which CPUs are not there.
#[derive(Debug, Default)]
pub(crate) struct Hotplug {
    /// Not in `cpu_active_mask`; empty: all are.
    pub(crate) inactive: CpuSet,
    /// Not in `cpu_online_mask`: those of them that have no task any more.
    offline: CpuSet,
    /// `scx_hotplug_seq`.
    pub(crate) seq: u64,
    /// Guest `cpu_online_mask`, 0 until it differs from that of all.
    online_addr: u64,
}

impl Hotplug {
    /// `cpu_active()`.
    #[inline]
    pub(crate) fn is_active(&self, cpu: u32) -> bool {
        self.inactive.is_empty() || !self.inactive.contains(cpu)
    }
}

impl System {
    /// `cpu_active_mask`.
    pub(crate) fn active_cpus(&self) -> CpuSet {
        CpuSet::first_n(self.nr_cpus()).minus(&self.hotplug.inactive)
    }

    /// `scx_hotplug_seq`: how often CPUs have gone or come back.
    pub fn hotplug_seq(&self) -> u64 {
        self.hotplug.seq
    }

    /// `cpu_online_mask`.
    pub fn online_cpus(&self) -> CpuSet {
        CpuSet::first_n(self.nr_cpus()).minus(&self.hotplug.offline)
    }

    /// `cpu_online_mask` as hosted code sees it.
    pub(crate) fn online_mask(&self) -> u64 {
        match self.hotplug.online_addr {
            0 => self.guest.scratch.all_cpus,
            addr => addr,
        }
    }

    /// Whether the CPU is gone: it does not even look for tasks.
    pub(crate) fn is_offline(&self, cpu: u32) -> bool {
        !self.hotplug.offline.is_empty() && self.hotplug.offline.contains(cpu)
    }

    /// Whether tasks are still to be pushed off a CPU that goes.
    pub(crate) fn is_leaving(&self, cpu: u32) -> bool {
        !self.hotplug.is_active(cpu) && !self.is_offline(cpu)
    }

    /// The CPU on which things from outside happen.
    pub(crate) fn first_online(&self) -> u32 {
        self.active_cpus().first().unwrap_or(0)
    }

    /// Of a timer of a task: `hrtimers_cpu_dying()` moves it away from a CPU that is not there.
    pub(crate) fn timer_cpu(&self, cpu: u32) -> u32 {
        if self.hotplug.is_active(cpu) {
            cpu
        } else {
            self.first_online()
        }
    }

    fn publish_online(&mut self) {
        if self.hotplug.online_addr == 0 {
            let size = self.guest.layouts.cpumask_size;
            self.hotplug.online_addr =
                self.guest.mem.alloc("cpu_online_mask", size, Perm::ReadOnly);
        }
        let online = self.online_cpus();
        self.write_cpumask(self.hotplug.online_addr, &online);
    }

    /// `cpu_down()` and `cpu_up()`.
    pub(crate) fn plug(&mut self, o: &mut dyn Ops, cpu: u32, online: bool) -> Result<(), String> {
        if self.hotplug.is_active(cpu) == online {
            let state = if online { "online" } else { "offline" };
            return Err(format!("CPU {cpu} is {state} already"));
        }
        if online {
            self.activate_cpu(o, cpu);
            return Ok(());
        }
        if self.active_cpus().len() == 1 {
            return Err(format!("is refused (EBUSY): CPU {cpu} is the last one"));
        }
        self.fits_without(cpu)
            .map_err(|what| format!("is refused (EBUSY, dl_bw_deactivate()): {what}"))?;
        self.deactivate_cpu(o, cpu);
        Ok(())
    }

    /// `sched_cpu_deactivate()`. Tasks leave when the CPU next picks them, see
    /// [`System::push_away`].
    fn deactivate_cpu(&mut self, o: &mut dyn Ops, cpu: u32) {
        self.hotplug.inactive.insert(cpu);
        self.emit(Some(cpu), EventKind::Plug { online: false });
        self.leave_queues(o, cpu);
        if self.other.is_some() {
            self.hosting(o, Class::Fair, |system, o| system.leave_queues(o, cpu));
        }
        self.handle_hotplug(o, cpu, false);
        self.cpuset_handle_hotplug(o);
        self.cpus.resched_curr(cpu);
    }

    /// `rq_offline_scx()`: to the local DSQ, so that tasks run here and `balance_push()` moves them
    /// off.
    fn leave_queues(&mut self, o: &mut dyn Ops, cpu: u32) {
        let queued: Vec<u32> = self.cpus.links.iter(&self.rq(cpu).runnable).collect();
        let local = self.rq(cpu).local;
        for t in queued.into_iter().rev().map(Tid) {
            if self.task(t).dsq != Some(local) {
                self.change_task(o, t, DEQ_SAVE | DEQ_MOVE | DEQ_NOCLOCK, |_, _| {});
            }
        }
    }

    /// `sched_cpu_activate()`.
    fn activate_cpu(&mut self, o: &mut dyn Ops, cpu: u32) {
        self.hotplug.offline.remove(cpu);
        self.hotplug.inactive.remove(cpu);
        self.emit(Some(cpu), EventKind::Plug { online: true });
        self.publish_online();
        // its own thread of hotplug does this, and leaves the CPU to the idle task
        let here = std::mem::replace(&mut self.running.this_cpu, cpu);
        self.as_curr(|system| system.update_idle(o, cpu, false, true));
        self.cpuset_handle_hotplug(o);
        self.handle_hotplug(o, cpu, true);
        self.update_idle(o, cpu, true, true);
        self.running.this_cpu = here;
        self.cpus.resched_curr(cpu);
    }

    /// `handle_hotplug()`.
    fn handle_hotplug(&mut self, o: &mut dyn Ops, cpu: u32, online: bool) {
        self.hotplug.seq += 1;
        if !self.hosted.enabled {
            return;
        }
        self.update_selcpu_topology();
        let op = if online { Op::CpuOnline } else { Op::CpuOffline };
        if self.has(op) {
            self.call(o, op, None, None, &[u64::from(cpu)]);
            return;
        }
        let going = if online { "online" } else { "offline" };
        let text = format!("cpu {cpu} going {going}, exiting scheduler");
        self.exit_with(ExitKind::UnregKern, RESTART, text);
    }

    /// `check_hotplug_seq()`: whether the CPUs are still those that the scheduler was loaded for.
    pub(crate) fn check_hotplug_seq(&mut self, expected: u64) {
        let actual = self.hotplug.seq;
        if expected != 0 && expected != actual {
            let text = format!("expected hotplug seq {expected} did not match actual {actual}");
            self.exit_with(ExitKind::UnregKern, RESTART, text);
        }
    }

    /// `balance_push()`: the task that an inactive CPU has switched to leaves it at once. A CPU
    /// without any goes offline.
    #[inline(never)]
    pub(crate) fn push_away(&mut self, o: &mut dyn Ops, cpu: u32) {
        let Some(t) = self.rq(cpu).curr else {
            let rq = self.rq(cpu);
            let fair = self.other.as_ref().map_or(0, |side| side.rqs[cpu as usize].nr_running);
            let pinned = rq.nr_pinned > 0;
            if rq.nr_running + fair == 0 && rq.waiting.first().is_none() && !pinned {
                self.hotplug.offline.insert(cpu);
                self.publish_online();
            }
            return;
        };
        if self.task(t).state != State::Runnable {
            return;
        }
        // migrate_disable() lets it finish
        if self.task(t).migration_disabled {
            return;
        }
        self.switch_to_stopper(o, cpu, Some(t), OffCpu::Runnable);
        // __balance_push_cpu_stop()
        let to = self.select_fallback(o, t, cpu);
        self.migrate_any(o, t, cpu, to);
        self.check_preempt(to, t);
    }

    /// `select_fallback_rq()`: the node of the old CPU first, then anywhere allowed. A task that
    /// may use no CPU that is there may use all of them from now on.
    pub(crate) fn select_fallback(&mut self, o: &mut dyn Ops, t: Tid, cpu: u32) -> u32 {
        let allowed = self.task(t).cpus.and(&self.active_cpus());
        let near = self.config.topology.node_cpus(cpu).and(&allowed);
        if let Some(found) = near.first().or_else(|| allowed.first()) {
            return found;
        }
        let fallback = self.cpuset_fallback(self.task(t).cgroup);
        self.force_affinity(o, t, fallback);
        if let Some(found) = fallback.and(&self.active_cpus()).first() {
            return found;
        }
        // task_cpu_fallback_mask()
        self.force_affinity(o, t, CpuSet::first_n(self.nr_cpus()));
        self.first_online()
    }
}
