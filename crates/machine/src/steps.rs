// SPDX-License-Identifier: MIT OR Apache-2.0
//! What tasks do: they come, take their steps one after the other, and end.

use crate::consts::*;
use crate::core::Core;
use crate::exit::ExitKind;
use crate::ops::Ops;
use crate::run::{Machine, RunError};
use crate::setup::check_task;
use crate::task::{State, Task, Tid, Work};
use rota_trace::EventKind;
use rota_workload::{Step, TaskIx};
use std::sync::Arc;

impl Machine {
    /// A task starts by itself, the leader of its process before it if both are due now.
    pub(crate) fn start(&mut self, o: &mut dyn Ops, ix: TaskIx) -> Result<(), RunError> {
        for ix in self.runner.thread_of(ix).into_iter().chain([ix]) {
            if !self.tid_of_ix.contains_key(&ix) {
                self.arrive(o, ix, None, 0)?;
                self.core.drain_deferred(o);
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
        check_task(&self.core, None, &name, &settings)?;
        let pid = self.core.tasks.new_pid();
        let identity = self.runner.identity(ix);
        let instance_of = Arc::clone(self.runner.instance_of(ix));
        let tgid = match self.runner.thread_of(ix) {
            Some(leader) => self.process_led_by(leader, &name)?,
            None => pid,
        };
        let core = &mut self.core;
        let mut task =
            Task::new(ix, pid, tgid, name.clone(), instance_of, settings.clone(), identity);
        task.cpu = here;
        task.cpus = core.affinity(settings.cpus.as_deref());
        if let Some(path) = &settings.group {
            task.cgroup = core.cgroups.ensure(&mut core.guest, path);
        }
        let t = core.add_task(task, parent);
        self.tid_of_ix.insert(ix, t);
        core.running.this_cpu = here;
        core.introduce(t);
        let class = core.task(t).class;
        if !class.is_ext() {
            core.emit(None, EventKind::SchedClass { pid, class: class.told() });
        }
        let parent_pid = parent.map_or(0, |p| core.task(p).pid);
        core.emit(Some(here), EventKind::Fork { pid, parent: parent_pid });
        if core.task(t).cpus.len() < core.nr_cpus() {
            core.tell_affinity(t);
        }
        if let Some(share) = settings.share {
            publish_share(core, o, pid, share);
        }
        if core.fork_task(o, t) {
            core.wake_first(o, t, here, parent.is_none());
        }
        Ok(())
    }

    /// The process that a thread called `name` begins in.
    fn process_led_by(&self, leader: TaskIx, name: &str) -> Result<u32, RunError> {
        let found = self.tid_of_ix.get(&leader).map(|l| self.core.task(*l).tgid);
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
        self.core.running.this_cpu = cpu;
        self.core.update_curr(cpu);
        self.advance(o, cpu)?;
        let core = &mut self.core;
        if core.config.exact_slices {
            if let Some(t) = core.rq(cpu).curr {
                if core.task(t).class.is_ext() && core.slice(t) == 0 {
                    core.cpus.resched_curr(cpu);
                }
                core.check_budget(cpu);
            }
        }
        Ok(())
    }

    pub(crate) fn tick(&mut self, o: &mut dyn Ops, cpu: u32) {
        let core = &mut self.core;
        core.rq_mut(cpu).tick_armed = false;
        core.running.this_cpu = cpu;
        core.task_tick(o, cpu);
        core.end_tick(cpu);
        self.arm_tick(cpu);
    }

    /// Lets the current task of a CPU take its next steps until it needs time or leaves.
    pub(crate) fn advance(&mut self, o: &mut dyn Ops, cpu: u32) -> Result<(), RunError> {
        while let Some(t) = self.core.rq(cpu).curr {
            let now_ns = self.core.now_ns;
            match self.core.task(t).work {
                Work::Run { left_ns: 0 } | Work::Next => {}
                Work::Until { at_ns } if at_ns <= now_ns => {}
                _ => break,
            }
            if self.core.hosted.exit.is_some()
                || self.core.rq(cpu).need_resched && self.core.task(t).state != State::Runnable
            {
                break;
            }
            self.core.running.this_cpu = cpu;
            self.core.rq_mut(cpu).fruitless_looks = 0;
            let ix = self.core.task(t).ix;
            let step = match (self.core.task(t).ends, self.core.task(t).makes) {
                (true, _) => Step::Exit,
                (false, Some(child)) => Step::Fork { child },
                (false, None) => self.runner.next(ix, now_ns, &mut self.core.choices),
            };
            self.tell_requests(o, cpu);
            self.lend(o);
            self.core.running.this_cpu = cpu;
            let goes_on = self.take_step(o, cpu, t, step)?;
            self.core.drain_deferred(o);
            self.sockets.sent(&mut self.core, o, cpu);
            if !goes_on {
                break;
            }
        }
        self.arm_tick(cpu);
        Ok(())
    }

    /// One step of a running task: true if it may take another one right away.
    fn take_step(
        &mut self,
        o: &mut dyn Ops,
        cpu: u32,
        t: Tid,
        step: Step,
    ) -> Result<bool, RunError> {
        let core = &mut self.core;
        let now_ns = core.now_ns;
        core.task_mut(t).work = Work::Next;
        match step {
            Step::Run { work_ns } => core.task_mut(t).work = Work::Run { left_ns: work_ns },
            Step::Runtime { ns } => core.task_mut(t).work = Work::Until { at_ns: now_ns + ns },
            Step::Sleep { ns } => core.block_until(cpu, t, now_ns + ns),
            Step::SleepUntil { at_ns } => core.block_until(cpu, t, at_ns.max(now_ns)),
            Step::Yield => core.yield_task(o, cpu, t),
            Step::Fork { child }
                if core.config.costs.fork_ns > 0 && core.task(t).makes.is_none() =>
            {
                let left_ns = core.config.costs.fork_ns;
                let task = core.task_mut(t);
                (task.work, task.makes) = (Work::Run { left_ns }, Some(child));
            }
            Step::Fork { child } => {
                core.task_mut(t).makes = None;
                self.arrive(o, child, Some(t), cpu)?;
                self.core.drain_deferred(o);
                self.core.running.this_cpu = cpu;
                return Ok(!self.core.rq(cpu).need_resched);
            }
            Step::Block => core.block(cpu, t),
            Step::Wake { tasks } => {
                let waker = core.task(t).pid;
                for woken in tasks.iter().filter_map(|ix| self.tid_of_ix.get(ix)) {
                    core.wake_up(o, *woken, cpu, waker);
                    core.drain_deferred(o);
                    core.running.this_cpu = cpu;
                }
                // back in user space, unless somebody it woke takes the CPU
                return Ok(!core.rq(cpu).need_resched);
            }
            Step::Change(settings) => {
                let name = core.task(t).name.clone();
                check_task(core, Some(t), &name, &settings)?;
                if let Some(share) = settings.share {
                    let pid = core.task(t).pid;
                    publish_share(core, o, pid, share);
                }
                core.change_settings(o, t, &settings);
                return Ok(core.rq(cpu).curr == Some(t));
            }
            Step::Exit if core.config.costs.exit_ns > 0 && !core.task(t).ends => {
                let after_ns = core.config.lab().moves_at_exit_ns.unwrap_or(0);
                let left_ns = core.config.costs.exit_ns.saturating_sub(after_ns);
                let task = core.task_mut(t);
                (task.work, task.ends) = (Work::Run { left_ns }, true);
                return Ok(left_ns == 0);
            }
            Step::Exit
                if core.task(t).ends
                    && !core.task(t).moved
                    && core.config.lab().moves_at_exit_ns.is_some() =>
            {
                let left_ns = core.config.lab().moves_at_exit_ns.unwrap_or(0);
                let left_ns = left_ns.min(core.config.costs.exit_ns);
                let task = core.task_mut(t);
                (task.work, task.moved) = (Work::Run { left_ns }, true);
                let addr = core.task(t).addr;
                core.guest.put_u32(addr, core.guest.layouts.task.flags, PF_EXITING);
                core.change_task(o, t, DEQ_SAVE | DEQ_NOCLOCK, |_, _| {});
                core.cpus.resched_curr(cpu);
            }
            Step::Exit => {
                let pid = core.task(t).pid;
                core.set_state(t, State::Exiting);
                core.task_mut(t).work = Work::Block;
                let addr = core.task(t).addr;
                core.guest.put_u32(addr, core.guest.layouts.task.flags, PF_EXITING);
                core.emit(Some(cpu), EventKind::Exit { pid });
                core.cpus.resched_curr(cpu);
            }
            Step::Stuck(what) => return Err(RunError::Stuck(what)),
        }
        Ok(false)
    }
}

fn publish_share(core: &mut Core, o: &mut dyn Ops, pid: u32, share: u64) {
    let cpu = core.running.this_cpu;
    core.emit(Some(cpu), EventKind::Share { pid, share });
    if let Err(fault) = o.set_share(core, pid, share) {
        core.error(ExitKind::Error, format!("rota_shares: {fault}"));
    }
}
