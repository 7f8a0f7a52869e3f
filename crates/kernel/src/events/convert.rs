// SPDX-License-Identifier: MIT OR Apache-2.0
//! From records to the event stream that the simulator gives too.
//!
//! What the stream promises holds even where records were lost: a CPU runs one task at a time,
//! a task runs on one CPU at a time, and it is named before it does anything.

use super::calls::Names;
use super::groups::Groups;
use super::raw::{Left, Properties, Record, Was, What};
use super::settings::Settings;
use rota_trace::{Cause, Cost, Event, EventKind, OffCpu, Sink, WakeSource};
use rustc_hash::FxHashMap;
use std::borrow::Cow;

/// Makes events of records, which come in the order of their times.
#[derive(Debug, Default)]
pub(crate) struct Converter {
    /// When the recording began.
    begin_ns: u64,
    tasks: FxHashMap<u32, Task>,
    running: FxHashMap<u32, u32>,
    /// Names of callbacks, by the number that their records have.
    ops: Vec<Cow<'static, str>>,
    calls: Names,
    /// What bytes go through, in the order of their first mention.
    streams: FxHashMap<u64, u64>,
    groups: Groups,
    /// CPUs of the machine.
    cpus: u32,
    repaired: u64,
}

#[derive(Debug, Default)]
struct Task {
    name: String,
    weight: u32,
    /// Named in the stream, with its present name and weight.
    introduced: bool,
    /// How it is set to be scheduled, and what the stream says of that.
    settings: Settings,
    told: Settings,
    state: State,
    last_cpu: Option<u32>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Nothing was seen of it yet.
    #[default]
    Unknown,
    Runnable,
    Running(u32),
    Sleeping,
}

impl Converter {
    /// For a machine with so many CPUs and these cgroups.
    pub(crate) fn new(cpus: u32, groups: Groups) -> Self {
        Self { cpus, groups, ..Self::default() }
    }

    /// Gives a sink what the files of groups say at the end, where that is not what they said before.
    pub(crate) fn look_at_groups(&mut self, time_ns: u64, sink: &mut dyn Sink) {
        let at = At { time_ns: time_ns.saturating_sub(self.begin_ns), cpu: 0 };
        for kind in self.groups.changes() {
            sink.event(&at.nowhere(kind));
        }
    }

    /// The recording begins at `begin_ns` on the records' clock.
    pub(crate) fn begin_at(&mut self, begin_ns: u64) {
        self.begin_ns = begin_ns;
    }

    /// Names another callback; returns its number.
    pub(crate) fn add_op(&mut self, name: Cow<'static, str>) -> u32 {
        self.ops.push(name);
        self.ops.len() as u32 - 1
    }

    /// Switches that did not fit what was known: signs of lost records.
    pub(crate) fn repaired(&self) -> u64 {
        self.repaired
    }

    /// Gives the events of a record to a sink.
    pub(crate) fn convert(&mut self, record: Record, sink: &mut dyn Sink) {
        let Record { time_ns, cpu, what } = record;
        let at = At { time_ns: time_ns.saturating_sub(self.begin_ns), cpu };
        match what {
            What::Task(properties) => self.learn(*properties, at, sink),
            What::Fork { pid, parent } => {
                self.begin_life(pid, at, sink);
                self.tell(pid, at.on_cpu(), EventKind::Fork { pid, parent }, sink);
            }
            What::Exit { pid } => self.tell(pid, at.on_cpu(), EventKind::Exit { pid }, sink),
            What::Wakeup { pid, waker, source } => self.wake(pid, waker, source, at, sink),
            What::Pick { pid, slice_ns } => {
                self.tell(pid, at.on_cpu(), EventKind::Pick { pid, slice_ns }, sink);
            }
            What::Enqueue { pid, flags } => {
                self.tell(pid, at.on_cpu(), EventKind::Enqueue { pid, enq_flags: flags }, sink);
            }
            What::Dispatch { pid, dsq } => {
                self.tell(pid, at.on_cpu(), EventKind::Dispatch { pid, dsq }, sink);
            }
            What::Op { pid, op, ns } => self.op_call(pid, op, ns, at, sink),
            What::Transfer(mut transfer) => {
                // Numbers of the kernel are addresses.
                let next = self.streams.len() as u64 + 1;
                transfer.stream = *self.streams.entry(transfer.stream).or_insert(next);
                self.tell(transfer.pid, at.on_cpu(), EventKind::Transfer(*transfer), sink);
            }
            What::PolicyExit { kind, code, reason } => {
                sink.event(&at.nowhere(EventKind::PolicyExit { kind, code, reason }));
            }
            What::Switch { prev, left, next, new_slice, idles, slice_ns } => {
                self.leave(prev, left, at, sink);
                // After a task that sleeps or has ended nothing else is to be expected.
                if idles && (prev == 0 || matches!(left, Left::Runnable | Left::Spins(_))) {
                    sink.event(&at.event(EventKind::Idle));
                }
                if next != 0 {
                    self.enter(next, at, sink);
                }
                if next != 0 && new_slice {
                    sink.event(&at.event(EventKind::Pick { pid: next, slice_ns }));
                }
            }
        }
    }

    /// An event of a task, after its name.
    fn tell(&mut self, pid: u32, event: At<Option<u32>>, kind: EventKind, sink: &mut dyn Sink) {
        self.introduce(pid, event.time_ns, sink);
        sink.event(&Event { time_ns: event.time_ns, cpu: event.cpu, kind });
    }

    /// Names a task, unless that was done. One whose record was lost is named by its number.
    fn introduce(&mut self, pid: u32, time_ns: u64, sink: &mut dyn Sink) {
        let task = self.tasks.entry(pid).or_default();
        if std::mem::replace(&mut task.introduced, true) {
            return;
        }
        let changes = task.settings.since(&task.told, pid, self.cpus);
        task.told = task.settings.clone();
        if task.name.is_empty() {
            task.name = format!("pid {pid}");
            task.weight = 100;
        }
        let (name, weight) = (task.name.clone(), task.weight);
        sink.event(&Event {
            time_ns,
            cpu: None,
            kind: EventKind::Task { pid, name, weight, instance_of: None },
        });
        for kind in changes {
            sink.event(&Event { time_ns, cpu: None, kind });
        }
    }

    fn learn(&mut self, properties: Properties, at: At<u32>, sink: &mut dyn Sink) {
        let settings = Settings::of(&properties, self.cpus, &mut self.groups);
        for kind in self.groups.changes_of(&settings.group) {
            sink.event(&at.nowhere(kind));
        }
        let Properties { pid, name, weight, kernel_thread, was, .. } = properties;
        let name = if kernel_thread { format!("[{name}]") } else { name };
        let task = self.tasks.entry(pid).or_default();
        let changed = task.name != name || task.weight != weight || task.settings != settings;
        (task.name, task.weight, task.settings) = (name, weight, settings);
        let (known, fresh) = (task.introduced, task.state == State::Unknown);
        if known && changed {
            self.tasks.entry(pid).or_default().introduced = false;
            self.introduce(pid, at.time_ns, sink);
        }
        // What it did at the beginning counts unless something was seen of it before.
        let Some(was) = was.filter(|_| fresh && !known) else { return };
        match was {
            Was::Running => self.enter(pid, at, sink),
            Was::Runnable => self.off_cpu(pid, OffCpu::Runnable, None, at, sink),
            // It may sleep all the time: it is named when it wakes up.
            Was::Sleeping => self.tasks.entry(pid).or_default().state = State::Sleeping,
        }
        self.tasks.entry(pid).or_default().last_cpu = Some(at.cpu);
    }

    /// A number comes into use again if the end of who had it was lost.
    fn begin_life(&mut self, pid: u32, at: At<u32>, sink: &mut dyn Sink) {
        if let State::Running(cpu) = self.tasks.entry(pid).or_default().state {
            self.repaired += 1;
            self.off_cpu(pid, OffCpu::Runnable, Some(cpu), at, sink);
        }
        let task = self.tasks.entry(pid).or_default();
        (task.state, task.last_cpu) = (State::Unknown, None);
    }

    fn wake(
        &mut self,
        pid: u32,
        waker: u32,
        source: Option<WakeSource>,
        at: At<u32>,
        sink: &mut dyn Sink,
    ) {
        let task = self.tasks.entry(pid).or_default();
        if matches!(task.state, State::Unknown | State::Sleeping) {
            task.state = State::Runnable;
            if let Some(source) = source {
                let cause = EventKind::Cause(Cause::Source { pid, source });
                self.tell(pid, at.on_cpu(), cause, sink);
            }
            self.tell(pid, at.on_cpu(), EventKind::Wakeup { pid, waker }, sink);
        }
    }

    fn op_call(&mut self, pid: u32, op: u32, ns: u64, at: At<u32>, sink: &mut dyn Sink) {
        let Some(op) = self.ops.get(op as usize).cloned() else { return };
        let kind = EventKind::OpCall { op, pid, cost: Cost::Nanoseconds(ns) };
        match pid {
            0 => sink.event(&at.event(kind)),
            _ => self.tell(pid, at.on_cpu(), kind, sink),
        }
    }

    /// The task that a CPU switches from leaves it; 0: none.
    fn leave(&mut self, pid: u32, left: Left, at: At<u32>, sink: &mut dyn Sink) {
        if let Some(other) = self.running.get(&at.cpu).copied().filter(|other| *other != pid) {
            self.repaired += 1;
            self.off_cpu(other, OffCpu::Runnable, Some(at.cpu), at, sink);
        }
        if pid == 0 {
            return;
        }
        let state = self.tasks.entry(pid).or_default().state;
        if state != State::Running(at.cpu) {
            // It ran when the recording began; anything else is a loss.
            self.repaired += u64::from(state != State::Unknown);
            self.enter(pid, at, sink);
        }
        let why = match left {
            Left::Runnable => OffCpu::Runnable,
            Left::Spins(call) => {
                let cause = Cause::Spin { pid, call: self.calls.of(Some(call)) };
                self.tell(pid, at.on_cpu(), EventKind::Cause(cause), sink);
                OffCpu::Runnable
            }
            Left::Sleep { call: None, deep: false, .. } => OffCpu::Sleep,
            Left::Sleep { call, deep, until } => {
                let call = self.calls.of(call);
                let cause = Cause::Block { pid, call, uninterruptible: deep, absolute: until };
                self.tell(pid, at.on_cpu(), EventKind::Cause(cause), sink);
                OffCpu::Sleep
            }
            Left::Exit => OffCpu::Exit,
        };
        self.off_cpu(pid, why, Some(at.cpu), at, sink);
    }

    fn off_cpu(
        &mut self,
        pid: u32,
        why: OffCpu,
        cpu: Option<u32>,
        at: At<u32>,
        sink: &mut dyn Sink,
    ) {
        if let Some(cpu) = cpu {
            self.running.remove(&cpu);
        }
        let event = At { time_ns: at.time_ns, cpu };
        self.tell(pid, event, EventKind::SwitchOut { pid, why }, sink);
        let state = match why {
            OffCpu::Runnable => State::Runnable,
            OffCpu::Sleep => State::Sleeping,
            // Its number may come again, for another task.
            OffCpu::Exit => {
                self.tasks.remove(&pid);
                return;
            }
        };
        self.tasks.entry(pid).or_default().state = state;
    }

    /// A task comes onto a CPU, which runs none.
    fn enter(&mut self, pid: u32, at: At<u32>, sink: &mut dyn Sink) {
        if let Some(other) = self.running.get(&at.cpu).copied() {
            self.repaired += 1;
            self.off_cpu(other, OffCpu::Runnable, Some(at.cpu), at, sink);
        }
        self.introduce(pid, at.time_ns, sink);
        let task = self.tasks.entry(pid).or_default();
        if let State::Running(elsewhere) = task.state {
            self.repaired += 1;
            self.off_cpu(pid, OffCpu::Runnable, Some(elsewhere), at, sink);
        }
        let task = self.tasks.entry(pid).or_default();
        let from = task.last_cpu.replace(at.cpu).filter(|from| *from != at.cpu);
        task.state = State::Running(at.cpu);
        if let Some(from) = from {
            sink.event(&at.event(EventKind::Migrate { pid, from, to: at.cpu }));
        }
        sink.event(&at.event(EventKind::SwitchIn { pid }));
        self.running.insert(at.cpu, pid);
    }
}

/// Time since the beginning, and the CPU.
#[derive(Clone, Copy, Debug)]
struct At<C> {
    time_ns: u64,
    cpu: C,
}

impl At<u32> {
    fn on_cpu(self) -> At<Option<u32>> {
        At { time_ns: self.time_ns, cpu: Some(self.cpu) }
    }

    fn event(self, kind: EventKind) -> Event {
        Event { time_ns: self.time_ns, cpu: Some(self.cpu), kind }
    }

    fn nowhere(self, kind: EventKind) -> Event {
        Event { time_ns: self.time_ns, cpu: None, kind }
    }
}

#[cfg(test)]
#[path = "convert_tests.rs"]
mod tests;
