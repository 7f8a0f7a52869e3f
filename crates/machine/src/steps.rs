// SPDX-License-Identifier: MIT OR Apache-2.0
//! What tasks do: they come, take their steps one after the other, and end.

use crate::consts::*;
use crate::ext::weights;
use crate::ops::Ops;
use crate::run::{Machine, RunError};
use crate::setup::check_task;
use crate::system::System;
use crate::task::{State, Task, Tid, Work};
use crate::tracing::Place;
use rota_trace::EventKind;
use rota_workload::{Step, TaskIx};
use std::sync::Arc;

impl Machine {
    /// A task starts by itself, the leader of its process before it if both are due now.
    pub(crate) fn start(&mut self, o: &mut dyn Ops, ix: TaskIx) -> Result<(), RunError> {
        for ix in self.runner.thread_of(ix).into_iter().chain([ix]) {
            if !self.tid_of_ix.contains_key(&ix) {
                self.arrive(o, ix, None, self.system.first_online())?;
                self.system.drain_deferred(o);
            }
        }
        Ok(())
    }

    /// A task of the workload comes into being on the CPU `here` and is woken.
    fn arrive(
        &mut self,
        o: &mut dyn Ops,
        ix: TaskIx,
        parent: Option<Tid>,
        here: u32,
    ) -> Result<(), RunError> {
        let (name, settings) = (self.runner.name(ix).to_string(), self.runner.settings(ix).clone());
        check_task(&self.system, None, &name, &settings)?;
        let pid = self.system.tasks.new_pid();
        let identity = self.runner.identity(ix);
        let instance_of = Arc::clone(self.runner.instance_of(ix));
        let tgid = match self.runner.thread_of(ix) {
            Some(leader) => self.process_led_by(leader, &name)?,
            None => pid,
        };
        let system = &mut self.system;
        let mut task =
            Task::new(ix, pid, tgid, name.clone(), instance_of, settings.clone(), identity);
        task.cpu = here;
        task.timed = self.runner.has_timer(ix);
        if let Some(path) = &settings.group {
            task.cgroup = system.cgroups.ensure(&mut system.guest, path);
        }
        let user = system.affinity(settings.cpus.as_deref());
        task.user_cpus = settings.cpus.is_some().then_some(user);
        task.cpus = user.and(&system.cpuset_cpus_allowed(task.cgroup));
        let t = system.add_task(task, parent);
        system.task_mut(t).class = system.tasks.own_class(t);
        self.tid_of_ix.insert(ix, t);
        system.running.this_cpu = here;
        system.introduce(t);
        let leader = || system.tasks.with_pid(tgid).filter(|leader| *leader != t);
        let creator = parent.or_else(leader);
        system.fork_core_cookie(t, creator);
        let class = system.task(t).class;
        if !class.is_ext() {
            system.emit(None, EventKind::SchedClass { pid, class: class.told() });
        }
        let parent_pid = parent.map_or(0, |p| system.task(p).pid);
        system.emit(Some(here), EventKind::Fork { pid, parent: parent_pid });
        if system.task(t).cpus.len() < system.nr_cpus() {
            system.tell_affinity(t);
        }
        if system.task(t).cgroup != 0 {
            system.tell_cgroup(t);
        }
        if let Some(share) = settings.share {
            publish_share(system, o, pid, share);
        }
        self.tell_first_job(here, ix);
        let system = &mut self.system;
        // where the scheduler is ejected for that, the fair class has the task
        let forked = system.as_parent(t, parent, |system| system.fork_task(o, t));
        if forked || system.other.is_some() {
            system.pass_forked(o, t, parent);
            system.wake_first(o, t, here, parent);
        }
        Ok(())
    }

    /// The process that a thread called `name` begins in.
    fn process_led_by(&self, leader: TaskIx, name: &str) -> Result<u32, RunError> {
        let found = self.tid_of_ix.get(&leader).map(|l| self.system.task(*l).tgid);
        found.ok_or_else(|| RunError::Task {
            task: name.to_owned(),
            what: format!(
                "is forked as a thread of {:?}, which has not started",
                self.runner.name(leader)
            ),
        })
    }

    /// The current task may be done with its step, or its slice may be used up.
    pub(crate) fn stop_due(&mut self, o: &mut dyn Ops, cpu: u32) -> Result<(), RunError> {
        self.system.running.this_cpu = cpu;
        self.system.update_curr(cpu);
        self.advance(o, cpu)?;
        let system = &mut self.system;
        if system.config.exact_slices {
            if let Some(t) = system.rq(cpu).curr {
                if system.task(t).class.is_hosted() && system.slice(t) == 0 {
                    system.cpus.resched_curr(cpu);
                }
                system.check_budget(cpu);
            }
        }
        Ok(())
    }

    pub(crate) fn tick(&mut self, o: &mut dyn Ops, cpu: u32) {
        let system = &mut self.system;
        if system.rq(cpu).tick_due_ns != system.now_ns {
            return;
        }
        system.rq_mut(cpu).tick_armed = false;
        if system.rq(cpu).tick_stopped {
            return self.remote_tick(o, cpu);
        }
        system.running.this_cpu = cpu;
        system.account_tick(cpu, system.config.tick_ns());
        system.pass(o, Place::SchedTick, &[]);
        system.task_tick(o, cpu);
        system.leave(o, Place::SchedTick, &[0]);
        system.end_tick(cpu);
        self.arm_tick(cpu);
    }

    /// Whether a task that is to be rescheduled takes no step before: it sleeps, or the stopper
    /// comes.
    fn is_about_to_leave(&self, cpu: u32, t: Tid) -> bool {
        let stops = !self.system.rq(cpu).stop_work.is_empty();
        self.system.task(t).state != State::Runnable
            || stops && self.system.cpus.resched.contains(cpu)
    }

    /// Whether nothing but work is next, which begins once the CPU has done what it has to do for the
    /// kernel: no instant between the two need be looked at.
    fn computes_next(&self, t: Tid) -> bool {
        let task = self.system.task(t);
        let asks_runner = !task.ends && task.makes.is_none() && task.halt.is_none();
        asks_runner && !self.system.is_program(t) && self.runner.computes_next(task.ix)
    }

    /// Lets the current task of a CPU take its next steps until it needs time or leaves.
    pub(crate) fn advance(&mut self, o: &mut dyn Ops, cpu: u32) -> Result<(), RunError> {
        while let Some(t) = self.system.rq(cpu).curr {
            let now_ns = self.system.now_ns;
            match self.system.task(t).work {
                Work::Run { left: 0 } | Work::Next => {}
                Work::Until { at_ns } if at_ns <= now_ns => {}
                _ => break,
            }
            if self.system.hosted.exit.is_some()
                || self.system.rq(cpu).need_resched && self.is_about_to_leave(cpu, t)
            {
                break;
            }
            let rq = self.system.rq(cpu);
            if rq.debt > 0 && !rq.in_call && !self.computes_next(t) {
                self.system.set_work(t, Work::run(0));
                break;
            }
            self.system.running.this_cpu = cpu;
            self.system.rq_mut(cpu).fruitless_looks = 0;
            if self.system.task(t).halt.is_some() {
                if self.system.heed_halt(cpu, t) {
                    continue;
                }
                break;
            }
            // what its phase begins with
            if self.system.task(t).settings.migrate_disable {
                self.system.migrate_disable(t);
            }
            let ix = self.system.task(t).ix;
            let step = match (self.system.task(t).ends, self.system.task(t).makes) {
                (true, _) => Step::Exit,
                (false, Some(child)) => Step::Fork { child },
                (false, None) if self.system.is_program(t) => self.system.program_step(o)?,
                (false, None) => self.runner.next(ix, now_ns, &mut self.system.choices),
            };
            if self.system.rq(cpu).in_call && !self.runner.is_in_call(ix) {
                self.end_call(cpu);
            }
            self.tell_requests(o, cpu);
            self.tell_news(cpu);
            self.lend(o);
            self.system.running.this_cpu = cpu;
            let goes_on = self.take_step(o, cpu, t, step)?;
            self.system.drain_deferred(o);
            self.sockets.sent(&mut self.system, o, cpu);
            if !goes_on {
                break;
            }
        }
        self.arm_tick(cpu);
        Ok(())
    }

    /// The current task of a CPU sleeps, or comes back from a system call, where it can be preempted.
    fn end_call(&mut self, cpu: u32) {
        self.system.rq_mut(cpu).in_call = false;
        if self.system.rq(cpu).need_resched {
            self.system.cpus.resched.insert(cpu);
        }
    }

    /// The current task of a CPU wakes others up.
    fn wake_all(&mut self, o: &mut dyn Ops, cpu: u32, woken: &[TaskIx], waker: u32, flags: u64) {
        for woken in woken.iter().filter_map(|ix| self.tid_of_ix.get(ix)) {
            self.system.wake_up(o, *woken, cpu, waker, flags);
            self.system.drain_deferred(o);
            self.system.running.this_cpu = cpu;
        }
    }

    /// One step of a running task: true if it may take another one right away.
    fn take_step(
        &mut self,
        o: &mut dyn Ops,
        cpu: u32,
        t: Tid,
        step: Step,
    ) -> Result<bool, RunError> {
        let system = &mut self.system;
        let now_ns = system.now_ns;
        system.set_work(t, Work::Next);
        match step {
            Step::Run { work_ns } => system.set_work(t, Work::run(work_ns)),
            Step::Runtime { ns } => system.set_work(t, Work::Until { at_ns: now_ns + ns }),
            Step::Sleep { ns } => system.block_until(cpu, t, now_ns + ns),
            Step::SleepUntil { at_ns } => system.block_until(cpu, t, at_ns.max(now_ns)),
            Step::Yield => system.yield_task(o, cpu, t),
            Step::Fork { child }
                if system.config.costs.fork_ns > 0 && system.task(t).makes.is_none() =>
            {
                let left_ns = system.config.costs.fork_ns;
                system.set_work(t, Work::run(left_ns));
                system.task_mut(t).makes = Some(child);
            }
            Step::Fork { child } => {
                system.task_mut(t).makes = None;
                self.arrive(o, child, Some(t), cpu)?;
                self.system.drain_deferred(o);
                self.system.running.this_cpu = cpu;
                let in_call = self.runner.is_in_call(self.system.task(t).ix);
                self.system.rq_mut(cpu).in_call = in_call;
                return Ok(in_call || !self.system.rq(cpu).need_resched);
            }
            Step::Block => system.block(cpu, t),
            Step::Wake { tasks, sync } => {
                let waker = system.task(t).pid;
                let flags = if sync { WAKE_SYNC } else { 0 };
                self.wake_all(o, cpu, &tasks, waker, flags);
                let system = &mut self.system;
                // back in user space, unless somebody it woke takes the CPU
                return Ok(!system.rq(cpu).need_resched);
            }
            Step::Change(settings) => {
                let name = system.task(t).name.clone();
                let settings = system.settings_of_phase(t, *settings);
                check_task(system, Some(t), &name, &settings)?;
                system.check_pinned(t, &name, &settings)?;
                if let Some(share) = settings.share {
                    let pid = system.task(t).pid;
                    publish_share(system, o, pid, share);
                }
                system.change_settings(o, t, &settings);
                // until the stopper has moved it
                return Ok(system.rq(cpu).curr == Some(t) && system.rq(cpu).stop_work.is_empty());
            }
            Step::Exit if system.config.costs.exit_ns > 0 && !system.task(t).ends => {
                let after_ns = system.config.lab().moves_at_exit_ns.unwrap_or(0);
                let left_ns = system.config.costs.exit_ns.saturating_sub(after_ns);
                system.set_work(t, Work::run(left_ns));
                system.task_mut(t).ends = true;
                return Ok(left_ns == 0);
            }
            Step::Exit
                if system.task(t).ends
                    && !system.task(t).moved
                    && system.config.lab().moves_at_exit_ns.is_some() =>
            {
                let left_ns = system.config.lab().moves_at_exit_ns.unwrap_or(0);
                let left_ns = left_ns.min(system.config.costs.exit_ns);
                system.set_work(t, Work::run(left_ns));
                system.task_mut(t).moved = true;
                let addr = system.task(t).addr;
                system.set_exiting(addr);
                // sched_autogroup_exit_task()
                let flags = DEQ_SAVE | DEQ_MOVE | DEQ_NOCLOCK;
                system.change_task(o, t, flags, |_, _| {});
                system.cpus.resched_curr(cpu);
            }
            Step::Exit => {
                let pid = system.task(t).pid;
                let addr = system.task(t).addr;
                system.migrate_enable(o, t);
                system.pass(o, Place::DoExit, &[0]);
                system.set_exiting(addr);
                system.pass_exit(o, t);
                // exit_notify(): it goes on to its end, whoever wakes up
                let woken = self.runner.leave(system.task(t).ix);
                self.wake_all(o, cpu, &woken, pid, 0);
                let system = &mut self.system;
                system.set_state(t, State::Exiting);
                system.set_work(t, Work::Block);
                system.emit(Some(cpu), EventKind::Exit { pid });
                system.close_program(cpu, t);
                system.cpus.resched_curr(cpu);
            }
            Step::Stuck(what) => return Err(RunError::Stuck(what)),
        }
        Ok(false)
    }
}

fn publish_share(system: &mut System, o: &mut dyn Ops, pid: u32, share: u64) {
    let cpu = system.running.this_cpu;
    system.emit(Some(cpu), EventKind::Share { pid, share });
    if let Some(t) = system.tasks.with_pid(pid) {
        weights::publish_share(system, o, t, share);
    }
}
