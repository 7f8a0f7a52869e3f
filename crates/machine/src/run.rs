// SPDX-License-Identifier: MIT OR Apache-2.0
//! The event loop: workload, clock and scheduler together.

use crate::consts::*;
use crate::core::Core;
use crate::event_queue::Due;
use crate::exit::{ExitInfo, ExitKind};
use crate::ops::Ops;
use crate::setup::check_task;
use crate::sockets::Sockets;
use crate::stats::Counters;
use crate::task::{State, Task, Tid, Work};
use rota_trace::{Event, EventKind, Sink};
use rota_workload::{Awaits, Deadlock, Runner, Step, TaskIx};
use rustc_hash::FxHashMap;
use thiserror::Error;

/// A run that cannot be set up or goes on for ever through the workload's fault.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum RunError {
    /// The target kernel lacks what is needed, or the simulated one failed its audit.
    #[error("{0}")]
    Kernel(String),
    /// A task asks for what the machine does not have or does not simulate.
    #[error("task \"{task}\": {what}")]
    Task {
        /// Task name.
        task: String,
        /// What it asks for, and what there is.
        what: String,
    },
    /// A task that never uses time.
    #[error("{0}")]
    Stuck(String),
    /// The object cannot be hosted.
    #[error("{0}")]
    Load(String),
}

/// How a run ended.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Why the scheduler left.
    pub exit: ExitInfo,
    /// When: the duration, or earlier if it was ejected.
    pub end_ns: u64,
    /// What the machine counted.
    pub counters: Counters,
    /// Reads of kernel fields that this machine does not fill: type, offset, count.
    pub unfilled_reads: Vec<(String, u32, u64)>,
    /// Lines that the scheduler printed.
    pub printed: Vec<String>,
    /// Tasks that waited for another task when the run ended: name, and what for.
    pub blocked: Vec<(String, Awaits)>,
    /// Those of them that waited for each other, in circles.
    pub deadlocks: Vec<Deadlock>,
}

/// A simulated machine with a workload, ready for a scheduler.
pub struct Machine {
    /// The simulated kernel.
    pub core: Core,
    pub(crate) runner: Runner,
    pub(crate) tid_of_ix: FxHashMap<TaskIx, Tid>,
    /// When the next request of a customer is due, as far as the event queue knows.
    pub(crate) customers_at_ns: u64,
    pub(crate) sockets: Sockets,
}

impl Machine {
    /// Runs the workload under a scheduler until the duration is over or the scheduler
    /// is ejected. Every event goes to `sink`, in order of time.
    pub fn run(&mut self, o: &mut dyn Ops, sink: &mut dyn Sink) -> Result<Outcome, RunError> {
        let end_ns = self.core.config.duration_ns;
        if self.core.enable_scheduler(o) {
            let arrivals: Vec<_> = self.runner.initial().collect();
            for (ix, at_ns) in arrivals {
                self.core.queue.push(at_ns, Due::Arrive(ix.0));
            }
            self.open_for_customers();
            if self.core.config.watchdog {
                let first_look = self.core.watchdog_timeout_ns / 2;
                self.core.queue.push(first_look, Due::Watchdog);
            }
            self.core.expect_interruptions();
            self.core.rq_mut(0).charged_at_ns = self.core.config.start_ns;
            self.main_loop(o, sink, end_ns)?;
        }
        let ejected = self.core.exit.is_some();
        if !ejected {
            self.core.now_ns = end_ns;
        }
        (0..self.core.nr_cpus()).for_each(|cpu| self.core.update_curr(cpu));
        flush(&mut self.core.events, sink);
        let at_ns = self.core.now_ns;
        // what tearing down does is no part of the run
        let exit = self.core.disable_scheduler(o);
        self.core.events.clear();
        if ejected {
            let kind = EventKind::PolicyExit {
                kind: exit.kind as u32,
                code: exit.code,
                reason: exit.to_string(),
            };
            sink.event(&Event { time_ns: at_ns, cpu: exit.cpu, kind });
        }
        Ok(Outcome {
            exit,
            end_ns: at_ns,
            counters: self.core.counters.clone(),
            unfilled_reads: self.core.mem.unfilled_reads(),
            printed: std::mem::take(&mut self.core.printed),
            blocked: self.blocked(),
            deadlocks: self.runner.deadlocks(),
        })
    }

    fn blocked(&self) -> Vec<(String, Awaits)> {
        // a server without customers is not stuck
        let blocked = self.runner.blocked().into_iter().filter(|(_, awaits)| !awaits.is_idle());
        blocked.map(|(ix, awaits)| (self.runner.name(ix).to_owned(), awaits)).collect()
    }

    fn main_loop(
        &mut self,
        o: &mut dyn Ops,
        sink: &mut dyn Sink,
        end_ns: u64,
    ) -> Result<(), RunError> {
        loop {
            self.settle_instant(o, end_ns)?;
            flush(&mut self.core.events, sink);
            if self.core.config.audit && self.core.exit.is_none() {
                self.core.audit().map_err(RunError::Kernel)?;
            }
            match self.core.queue.next_at() {
                Some(at_ns) if at_ns < end_ns && self.core.exit.is_none() => {
                    self.core.now_ns = at_ns
                }
                _ => return Ok(()),
            }
        }
    }

    pub(crate) fn handle(&mut self, o: &mut dyn Ops, due: Due) -> Result<(), RunError> {
        match due {
            Due::Arrive(ix) => self.start(o, TaskIx(ix)),
            Due::Wake(_, t) => {
                let here = self.core.task(Tid(t)).cpu;
                self.core.wake_up(o, Tid(t), here, 0);
                Ok(())
            }
            Due::Customers => {
                self.customers_due(o);
                Ok(())
            }
            Due::Replenish(t, timer) => {
                self.core.replenish_due(Tid(t), timer);
                Ok(())
            }
            Due::Server(cpu, timer) => {
                self.core.server_due(cpu, timer);
                Ok(())
            }
            Due::Stop(cpu, gen) => {
                if self.core.rq(cpu).stop_gen == gen {
                    self.core.rq_mut(cpu).armed_at_ns = u64::MAX;
                    self.stop_due(o, cpu)?;
                }
                Ok(())
            }
            Due::Tick(cpu) => {
                self.tick(o, cpu);
                Ok(())
            }
            Due::Interruption(number) => {
                self.core.interrupt(o, number);
                Ok(())
            }
            Due::Resume(cpu) => {
                self.core.resume(cpu);
                Ok(())
            }
            Due::Look(cpu) => {
                self.core.rq_mut(cpu).looks_later = false;
                self.core.resched_curr(cpu);
                Ok(())
            }
            Due::Ipi(cpu) => {
                self.core.ipi(cpu);
                Ok(())
            }
            Due::Idle(cpu) => {
                self.core.enter_idle(o, cpu);
                Ok(())
            }
            Due::Timer(start) => {
                self.core.timer_due(o, start);
                Ok(())
            }
            Due::Watchdog => {
                self.core.watchdog();
                Ok(())
            }
        }
    }

    /// A task starts by itself, the leader of its process before it if both are due now.
    fn start(&mut self, o: &mut dyn Ops, ix: TaskIx) -> Result<(), RunError> {
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
        let pid = self.core.next_pid;
        self.core.next_pid += 1;
        let identity = self.runner.identity(ix);
        let tgid = match self.runner.thread_of(ix) {
            Some(leader) => self.process_led_by(leader, &name)?,
            None => pid,
        };
        let core = &mut self.core;
        let mut task = Task::new(ix, pid, tgid, name.clone(), settings.clone(), identity);
        task.cpu = here;
        task.cpus = core.affinity(settings.cpus.as_deref());
        if let Some(path) = &settings.group {
            task.cgroup = core.cgroups.ensure(&mut core.mem, &core.layouts, path);
        }
        let t = core.add_task(task, parent);
        self.tid_of_ix.insert(ix, t);
        core.this_cpu = here;
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
    fn stop_due(&mut self, o: &mut dyn Ops, cpu: u32) -> Result<(), RunError> {
        self.core.this_cpu = cpu;
        self.core.update_curr(cpu);
        self.advance(o, cpu)?;
        let core = &mut self.core;
        if core.config.exact_slices {
            if let Some(t) = core.rq(cpu).curr {
                if core.task(t).class.is_ext() && core.slice(t) == 0 {
                    core.resched_curr(cpu);
                }
                core.check_budget(cpu);
            }
        }
        Ok(())
    }

    fn tick(&mut self, o: &mut dyn Ops, cpu: u32) {
        let core = &mut self.core;
        core.rq_mut(cpu).tick_armed = false;
        core.this_cpu = cpu;
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
            if self.core.exit.is_some()
                || self.core.rq(cpu).need_resched && self.core.task(t).state != State::Runnable
            {
                break;
            }
            self.core.this_cpu = cpu;
            self.core.rq_mut(cpu).fruitless_looks = 0;
            let ix = self.core.task(t).ix;
            let step = match (self.core.task(t).ends, self.core.task(t).makes) {
                (true, _) => Step::Exit,
                (false, Some(child)) => Step::Fork { child },
                (false, None) => self.runner.next(ix, now_ns),
            };
            self.tell_requests(o, cpu);
            self.lend(o);
            self.core.this_cpu = cpu;
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
                self.core.this_cpu = cpu;
                return Ok(!self.core.rq(cpu).need_resched);
            }
            Step::Block => core.block(cpu, t),
            Step::Wake { tasks } => {
                let waker = core.task(t).pid;
                for woken in tasks.iter().filter_map(|ix| self.tid_of_ix.get(ix)) {
                    core.wake_up(o, *woken, cpu, waker);
                    core.drain_deferred(o);
                    core.this_cpu = cpu;
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
                let after_ns = core.config.moves_at_exit_ns.unwrap_or(0);
                let left_ns = core.config.costs.exit_ns.saturating_sub(after_ns);
                let task = core.task_mut(t);
                (task.work, task.ends) = (Work::Run { left_ns }, true);
                return Ok(left_ns == 0);
            }
            Step::Exit
                if core.task(t).ends
                    && !core.task(t).moved
                    && core.config.moves_at_exit_ns.is_some() =>
            {
                let left_ns = core.config.moves_at_exit_ns.unwrap_or(0);
                let left_ns = left_ns.min(core.config.costs.exit_ns);
                let task = core.task_mut(t);
                (task.work, task.moved) = (Work::Run { left_ns }, true);
                let addr = core.task(t).addr;
                core.put_u32(addr, core.layouts.task.flags, PF_EXITING);
                core.change_task(o, t, DEQ_SAVE | DEQ_NOCLOCK, |_, _| {});
                core.resched_curr(cpu);
            }
            Step::Exit => {
                let pid = core.task(t).pid;
                core.set_state(t, State::Exiting);
                core.task_mut(t).work = Work::Block;
                let addr = core.task(t).addr;
                core.put_u32(addr, core.layouts.task.flags, PF_EXITING);
                core.emit(Some(cpu), EventKind::Exit { pid });
                core.resched_curr(cpu);
            }
            Step::Stuck(what) => return Err(RunError::Stuck(what)),
        }
        Ok(false)
    }
}

fn publish_share(core: &mut Core, o: &mut dyn Ops, pid: u32, share: u64) {
    let cpu = core.this_cpu;
    core.emit(Some(cpu), EventKind::Share { pid, share });
    if let Err(fault) = o.set_share(core, pid, share) {
        core.error(ExitKind::Error, format!("rota_shares: {fault}"));
    }
}

fn flush(events: &mut Vec<Event>, sink: &mut dyn Sink) {
    for event in events.drain(..) {
        sink.event(&event);
    }
}
