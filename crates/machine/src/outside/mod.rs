// SPDX-License-Identifier: MIT OR Apache-2.0
//! What happens from outside: the section `"events"` of a workload. It happens on the first CPU
//! that is online, between two things that other CPUs do, and takes none of its time.

mod cgroups;
pub(crate) mod hotplug;
pub mod object;
pub(crate) mod signals;
mod tasks;

use crate::class::Class;
use crate::current::Thread;
use crate::event_queue::Due;
use crate::ops::Ops;
use crate::run::{Machine, RunError};
use crate::system::System;
use rota_trace::EventKind;
use rota_workload::events::{
    Action, CgroupAction, ObjectAction, OutsideEvent, ServerOf, TaskSetting, When,
};
use std::sync::Arc;

/// Until a CPU that is still on its way out is looked at again.
const RETRY_NS: u64 = 1000;

/// What an event did that the trace does not show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Happened {
    /// When.
    pub at_ns: u64,
    /// Which event: its place in the file, and its name if it has one.
    pub event: String,
    /// What it does, in short.
    pub action: String,
    /// What came of it.
    pub result: String,
}

impl Machine {
    /// Events that wait for a time; the others follow them.
    pub(crate) fn expect_outside(&mut self) {
        let workload = Arc::clone(self.runner.workload());
        for (event, number) in workload.outside.iter().zip(0..) {
            if event.when == When::At {
                self.system.queue.push(event.at_ns, Due::Outside(number));
            }
        }
    }

    /// An event is due.
    pub(crate) fn outside_due(&mut self, o: &mut dyn Ops, number: u32) -> Result<(), RunError> {
        let workload = Arc::clone(self.runner.workload());
        let event = &workload.outside[number as usize];
        let system = &mut self.system;
        // cpus_write_lock(): a CPU comes back after it has gone
        if matches!(event.action, Action::Cpu(cpu, true) if system.is_leaving(cpu)) {
            system.queue.push(system.now_ns + RETRY_NS, Due::Outside(number));
            return Ok(());
        }
        system.running.this_cpu = system.first_online();
        system.emit(None, EventKind::Outside { what: event.action.to_string() });
        self.act(o, event)?;
        for (after, then) in workload.outside.iter().zip(0..) {
            if let When::After(before, delay_ns) = after.when {
                if before == number {
                    let at_ns = self.system.now_ns.saturating_add(delay_ns);
                    self.system.queue.push(at_ns, Due::Outside(then));
                }
            }
        }
        Ok(())
    }

    fn act(&mut self, o: &mut dyn Ops, event: &OutsideEvent) -> Result<(), RunError> {
        match &event.action {
            Action::Set(tasks, setting) => self.set_tasks(o, event, tasks, setting),
            Action::Signal(tasks, signal) => self.signal(o, event, tasks, *signal)?,
            Action::Cgroup(path, CgroupAction::Scheduler(load)) => {
                let load = match load {
                    true => self.system.attach_sub(o, path)?,
                    false if self.system.detach_sub(o, path) => Ok(()),
                    false => Err("none is attached".into()),
                };
                if let Err(what) = load {
                    self.happened(event, what);
                }
            }
            Action::Cgroup(path, action) => {
                let act = |system: &mut System| system.act_on_cgroup(o, path, action);
                if let Err(what) = self.system.as_outsider(act) {
                    self.happened(event, what);
                }
            }
            Action::Cpu(cpu, online) => {
                let plug = |system: &mut System| system.plug(o, *cpu, *online);
                if let Err(what) = self.system.as_thread(Thread::Hotplug(*cpu), plug) {
                    self.happened(event, what);
                }
            }
            Action::Server(cpu, of, parameter, ns) => {
                let class = match of {
                    ServerOf::Fair => Class::Fair,
                    ServerOf::Ext => Class::Ext,
                };
                if let Err(what) = self.system.write_server(*cpu, class, *parameter, *ns) {
                    self.happened(event, what);
                }
            }
            Action::ReadBandwidth(_) => {
                self.happened(event, format!("is {}", self.system.total_bandwidth()));
            }
            Action::Object(action) => self.act_on_object(o, event, action),
            Action::Load(load) => self.load_scheduler(o, event, *load)?,
        }
        Ok(())
    }

    fn load_scheduler(
        &mut self,
        o: &mut dyn Ops,
        event: &OutsideEvent,
        load: bool,
    ) -> Result<(), RunError> {
        let attached = self.system.hosted.enabled;
        match load {
            true if attached => self.happened(event, "one is attached already (EBUSY)".into()),
            true => self.system.attach(o)?,
            false if attached => self.system.detach(),
            false => self.happened(event, "none is attached".into()),
        }
        Ok(())
    }

    /// Keeps what came of an event.
    pub(crate) fn happened(&mut self, event: &OutsideEvent, result: String) {
        let (at_ns, action) = (self.system.now_ns, event.action.to_string());
        self.outside.push(Happened { at_ns, event: event.label(), action, result });
    }
}

impl System {
    /// Whether the events of a workload fit the machine and the run.
    pub(crate) fn check_outside(&self, event: &OutsideEvent) -> Result<(), RunError> {
        let fail = |what| Err(RunError::Event { event: event.label(), what });
        let (at_ns, end_ns) = (event.at_ns, self.config.duration_ns);
        if at_ns >= end_ns {
            return fail(format!(
                "happens at {} s, but the run ends at {} s",
                seconds(at_ns),
                seconds(end_ns)
            ));
        }
        let cpus: &[u32] = match &event.action {
            Action::Set(_, TaskSetting::Cpus(cpus)) => cpus,
            Action::Cgroup(_, CgroupAction::Cpus(cpus)) => cpus,
            Action::Cpu(cpu, _) | Action::Server(cpu, ..) | Action::ReadBandwidth(cpu) => {
                std::slice::from_ref(cpu)
            }
            Action::Object(ObjectAction::Program { cpu, .. }) => std::slice::from_ref(cpu),
            _ => &[],
        };
        match cpus.iter().find(|cpu| **cpu >= self.nr_cpus()) {
            Some(cpu) => fail(format!(
                "names CPU {cpu}, but the machine has CPUs 0 to {}",
                self.nr_cpus() - 1
            )),
            None => Ok(()),
        }
    }
}

/// Nanoseconds in seconds, without zeros at the end.
fn seconds(ns: u64) -> String {
    let text = format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
