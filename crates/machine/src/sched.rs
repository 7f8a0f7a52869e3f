// SPDX-License-Identifier: MIT OR Apache-2.0
//! The scheduler core around sched_ext: `schedule()`, wakeups, property changes
//! (`kernel/sched/core.c`, `syscalls.c`).

use crate::class::reserved_by;
use crate::consts::*;
use crate::layout::TaskLayout;
use crate::ops::{Op, Ops};
use crate::system::System;
use crate::task::{State, Tid, Work};
use crate::tracing::Place;
use rota_trace::{EventKind, OffCpu};
use rota_workload::Settings;

/// What a CPU picked, before it switches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Picked {
    pub(crate) cpu: u32,
    prev: Option<Tid>,
    /// The next task, and whether it begins a slice; `None`: the CPU becomes idle.
    pub(crate) next: Option<(Tid, bool)>,
    why: OffCpu,
    /// It is the stopper's turn.
    stops: bool,
}

impl Picked {
    /// A task that wants to go on has to leave for another.
    pub(crate) fn gives_way(&self) -> bool {
        let next = self.next.map(|(next, _)| next);
        self.prev.is_some() && self.prev != next && self.why == OffCpu::Runnable
    }
}

impl System {
    /// Sets `p->__state` too.
    pub(crate) fn set_state(&mut self, t: Tid, state: State) {
        self.task_mut(t).state = state;
        let addr = self.task(t).addr;
        // TASK_INTERRUPTIBLE, TASK_DEAD, TASK_RUNNING
        let kernel = match state {
            State::Blocking | State::Sleeping => 1,
            State::Exiting | State::Dead => 0x80,
            State::New | State::Runnable => 0,
        };
        self.guest.put_u32(addr, self.guest.layouts.task.state, kernel);
    }

    /// `PF_EXITING`, next to what else is in `p->flags`.
    pub(crate) fn set_exiting(&mut self, addr: u64) {
        let at = self.guest.layouts.task.flags;
        if at != crate::layout::ABSENT {
            let flags = self.guest.mem.get_u32(addr + u64::from(at));
            self.guest.put_u32(addr, at, flags | PF_EXITING);
        }
    }

    /// Time that a CPU spends for the machine while a task is on it.
    pub(crate) fn charge_overhead(&mut self, cpu: u32, ns: u64) {
        if self.rq(cpu).curr.is_some() {
            self.rq_mut(cpu).owe(ns);
        }
    }

    /// `__schedule()`, up to and with `pick_next_task()`.
    pub(crate) fn pick_next(&mut self, o: &mut dyn Ops, cpu: u32) -> Picked {
        self.running.this_cpu = cpu;
        self.update_curr(cpu);
        let (rq_addr, now_ns) = (self.rq(cpu).addr, self.clock_ns());
        self.guest.put_u64(rq_addr, self.guest.layouts.rq.clock, now_ns);
        self.guest.put_u64(rq_addr, self.guest.layouts.rq.clock_task, now_ns);
        let pelt_ns = self.clock_pelt(cpu);
        self.guest.put_u64(rq_addr, self.guest.layouts.rq.clock_pelt, pelt_ns);
        self.check_budget(cpu);
        let prev = self.rq(cpu).curr;
        let mut why = OffCpu::Runnable;
        if let Some(p) = prev {
            self.migrate_disable_switch(o, cpu, p);
            match self.task(p).state {
                State::Blocking => why = OffCpu::Sleep,
                State::Exiting => why = OffCpu::Exit,
                _ => {}
            }
            if why != OffCpu::Runnable {
                let special = if why == OffCpu::Exit { DEQ_SPECIAL } else { 0 };
                self.dequeue_any(o, cpu, p, DEQ_SLEEP | DEQ_NOCLOCK | special);
                let addr = self.task(p).addr;
                self.guest.put_u32(addr, self.guest.layouts.task.on_rq, 0);
            }
        }
        let stops = !self.rq(cpu).stop_work.is_empty();
        let next = match stops {
            true => None,
            false if self.core_sched.enabled => self.pick_core_wide(o, cpu),
            false => self.pick_any(o, cpu),
        };
        self.cpus.resched.remove(cpu);
        let rq = self.rq_mut(cpu);
        (rq.need_resched, rq.in_call) = (false, false);
        if stops {
            self.set_next_stopper(cpu);
        }
        Picked { cpu, prev, next, why, stops }
    }

    /// The rest of `__schedule()`.
    pub(crate) fn finish_schedule(&mut self, o: &mut dyn Ops, picked: Picked) {
        let Picked { cpu, prev, next, why, stops } = picked;
        self.running.this_cpu = cpu;
        let stopper = self.rq(cpu).stopper;
        match (prev, next) {
            _ if stops => self.run_stopper_next(o, cpu, prev, why),
            (None, None) if !stopper => {
                self.set_next_class_of(cpu, None);
                self.become_idle(o, cpu, false);
            }
            (Some(p), Some((n, _))) if p == n => self.set_next_class_of(cpu, Some(n)),
            _ => self.switch_to(o, cpu, prev, next.map(|(n, _)| n), why),
        }
        if let Some((n, true)) = next {
            self.start_slice(cpu, n);
        }
        if !self.hotplug.is_active(cpu) && !stops {
            self.push_away(o, cpu);
        }
        self.push_waiting(o, cpu);
        self.core_balance(o, cpu);
        if let (Some(p), OffCpu::Exit) = (prev, why) {
            self.end_task(o, p);
        }
    }

    #[inline(never)]
    fn run_stopper_next(&mut self, o: &mut dyn Ops, cpu: u32, prev: Option<Tid>, why: OffCpu) {
        self.switch_to_stopper(o, cpu, prev, why);
        self.run_stopper(o, cpu);
    }

    #[inline(never)]
    fn end_task(&mut self, o: &mut dyn Ops, p: Tid) {
        self.set_state(p, State::Dead);
        self.task_dead(o, p);
    }

    /// `put_prev_set_next_task()` and `context_switch()`.
    fn switch_to(
        &mut self,
        o: &mut dyn Ops,
        cpu: u32,
        prev: Option<Tid>,
        next: Option<Tid>,
        why: OffCpu,
    ) {
        let stopper = std::mem::take(&mut self.rq_mut(cpu).stopper);
        match prev {
            Some(p) => self.put_prev_any(o, cpu, p, next.into()),
            None if stopper => {}
            None => self.update_idle(o, cpu, false, true),
        }
        // classes see the old current task until here, as rq->curr changes last
        match next {
            Some(n) => self.set_next_any(o, cpu, n, true),
            None => self.become_idle(o, cpu, true),
        }
        // as late: what is put back on a CPU that is to idle does not make it reschedule
        self.set_next_class_of(cpu, next);
        if let Some(p) = prev {
            self.leave_cpu(cpu, p, why);
        }
        let now_ns = self.now_ns;
        let rq = self.rq_mut(cpu);
        rq.curr = next;
        rq.charged_at_ns = rq.charged_at_ns.max(now_ns);
        rq.progressed_at_ns = rq.progressed_at_ns.max(now_ns);
        let (addr, idle) = (rq.addr, rq.idle_addr);
        let curr = next.map_or(idle, |n| self.task(n).addr);
        self.guest.put_u64(addr, self.guest.layouts.rq.curr, curr);
        if self.hosted.watched.at_switch() {
            let left = self.on_cpu_addr(cpu, prev, stopper);
            self.pass_switch(o, cpu, left, curr);
            self.sched_info_switch(prev, next);
        }
        if let Some(n) = next {
            self.enter_cpu(cpu, n, prev.is_none() && !stopper);
        } else {
            self.rq_mut(cpu).debt = 0;
        }
        self.respeed_core(cpu);
    }

    pub(crate) fn leave_cpu(&mut self, cpu: u32, p: Tid, why: OffCpu) {
        let TaskLayout { nvcsw, nivcsw, on_cpu, .. } = self.guest.layouts.task;
        // one that was preempted on its way to block stays queued (`SM_PREEMPT`), and blocks later
        if self.task(p).state == State::Blocking && why != OffCpu::Runnable {
            self.set_state(p, State::Sleeping);
        }
        let task = self.task_mut(p);
        let (at, count) = if why == OffCpu::Runnable {
            task.nivcsw += 1;
            (nivcsw, task.nivcsw)
        } else {
            task.nvcsw += 1;
            (nvcsw, task.nvcsw)
        };
        let (pid, addr) = (task.pid, task.addr);
        self.guest.put_u64(addr, at, count);
        self.guest.put_u32(addr, on_cpu, 0);
        if self.models.is_some() {
            self.leave_hardware(cpu, p);
        }
        self.emit(Some(cpu), EventKind::SwitchOut { pid, why });
    }

    fn enter_cpu(&mut self, cpu: u32, n: Tid, from_idle: bool) {
        let (pid, addr) = (self.task(n).pid, self.task(n).addr);
        let mut overhead_ns = self.config.costs.context_switch_ns;
        if from_idle && !self.has_idle_states(cpu) {
            overhead_ns += self.config.costs.idle_exit_ns;
        }
        let last_cpu = self.task_mut(n).last_cpu.replace(cpu);
        if let Some(from) = last_cpu.filter(|c| *c != cpu) {
            let same_llc = self.config.topology.llc_of(from) == self.config.topology.llc_of(cpu);
            let costs = &self.config.costs;
            if !self.has_caches() {
                overhead_ns += if same_llc { costs.migration_ns } else { costs.llc_migration_ns };
            }
            self.emit(Some(cpu), EventKind::Migrate { pid, from, to: cpu });
        }
        self.rq_mut(cpu).owe(overhead_ns);
        self.warm_up(cpu, n, last_cpu);
        self.guest.put_u32(addr, self.guest.layouts.task.on_cpu, 1);
        if self.task(n).state != State::Runnable {
            self.cpus.resched_curr(cpu);
        }
        self.emit(Some(cpu), EventKind::SwitchIn { pid });
    }

    /// A CPU starts a slice: one decision.
    #[inline]
    pub(crate) fn start_slice(&mut self, cpu: u32, t: Tid) {
        let (pid, slice_ns) = (self.task(t).pid, self.slice(t));
        let instructions = std::mem::take(&mut self.rq_mut(cpu).insns_since_pick);
        if self.now_ns >= self.config.warmup_ns {
            self.told.counters.count_decision(instructions);
        }
        self.emit(Some(cpu), EventKind::Pick { pid, slice_ns });
    }

    /// `set_user_nice()`, `sched_setaffinity()`, a move to another cgroup: what changed
    /// takes effect now.
    pub(crate) fn change_settings(&mut self, o: &mut dyn Ops, t: Tid, new: &Settings) {
        let old = std::mem::replace(&mut self.task_mut(t).settings, new.clone());
        if old.migrate_disable && !new.migrate_disable {
            self.migrate_enable(o, t);
        }
        self.above.reserved = self.above.reserved - reserved_by(&old) + reserved_by(new);
        let told = |s: &Settings| {
            let reserved = (s.slice_ns, s.dl_period_ns, s.dl_deadline_ns);
            (s.priority, s.policy, s.weight, reserved, s.util_min, s.util_max)
        };
        if old.policy != new.policy {
            self.task_mut(t).rejected = false;
        }
        if told(&old) != told(new) {
            self.reclass_task(o, t, &old, |system, o| {
                system.publish_priority(t);
                system.set_clamps(t);
                system.reweight_task(o, t);
            });
            self.introduce(t);
        }
        if let Some(name) =
            new.core_cookie.as_ref().filter(|name| old.core_cookie.as_ref() != Some(name))
        {
            self.set_core_cookie(o, t, name);
        }
        if old.cpus != new.cpus {
            self.set_affinity(o, t, new.cpus.as_deref());
        }
        if old.group != new.group {
            self.move_to_cgroup(o, t, new.group.as_deref().unwrap_or("/"));
        }
        let cpu = self.task(t).cpu;
        if (old.work, &old.mem_nodes) != (new.work, &new.mem_nodes) && self.rq(cpu).curr == Some(t)
        {
            self.respeed_core(cpu);
        }
    }

    /// Tells a task's name and weight.
    pub(crate) fn introduce(&mut self, t: Tid) {
        let weight = self.tasks.weight_of(t);
        let task = self.task(t);
        let (pid, name, instance_of) = (task.pid, task.name.clone(), task.instance_of.clone());
        let instance_of = (!self.is_program(t)).then_some(instance_of);
        self.emit(None, EventKind::Task { pid, name, weight, instance_of });
    }

    /// `do_sched_yield()`: the task itself calls `schedule()` next.
    pub(crate) fn yield_task(&mut self, o: &mut dyn Ops, cpu: u32, t: Tid) {
        self.running.this_cpu = cpu;
        let class = self.task(t).class;
        if !class.is_hosted() {
            return self.yield_higher(cpu, t);
        }
        self.hosting(o, class, |system, o| {
            let rq = system.rq(cpu).addr;
            system.pass(o, Place::YieldTaskScx, &[rq]);
            system.for_task(o, t, |system, o| {
                if system.has(Op::Yield) {
                    system.call_task(o, Op::Yield, cpu, t, &[0]);
                } else {
                    system.set_slice(t, 0);
                }
            });
            system.leave(o, Place::YieldTaskScx, &[rq, 0]);
        });
        self.cpus.resched_curr(cpu);
    }

    /// The running task will block at its next `schedule()`, and wake at `at_ns`.
    pub(crate) fn block_until(&mut self, cpu: u32, t: Tid, at_ns: u64) {
        self.block(cpu, t);
        let at_ns = at_ns.saturating_add(self.timer_slack_ns(self.task(t).class.is_hosted()));
        self.expect_timer(cpu, at_ns);
        self.queue.wake_at(at_ns, t.0);
    }

    /// The running task will block at its next `schedule()`, until somebody wakes it.
    pub(crate) fn block(&mut self, cpu: u32, t: Tid) {
        self.set_state(t, State::Blocking);
        self.set_work(t, Work::Block);
        self.cpus.resched_curr(cpu);
    }
}
