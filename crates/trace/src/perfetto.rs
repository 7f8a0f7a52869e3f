// SPDX-License-Identifier: MIT OR Apache-2.0
//! The event stream in Perfetto's own format.
//!
//! Each task is a process of one thread. Its states fill Perfetto's tables of context switches
//! (`sched`) and of thread states, so that its views of CPUs and threads and its queries work.
//! All else that happens is an event on the track of its thread, of the CPU whose callback ran,
//! or of a request. Packets are written as they come: memory does not grow with the run.
//!
//! The states are those of Perfetto's "generic kernel" and not ftrace's `sched_switch`: ftrace's
//! are sorted by CPU where they happen at the same instant, which in a simulated machine they
//! do, and a task that moves between CPUs at that instant would come before it goes.

mod messages;
mod packets;

use std::io::{self, Write};

use rustc_hash::FxHashMap;

use self::messages::{
    Data, DebugAnnotation, EventType, GenericKernelTaskStateEvent, Process, ProcessTree, TaskState,
    ThreadDescriptor, TrackDescriptor,
};
use self::packets::{Happening, Packets};
use crate::event::{Event, Sink};
use crate::fields::Value;
use crate::kind::Field;
use crate::kind::{EventKind, OffCpu};
use crate::request::Request;

/// Writes the run as a Perfetto trace.
pub struct PerfettoSink<W: Write> {
    packets: Packets<W>,
    tasks: FxHashMap<u32, Task>,
    /// Tracks for what a CPU's callbacks do, and for what happens on none.
    callbacks: FxHashMap<Option<u32>, u64>,
    /// Name of each class of requests.
    classes: FxHashMap<u32, String>,
    /// Requests that are not answered yet.
    requests: FxHashMap<u64, OpenRequest>,
    groups: [Option<u64>; 2],
    /// Numbers given to tracks so far.
    tracks: u64,
    /// Numbers given to wakeups by tasks so far.
    flows: u64,
}

/// Tracks under one heading.
#[derive(Clone, Copy)]
enum Group {
    Policy,
    Requests,
}

struct Task {
    name: String,
    weight: u32,
    /// Its track, once there was an event of it.
    track: Option<u64>,
    /// The CPU it is on.
    cpu: Option<u32>,
    exited: bool,
    dead: bool,
}

struct OpenRequest {
    track: u64,
    served: bool,
}

impl<W: Write> PerfettoSink<W> {
    /// Begins the output. Errors are kept for [`PerfettoSink::finish`].
    pub fn new(output: W) -> Self {
        PerfettoSink {
            packets: Packets::new(output),
            tasks: FxHashMap::default(),
            callbacks: FxHashMap::default(),
            classes: FxHashMap::default(),
            requests: FxHashMap::default(),
            groups: [None; 2],
            tracks: 0,
            flows: 0,
        }
    }

    /// Takes tasks that are still running off their CPUs at `end_ns`, and ends the output;
    /// returns it, or the first error that writing met.
    pub fn finish(mut self, end_ns: u64) -> io::Result<W> {
        let running = self.tasks.iter().filter(|(_, task)| task.cpu.is_some());
        let mut running: Vec<u32> = running.map(|(&pid, _)| pid).collect();
        running.sort_unstable();
        for pid in running {
            self.enter(pid, TaskState::Runnable, end_ns);
        }
        let track = self.group(Group::Policy, end_ns);
        self.instant(end_ns, track, "end of the run", Vec::new());
        self.packets.finish()
    }

    /// The task; one that no event introduced is named by its number.
    fn task(&mut self, pid: u32) -> &mut Task {
        self.tasks.entry(pid).or_insert_with(|| Task {
            name: format!("pid {pid}"),
            weight: 100,
            track: None,
            cpu: None,
            exited: false,
            dead: false,
        })
    }

    /// The task's track. When it is asked for first, the task's name and weight are told.
    fn track(&mut self, pid: u32, now_ns: u64) -> u64 {
        if let Some(track) = self.task(pid).track {
            return track;
        }
        self.tracks += 1;
        let uuid = self.tracks;
        let task = self.task(pid);
        task.track = Some(uuid);
        let (name, weight) = (task.name.clone(), task.weight);
        self.tell_name(pid, now_ns);
        let (tid, pid) = (i64::from(pid), pid as i32);
        let thread = ThreadDescriptor { pid, tid, thread_name: name };
        let track = TrackDescriptor { uuid, thread: Some(thread), ..Default::default() };
        self.packets.push(now_ns, Data::TrackDescriptor(track));
        let weight = self.packets.argument(Field::Weight, Value::Number(u64::from(weight)));
        self.instant(now_ns, uuid, "task", vec![weight]);
        uuid
    }

    fn tell_name(&mut self, pid: u32, now_ns: u64) {
        let process = Process { pid: pid as i32, cmdline: vec![self.task(pid).name.clone()] };
        let tree = ProcessTree { processes: vec![process] };
        self.packets.push(now_ns, Data::ProcessTree(tree));
    }

    /// A heading for tracks.
    fn group(&mut self, group: Group, now_ns: u64) -> u64 {
        if let Some(uuid) = self.groups[group as usize] {
            return uuid;
        }
        let name = match group {
            Group::Policy => "Policy",
            Group::Requests => "Requests",
        };
        let uuid = self.named_track(name, None, now_ns);
        self.groups[group as usize] = Some(uuid);
        uuid
    }

    fn named_track(&mut self, name: &str, parent_uuid: Option<u64>, now_ns: u64) -> u64 {
        self.tracks += 1;
        let name = Some(name.to_owned());
        let track = TrackDescriptor { uuid: self.tracks, name, parent_uuid, thread: None };
        self.packets.push(now_ns, Data::TrackDescriptor(track));
        self.tracks
    }

    /// The task's state changes, on the CPU where it runs or ran.
    fn enter(&mut self, pid: u32, state: TaskState, now_ns: u64) {
        let task = self.task(pid);
        let event = GenericKernelTaskStateEvent {
            cpu: task.cpu.unwrap_or(0) as i32,
            comm: task.name.clone(),
            tid: i64::from(pid),
            state: state as i32,
            prio: priority(task.weight),
        };
        if state != TaskState::Running {
            task.cpu = None;
        }
        task.dead = state == TaskState::Dead;
        self.packets.push(now_ns, Data::TaskState(event));
    }

    /// Forgets a task that is gone: its number may come again.
    fn forget_if_gone(&mut self, pid: u32) {
        if self.tasks.get(&pid).is_some_and(|task| task.exited && task.dead) {
            self.tasks.remove(&pid);
        }
    }

    fn instant(&mut self, now_ns: u64, track: u64, name: &str, arguments: Vec<DebugAnnotation>) {
        let name = self.packets.name(name);
        let instant =
            Happening { r#type: EventType::Instant, name, arguments, ..Happening::default() };
        self.packets.event(now_ns, track, instant);
    }

    /// The event with all that it says, on a track.
    fn tell(&mut self, event: &Event, track: u64) {
        let (name, arguments) = self.words(event);
        self.instant(event.time_ns, track, name, arguments);
    }

    fn words(&mut self, event: &Event) -> (&'static str, Vec<DebugAnnotation>) {
        let mut arguments = Vec::new();
        let (name, _) = event.describe(|field, value| {
            arguments.push(self.packets.argument(field, value));
        });
        (name, arguments)
    }

    fn tell_on_task(&mut self, event: &Event, pid: u32) {
        let track = self.track(pid, event.time_ns);
        self.tell(event, track);
    }

    /// A wakeup; an arrow leads to it from the task that did it.
    fn wakeup(&mut self, event: &Event, pid: u32, waker: u32) {
        let track = self.track(pid, event.time_ns);
        let (name, arguments) = self.words(event);
        let name = self.packets.name(name);
        let mut woken =
            Happening { r#type: EventType::Instant, name, arguments, ..Happening::default() };
        if waker != 0 {
            let from = self.track(waker, event.time_ns);
            self.flows += 1;
            woken.ends_flow = Some(self.flows);
            let wakes = Happening {
                r#type: EventType::Instant,
                name: self.packets.name("wakes"),
                arguments: vec![self.packets.pid_argument(pid)],
                starts_flow: Some(self.flows),
                ends_flow: None,
            };
            self.packets.event(event.time_ns, from, wakes);
        }
        self.packets.event(event.time_ns, track, woken);
        if self.task(pid).cpu.is_none() {
            self.enter(pid, TaskState::Runnable, event.time_ns);
        }
    }

    fn callback(&mut self, event: &Event, op: &str, pid: u32) {
        let group = self.group(Group::Policy, event.time_ns);
        let track = match self.callbacks.get(&event.cpu) {
            Some(&track) => track,
            None => {
                let name = event.cpu.map_or("no CPU".to_owned(), |cpu| format!("CPU {cpu}"));
                let track = self.named_track(&name, Some(group), event.time_ns);
                self.callbacks.insert(event.cpu, track);
                track
            }
        };
        let mut arguments = Vec::new();
        event.describe(|field, value| {
            if field != Field::Op {
                arguments.push(self.packets.argument(field, value));
            }
        });
        if pid != 0 {
            arguments.push(self.packets.pid_argument(pid));
        }
        self.instant(event.time_ns, track, op, arguments);
    }

    fn request(&mut self, event: &Event, request: &Request) {
        let now_ns = event.time_ns;
        let group = self.group(Group::Requests, now_ns);
        match *request {
            Request::Class { class, ref name, .. } => {
                self.classes.insert(class, name.clone());
                self.tell(event, group);
            }
            Request::Drop { .. } => self.tell(event, group),
            Request::Begin { request, class, sender, .. } => {
                let name = match self.classes.get(&class) {
                    Some(name) => name.clone(),
                    None => format!("class {class}"),
                };
                // A track of its own: those of one name are drawn as one, in as many rows as
                // there are requests at a time.
                let track = self.named_track(&name, Some(group), now_ns);
                let (_, mut arguments) = self.words(event);
                if sender != 0 {
                    arguments.push(self.packets.pid_argument(sender));
                }
                self.begin(now_ns, track, &name, arguments);
                self.requests.insert(request, OpenRequest { track, served: false });
            }
            Request::Serve { request, pid } => {
                let Some(open) = self.requests.get_mut(&request).filter(|open| !open.served) else {
                    return;
                };
                open.served = true;
                let track = open.track;
                let arguments = vec![self.packets.pid_argument(pid)];
                self.begin(now_ns, track, "served", arguments);
            }
            Request::End { request, .. } => {
                let Some(OpenRequest { track, served }) = self.requests.remove(&request) else {
                    return;
                };
                for _ in 0..1 + u32::from(served) {
                    let end = Happening { r#type: EventType::SliceEnd, ..Happening::default() };
                    self.packets.event(now_ns, track, end);
                }
            }
        }
    }

    fn begin(&mut self, now_ns: u64, track: u64, name: &str, arguments: Vec<DebugAnnotation>) {
        let name = self.packets.name(name);
        let begin =
            Happening { r#type: EventType::SliceBegin, name, arguments, ..Happening::default() };
        self.packets.event(now_ns, track, begin);
    }
}

impl<W: Write> Sink for PerfettoSink<W> {
    fn event(&mut self, event: &Event) {
        let now_ns = event.time_ns;
        match &event.kind {
            EventKind::Task { pid, name, weight, .. } => {
                let task = self.task(*pid);
                let renamed = task.name != *name;
                task.name.clone_from(name);
                task.weight = *weight;
                // One that is new is introduced with its first event.
                if task.track.is_some() {
                    if renamed {
                        self.tell_name(*pid, now_ns);
                    }
                    self.tell_on_task(event, *pid);
                }
            }
            EventKind::Exit { pid } => {
                self.tell_on_task(event, *pid);
                let task = self.task(*pid);
                task.exited = true;
                // The task may still be on its CPU: it is dead when it leaves.
                if task.cpu.is_none() && !task.dead {
                    self.enter(*pid, TaskState::Dead, now_ns);
                }
                self.forget_if_gone(*pid);
            }
            EventKind::Wakeup { pid, waker } => self.wakeup(event, *pid, *waker),
            EventKind::SwitchIn { pid } => {
                self.track(*pid, now_ns);
                self.task(*pid).cpu = event.cpu;
                self.enter(*pid, TaskState::Running, now_ns);
            }
            EventKind::SwitchOut { pid, why } => {
                self.track(*pid, now_ns);
                let state = match why {
                    OffCpu::Runnable => TaskState::Runnable,
                    OffCpu::Sleep => TaskState::InterruptibleSleep,
                    OffCpu::Exit => TaskState::Dead,
                };
                self.enter(*pid, state, now_ns);
                self.forget_if_gone(*pid);
            }
            EventKind::OpCall { op, pid, .. } => self.callback(event, op, *pid),
            EventKind::Request(request) => self.request(event, request),
            // A mark where the task is, or the policy if it is about none.
            kind => match kind.describe(|_, _: Value<'_>| ()).1 {
                Some(pid) => self.tell_on_task(event, pid),
                None => {
                    let track = self.group(Group::Policy, now_ns);
                    self.tell(event, track);
                }
            },
        }
    }

    fn wants_detail(&self) -> bool {
        true
    }
}

/// The kernel's priority number for a weight: 120 is nice 0, and each step of nice is a quarter
/// more or less weight.
fn priority(weight: u32) -> i32 {
    let steps = (f64::from(weight.max(1)) / 100.0).ln() / 1.25_f64.ln();
    120 - (steps.round() as i32).clamp(-19, 20)
}

#[cfg(test)]
#[path = "perfetto_tests.rs"]
mod tests;
