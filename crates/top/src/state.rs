// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an event stream says of now and the last seconds. Its memory grows with tasks and CPUs, not
//! with events.

use crate::groups::Groups;
use crate::numbers::{window_ns, Recent, HALF_NS};
use crate::snapshot::{CpuLine, Left, Snapshot};
use crate::tasks::{self, Known};
use crate::timeline::Timeline;
use rota_trace::{CpuList, Event, EventKind, OffCpu, Sink};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// All that is known now.
#[derive(Debug)]
pub struct State {
    now_ns: u64,
    timeline: Timeline,
    tasks: FxHashMap<u32, Task>,
    groups: Groups,
    all: Recent,
    left: Option<Left>,
}

#[derive(Debug)]
struct Task {
    known: Known,
    /// CPUs that it may use, if it is tied to some.
    tie: Option<CpuList>,
    does: Does,
}

/// What a task does; all is counted up to `settled_ns`.
#[derive(Clone, Copy, Debug)]
enum Does {
    Sleeps,
    Waits { since_ns: u64, woken: bool, settled_ns: u64 },
    Runs { settled_ns: u64 },
}

impl State {
    /// A scheduler was loaded: how an earlier one left is past.
    pub fn loaded(&mut self) {
        self.left = None;
    }

    /// Nothing is known yet but the number of CPUs, if that is.
    pub fn new(cpus: u32) -> Self {
        Self {
            now_ns: 0,
            timeline: Timeline::new(cpus),
            tasks: FxHashMap::default(),
            groups: Groups::default(),
            all: Recent::default(),
            left: None,
        }
    }

    /// Time has passed, without an event at its end.
    pub fn advance(&mut self, now_ns: u64) {
        while now_ns / HALF_NS > self.now_ns / HALF_NS {
            // What goes on is counted for the half window that it was in.
            self.pass((self.now_ns / HALF_NS + 1) * HALF_NS - 1);
            self.settle_all();
            self.groups.forget_empty(self.now_ns);
            self.pass(self.now_ns + 1);
        }
        self.pass(now_ns);
    }

    /// All that a screen may show, now.
    pub fn snapshot(&mut self) -> Snapshot {
        self.settle_all();
        let now_ns = self.now_ns;
        let Self { tasks, groups, timeline, .. } = self;
        let each = tasks.iter_mut().map(|(pid, task)| {
            let waits_ns = match task.does {
                Does::Waits { since_ns, .. } => Some(now_ns - since_ns),
                _ => None,
            };
            (*pid, &mut task.known, waits_ns)
        });
        let (tasks, groups, waiting) = tasks::rows(each, groups, &timeline.letters, now_ns);
        let cpus = (0..self.timeline.cpus()).map(|cpu| {
            let (runs, offline, cells) = self.timeline.of_cpu(cpu);
            let runs = runs.map(|pid| self.name(pid));
            CpuLine { runs, offline, cells }
        });
        Snapshot {
            now_ns,
            window_ns: window_ns(now_ns),
            cpus: cpus.collect(),
            sums: self.timeline.sums(),
            waiting,
            all: self.all.numbers(now_ns),
            tasks,
            groups,
            left: self.left.clone(),
        }
    }

    fn name(&self, pid: u32) -> Arc<str> {
        self.tasks
            .get(&pid)
            .map_or_else(|| pid.to_string().into(), |task| Arc::clone(&task.known.name))
    }

    fn pass(&mut self, now_ns: u64) {
        if now_ns > self.now_ns {
            self.timeline.advance(now_ns);
            self.now_ns = now_ns;
        }
    }

    fn task(&mut self, pid: u32) -> &mut Task {
        self.tasks.entry(pid).or_insert_with(|| Task {
            known: Known {
                name: pid.to_string().into(),
                group: self.groups.root(),
                recent: Recent::default(),
            },
            tie: None,
            does: Does::Sleeps,
        })
    }

    fn settle_all(&mut self) {
        let Self { now_ns, tasks, groups, all, .. } = self;
        for task in tasks.values_mut() {
            settle(task, groups, all, *now_ns);
        }
    }

    /// A task does something else from now on.
    fn does(&mut self, pid: u32, does: Does) {
        self.task(pid);
        let Self { now_ns, tasks, groups, all, timeline, .. } = self;
        let Some(task) = tasks.get_mut(&pid) else { return };
        settle(task, groups, all, *now_ns);
        let was = std::mem::replace(&mut task.does, does);
        match (was, does) {
            (Does::Waits { .. }, Does::Waits { .. }) => {}
            (Does::Waits { .. }, _) => timeline.wait(task.tie.as_ref(), false),
            (_, Does::Waits { .. }) => timeline.wait(task.tie.as_ref(), true),
            _ => {}
        }
        if matches!(does, Does::Runs { .. }) {
            let woken_ns = match was {
                Does::Waits { since_ns, woken: true, .. } => Some(*now_ns - since_ns),
                _ => None,
            };
            for recent in [&mut task.known.recent, groups.recent(task.known.group), all] {
                recent.began(woken_ns, *now_ns);
            }
        }
    }

    fn waits(&mut self, pid: u32, woken: bool) {
        // It may be told of the state that a recording begins with, and of a wakeup, too.
        if matches!(self.task(pid).does, Does::Waits { .. }) {
            return;
        }
        let now_ns = self.now_ns;
        self.does(pid, Does::Waits { since_ns: now_ns, woken, settled_ns: now_ns });
    }

    fn switch_out(&mut self, pid: u32, why: OffCpu) {
        match why {
            OffCpu::Runnable => self.waits(pid, false),
            OffCpu::Sleep => self.does(pid, Does::Sleeps),
            OffCpu::Exit => {
                self.does(pid, Does::Sleeps);
                if let Some(task) = self.tasks.remove(&pid) {
                    self.groups.leave(task.known.group);
                }
            }
        }
    }

    /// A task may use these CPUs only.
    fn tie(&mut self, pid: u32, cpus: &CpuList) {
        let tie = (cpus.iter().count() < self.timeline.cpus()).then(|| cpus.clone());
        self.task(pid);
        let Self { tasks, timeline, .. } = self;
        let Some(task) = tasks.get_mut(&pid) else { return };
        let was = std::mem::replace(&mut task.tie, tie);
        if matches!(task.does, Does::Waits { .. }) {
            timeline.wait(was.as_ref(), false);
            timeline.wait(task.tie.as_ref(), true);
        }
    }
}

/// Counts what a task does up to now.
fn settle(task: &mut Task, groups: &mut Groups, all: &mut Recent, now_ns: u64) {
    let (Does::Waits { settled_ns, .. } | Does::Runs { settled_ns }) = &mut task.does else {
        return;
    };
    let ns = now_ns - std::mem::replace(settled_ns, now_ns);
    if ns == 0 {
        return;
    }
    let runs = matches!(task.does, Does::Runs { .. });
    for recent in [&mut task.known.recent, groups.recent(task.known.group), all] {
        match runs {
            true => recent.ran(ns, now_ns),
            false => recent.waited(ns, now_ns),
        }
    }
}

impl Sink for State {
    fn event(&mut self, event: &Event) {
        self.advance(event.time_ns);
        if let Some(cpu) = event.cpu {
            self.timeline.know(cpu);
        }
        match &event.kind {
            EventKind::Task { pid, name, .. } => {
                let task = self.task(*pid);
                if *task.known.name != **name {
                    task.known.name = name.as_str().into();
                }
            }
            EventKind::Cgroup { pid, path } => {
                let now_ns = self.now_ns;
                self.task(*pid);
                let Self { tasks, groups, all, .. } = self;
                if let Some(task) = tasks.get_mut(pid) {
                    settle(task, groups, all, now_ns);
                    task.known.group = groups.change(task.known.group, path);
                }
            }
            EventKind::Affinity { pid, cpus } => self.tie(*pid, cpus),
            EventKind::Wakeup { pid, .. } => {
                if matches!(self.task(*pid).does, Does::Sleeps) {
                    self.waits(*pid, true);
                }
            }
            EventKind::SwitchIn { pid } => {
                self.does(*pid, Does::Runs { settled_ns: self.now_ns });
                if let Some(cpu) = event.cpu {
                    self.timeline.run(cpu, Some(*pid));
                }
            }
            EventKind::SwitchOut { pid, why } => {
                if let Some(cpu) = event.cpu {
                    self.timeline.run(cpu, None);
                }
                self.switch_out(*pid, *why);
            }
            EventKind::Plug { online } => {
                if let Some(cpu) = event.cpu {
                    self.timeline.plug(cpu, *online);
                }
            }
            EventKind::PolicyExit { kind, reason, .. } => {
                let reason = reason.clone();
                self.left = Some(Left { at_ns: self.now_ns, kind: *kind, reason });
            }
            _ => {}
        }
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
