// SPDX-License-Identifier: MIT OR Apache-2.0
//! What could run just before a decision: the trace again, up to there.

use crate::decision::{Parting, Runnable};
use crate::error::Error;
use rota_trace::{Event, EventKind, OffCpu, Sink};
use rota_trace_import::{open, ImportError};
use std::collections::BTreeMap;
use std::path::Path;

/// All tasks that could run before the decision. If the run does not have it: before the other one
/// has it, at `else_ns`.
pub(super) fn before(
    path: &Path,
    parting: Parting,
    else_ns: Option<u64>,
) -> Result<Vec<Runnable>, Error> {
    let mut state = State::new(parting, else_ns);
    let read: Result<_, ImportError> = open(path)?.read(&mut state);
    // A trace that is not read to its end may lack what one must have.
    let end_ns = if state.is_there { 0 } else { read?.duration_ns };
    Ok(state.finish(end_ns))
}

struct Task {
    seen: Runnable,
    runnable: bool,
    /// Since when it runs.
    running_ns: Option<u64>,
}

/// What tasks do until then.
pub(super) struct State {
    parting: Parting,
    /// Where to stop, if the decision is none of this run.
    else_ns: Option<u64>,
    picks: usize,
    is_there: bool,
    tasks: BTreeMap<u32, Task>,
    /// The task that this CPU switched to last, when, and how it waited until then: a decision
    /// comes after its switch.
    switched: Option<(u64, Runnable)>,
}

impl State {
    pub(super) fn new(parting: Parting, else_ns: Option<u64>) -> Self {
        let (tasks, switched) = (BTreeMap::new(), None);
        Self { parting, else_ns, picks: 0, is_there: false, tasks, switched }
    }

    /// Those that could run; the decision is none of a run that ended at `end_ns` without it.
    pub(super) fn finish(mut self, end_ns: u64) -> Vec<Runnable> {
        if !self.is_there {
            self.stops(self.else_ns.unwrap_or(end_ns));
        }
        let runnable = |task: Task| {
            let (pid, is_runnable) = (task.seen.pid, task.runnable);
            (pid != 0 && is_runnable).then_some(task.seen)
        };
        self.tasks.into_values().filter_map(runnable).collect()
    }

    fn task(&mut self, pid: u32) -> &mut Task {
        self.tasks.entry(pid).or_insert_with(|| Task {
            seen: Runnable {
                pid,
                name: String::new(),
                weight: 0,
                ran_ns: 0,
                since_ns: None,
                cpu: None,
                dsq: None,
            },
            runnable: false,
            running_ns: None,
        })
    }

    /// What runs has got its time up to now.
    fn stops(&mut self, now_ns: u64) {
        self.is_there = true;
        for task in self.tasks.values_mut() {
            task.leaves(now_ns);
        }
    }
}

impl Task {
    fn becomes_runnable(&mut self, now_ns: u64) {
        self.runnable = true;
        if self.running_ns.is_none() {
            self.seen.since_ns.get_or_insert(now_ns);
        }
    }

    fn leaves(&mut self, now_ns: u64) {
        if let Some(since_ns) = self.running_ns.take() {
            self.seen.ran_ns += now_ns.saturating_sub(since_ns);
        }
    }
}

impl Sink for State {
    fn event(&mut self, event: &Event) {
        if self.is_there {
            return;
        }
        let (now_ns, cpu) = (event.time_ns, event.cpu);
        if let Some(else_ns) = self.else_ns.filter(|else_ns| now_ns >= *else_ns) {
            return self.stops(else_ns);
        }
        match &event.kind {
            EventKind::Pick { pid, .. } if cpu == Some(self.parting.cpu) => {
                let is_it = self.picks == self.parting.at;
                self.picks += 1;
                if is_it {
                    self.stops(now_ns);
                    let switched = self.switched.take();
                    if let Some((_, seen)) = switched.filter(|(at_ns, _)| *at_ns == now_ns) {
                        if seen.pid == *pid {
                            self.task(*pid).seen = seen;
                        }
                    }
                }
            }
            EventKind::Task { pid, name, weight, .. } => {
                let seen = &mut self.task(*pid).seen;
                (seen.name, seen.weight) = (name.clone(), *weight);
            }
            EventKind::Wakeup { pid, .. } => {
                let task = self.task(*pid);
                task.seen.dsq = None;
                task.becomes_runnable(now_ns);
            }
            EventKind::Enqueue { pid, .. } => {
                let task = self.task(*pid);
                task.seen.dsq = None;
                task.becomes_runnable(now_ns);
            }
            EventKind::Dispatch { pid, dsq } => self.task(*pid).seen.dsq = Some(*dsq),
            EventKind::SwitchIn { pid } => {
                if cpu == Some(self.parting.cpu) {
                    self.switched = Some((now_ns, self.task(*pid).seen.clone()));
                }
                let task = self.task(*pid);
                (task.runnable, task.running_ns) = (true, Some(now_ns));
                (task.seen.since_ns, task.seen.cpu, task.seen.dsq) = (None, cpu, None);
            }
            EventKind::SwitchOut { pid, why } => {
                let task = self.task(*pid);
                task.leaves(now_ns);
                task.runnable = false;
                task.seen.since_ns = None;
                if *why == OffCpu::Runnable {
                    task.becomes_runnable(now_ns);
                }
            }
            EventKind::Exit { pid } => self.task(*pid).runnable = false,
            _ => {}
        }
    }

    fn wants_detail(&self) -> bool {
        true
    }

    fn has_enough(&self) -> bool {
        self.is_there
    }
}
