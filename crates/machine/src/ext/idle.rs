// SPDX-License-Identifier: MIT OR Apache-2.0
//! Built-in idle tracking and CPU selection: `kernel/sched/ext/idle.c`.

use crate::class::Class;
use crate::consts::*;
use crate::cpuset::CpuSet;
use crate::event_queue::Due;
use crate::ops::{Op, Ops};
use crate::system::System;
use crate::task::{State, Tid};

/// `struct scx_idle_cpus`, host and guest view.
#[derive(Clone, Debug)]
pub(crate) struct IdleCpus {
    pub(crate) cpu: CpuSet,
    pub(crate) smt: CpuSet,
    pub(crate) cpu_addr: u64,
    pub(crate) smt_addr: u64,
}

/// Idle masks of the machine: one global set, one per node.
#[derive(Clone, Debug)]
pub(crate) struct IdleMasks {
    /// Last element: the global masks. Before it: one per node.
    pub(crate) masks: Vec<IdleCpus>,
    /// Those that were busy when the scheduler was attached, and are marked as all were then.
    pub(crate) assumed: CpuSet,
    /// `scx_builtin_idle_enabled`.
    pub(crate) enabled: bool,
    /// `scx_builtin_idle_per_node`.
    pub(crate) per_node: bool,
    /// `scx_selcpu_topo_llc`.
    pub(crate) llc: bool,
    /// `scx_selcpu_topo_numa`.
    pub(crate) numa: bool,
    /// `distribute_cpu_mask_prev` of each CPU.
    pub(crate) distribute: Vec<u32>,
}

impl System {
    /// `scx_cpu_node_if_enabled()`.
    fn masks_of(&self, cpu: u32) -> usize {
        if self.idle.per_node {
            self.config.topology.node_of(cpu) as usize
        } else {
            self.idle.global_masks()
        }
    }

    /// Writes the guest's view of one pair of masks.
    fn publish_masks(&mut self, at: usize) {
        let IdleCpus { cpu, smt, cpu_addr, smt_addr } = self.idle.masks[at].clone();
        self.write_cpumask(cpu_addr, &cpu);
        self.write_cpumask(smt_addr, &smt);
    }

    /// `scx_idle_enable()` and `scx_idle_update_selcpu_topology()`.
    pub(crate) fn idle_enable(&mut self, has_update_idle: bool) {
        let topology = self.config.topology.clone();
        let online = self.online_cpus();
        self.idle.enabled = !has_update_idle || self.hosted.flags & OPS_KEEP_BUILTIN_IDLE != 0;
        self.idle.per_node = self.hosted.flags & OPS_BUILTIN_IDLE_PER_NODE != 0;
        let by_topology = self.config.rules.idle_by_topology;
        self.idle.llc = by_topology && topology.llcs() > 1;
        self.idle.numa = by_topology
            && !self.idle.per_node
            && topology.nodes() > 1
            && topology.nodes() != topology.llcs();
        self.idle.assumed = online.iter().filter(|c| self.rq(*c).curr.is_some()).collect();
        let global = self.idle.global_masks();
        for at in 0..=global {
            let mut part = online;
            if at != global {
                part = online.iter().filter(|c| topology.node_of(*c) as usize == at).collect();
            }
            self.idle.masks[at].cpu = part;
            self.idle.masks[at].smt = part;
            self.publish_masks(at);
        }
    }

    /// `scx_idle_update_selcpu_topology()` when CPUs come or go.
    pub(crate) fn update_selcpu_topology(&mut self) {
        let (topology, online) = (&self.config.topology, self.online_cpus());
        let first = online.first().unwrap_or(0);
        let by_topology = self.config.rules.idle_by_topology;
        let parts = |span: &CpuSet| by_topology && span.and(&online).len() < online.len();
        self.idle.llc = parts(topology.llc_cpus(first));
        self.idle.numa = parts(topology.node_cpus(first))
            && !self.idle.per_node
            && topology.nodes() != topology.llcs();
    }

    /// `scx_idle_test_and_clear_cpu()`.
    pub(crate) fn idle_test_and_clear(&mut self, cpu: u32) -> bool {
        let at = self.masks_of(cpu);
        if self.config.topology.has_smt() {
            let siblings = self.config.topology.siblings(cpu);
            let masks = &mut self.idle.masks[at];
            masks.smt = masks.smt.minus(siblings);
        }
        let was_idle = self.idle.masks[at].cpu.take(cpu);
        self.publish_masks(at);
        was_idle
    }

    /// `cpumask_any_and_distribute()`: the next CPU of the set after the last one given out.
    pub(crate) fn any_distribute(&mut self, set: &CpuSet) -> Option<u32> {
        let here = self.running.this_cpu as usize;
        let next = set.next_from(self.idle.distribute[here] + 1).or_else(|| set.first())?;
        self.idle.distribute[here] = next;
        Some(next)
    }

    /// `pick_idle_cpu_in_node()`.
    fn pick_idle_in(&mut self, allowed: &CpuSet, at: usize, flags: u64) -> Option<u32> {
        loop {
            let mut found = None;
            if self.config.topology.has_smt() {
                let cores = self.idle.masks[at].smt.and(allowed);
                found = self.any_distribute(&cores);
                if found.is_none() && flags & PICK_IDLE_CORE != 0 {
                    return None;
                }
            }
            if found.is_none() {
                let cpus = self.idle.masks[at].cpu.and(allowed);
                found = self.any_distribute(&cpus);
            }
            let cpu = found?;
            if self.idle_test_and_clear(cpu) {
                return Some(cpu);
            }
        }
    }

    /// `scx_pick_idle_cpu()`: `at` is a node's masks, or the global ones.
    fn pick_idle_from(&mut self, allowed: &CpuSet, at: usize, flags: u64) -> Option<u32> {
        if let Some(cpu) = self.pick_idle_in(allowed, at, flags) {
            return Some(cpu);
        }
        if at == self.idle.global_masks() || flags & PICK_IDLE_IN_NODE != 0 {
            return None;
        }
        // `for_each_node_numadist()`
        let mut others: Vec<usize> = (0..self.idle.global_masks()).filter(|n| *n != at).collect();
        others.sort_by_key(|n| self.config.topology.distance(at as u32, *n as u32));
        others.into_iter().find_map(|n| self.pick_idle_in(allowed, n, flags))
    }

    /// `scx_pick_idle_cpu()` as the kfuncs use it.
    pub(crate) fn pick_idle_cpu(
        &mut self,
        allowed: &CpuSet,
        node: Option<u32>,
        flags: u64,
    ) -> Option<u32> {
        let at = node.map_or(self.idle.global_masks(), |n| n as usize);
        self.pick_idle_from(allowed, at, flags)
    }

    /// `update_builtin_idle()`.
    fn update_builtin_idle(&mut self, cpu: u32, idle: bool) {
        let at = self.masks_of(cpu);
        self.idle.assumed.remove(cpu);
        let siblings = self.config.topology.siblings(cpu);
        let smt = self.config.topology.has_smt();
        let masks = &mut self.idle.masks[at];
        if idle {
            masks.cpu.insert(cpu);
        } else {
            masks.cpu.remove(cpu);
        }
        if smt && !idle {
            masks.smt = masks.smt.minus(siblings);
        } else if smt && siblings.is_subset(&masks.cpu) {
            masks.smt = masks.smt.or(siblings);
        }
        self.publish_masks(at);
    }

    /// `__scx_update_idle()`, for each hosted scheduler.
    pub(crate) fn update_idle(&mut self, o: &mut dyn Ops, cpu: u32, idle: bool, notify: bool) {
        if self.other.is_some() {
            self.hosting(o, Class::Fair, |system, o| {
                system.update_idle_of_side(o, cpu, idle, notify);
            });
        }
        self.update_idle_of_side(o, cpu, idle, notify);
    }

    /// `__scx_update_idle()`.
    pub(crate) fn update_idle_of_side(
        &mut self,
        o: &mut dyn Ops,
        cpu: u32,
        idle: bool,
        notify: bool,
    ) {
        if self.idle.enabled && (notify || self.rq(cpu).curr.is_none()) {
            self.update_builtin_idle(cpu, idle);
        }
        if notify && self.has(Op::UpdateIdle) && !self.is_bypassing() {
            self.call(o, Op::UpdateIdle, Some(cpu), None, &[self.cpu_arg(cpu), u64::from(idle)]);
        }
    }

    /// `set_next_task_idle()`, or `pick_task_idle()` if it was idle before: the CPU is marked
    /// a moment after it found nothing to run. Others do not see it until then.
    pub(crate) fn become_idle(&mut self, o: &mut dyn Ops, cpu: u32, notify: bool) {
        self.begin_idle(cpu);
        let window_ns = self.config.costs.idle_entry_ns;
        if window_ns == 0 {
            self.update_idle(o, cpu, true, notify);
            return;
        }
        self.rq_mut(cpu).entering_idle = Some(notify);
        self.queue.push(self.now_ns + window_ns, Due::Idle(cpu));
    }

    /// The end of [`System::become_idle`]: who wanted the CPU meanwhile gets it now.
    pub(crate) fn enter_idle(&mut self, o: &mut dyn Ops, cpu: u32) {
        let Some(notify) = self.rq_mut(cpu).entering_idle.take() else { return };
        self.running.this_cpu = cpu;
        self.update_idle(o, cpu, true, notify);
        if self.rq(cpu).need_resched {
            self.cpus.resched_curr(cpu);
        }
    }

    /// The part of `span` that the task may use, `None` if empty.
    fn narrowed(&self, t: Tid, allowed: &CpuSet, span: &CpuSet, whole: bool) -> Option<CpuSet> {
        if whole && self.task(t).nr_cpus_allowed >= self.nr_cpus() {
            return Some(*span);
        }
        let part = allowed.and(span);
        (!part.is_empty()).then_some(part)
    }

    /// `scx_select_cpu_dfl()`: an idle CPU, claimed; `None` if there is none.
    pub(crate) fn select_cpu_dfl(
        &mut self,
        t: Tid,
        prev_cpu: u32,
        wake_flags: u64,
        cpus_allowed: Option<&CpuSet>,
        flags: u64,
    ) -> Option<u32> {
        let own = self.task(t).cpus_ptr();
        let allowed = match cpus_allowed {
            Some(set) if self.task(t).nr_cpus_allowed < self.nr_cpus() => set.and(&own),
            Some(set) => *set,
            None => own,
        };
        if allowed.is_empty() {
            return None;
        }
        let whole = cpus_allowed.is_none();
        let prev_ok = allowed.contains(prev_cpu);
        let topology = &self.config.topology;
        let has_smt = topology.has_smt();
        let at = self.masks_of(prev_cpu);
        let mut spans = Vec::new();
        if self.idle.llc {
            spans.extend(self.narrowed(t, &allowed, topology.llc_cpus(prev_cpu), whole));
        }
        if self.idle.numa {
            spans.extend(self.narrowed(t, &allowed, topology.node_cpus(prev_cpu), whole));
        }
        if wake_flags & WAKE_SYNC != 0 {
            if let Some(cpu) = self.select_for_sync(prev_cpu, &allowed, at, prev_ok, flags) {
                return Some(cpu);
            }
        }
        if has_smt {
            if prev_ok
                && self.idle.masks[at].smt.contains(prev_cpu)
                && self.idle_test_and_clear(prev_cpu)
            {
                return Some(prev_cpu);
            }
            for span in &spans {
                if let Some(cpu) = self.pick_idle_in(span, at, PICK_IDLE_CORE) {
                    return Some(cpu);
                }
            }
            let core = self.pick_idle_from(&allowed, at, flags | PICK_IDLE_CORE);
            if core.is_some() || flags & PICK_IDLE_CORE != 0 {
                return core;
            }
        }
        if prev_ok && self.idle_test_and_clear(prev_cpu) {
            return Some(prev_cpu);
        }
        if has_smt && self.config.rules.idle_siblings {
            let siblings = self.config.topology.siblings(prev_cpu).and(&allowed);
            for cpu in siblings.iter().filter(|c| *c != prev_cpu) {
                if self.idle_test_and_clear(cpu) {
                    return Some(cpu);
                }
            }
        }
        for span in &spans {
            if let Some(cpu) = self.pick_idle_in(span, at, 0) {
                return Some(cpu);
            }
        }
        self.pick_idle_from(&allowed, at, flags)
    }

    /// The `SCX_WAKE_SYNC` part of `scx_select_cpu_dfl()`.
    fn select_for_sync(
        &mut self,
        prev: u32,
        allowed: &CpuSet,
        at: usize,
        prev_ok: bool,
        flags: u64,
    ) -> Option<u32> {
        let waker = self.running.this_cpu;
        let topology = &self.config.topology;
        if self.config.rules.idle_by_topology
            && topology.llc_of(waker) == topology.llc_of(prev)
            && prev_ok
            && self.idle_test_and_clear(prev)
        {
            return Some(prev);
        }
        let exiting = self.rq(waker).curr.is_some_and(|c| self.task(c).state == State::Exiting);
        let local = self.rq(waker).local;
        let waker_at = self.masks_of(waker);
        let node_ok = flags & PICK_IDLE_IN_NODE == 0 || waker_at == at;
        let any_idle = !self.idle.masks[waker_at].cpu.is_empty();
        if !exiting && self.dsq(local).is_empty() && node_ok && any_idle && allowed.contains(waker)
        {
            self.idle_test_and_clear(waker);
            return Some(waker);
        }
        None
    }
}

impl IdleMasks {
    fn global_masks(&self) -> usize {
        self.masks.len() - 1
    }
}
