// SPDX-License-Identifier: MIT OR Apache-2.0
//! The scheduler core around sched_ext: `schedule()`, wakeups, property changes
//! (`kernel/sched/core.c`, `syscalls.c`).

use crate::class::reserved_by;
use crate::consts::*;
use crate::cpuset::CpuSet;
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

    /// `try_to_wake_up()`, run on the CPU `here`.
    pub(crate) fn wake_up(&mut self, o: &mut dyn Ops, t: Tid, here: u32, waker: u32) {
        match &mut self.task_mut(t).halt {
            Some(halt) => halt.note_wakeup(),
            None => self.wake_up_now(o, t, here, waker),
        }
    }

    /// As [`System::wake_up`], whether it is stopped or not.
    pub(crate) fn wake_up_now(&mut self, o: &mut dyn Ops, t: Tid, here: u32, waker: u32) {
        match self.task(t).state {
            State::Sleeping => {}
            State::Blocking => {
                // woken before it got to schedule(): it simply goes on
                self.pass_waking(o, t, here);
                self.set_state(t, State::Runnable);
                self.task_mut(t).work = Work::Next;
                self.pass_woken_awake(o, t, here);
                return self.leave_forbidden_cpu(o, t);
            }
            _ => return,
        }
        self.running.this_cpu = here;
        self.update_curr(here);
        self.pass_waking(o, t, here);
        self.set_state(t, State::Runnable);
        self.task_mut(t).work = Work::Next;
        let pid = self.task(t).pid;
        self.emit(Some(here), EventKind::Wakeup { pid, waker });
        self.charge_overhead(here, self.config.costs.wakeup_ns);
        let old = self.task(t).cpu;
        let (cpu, selected) = self.select_any(o, t, WAKE_TTWU);
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
        self.leave_wake_up(o, t);
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
            self.wake_up(o, t, here, 0);
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

    /// Time that a CPU spends for the machine while a task is on it.
    pub(crate) fn charge_overhead(&mut self, cpu: u32, ns: u64) {
        if self.rq(cpu).curr.is_some() {
            self.rq_mut(cpu).debt_ns += ns;
        }
    }

    /// `__schedule()`, up to and with `pick_next_task()`.
    pub(crate) fn pick_next(&mut self, o: &mut dyn Ops, cpu: u32) -> Picked {
        self.running.this_cpu = cpu;
        self.update_curr(cpu);
        let (rq_addr, now_ns) = (self.rq(cpu).addr, self.clock_ns());
        self.guest.put_u64(rq_addr, self.guest.layouts.rq.clock, now_ns);
        self.guest.put_u64(rq_addr, self.guest.layouts.rq.clock_task, now_ns);
        // update_rq_clock_pelt(), of a CPU with full capacity
        self.guest.put_u64(rq_addr, self.guest.layouts.rq.clock_pelt, now_ns);
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
        self.rq_mut(cpu).need_resched = false;
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
            _ if stops => {
                self.switch_to_stopper(o, cpu, prev, why);
                self.run_stopper(o, cpu);
            }
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
            self.set_state(p, State::Dead);
            self.task_dead(o, p);
        }
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
        let (addr, idle) = (rq.addr, rq.idle_addr);
        let curr = next.map_or(idle, |n| self.task(n).addr);
        self.guest.put_u64(addr, self.guest.layouts.rq.curr, curr);
        if self.watches(Place::SchedSwitch) {
            let left = self.on_cpu_addr(cpu, prev, stopper);
            self.pass_switch(o, cpu, left, curr);
        }
        if let Some(n) = next {
            self.enter_cpu(cpu, n, prev.is_none() && !stopper);
        } else {
            self.rq_mut(cpu).debt_ns = 0;
        }
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
        self.emit(Some(cpu), EventKind::SwitchOut { pid, why });
    }

    fn enter_cpu(&mut self, cpu: u32, n: Tid, from_idle: bool) {
        let (pid, addr) = (self.task(n).pid, self.task(n).addr);
        let mut overhead_ns = self.config.costs.context_switch_ns;
        if from_idle {
            overhead_ns += self.config.costs.idle_exit_ns;
        }
        if let Some(from) = self.task(n).last_cpu.filter(|c| *c != cpu) {
            let same_llc = self.config.topology.llc_of(from) == self.config.topology.llc_of(cpu);
            let costs = &self.config.costs;
            overhead_ns += if same_llc { costs.migration_ns } else { costs.llc_migration_ns };
            self.emit(Some(cpu), EventKind::Migrate { pid, from, to: cpu });
        }
        self.task_mut(n).last_cpu = Some(cpu);
        self.rq_mut(cpu).debt_ns += overhead_ns;
        self.guest.put_u32(addr, self.guest.layouts.task.on_cpu, 1);
        if self.task(n).state != State::Runnable {
            self.cpus.resched_curr(cpu);
        }
        self.emit(Some(cpu), EventKind::SwitchIn { pid });
    }

    /// A CPU starts a slice: one decision.
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
            (s.priority, s.policy, s.weight, reserved)
        };
        if old.policy != new.policy {
            self.task_mut(t).rejected = false;
        }
        if told(&old) != told(new) {
            self.reclass_task(o, t, &old, |system, o| {
                system.publish_priority(t);
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
    }

    /// Tells a task's name and weight.
    pub(crate) fn introduce(&mut self, t: Tid) {
        let weight = self.tasks.weight_of(t);
        let task = self.task(t);
        let (pid, name, instance_of) = (task.pid, task.name.clone(), task.instance_of.clone());
        self.emit(None, EventKind::Task { pid, name, weight, instance_of: Some(instance_of) });
    }

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
    fn set_affinity(&mut self, o: &mut dyn Ops, t: Tid, cpus: Option<&[u32]>) {
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
        self.queue.wake_at(at_ns, t.0);
    }

    /// The running task will block at its next `schedule()`, until somebody wakes it.
    pub(crate) fn block(&mut self, cpu: u32, t: Tid) {
        self.set_state(t, State::Blocking);
        self.task_mut(t).work = Work::Block;
        self.cpus.resched_curr(cpu);
    }
}
