// SPDX-License-Identifier: MIT OR Apache-2.0
//! Gathers a timeline from the events of a run, in bounded memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use rota_trace::{Event, EventKind, OffCpu, Sink};
use rustc_hash::FxHashMap;

use super::{CpuSegment, TaskRow, TaskSegment, Timeline};

/// Segments and slice starts that are kept, for a picture of a few megabytes at most.
const ROOM: usize = 20_000;

/// Keeps what happens in a window of the run. Memory grows with the tasks and CPUs of the
/// run, not with its length: where the room for segments ends, so does the window.
#[derive(Debug)]
pub struct TimelineSink {
    from_ns: u64,
    to_ns: u64,
    /// Latest event; an event dated back counts as this late.
    now_ns: u64,
    cpus: BTreeMap<u32, CpuTrack>,
    tasks: FxHashMap<u32, TaskTrack>,
    policy_exit: Option<(u64, String)>,
    room: usize,
    cut_short: bool,
}

#[derive(Debug, Default)]
struct CpuTrack {
    running: Option<Running>,
    segments: Vec<CpuSegment>,
}

#[derive(Debug)]
struct Running {
    pid: u32,
    since_ns: u64,
    picks_ns: Vec<u64>,
}

#[derive(Debug, Default)]
struct TaskTrack {
    name: String,
    instance_of: Option<Arc<str>>,
    state: State,
    segments: Vec<TaskSegment>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Asleep, not there yet, or gone.
    #[default]
    Away,
    Waiting {
        since_ns: u64,
    },
    Running {
        cpu: u32,
    },
}

impl TimelineSink {
    /// For the window from `from_ns` up to `to_ns` of a machine with so many CPUs.
    pub fn new(cpus: u32, from_ns: u64, to_ns: u64) -> Self {
        TimelineSink {
            from_ns,
            to_ns: to_ns.max(from_ns),
            now_ns: 0,
            cpus: (0..cpus).map(|cpu| (cpu, CpuTrack::default())).collect(),
            tasks: FxHashMap::default(),
            policy_exit: None,
            room: ROOM,
            cut_short: false,
        }
    }

    /// Keeps at most so many segments and slice starts.
    #[must_use]
    pub fn with_room(mut self, segments: usize) -> Self {
        self.room = segments;
        self
    }

    /// The timeline of a run that ended at `end_ns`.
    pub fn finish(mut self, end_ns: u64) -> Timeline {
        self.to_ns = self.to_ns.min(end_ns.max(self.now_ns)).max(self.from_ns);
        // What is still open has room: it is no more than the CPUs and tasks there are.
        self.now_ns = self.to_ns;
        let running: Vec<u32> = self.cpus.keys().copied().collect();
        running.into_iter().for_each(|cpu| self.leave(cpu, self.to_ns));
        for task in self.tasks.values_mut() {
            if let State::Waiting { since_ns } = task.state {
                let wait = clip(self.from_ns, self.to_ns, since_ns, self.to_ns);
                task.segments.extend(wait.map(|w| TaskSegment { cpu: None, ..w }));
            }
        }
        let mut tasks: Vec<TaskRow> = self
            .tasks
            .into_iter()
            .filter(|(_, task)| !task.segments.is_empty())
            .map(|(pid, task)| {
                let instance_of = task.instance_of.as_deref().unwrap_or(&task.name).to_owned();
                TaskRow { pid, name: task.name, instance_of, segments: task.segments }
            })
            .collect();
        tasks.sort_by_key(|task| task.pid);
        Timeline {
            from_ns: self.from_ns,
            to_ns: self.to_ns,
            cpus: self.cpus.into_iter().map(|(cpu, track)| (cpu, track.segments)).collect(),
            tasks,
            policy_exit: self.policy_exit,
            cut_short: self.cut_short,
        }
    }

    fn wake(&mut self, pid: u32, now_ns: u64) {
        let task = self.tasks.entry(pid).or_default();
        if task.state == State::Away {
            task.state = State::Waiting { since_ns: now_ns };
        }
    }

    /// A task comes onto a CPU. Whatever the stream left there, or this task elsewhere, ends.
    fn enter(&mut self, cpu: u32, pid: u32, now_ns: u64) {
        let before = self.cpus.get(&cpu).and_then(|track| track.running.as_ref());
        if let Some(other) = before.map(|running| running.pid) {
            self.leave(cpu, now_ns);
            self.wake(other, now_ns);
        }
        let task = self.tasks.entry(pid).or_default();
        match task.state {
            State::Running { cpu: elsewhere } => self.leave(elsewhere, now_ns),
            State::Waiting { .. } => self.end_wait(pid, now_ns),
            State::Away => {}
        }
        self.tasks.entry(pid).or_default().state = State::Running { cpu };
        let running = Running { pid, since_ns: now_ns, picks_ns: Vec::new() };
        self.cpus.entry(cpu).or_default().running = Some(running);
    }

    /// The task of a CPU leaves it and is away, until told otherwise.
    fn leave(&mut self, cpu: u32, now_ns: u64) {
        let Some(track) = self.cpus.get_mut(&cpu) else { return };
        let Some(Running { pid, since_ns, mut picks_ns }) = track.running.take() else { return };
        let task = self.tasks.entry(pid).or_default();
        task.state = State::Away;
        let Some(run) = clip(self.from_ns, self.to_ns, since_ns, now_ns) else { return };
        let TaskSegment { start_ns, end_ns, .. } = run;
        // The one that took the last room is at the very end.
        picks_ns.retain(|at| *at < end_ns);
        track.segments.push(CpuSegment { start_ns, end_ns, pid, picks_ns });
        task.segments.push(TaskSegment { cpu: Some(cpu), ..run });
        self.take_room(2);
    }

    fn end_wait(&mut self, pid: u32, now_ns: u64) {
        let Some(task) = self.tasks.get_mut(&pid) else { return };
        let State::Waiting { since_ns } = task.state else { return };
        task.state = State::Away;
        if let Some(wait) = clip(self.from_ns, self.to_ns, since_ns, now_ns) {
            task.segments.push(wait);
            self.take_room(1);
        }
    }

    fn switch_out(&mut self, pid: u32, why: OffCpu, now_ns: u64) {
        let Some(State::Running { cpu }) = self.tasks.get(&pid).map(|task| task.state) else {
            return;
        };
        self.leave(cpu, now_ns);
        match why {
            OffCpu::Runnable => self.wake(pid, now_ns),
            OffCpu::Sleep => {}
            OffCpu::Exit => self.forget(pid),
        }
    }

    fn pick(&mut self, cpu: u32, pid: u32, now_ns: u64) {
        let running = self.cpus.get_mut(&cpu).and_then(|track| track.running.as_mut());
        let Some(running) = running.filter(|running| running.pid == pid) else { return };
        if now_ns >= self.from_ns {
            running.picks_ns.push(now_ns);
            self.take_room(1);
        }
    }

    /// A task that is gone and left nothing in the window needs no memory.
    fn forget(&mut self, pid: u32) {
        if self.tasks.get(&pid).is_some_and(|task| task.segments.is_empty()) {
            self.tasks.remove(&pid);
        }
    }

    /// Without room, the window ends now.
    fn take_room(&mut self, entries: usize) {
        self.room = self.room.saturating_sub(entries);
        if self.room == 0 && !self.cut_short && self.now_ns < self.to_ns {
            self.to_ns = self.now_ns.max(self.from_ns);
            self.cut_short = true;
        }
    }
}

impl Sink for TimelineSink {
    fn event(&mut self, event: &Event) {
        let now_ns = event.time_ns.max(self.now_ns);
        if now_ns >= self.to_ns {
            return;
        }
        self.now_ns = now_ns;
        match (&event.kind, event.cpu) {
            (EventKind::Task { pid, name, instance_of, .. }, _) => {
                let task = self.tasks.entry(*pid).or_default();
                task.name.clone_from(name);
                task.instance_of.clone_from(instance_of);
            }
            (EventKind::Wakeup { pid, .. }, _) => self.wake(*pid, now_ns),
            (EventKind::SwitchIn { pid }, Some(cpu)) => self.enter(cpu, *pid, now_ns),
            (EventKind::SwitchOut { pid, why }, _) => self.switch_out(*pid, *why, now_ns),
            (EventKind::Pick { pid, .. }, Some(cpu)) => self.pick(cpu, *pid, now_ns),
            // A task that exits on a CPU is gone once it is switched out.
            (EventKind::Exit { pid }, _) => {
                self.end_wait(*pid, now_ns);
                if !self.tasks.get(pid).is_some_and(|t| matches!(t.state, State::Running { .. })) {
                    self.forget(*pid);
                }
            }
            (EventKind::PolicyExit { reason, .. }, _) => {
                self.policy_exit = Some((now_ns, reason.clone()));
            }
            _ => {}
        }
    }
}

/// The part of a time that lies in the window, if there is any.
fn clip(from_ns: u64, to_ns: u64, start_ns: u64, end_ns: u64) -> Option<TaskSegment> {
    let (start_ns, end_ns) = (start_ns.max(from_ns), end_ns.min(to_ns));
    (start_ns < end_ns).then_some(TaskSegment { start_ns, end_ns, cpu: None })
}
