// SPDX-License-Identifier: MIT OR Apache-2.0
//! What tasks are and do at a point of an event stream, so that the stream can begin there.

use rota_trace::{Event, EventKind, OffCpu, Setting, Sink};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::mem::{discriminant, Discriminant};

/// The state of all tasks.
#[derive(Clone, Debug, Default)]
pub(crate) struct States {
    tasks: FxHashMap<u32, State>,
    /// The last that was said of each group.
    groups: BTreeMap<String, EventKind>,
}

#[derive(Clone, Debug, Default)]
struct State {
    /// The last of each kind of event that says what the task is, its name first.
    said: Vec<EventKind>,
    does: Does,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Does {
    /// It sleeps, or nothing was seen of it yet.
    #[default]
    Nothing,
    Waits,
    Runs(u32),
}

impl States {
    /// Goes past an event.
    pub(crate) fn pass(&mut self, event: &Event) {
        match &event.kind {
            EventKind::Wakeup { pid, .. } => self.task(*pid).does = Does::Waits,
            EventKind::SwitchIn { pid } => {
                self.task(*pid).does = event.cpu.map_or(Does::Waits, Does::Runs);
            }
            EventKind::SwitchOut { pid, why: OffCpu::Runnable } => {
                self.task(*pid).does = Does::Waits
            }
            EventKind::SwitchOut { pid, why: OffCpu::Sleep } => {
                self.task(*pid).does = Does::Nothing;
            }
            EventKind::SwitchOut { pid, why: OffCpu::Exit } => {
                self.tasks.remove(pid);
            }
            EventKind::CgroupSet { path, .. } => {
                self.groups.insert(path.to_string(), event.kind.clone());
            }
            kind => {
                if let Some(pid) = described(kind) {
                    self.task(pid).say(kind.clone());
                }
            }
        }
    }

    /// Tells a sink, as of time 0, what there is: groups, tasks that run, tasks that wait.
    pub(crate) fn begin(&mut self, sink: &mut dyn Sink) {
        let tell = |sink: &mut dyn Sink, cpu, kind| sink.event(&Event { time_ns: 0, cpu, kind });
        for kind in std::mem::take(&mut self.groups).into_values() {
            tell(sink, None, kind);
        }
        let busy = self.tasks.iter().filter(|(_, state)| state.does != Does::Nothing);
        let busy: BTreeSet<u32> = busy.map(|(pid, _)| *pid).collect();
        for pid in busy {
            let Some(state) = self.tasks.remove(&pid) else { continue };
            state.said.into_iter().for_each(|kind| tell(sink, None, kind));
            match state.does {
                Does::Runs(cpu) => tell(sink, Some(cpu), EventKind::SwitchIn { pid }),
                _ => tell(sink, None, EventKind::SwitchOut { pid, why: OffCpu::Runnable }),
            }
        }
    }

    /// Introduces a task that slept so far, just before its first event.
    pub(crate) fn introduce(&mut self, pid: u32, time_ns: u64, sink: &mut dyn Sink) {
        let said = self.tasks.remove(&pid).map(|state| state.said);
        for kind in said.into_iter().flatten() {
            sink.event(&Event { time_ns, cpu: None, kind });
        }
    }

    fn task(&mut self, pid: u32) -> &mut State {
        self.tasks.entry(pid).or_default()
    }
}

impl State {
    fn say(&mut self, kind: EventKind) {
        let is = subject_matter(&kind);
        match self.said.iter_mut().find(|said| subject_matter(said) == is) {
            Some(said) => *said = kind,
            None => self.said.push(kind),
        }
    }
}

/// What an event says something about.
fn subject_matter(kind: &EventKind) -> (Discriminant<EventKind>, Option<Discriminant<Setting>>) {
    let setting = match kind {
        EventKind::Setting(setting) => Some(discriminant(setting)),
        _ => None,
    };
    (discriminant(kind), setting)
}

/// The task of an event that says what a task is, rather than what it does.
fn described(kind: &EventKind) -> Option<u32> {
    match kind {
        EventKind::Task { pid, .. }
        | EventKind::Program { pid }
        | EventKind::SchedClass { pid, .. }
        | EventKind::Share { pid, .. }
        | EventKind::Affinity { pid, .. }
        | EventKind::Cgroup { pid, .. }
        | EventKind::CoreCookie { pid, .. } => Some(*pid),
        EventKind::Setting(setting) => Some(setting.pid()),
        EventKind::CgroupSet { .. }
        | EventKind::Fork { .. }
        | EventKind::Exit { .. }
        | EventKind::Wakeup { .. }
        | EventKind::Cause(_)
        | EventKind::Transfer(_)
        | EventKind::Enqueue { .. }
        | EventKind::Dispatch { .. }
        | EventKind::Pick { .. }
        | EventKind::SwitchIn { .. }
        | EventKind::SwitchOut { .. }
        | EventKind::Work { .. }
        | EventKind::Idle
        | EventKind::Migrate { .. }
        | EventKind::OpCall { .. }
        | EventKind::Throttle { .. }
        | EventKind::Plug { .. }
        | EventKind::Lock(_)
        | EventKind::Job(_)
        | EventKind::Request(_)
        | EventKind::ForcedIdle { .. }
        | EventKind::Outside { .. }
        | EventKind::PolicyExit { .. } => None,
    }
}

/// The task that an event is about, as far as kernels tell such events.
pub(crate) fn subject(kind: &EventKind) -> Option<u32> {
    match kind {
        EventKind::Fork { pid, .. }
        | EventKind::Exit { pid }
        | EventKind::Wakeup { pid, .. }
        | EventKind::Enqueue { pid, .. }
        | EventKind::Dispatch { pid, .. }
        | EventKind::Pick { pid, .. }
        | EventKind::SwitchIn { pid }
        | EventKind::SwitchOut { pid, .. }
        | EventKind::Migrate { pid, .. } => Some(*pid),
        EventKind::OpCall { pid, .. } => Some(*pid).filter(|pid| *pid != 0),
        EventKind::Cause(cause) => Some(cause.pid()),
        EventKind::Transfer(transfer) => Some(transfer.pid),
        other => described(other),
    }
}
