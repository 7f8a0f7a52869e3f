// SPDX-License-Identifier: MIT OR Apache-2.0
//! The dynamic state of a running workload: what each task does next.
//!
//! Order and rules are rt-app's (`thread_body` and `run_event` of its `rt-app.c`). Every task
//! draws from a random stream of its own, so that what a task does never depends on the order
//! in which a scheduler runs the others.

use rota_choice::Choices;
use std::sync::Arc;

use crate::event::{Event, TimeEvent};
use crate::model::{Identity, Settings, TaskIx, Workload};
use crate::requests::traffic::Traffic;
use crate::sync::{Awaits, Meeting, Sync};
use state::{Cursor, TaskState};

mod deadlock;
mod flows;
mod locks;
mod meetings;
mod news;
mod requests;
mod seeded;
mod start;
mod state;
mod step;
mod tasks;
mod time;

pub use news::{Lock, News};
pub use seeded::SeededRunner;
pub use step::Step;

/// How often one task may be forked, rt-app's limit.
pub const FORK_LIMIT: u32 = 1024;

/// How many tasks may live at once: each needs some 11 kB of simulated kernel.
pub const LIVE_LIMIT: u32 = 1 << 17;

/// How many steps (events, ends of phases) a task may do at one instant before it counts as stuck.
pub const INSTANT_LIMIT: u32 = 100_000;

/// All dynamic state of a running workload.
#[derive(Clone, Debug)]
pub struct Runner {
    workload: Arc<Workload>,
    tasks: Vec<TaskState>,
    /// Initial tasks: the first so many of `tasks`.
    initial: usize,
    /// Tasks that are not over.
    alive: u32,
    /// Of them, those that are not in the background; `None`: all are.
    ending: Option<u32>,
    /// Next expiry of each shared timer, `None` before its first use.
    timers: Vec<Option<u64>>,
    /// Forks made of each definition so far.
    forks: Vec<u32>,
    sync: Sync,
    traffic: Traffic,
    /// How many tasks wait for each mutex, those included that are woken and did not get it yet.
    wanted: Vec<u32>,
    news: Vec<News>,
}

impl Runner {
    /// The workload at its beginning. `choices` are those of the whole run, and decide all that is
    /// random.
    pub fn new(workload: Arc<Workload>, choices: &mut Choices) -> Self {
        let starts = start::times(&workload, choices);
        let tasks: Vec<TaskState> = workload
            .tasks
            .iter()
            .zip(starts)
            .enumerate()
            .map(|(index, (task, first_ns))| {
                let leader = task.thread_of.map_or(task, |l| &workload.tasks[l.0 as usize]);
                let identity = workload.definitions[leader.definition as usize].identity(None);
                TaskState {
                    name: task.name.clone(),
                    definition: task.definition,
                    settings: task.settings.clone(),
                    thread_of: task.thread_of,
                    parent: None,
                    identity,
                    stream: index as u64,
                    first_ns,
                    waits_for_delay: false,
                    own_timers: Vec::new(),
                    children: 0,
                    cursor: Cursor::default(),
                    blocked: false,
                    relocks: None,
                    call: None,
                    leaves: None,
                    flow: None,
                    waits_at: None,
                    instant: (0, 0),
                }
            })
            .collect();
        let is_foreground =
            |task: &&crate::Task| !workload.definitions[task.definition as usize].is_background();
        let foreground = workload.tasks.iter().filter(is_foreground).count() as u32;
        Runner {
            initial: tasks.len(),
            alive: tasks.len() as u32,
            ending: (foreground > 0).then_some(foreground),
            tasks,
            timers: vec![None; workload.timers.len()],
            forks: vec![0; workload.definitions.len()],
            sync: Sync::new(&workload),
            traffic: Traffic::new(&workload.requests, choices),
            wanted: vec![0; workload.mutexes.len()],
            news: Vec::new(),
            workload,
        }
    }

    /// The tasks that start by themselves and when, in file order.
    pub fn initial(&self) -> impl Iterator<Item = (TaskIx, u64)> + '_ {
        let initial = self.tasks[..self.initial].iter().enumerate();
        initial.map(|(index, task)| (TaskIx(index as u32), task.first_ns))
    }

    /// Whether no task lives or is still to start, and the run is to end with the last of them. Tasks
    /// in the background do not count, unless all are such.
    pub fn is_done(&self) -> bool {
        self.workload.ends_with_tasks && (self.alive == 0 || self.ending == Some(0))
    }

    /// Whether the run ends without waiting for the task: it is in the background, and not all are.
    pub fn accompanies(&self, task: TaskIx) -> bool {
        let definition = self.tasks[task.0 as usize].definition;
        self.ending.is_some() && self.workload.definitions[definition as usize].is_background()
    }

    /// A task is killed: its next step is its exit, whatever it waits for. What it had locked stays
    /// locked, and requests that it had taken get no answer.
    pub fn kill(&mut self, task: TaskIx) {
        self.sync.forget(task);
        self.traffic.forget(task);
        self.waits_no_more(task);
        let state = &mut self.tasks[task.0 as usize];
        (state.blocked, state.relocks, state.waits_for_delay) = (false, None, false);
        (state.call, state.flow) = (None, None);
        self.ends(task);
    }

    /// The task's program is over, or it is killed.
    fn ends(&mut self, task: TaskIx) {
        let state = &mut self.tasks[task.0 as usize];
        if !std::mem::replace(&mut state.cursor.done, true) {
            self.alive -= 1;
            if !self.workload.definitions[state.definition as usize].is_background() {
                self.ending = self.ending.map(|ending| ending - 1);
            }
        }
    }

    /// What the task does next. Called once when the task starts and then whenever its
    /// previous step is complete; `now_ns` never goes backwards.
    pub fn next(&mut self, task: TaskIx, now_ns: u64, choices: &mut Choices) -> Step {
        let computes = cfg!(debug_assertions) && self.computes_next(task);
        let state = &mut self.tasks[task.0 as usize];
        if state.instant.0 != now_ns {
            state.instant = (now_ns, 0);
        }
        loop {
            let step = self.advance(task, now_ns, choices);
            let state = &mut self.tasks[task.0 as usize];
            match step {
                Some(
                    Step::Yield
                    | Step::Fork { .. }
                    | Step::Block
                    | Step::Wake { .. }
                    | Step::Change(_),
                )
                | None => {
                    state.instant.1 += 1;
                    if state.instant.1 > INSTANT_LIMIT {
                        return Step::Stuck(format!(
                            "task {:?} did {INSTANT_LIMIT} steps at {now_ns} ns without using \
                             any time: give its loop a run, sleep or timer longer than 0",
                            state.name
                        ));
                    }
                }
                Some(_) => state.instant.1 = 0,
            }
            if let Some(step) = step {
                debug_assert!(!computes || matches!(step, Step::Run { .. }), "{step:?}");
                self.note(task, &step);
                return step;
            }
        }
    }

    /// Whether the task's next step is [`Step::Run`], whenever it is asked for and whatever others do
    /// until then. Where that depends on random numbers it says no.
    pub fn computes_next(&self, task: TaskIx) -> bool {
        let state = &self.tasks[task.0 as usize];
        let waits = state.waits_at.is_some() || state.relocks.is_some() || state.waits_for_delay;
        let waits = waits || state.flow.is_some() || state.call.is_some();
        if state.blocked || waits || state.cursor.done {
            return false;
        }
        let definition = &self.workload.definitions[state.definition as usize];
        let phases = &definition.program.phases;
        let mut cursor = state.cursor;
        let ended = &phases[cursor.phase];
        if cursor.entered && cursor.event == ended.events.len() {
            cursor.end_of_phase(ended, phases.len());
        }
        let phase = &phases[cursor.phase];
        Some(cursor.task_loop) != definition.program.loops
            && (cursor.entered || phase.change.leaves(&state.settings, &definition.task_cpus))
            && matches!(
                phase.events.get(cursor.event),
                Some(Event::Time(TimeEvent::Run(span))) if span.is_positive()
            )
    }

    /// Whether the task's next step is one of the system call in which it has taken the last one: a kernel
    /// that does not preempt itself lets it go on until then. A task that is not of the workload is in none.
    pub fn is_in_call(&self, task: TaskIx) -> bool {
        let state = self.tasks.get(task.0 as usize);
        state.is_some_and(|state| state.call.is_some() && state.waits_at.is_none())
    }

    /// A task whose last step was [`Step::Exit`] is gone: the tasks that wake up for that. Nobody waits for one
    /// that is not of the workload.
    #[must_use]
    pub fn leave(&mut self, task: TaskIx) -> Vec<TaskIx> {
        let posted = self.tasks.get_mut(task.0 as usize).and_then(|state| state.leaves.take());
        let Some(Meeting::GoOn(woken)) = posted.map(|at| self.sync.semaphores.post(at)) else {
            return Vec::new();
        };
        woken.iter().for_each(|woken| self.tasks[woken.0 as usize].blocked = false);
        woken
    }

    /// Keeps who is blocked: a task goes on only when another wakes it, also if it was woken
    /// before it got to block, or if whoever runs it asks too early.
    fn note(&mut self, task: TaskIx, step: &Step) {
        match step {
            Step::Block => self.tasks[task.0 as usize].blocked = true,
            Step::Wake { tasks, .. } => {
                tasks.iter().for_each(|woken| self.tasks[woken.0 as usize].blocked = false);
            }
            Step::Exit => self.traffic.exit(task),
            _ => {}
        }
    }

    /// Name of a task: `<task>-<index>`, of a forked one `<task>-<index>-<fork>`.
    pub fn name(&self, task: TaskIx) -> &str {
        &self.tasks[task.0 as usize].name
    }

    /// Name of the task that this one is an instance or a fork of, as the file has it.
    pub fn instance_of(&self, task: TaskIx) -> &Arc<str> {
        &self.workload.definitions[self.tasks[task.0 as usize].definition as usize].name
    }

    /// Settings in force.
    pub fn settings(&self, task: TaskIx) -> &Settings {
        &self.tasks[task.0 as usize].settings
    }

    /// The task whose process this one is a thread of; `None`: a process of its own.
    pub fn thread_of(&self, task: TaskIx) -> Option<TaskIx> {
        self.tasks[task.0 as usize].thread_of
    }

    /// Whose process a task is in.
    pub fn identity(&self, task: TaskIx) -> Identity {
        self.tasks[task.0 as usize].identity
    }

    /// The task that forked this one; `None`: it started by itself.
    pub fn parent(&self, task: TaskIx) -> Option<TaskIx> {
        self.tasks[task.0 as usize].parent
    }

    /// Tasks that exist so far, the initial ones included.
    pub fn task_count(&self) -> usize {
        self.tasks.len()
    }

    /// The tasks that wait for others now, and what for, by task.
    pub fn blocked(&self) -> Vec<(TaskIx, Awaits)> {
        let meetings = self.sync.blocked(&self.workload);
        let sockets = self.traffic.blocked(&self.workload.requests);
        let mut blocked: Vec<_> = meetings.chain(sockets).collect();
        blocked.sort_unstable_by_key(|(task, _)| *task);
        blocked
    }

    /// The workload that runs.
    pub fn workload(&self) -> &Arc<Workload> {
        &self.workload
    }

    /// One event or one step of bookkeeping; `None`: nothing anyone else needs to know.
    fn advance(&mut self, ix: TaskIx, now_ns: u64, choices: &mut Choices) -> Option<Step> {
        let state = &self.tasks[ix.0 as usize];
        if state.blocked {
            return Some(Step::Block);
        }
        // a mutex and a semaphore are tried again
        if let Some(lock @ (Lock::Condition(_) | Lock::Barrier(_))) = state.waits_at {
            self.acquires(ix, lock);
        }
        let workload = &*self.workload;
        let state = &mut self.tasks[ix.0 as usize];
        let definition = &workload.definitions[state.definition as usize];
        let program = &*definition.program;
        if let Some(mutex) = state.relocks {
            return self.lock_again(ix, mutex);
        }
        if let Some(call) = &mut state.call {
            let (work_ns, semaphore) = (std::mem::take(&mut call.run_ns), call.semaphore);
            return match work_ns {
                0 => self.wait_in_call(ix, semaphore),
                work_ns => Some(Step::Run { work_ns }),
            };
        }
        if state.waits_for_delay {
            state.waits_for_delay = false;
            if state.first_ns > now_ns {
                return Some(Step::SleepUntil { at_ns: state.first_ns });
            }
        }
        if state.cursor.done || Some(state.cursor.task_loop) == program.loops {
            self.ends(ix);
            return Some(Step::Exit);
        }
        if state.flow.is_some() {
            return self.flow_step(ix);
        }
        let phase = &program.phases[state.cursor.phase];
        if !state.cursor.entered {
            state.cursor.entered = true;
            if phase.change.apply(&mut state.settings, &definition.task_cpus) {
                self.sync.loans.own_rank_changed(ix);
                return Some(Step::Change(Box::new(state.settings.clone())));
            }
        }
        let Some(event) = phase.events.get(state.cursor.event).copied() else {
            state.cursor.end_of_phase(phase, program.phases.len());
            return None;
        };
        state.cursor.event += 1;
        match event {
            Event::Time(event) => self.time_event(ix, event, now_ns, choices),
            Event::Task(event) => self.task_event(ix, event, choices),
            Event::Meeting(event) => self.meeting_event(ix, event),
            Event::Lock(event) => self.lock_event(ix, event),
            Event::Socket(event) => self.socket_event(ix, event, now_ns, choices),
            Event::Flow(flow) => self.flow_event(ix, flow),
        }
    }
}

#[cfg(test)]
mod deadlock_tests;
#[cfg(test)]
mod flow_tests;
#[cfg(test)]
mod tests;
