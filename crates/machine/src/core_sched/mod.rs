// SPDX-License-Identifier: MIT OR Apache-2.0
//! Core scheduling (`CONFIG_SCHED_CORE`, `kernel/sched/core.c` and `core_sched.c`): only tasks with
//! the same cookie run on the CPUs of a core at the same time. While no task has a cookie it is
//! off, and the machine tests one bit.

mod balance;
mod idle;
mod order;
mod pick;
mod tree;

use crate::ops::Ops;
use crate::system::System;
use crate::task::{State, Tid};
use rota_trace::EventKind;
use std::sync::Arc;
use tree::CoreTree;

/// What a core-wide selection has found for a CPU: the task and whether it begins a slice, or the
/// idle task.
pub(crate) type CorePick = Option<(Tid, bool)>;

/// All that core scheduling keeps.
#[derive(Debug, Default)]
pub(crate) struct CoreSched {
    /// `__sched_core_enabled`.
    pub(crate) enabled: bool,
    /// `sched_core_count`: living tasks that have a cookie.
    tasks: u32,
    /// Names of cookies, in the order in which they came.
    names: Vec<Arc<str>>,
    /// By core.
    cores: Vec<Core>,
    /// By CPU.
    rqs: Vec<CoreRq>,
}

/// What the CPUs of a core share, in the `struct rq` of their leader.
#[derive(Debug, Default)]
struct Core {
    /// `core_task_seq`: counts what changes which tasks there are.
    task_seq: u64,
    /// `core_pick_seq`: that of the last selection.
    pick_seq: u64,
    /// `core_cookie`.
    cookie: u64,
    /// `core_forceidle_count`.
    forceidle_count: u32,
}

/// What a CPU has of its own.
#[derive(Debug, Default)]
struct CoreRq {
    /// `core_pick`.
    pick: Option<CorePick>,
    /// `core_sched_seq`: the selection whose pick it runs.
    sched_seq: u64,
    /// `core_tree`.
    tree: CoreTree,
    /// `core_occupation` of its idle task.
    idle_occupation: u32,
    /// It has tasks, and none of them may run now.
    forced: bool,
}

/// Where `struct sched_core_cookie` would be; only its being different matters.
const COOKIES: u64 = 0xffff_8880_0000_0000;

impl CoreSched {
    /// Whether a CPU idles although it has tasks.
    pub(crate) fn is_forced_idle(&self, cpu: u32) -> bool {
        self.enabled && self.rqs[cpu as usize].forced
    }

    /// Whether nothing needs it any more.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        self.enabled && self.tasks == 0
    }

    fn rq(&self, cpu: u32) -> &CoreRq {
        &self.rqs[cpu as usize]
    }

    fn rq_mut(&mut self, cpu: u32) -> &mut CoreRq {
        &mut self.rqs[cpu as usize]
    }

    /// `sched_core_alloc_cookie()`: the cookie of a name.
    fn cookie(&mut self, name: &Arc<str>) -> u64 {
        if name.is_empty() {
            return 0;
        }
        let known = self.names.iter().position(|known| known == name);
        let at = known.unwrap_or_else(|| {
            self.names.push(Arc::clone(name));
            self.names.len() - 1
        });
        COOKIES + 8 * at as u64
    }

    fn name(&self, cookie: u64) -> Arc<str> {
        let at = cookie.checked_sub(COOKIES).map(|at| at as usize / 8);
        at.and_then(|at| self.names.get(at)).map_or_else(|| "".into(), Arc::clone)
    }
}

impl System {
    fn core_of(&self, cpu: u32) -> &Core {
        &self.core_sched.cores[self.config.topology.core_of(cpu) as usize]
    }

    fn core_of_mut(&mut self, cpu: u32) -> &mut Core {
        &mut self.core_sched.cores[self.config.topology.core_of(cpu) as usize]
    }

    /// `rq->nr_running`.
    fn nr_running(&self, cpu: u32) -> u32 {
        let (ext, fair) = self.nr_hosted(cpu);
        ext + fair + self.rq(cpu).nr_higher
    }

    /// `sched_core_fork()`, and what a new task says of itself.
    pub(crate) fn fork_core_cookie(&mut self, t: Tid, creator: Option<Tid>) {
        let cookie = match self.task(t).settings.core_cookie.clone() {
            Some(name) => self.core_sched.cookie(&name),
            None => creator.map_or(0, |creator| self.task(creator).core_cookie),
        };
        if cookie != 0 {
            self.count_core_cookies(0, cookie);
            self.replace_core_cookie(t, cookie);
        }
    }

    /// `__sched_core_set()`: a task gets the cookie of a name.
    pub(crate) fn set_core_cookie(&mut self, o: &mut dyn Ops, t: Tid, name: &Arc<str>) {
        let cookie = self.core_sched.cookie(name);
        let old = self.task(t).core_cookie;
        if cookie == old {
            return;
        }
        self.count_core_cookies(old, cookie);
        self.update_core_cookie(o, t, cookie);
    }

    /// `sched_core_update_cookie()`.
    fn update_core_cookie(&mut self, o: &mut dyn Ops, t: Tid, cookie: u64) {
        let cpu = self.task(t).cpu;
        let queued = self.is_queued(t);
        if queued && self.task(t).core_cookie != 0 {
            self.core_dequeue(cpu, t, true);
        }
        self.replace_core_cookie(t, cookie);
        if queued && cookie != 0 {
            self.core_enqueue(o, cpu, t);
        }
        // it may not fit the others on its core any more
        if self.rq(cpu).curr == Some(t) {
            self.resched_cpu(cpu);
        }
    }

    fn replace_core_cookie(&mut self, t: Tid, cookie: u64) {
        self.task_mut(t).core_cookie = cookie;
        let (addr, pid) = (self.task(t).addr, self.task(t).pid);
        self.guest.put_u64(addr, self.guest.layouts.task.core_cookie, cookie);
        let name = self.core_sched.name(cookie);
        self.emit(None, EventKind::CoreCookie { pid, cookie: name });
    }

    /// `sched_core_get()` and `sched_core_put()`.
    fn count_core_cookies(&mut self, old: u64, new: u64) {
        if new != 0 && !self.core_sched.enabled {
            self.flip_core_sched(true);
        }
        let sched = &mut self.core_sched;
        sched.tasks = sched.tasks + u32::from(new != 0) - u32::from(old != 0);
    }

    /// `sched_core_free()`.
    pub(crate) fn free_core_cookie(&mut self, t: Tid) {
        let cookie = std::mem::take(&mut self.task_mut(t).core_cookie);
        self.count_core_cookies(cookie, 0);
    }

    /// `__sched_core_flip()`. A worker turns it off, at whose coming and going CPUs reschedule.
    #[inline(never)]
    pub(crate) fn flip_core_sched(&mut self, enabled: bool) {
        let cpus = self.nr_cpus();
        if self.core_sched.rqs.is_empty() {
            let cores = self.config.topology.cores();
            self.core_sched.cores.resize_with(cores as usize, Core::default);
            self.core_sched.rqs.resize_with(cpus as usize, CoreRq::default);
        }
        self.core_sched.enabled = enabled;
        for cpu in 0..cpus {
            if self.core_sched.rq(cpu).forced {
                self.set_forced_idle(cpu, false);
                self.cpus.resched_curr(cpu);
            }
            let addr = self.rq(cpu).addr;
            self.guest.put_u32(addr, self.guest.layouts.rq.core_enabled, u32::from(enabled));
        }
    }

    /// `rq->core`.
    pub(crate) fn publish_cores(&mut self) {
        for cpu in 0..self.nr_cpus() {
            let leader = self.config.topology.siblings(cpu).first().unwrap_or(cpu);
            let (addr, leader) = (self.rq(cpu).addr, self.rq(leader).addr);
            self.guest.put_u64(addr, self.guest.layouts.rq.core, leader);
        }
    }

    /// The part of the audit about cookies: tasks that run on a core have the same one, unless a
    /// CPU has not heard yet that it must reschedule.
    pub(crate) fn audit_cookies(&self, cpu: u32) -> Result<(), String> {
        if !self.core_sched.enabled {
            return Ok(());
        }
        let runs = |cpu: u32| {
            let rq = self.rq(cpu);
            rq.curr.filter(|t| !rq.is_excused() && self.task(*t).state == State::Runnable)
        };
        let Some(own) = runs(cpu) else { return Ok(()) };
        for other in self.config.topology.siblings(cpu).iter().filter_map(runs) {
            let (one, two) = (self.task(own), self.task(other));
            if one.core_cookie != two.core_cookie {
                let (one, two) = (one.label(), two.label());
                return Err(format!("{one} runs next to {two}, with another cookie"));
            }
        }
        Ok(())
    }
}
