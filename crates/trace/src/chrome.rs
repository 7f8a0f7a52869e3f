// SPDX-License-Identifier: MIT OR Apache-2.0
//! The event stream in Chrome's trace event format, which many viewers open.
//!
//! Group "CPUs" has one track per CPU with the tasks it ran; "Tasks" one per task with slices
//! running, runnable and sleeping, and what happened to it as instants; "Policy" one per CPU
//! with the callbacks that ran; "Requests" those from arrival to answer. Slices are written
//! when they end, so a run of any length is written as it goes.

mod output;

use std::io::{self, Write};

use rustc_hash::FxHashMap;

use self::output::{argument, arguments, Named, Output, Place};
use crate::event::{Event, Sink};
use crate::fields::Value;
use crate::kind::Field;
use crate::kind::{EventKind, OffCpu};
use crate::request::Request;

/// Groups of tracks, which the format calls processes.
const GROUPS: [(u32, &str); 4] =
    [(CPUS, "CPUs"), (TASKS, "Tasks"), (POLICY, "Policy"), (REQUESTS, "Requests")];
const CPUS: u32 = 1;
const TASKS: u32 = 2;
const POLICY: u32 = 3;
const REQUESTS: u32 = 4;

/// Writes the run as a JSON array of trace events.
pub struct ChromeTraceSink<W: Write> {
    output: Output<W>,
    tasks: FxHashMap<u32, TaskTrack>,
    /// What each CPU runs and since when; grows with the CPUs seen.
    cpus: Vec<CpuTrack>,
    /// Name of each class of requests.
    classes: FxHashMap<u32, String>,
    /// Class of each request that is not answered yet.
    requests: FxHashMap<u64, u32>,
    /// Wakeups by tasks so far.
    wakeups: u64,
}

#[derive(Clone, Default)]
struct CpuTrack {
    /// Whether its track has its name, and its track of callbacks.
    named: [bool; 2],
    /// Task on the CPU and since when.
    slice: Option<(u32, u64)>,
}

struct TaskTrack {
    name: String,
    weight: u32,
    state: State,
    since_ns: u64,
    cpu: Option<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Unknown yet, or gone: no slice.
    Absent,
    /// Forked, but not runnable yet.
    Created,
    Runnable,
    Running,
    Sleeping,
}

impl State {
    fn name(self) -> Option<&'static str> {
        match self {
            State::Absent => None,
            State::Created => Some("created"),
            State::Runnable => Some("runnable"),
            State::Running => Some("running"),
            State::Sleeping => Some("sleeping"),
        }
    }
}

impl<W: Write> ChromeTraceSink<W> {
    /// Begins the output. Errors are kept for [`ChromeTraceSink::finish`].
    pub fn new(output: W) -> Self {
        let mut output = Output::new(output);
        for (pid, name) in GROUPS {
            output.name(Named::Group, pid, 0, name, pid);
        }
        ChromeTraceSink {
            output,
            tasks: FxHashMap::default(),
            cpus: Vec::new(),
            classes: FxHashMap::default(),
            requests: FxHashMap::default(),
            wakeups: 0,
        }
    }

    /// Ends all slices still open at `end_ns` and the output; returns it, or the first error
    /// that writing met.
    pub fn finish(mut self, end_ns: u64) -> io::Result<W> {
        for cpu in 0..self.cpus.len() as u32 {
            self.end_cpu_slice(cpu, end_ns);
        }
        let mut pids: Vec<u32> = self.tasks.keys().copied().collect();
        pids.sort_unstable();
        for pid in pids {
            self.enter(pid, State::Absent, end_ns, None);
        }
        self.output.finish()
    }

    /// The task's track; a task that no event introduced is named by its number.
    fn task(&mut self, pid: u32) -> &mut TaskTrack {
        self.tasks.entry(pid).or_insert_with(|| TaskTrack {
            name: format!("pid {pid}"),
            weight: 100,
            state: State::Absent,
            since_ns: 0,
            cpu: None,
        })
    }

    fn introduce(&mut self, pid: u32, name: &str, weight: u32) {
        let known = self.tasks.contains_key(&pid);
        let task = self.task(pid);
        task.weight = weight;
        if known && task.name == name {
            return;
        }
        name.clone_into(&mut task.name);
        self.output.name(Named::Track, TASKS, pid, name, pid);
    }

    /// Ends the task's slice and begins another.
    fn enter(&mut self, pid: u32, state: State, now_ns: u64, cpu: Option<u32>) {
        let task = self.task(pid);
        let (old, since_ns, old_cpu) = (task.state, task.since_ns, task.cpu);
        (task.state, task.since_ns, task.cpu) = (state, now_ns, cpu);
        let Some(name) = old.name().filter(|_| now_ns > since_ns) else {
            return;
        };
        let place = Place { pid: TASKS, tid: pid, category: "state" };
        match old_cpu {
            Some(cpu) => {
                let args = format_args!("\"cpu\":{cpu}");
                self.output.slice(place, name, since_ns, now_ns, args);
            }
            None => self.output.slice(place, name, since_ns, now_ns, format_args!("")),
        }
    }

    /// The CPU, whose track in that group has its name from now on.
    fn cpu(&mut self, cpu: u32, group: u32) -> &mut CpuTrack {
        let index = cpu as usize;
        if index >= self.cpus.len() {
            self.cpus.resize(index + 1, CpuTrack::default());
        }
        let named = &mut self.cpus[index].named[usize::from(group == POLICY)];
        if !std::mem::replace(named, true) {
            self.output.name(Named::Track, group, cpu + 1, &format!("CPU {cpu}"), cpu);
        }
        &mut self.cpus[index]
    }

    fn begin_cpu_slice(&mut self, cpu: u32, pid: u32, now_ns: u64) {
        self.end_cpu_slice(cpu, now_ns);
        self.cpu(cpu, CPUS).slice = Some((pid, now_ns));
    }

    fn end_cpu_slice(&mut self, cpu: u32, now_ns: u64) {
        let slice = self.cpus.get_mut(cpu as usize).and_then(|track| track.slice.take());
        let Some((pid, since_ns)) = slice.filter(|(_, since_ns)| now_ns > *since_ns) else {
            return;
        };
        if let Some(TaskTrack { name, weight, .. }) = self.tasks.get(&pid) {
            let args = format_args!("\"pid\":{pid},\"weight\":{weight}");
            let place = Place { pid: CPUS, tid: cpu + 1, category: "sched" };
            self.output.slice(place, name, since_ns, now_ns, args);
        }
    }

    /// The event with all that it says, on the track of its task.
    fn tell(&mut self, event: &Event, pid: u32) {
        let (name, args) = arguments(event);
        let place = Place { pid: TASKS, tid: pid, category: "task" };
        self.output.instant(place, name, event.time_ns, &args);
    }

    /// A wakeup; an arrow leads to it from the task that did it.
    fn wakeup(&mut self, event: &Event, pid: u32, waker: u32) {
        if waker != 0 {
            self.wakeups += 1;
            for (phase, tid) in [("s", waker), ("f", pid)] {
                let place = Place { pid: TASKS, tid, category: "wakeup" };
                self.output.linked(phase, place, "wakeup", self.wakeups, event.time_ns, "");
            }
        }
        self.tell(event, pid);
        self.enter(pid, State::Runnable, event.time_ns, None);
    }

    fn callback(&mut self, event: &Event, op: &str) {
        let mut args = String::new();
        let (_, pid) = event.describe(|field, value| {
            if field != Field::Op {
                argument(&mut args, field, value);
            }
        });
        if let Some(pid) = pid {
            args += &format!(",\"pid\":{pid}");
        }
        // Track 0 is for what happens on no CPU.
        let tid = event.cpu.map_or(0, |cpu| cpu + 1);
        if let Some(cpu) = event.cpu {
            self.cpu(cpu, POLICY);
        }
        let place = Place { pid: POLICY, tid, category: "callback" };
        self.output.instant(place, op, event.time_ns, &args);
    }

    fn request(&mut self, event: &Event, request: &Request) {
        let place = Place { pid: REQUESTS, tid: 0, category: "request" };
        let (what, args) = arguments(event);
        let (phase, request, class) = match *request {
            Request::Class { class, ref name, .. } => {
                self.classes.insert(class, name.clone());
                return self.output.instant(place, what, event.time_ns, &args);
            }
            Request::Drop { .. } => return self.output.instant(place, what, event.time_ns, &args),
            Request::Begin { request, class, .. } => {
                self.requests.insert(request, class);
                ("b", request, Some(class))
            }
            Request::Serve { request, .. } => ("n", request, self.requests.get(&request).copied()),
            Request::End { request, .. } => ("e", request, self.requests.remove(&request)),
        };
        let Some(class) = class else {
            return;
        };
        let mut args = args;
        // Not every request is sent by a task.
        if let (_, Some(pid)) = event.describe(|_, _: Value<'_>| ()) {
            args += &format!(",\"pid\":{pid}");
        }
        let unnamed = format!("class {class}");
        let name = self.classes.get(&class).unwrap_or(&unnamed);
        self.output.linked(phase, place, name, request, event.time_ns, &args);
    }
}

impl<W: Write> Sink for ChromeTraceSink<W> {
    fn event(&mut self, event: &Event) {
        let Event { time_ns, cpu, ref kind } = *event;
        match kind {
            EventKind::Task { pid, name, weight, .. } => {
                self.introduce(*pid, name, *weight);
                self.tell(event, *pid);
            }
            EventKind::Fork { pid, .. } => {
                self.tell(event, *pid);
                self.enter(*pid, State::Created, time_ns, None);
            }
            EventKind::Wakeup { pid, waker } => self.wakeup(event, *pid, *waker),
            EventKind::SwitchIn { pid } => {
                self.enter(*pid, State::Running, time_ns, cpu);
                if let Some(cpu) = cpu {
                    self.begin_cpu_slice(cpu, *pid, time_ns);
                }
            }
            EventKind::SwitchOut { pid, why } => {
                let state = match why {
                    OffCpu::Runnable => State::Runnable,
                    OffCpu::Sleep => State::Sleeping,
                    OffCpu::Exit => State::Absent,
                };
                self.enter(*pid, state, time_ns, None);
                if let Some(cpu) = cpu {
                    self.end_cpu_slice(cpu, time_ns);
                }
            }
            EventKind::Exit { pid } => {
                self.tell(event, *pid);
                // The task may still be on its CPU: its slice ends where it leaves.
                if self.task(*pid).state != State::Running {
                    self.enter(*pid, State::Absent, time_ns, None);
                }
            }
            EventKind::OpCall { op, .. } => self.callback(event, op),
            EventKind::Request(request) => self.request(event, request),
            // A mark where the task is, or the policy if it is about none.
            _ => match kind.describe(|_, _: Value<'_>| ()).1 {
                Some(pid) => self.tell(event, pid),
                None => {
                    let (name, args) = arguments(event);
                    let place = Place { pid: POLICY, tid: 0, category: "policy" };
                    self.output.instant(place, name, time_ns, &args);
                }
            },
        }
    }

    fn wants_detail(&self) -> bool {
        true
    }
}

#[cfg(test)]
#[path = "chrome_tests.rs"]
mod tests;
