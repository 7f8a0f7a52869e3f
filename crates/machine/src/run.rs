// SPDX-License-Identifier: MIT OR Apache-2.0
//! The event loop: workload, clock and scheduler together.

use crate::class::Class;
use crate::event_queue::Due;
use crate::exit::ExitInfo;
use crate::ops::Ops;
pub use crate::outcome::{Outcome, ProgramExit, RunError, SchedulerExit};
use crate::outside::Happened;
use crate::sockets::Sockets;
use crate::system::System;
use crate::task::{State, Tid};
use rota_choice::Choices;
use rota_trace::{Event, EventKind, Sink};
use rota_workload::events::{Action, CgroupAction, OutsideEvent};
use rota_workload::{Awaits, Runner, TaskIx};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// A simulated machine with a workload, ready for a scheduler.
pub struct Machine {
    /// The simulated kernel.
    pub system: System,
    pub(crate) runner: Runner,
    pub(crate) tid_of_ix: FxHashMap<TaskIx, Tid>,
    /// When the next request of a customer is due, as far as the event queue knows.
    pub(crate) customers_at_ns: u64,
    pub(crate) sockets: Sockets,
    /// What came of events from outside.
    pub(crate) outside: Vec<Happened>,
}

/// How the main loop came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    /// The time is over, or nothing is left to happen.
    AtTime,
    /// All tasks have ended, and the workload wants no more.
    WithTasks,
    /// Whoever watches has seen enough.
    Cut,
}

impl Machine {
    /// Runs the workload under a scheduler until the duration is over, the scheduler is ejected,
    /// or the sink has enough. Every event goes to `sink`, in order of time.
    pub fn run(&mut self, o: &mut dyn Ops, sink: &mut dyn Sink) -> Result<Outcome, RunError> {
        let outcome = self.run_through(o, sink);
        // Choices that do not fit explain whatever else went wrong.
        if let Some(error) = self.system.choices.error() {
            return Err(error.clone().into());
        }
        let outcome = outcome?;
        // A run that was cut short has not made all choices of a recording.
        if !outcome.is_cut {
            self.system.choices.end()?;
        }
        Ok(outcome)
    }

    /// The choices of this machine: whoever recorded them can take the recording.
    pub fn choices(&mut self) -> &mut Choices {
        &mut self.system.choices
    }

    fn run_through(&mut self, o: &mut dyn Ops, sink: &mut dyn Sink) -> Result<Outcome, RunError> {
        let end_ns = self.system.config.duration_ns;
        self.check_objects(o)?;
        let mut ended = Ended::AtTime;
        if self.begin(o)? {
            let arrivals: Vec<_> = self.runner.initial().collect();
            for (ix, at_ns) in arrivals {
                self.system.queue.push(at_ns, Due::Arrive(ix.0));
            }
            self.open_for_customers();
            self.expect_outside();
            self.system.expect_interruptions();
            let start_ns = self.system.config.lab().start_ns;
            let first = self.system.rq_mut(0);
            (first.charged_at_ns, first.progressed_at_ns) = (start_ns, start_ns);
            self.system.begin_models();
            ended = self.main_loop(o, sink, end_ns)?;
        }
        if self.system.other.is_some() {
            return Ok(self.end_with_fair(o, sink, end_ns, ended));
        }
        let ejected = self.system.hosted.exit.is_some();
        if !ejected && ended == Ended::AtTime {
            self.system.now_ns = end_ns;
        }
        self.system.end_work();
        flush(&mut self.system.told.events, sink);
        let at_ns = self.system.now_ns;
        // what tearing down does is no part of the run
        let exit = self.system.disable_scheduler(o);
        self.system.told.events.clear();
        if ejected {
            let kind = EventKind::PolicyExit {
                kind: exit.kind as u32,
                code: exit.code,
                reason: exit.to_string(),
            };
            sink.event(&Event { time_ns: at_ns, cpu: exit.cpu, kind });
            self.let_program_end(o);
        }
        Ok(self.outcome(exit, ended == Ended::Cut && !ejected))
    }

    /// The first scheduler is attached; whether the run begins.
    fn begin(&mut self, o: &mut dyn Ops) -> Result<bool, RunError> {
        let system = &mut self.system;
        (1..system.cgroups.len()).for_each(|at| system.tell_cgroup_set(at));
        if system.other.is_none() {
            let loads = |event: &&OutsideEvent| matches!(event.action, Action::Load(_));
            if let Some(event) = self.runner.workload().outside.iter().find(loads) {
                let what = "needs a machine with a fair class".into();
                return Err(RunError::Event { event: event.label(), what });
            }
            let begins = system.enable_scheduler(o);
            if begins {
                system.expect_watchdog();
                self.write_group_files(o);
                self.attach_subs(o)?;
                self.system.resume_program(o);
            }
            return Ok(begins);
        }
        system.begin_fair(o)?;
        system.adopt_program(o);
        for (at_ns, loads) in system.config.lifecycle.clone() {
            if at_ns == 0 && loads && !system.hosted.enabled {
                system.attach(o)?;
                if system.hosted.exit.is_some() {
                    system.retire(o);
                }
            } else {
                system.queue.push(at_ns, if loads { Due::Load } else { Due::Unload });
            }
        }
        self.write_group_files(o);
        self.attach_subs(o)?;
        Ok(true)
    }

    /// Sub-schedulers that no event attaches are there from the beginning.
    fn attach_subs(&mut self, o: &mut dyn Ops) -> Result<(), RunError> {
        let known =
            self.system.subs.candidates.iter().map(|candidate| Arc::clone(&candidate.cgroup));
        let known: Vec<Arc<str>> = known.collect();
        let workload = Arc::clone(self.runner.workload());
        for event in &workload.outside {
            if let Action::Cgroup(path, CgroupAction::Scheduler(true)) = &event.action {
                if !known.contains(path) {
                    let what = "no scheduler is given for it (--sub)".into();
                    return Err(RunError::Event { event: event.label(), what });
                }
            }
        }
        for path in known {
            let loads = |event: &OutsideEvent| {
                event.action == Action::Cgroup(Arc::clone(&path), CgroupAction::Scheduler(true))
            };
            if workload.outside.iter().any(loads) {
                continue;
            }
            if let Err(result) = self.system.attach_sub(o, &path)? {
                let action = CgroupAction::Scheduler(true).to_string();
                let event = format!("sub-scheduler of {path}");
                self.outside.push(Happened { at_ns: self.system.now_ns, event, action, result });
            }
        }
        Ok(())
    }

    /// The end of a run in which schedulers came and went: the exit is that of the first one that
    /// was ejected, else of the last one.
    fn end_with_fair(
        &mut self,
        o: &mut dyn Ops,
        sink: &mut dyn Sink,
        end_ns: u64,
        ended: Ended,
    ) -> Outcome {
        let system = &mut self.system;
        if ended == Ended::AtTime {
            system.now_ns = end_ns;
        }
        system.end_work();
        flush(&mut system.told.events, sink);
        if system.hosted.enabled {
            let exit = system.disable_scheduler(o);
            system.told.events.clear();
            system.note_exit(exit);
        }
        let exits = &system.told.exits;
        let ejected = exits.iter().find(|gone| gone.exit.kind.is_error());
        let exit = ejected.or(exits.last()).map_or_else(ExitInfo::none, |gone| gone.exit.clone());
        self.outcome(exit, ended == Ended::Cut)
    }

    fn outcome(&mut self, exit: ExitInfo, is_cut: bool) -> Outcome {
        Outcome {
            exit,
            exits: std::mem::take(&mut self.system.told.exits),
            end_ns: self.system.now_ns,
            is_cut,
            counters: self.system.told.counters.clone(),
            unfilled_reads: self.system.guest.mem.unfilled_reads(),
            printed: std::mem::take(&mut self.system.told.printed),
            blocked: self.blocked(),
            deadlocks: self.runner.deadlocks(),
            outside: std::mem::take(&mut self.outside),
            program: self.system.program_exit(),
            sub_exits: std::mem::take(&mut self.system.subs.exits),
        }
    }

    fn blocked(&self) -> Vec<(String, Awaits)> {
        // a server without customers is not stuck
        let blocked = self.runner.blocked().into_iter().filter(|(_, awaits)| !awaits.is_idle());
        blocked.map(|(ix, awaits)| (self.runner.name(ix).to_owned(), awaits)).collect()
    }

    /// Whether all tasks are gone that the run ends with.
    fn is_done(&self) -> bool {
        if !self.runner.is_done() {
            return false;
        }
        let mut tasks = self.tid_of_ix.iter().filter(|(ix, _)| !self.runner.accompanies(**ix));
        tasks.all(|(_, t)| self.system.task(*t).state == State::Dead)
    }

    fn main_loop(
        &mut self,
        o: &mut dyn Ops,
        sink: &mut dyn Sink,
        end_ns: u64,
    ) -> Result<Ended, RunError> {
        loop {
            self.settle_instant(o, end_ns)?;
            if self.system.has_failed_sub() {
                self.system.retire_subs(o);
                self.system.drain_deferred(o);
                if self.system.hosted.exit.is_none() {
                    continue;
                }
            }
            if self.system.other.is_some() {
                self.system.check_fair()?;
                if self.system.hosted.exit.is_some() {
                    // what is due at this instant goes on under the fair class
                    self.system.retire(o);
                    self.system.drain_deferred(o);
                    continue;
                }
            }
            flush(&mut self.system.told.events, sink);
            if self.system.config.audit && self.system.hosted.exit.is_none() {
                self.system.audit().map_err(RunError::Kernel)?;
            }
            if self.is_done() {
                return Ok(Ended::WithTasks);
            }
            match self.system.queue.next_at() {
                Some(at_ns) if at_ns < end_ns && self.system.goes_on() => {
                    if sink.has_enough() {
                        return Ok(Ended::Cut);
                    }
                    self.system.now_ns = at_ns;
                    if self.system.queue.due_tick(at_ns).is_some() {
                        self.quiet_ticks(end_ns);
                    }
                }
                _ => return Ok(Ended::AtTime),
            }
        }
    }

    #[inline]
    pub(crate) fn handle(&mut self, o: &mut dyn Ops, due: Due) -> Result<(), RunError> {
        match due {
            Due::Stop(cpu) => self.stop_armed(o, cpu),
            other => self.handle_other(o, other),
        }
    }

    #[inline]
    fn stop_armed(&mut self, o: &mut dyn Ops, cpu: u32) -> Result<(), RunError> {
        self.system.rq_mut(cpu).armed_at_ns = u64::MAX;
        self.stop_due(o, cpu)
    }

    /// Most of it is rare, and stays out of the main loop.
    #[inline(never)]
    fn handle_other(&mut self, o: &mut dyn Ops, due: Due) -> Result<(), RunError> {
        match due {
            Due::Arrive(ix) => self.start(o, TaskIx(ix)),
            Due::Wake(_, t) => {
                if let Some(here) = self.system.wakes_on(Tid(t)) {
                    self.system.wake_up(o, Tid(t), here, 0, 0);
                }
                Ok(())
            }
            Due::Customers => {
                self.customers_due(o);
                Ok(())
            }
            Due::Outside(number) => self.outside_due(o, number),
            Due::Replenish(t, timer) => {
                self.system.replenish_due(o, Tid(t), timer);
                Ok(())
            }
            Due::Server(cpu, timer) => {
                self.system.server_due(cpu, Class::Ext, timer);
                Ok(())
            }
            Due::FairServer(cpu, timer) => {
                self.system.server_due(cpu, Class::Fair, timer);
                Ok(())
            }
            Due::Clock(domain, generation) => {
                self.system.clock_due(domain, generation);
                Ok(())
            }
            Due::Stop(cpu) => self.stop_armed(o, cpu),
            Due::Tick(cpu) => {
                self.tick(o, cpu);
                Ok(())
            }
            Due::Interruption(number) => {
                self.system.interrupt(o, number);
                Ok(())
            }
            Due::Resume(cpu) => {
                self.system.resume(cpu);
                Ok(())
            }
            Due::Look(cpu) => {
                self.system.rq_mut(cpu).looks_later = false;
                self.system.cpus.resched_curr(cpu);
                Ok(())
            }
            Due::Ipi(cpu) => {
                self.system.ipi(cpu);
                Ok(())
            }
            Due::Idle(cpu) => {
                self.system.enter_idle(o, cpu);
                Ok(())
            }
            Due::Timer(start) => {
                self.system.timer_due(o, start);
                Ok(())
            }
            Due::Watchdog => {
                self.system.watchdog();
                Ok(())
            }
            Due::Measured => {
                self.system.tell_all_work();
                Ok(())
            }
            Due::Load => self.system.attach(o),
            Due::Unload => {
                self.system.detach();
                Ok(())
            }
        }
    }
}

impl System {
    /// The end of the run, in the middle of what tasks do.
    fn end_work(&mut self) {
        for cpu in 0..self.nr_cpus() {
            self.update_curr(cpu);
        }
        self.tell_all_work();
    }

    fn goes_on(&self) -> bool {
        self.hosted.exit.is_none() && self.choices.error().is_none()
    }
}

fn flush(events: &mut Vec<Event>, sink: &mut dyn Sink) {
    for event in events.drain(..) {
        sink.event(&event);
    }
}
