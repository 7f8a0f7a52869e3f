// SPDX-License-Identifier: MIT OR Apache-2.0
//! The event stream in Chrome's trace event format, which Perfetto's UI opens.
//!
//! Process "CPUs" has one track per CPU with the tasks it ran; process "Tasks" one per task
//! with slices running, runnable and sleeping, and its wakeups as instants. Slices are written
//! when they end, so a run of any length is written as it goes.

use std::fmt::{self, Arguments};
use std::io::{self, Write};

use rustc_hash::FxHashMap;
use serde_json::Value;

use crate::event::{Event, EventKind, OffCpu, Sink};

/// Process numbers of the two groups of tracks.
const CPUS: u32 = 1;
const TASKS: u32 = 2;

/// Writes the run as a JSON array of trace events.
pub struct ChromeTraceSink<W: Write> {
    output: Output<W>,
    tasks: FxHashMap<u32, TaskTrack>,
    /// What each CPU runs and since when; grows with the CPUs seen.
    cpus: Vec<CpuTrack>,
}

#[derive(Clone, Default)]
struct CpuTrack {
    named: bool,
    /// Task on the CPU and since when.
    slice: Option<(u32, u64)>,
}

struct TaskTrack {
    /// Name as a JSON string, quotes included.
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
        let mut output = Output { writer: output, error: None, first: true };
        for (pid, name) in [(CPUS, "CPUs"), (TASKS, "Tasks")] {
            output.metadata("process_name", pid, 0, format_args!("\"name\":\"{name}\""));
            output.metadata("process_sort_index", pid, 0, format_args!("\"sort_index\":{pid}"));
        }
        ChromeTraceSink { output, tasks: FxHashMap::default(), cpus: Vec::new() }
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
            name: format!("\"pid {pid}\""),
            weight: 100,
            state: State::Absent,
            since_ns: 0,
            cpu: None,
        })
    }

    fn introduce(&mut self, pid: u32, name: &str, weight: u32) {
        let name = Value::from(name).to_string();
        let known = self.tasks.contains_key(&pid);
        let task = self.task(pid);
        task.weight = weight;
        if known && task.name == name {
            return;
        }
        task.name.clone_from(&name);
        self.output.metadata("thread_name", TASKS, pid, format_args!("\"name\":{name}"));
        self.output.metadata("thread_sort_index", TASKS, pid, format_args!("\"sort_index\":{pid}"));
    }

    /// Ends the task's slice and begins another.
    fn enter(&mut self, pid: u32, state: State, now_ns: u64, cpu: Option<u32>) {
        let task = self.task(pid);
        let (old, since_ns, old_cpu) = (task.state, task.since_ns, task.cpu);
        (task.state, task.since_ns, task.cpu) = (state, now_ns, cpu);
        let Some(name) = old.name().filter(|_| now_ns > since_ns) else {
            return;
        };
        let name = format_args!("\"{name}\"");
        match old_cpu {
            Some(cpu) => {
                let args = format_args!("\"cpu\":{cpu}");
                self.output.slice(name, TASKS, pid, since_ns, now_ns, args);
            }
            None => self.output.slice(name, TASKS, pid, since_ns, now_ns, format_args!("")),
        }
    }

    fn begin_cpu_slice(&mut self, cpu: u32, pid: u32, now_ns: u64) {
        let index = cpu as usize;
        if index >= self.cpus.len() {
            self.cpus.resize(index + 1, CpuTrack::default());
        }
        self.end_cpu_slice(cpu, now_ns);
        let track = &mut self.cpus[index];
        track.slice = Some((pid, now_ns));
        if !std::mem::replace(&mut track.named, true) {
            let tid = cpu + 1;
            self.output.metadata("thread_name", CPUS, tid, format_args!("\"name\":\"CPU {cpu}\""));
            self.output.metadata(
                "thread_sort_index",
                CPUS,
                tid,
                format_args!("\"sort_index\":{cpu}"),
            );
        }
    }

    fn end_cpu_slice(&mut self, cpu: u32, now_ns: u64) {
        let slice = self.cpus.get_mut(cpu as usize).and_then(|track| track.slice.take());
        let Some((pid, since_ns)) = slice.filter(|(_, since_ns)| now_ns > *since_ns) else {
            return;
        };
        if let Some(TaskTrack { name, weight, .. }) = self.tasks.get(&pid) {
            let args = format_args!("\"pid\":{pid},\"weight\":{weight}");
            self.output.slice(format_args!("{name}"), CPUS, cpu + 1, since_ns, now_ns, args);
        }
    }
}

impl<W: Write> Sink for ChromeTraceSink<W> {
    fn event(&mut self, event: &Event) {
        let Event { time_ns, cpu, ref kind } = *event;
        match kind {
            EventKind::Task { pid, name, weight } => self.introduce(*pid, name, *weight),
            EventKind::Fork { pid, .. } => self.enter(*pid, State::Created, time_ns, None),
            EventKind::Wakeup { pid, waker } => {
                let args = format_args!("\"waker\":{waker}");
                self.output.instant("\"wakeup\"", TASKS, *pid, time_ns, "t", args);
                self.enter(*pid, State::Runnable, time_ns, None);
            }
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
            // The task may still be on its CPU: its slice ends where it leaves.
            EventKind::Exit { pid } if self.task(*pid).state != State::Running => {
                self.enter(*pid, State::Absent, time_ns, None);
            }
            EventKind::PolicyExit { kind, code, reason } => {
                let reason = Value::from(reason.as_str());
                let args = format_args!("\"kind\":{kind},\"code\":{code},\"reason\":{reason}");
                self.output.instant("\"policy exit\"", CPUS, 0, time_ns, "g", args);
            }
            EventKind::Exit { .. }
            | EventKind::Share { .. }
            | EventKind::Enqueue { .. }
            | EventKind::Dispatch { .. }
            | EventKind::Pick { .. }
            | EventKind::Migrate { .. }
            | EventKind::OpCall { .. } => {}
        }
    }
}

/// The JSON array as it is written.
struct Output<W: Write> {
    writer: W,
    /// The first error; nothing is written after it.
    error: Option<io::Error>,
    first: bool,
}

impl<W: Write> Output<W> {
    fn object(&mut self, members: Arguments<'_>) {
        if self.error.is_some() {
            return;
        }
        let separator = if std::mem::take(&mut self.first) { "[\n" } else { ",\n" };
        self.error = write!(self.writer, "{separator}{{{members}}}").err();
    }

    fn metadata(&mut self, what: &str, pid: u32, tid: u32, args: Arguments<'_>) {
        self.object(format_args!(
            "\"ph\":\"M\",\"name\":\"{what}\",\"pid\":{pid},\"tid\":{tid},\"args\":{{{args}}}"
        ));
    }

    fn slice(
        &mut self,
        name: Arguments<'_>,
        pid: u32,
        tid: u32,
        since_ns: u64,
        until_ns: u64,
        args: Arguments<'_>,
    ) {
        let (since, length) = (Micros(since_ns), Micros(until_ns - since_ns));
        self.object(format_args!(
            "\"ph\":\"X\",\"name\":{name},\"pid\":{pid},\"tid\":{tid},\"ts\":{since},\
             \"dur\":{length},\"args\":{{{args}}}"
        ));
    }

    fn instant(
        &mut self,
        name: &str,
        pid: u32,
        tid: u32,
        now_ns: u64,
        scope: &str,
        args: Arguments<'_>,
    ) {
        let now = Micros(now_ns);
        self.object(format_args!(
            "\"ph\":\"i\",\"s\":\"{scope}\",\"name\":{name},\"pid\":{pid},\"tid\":{tid},\
             \"ts\":{now},\"args\":{{{args}}}"
        ));
    }

    fn finish(mut self) -> io::Result<W> {
        if let Some(error) = self.error {
            return Err(error);
        }
        self.writer.write_all(b"\n]\n")?;
        self.writer.flush()?;
        Ok(self.writer)
    }
}

/// Nanoseconds as the format's microseconds, without rounding.
struct Micros(u64);

impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1000, self.0 % 1000)
    }
}

#[cfg(test)]
#[path = "perfetto_tests.rs"]
mod tests;
