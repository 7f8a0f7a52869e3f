// SPDX-License-Identifier: MIT OR Apache-2.0
//! The dynamic state of a running workload: what each task does next.
//!
//! Order and rules are rt-app's (`thread_body` and `run_event` of its `rt-app.c`). Every task
//! draws from a random stream of its own, so that what a task does never depends on the order
//! in which a scheduler runs the others.

use std::sync::Arc;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::model::{Event, Phase, Settings, TaskIx, TimerKind, TimerRef, Workload};
use crate::random::Span;
use crate::sync::{Awaits, Meeting, Sync};

/// How often one task may be forked, rt-app's limit.
pub const FORK_LIMIT: u32 = 1024;

/// How many steps (events, ends of phases) a task may do at one instant before it counts as stuck.
pub const INSTANT_LIMIT: u32 = 100_000;

/// What a task does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Compute: work that takes `work_ns` on a CPU of full speed. Never 0.
    Run {
        /// Nanoseconds at full speed.
        work_ns: u64,
    },
    /// Be busy until this much time has passed on the clock, whether on a CPU or waiting
    /// for one. Never 0.
    Runtime {
        /// Nanoseconds of wall-clock time.
        ns: u64,
    },
    /// Sleep from now on. Never 0.
    Sleep {
        /// Nanoseconds.
        ns: u64,
    },
    /// Sleep until a time that is still to come.
    SleepUntil {
        /// Nanoseconds since the run began.
        at_ns: u64,
    },
    /// `sched_yield()`.
    Yield,
    /// Another task was created and starts now.
    Fork {
        /// The new task.
        child: TaskIx,
    },
    /// Block until another task wakes this one ([`Step::Wake`]).
    Block,
    /// These blocked tasks are woken, in this order.
    Wake {
        /// Never empty.
        tasks: Vec<TaskIx>,
    },
    /// These settings hold from now on.
    Change(Settings),
    /// The task is over.
    Exit,
    /// The workload cannot go on: the task would loop for ever without using time, or forks
    /// without end. The text names the task and says why.
    Stuck(String),
}

/// All dynamic state of a running workload.
#[derive(Clone, Debug)]
pub struct Runner {
    workload: Arc<Workload>,
    seed: u64,
    tasks: Vec<TaskState>,
    /// Initial tasks: the first so many of `tasks`.
    initial: usize,
    /// Next expiry of each shared timer, `None` before its first use.
    timers: Vec<Option<u64>>,
    /// Forks made of each definition so far.
    forks: Vec<u32>,
    sync: Sync,
}

#[derive(Clone, Debug)]
struct TaskState {
    name: String,
    definition: u32,
    settings: Settings,
    thread_of: Option<TaskIx>,
    parent: Option<TaskIx>,
    stream: u64,
    /// Made at the first draw: most tasks never draw.
    rng: Option<Box<ChaCha8Rng>>,
    /// Start of the task's own time: its timers count from here (rt-app's `t_first`).
    first_ns: u64,
    /// A forked task with a delay waits for it before its first event.
    waits_for_delay: bool,
    own_timers: Vec<Option<u64>>,
    children: u64,
    cursor: Cursor,
    /// Instant of the last step and the steps done at it without using time.
    instant: (u64, u32),
}

/// Where in its program a task is.
#[derive(Clone, Copy, Debug, Default)]
struct Cursor {
    task_loop: u64,
    phase: usize,
    phase_loop: u64,
    /// The phase's settings were applied for this iteration.
    entered: bool,
    event: usize,
    done: bool,
}

impl Runner {
    /// The workload at its beginning; `seed` decides all random durations.
    pub fn new(workload: Arc<Workload>, seed: u64) -> Self {
        let starts = start_times(&workload, seed);
        let tasks: Vec<TaskState> = workload
            .tasks
            .iter()
            .zip(starts)
            .enumerate()
            .map(|(index, (task, first_ns))| {
                let definition = &workload.definitions[task.definition as usize];
                TaskState {
                    name: task.name.clone(),
                    definition: task.definition,
                    settings: task.settings.clone(),
                    thread_of: task.thread_of,
                    parent: None,
                    stream: index as u64,
                    rng: None,
                    first_ns,
                    waits_for_delay: false,
                    own_timers: vec![None; definition.own_timers.len()],
                    children: 0,
                    cursor: Cursor::default(),
                    instant: (0, 0),
                }
            })
            .collect();
        Runner {
            seed,
            initial: tasks.len(),
            tasks,
            timers: vec![None; workload.timers.len()],
            forks: vec![0; workload.definitions.len()],
            sync: Sync::new(&workload),
            workload,
        }
    }

    /// The tasks that start by themselves and when, in file order.
    pub fn initial(&self) -> impl Iterator<Item = (TaskIx, u64)> + '_ {
        let initial = self.tasks[..self.initial].iter().enumerate();
        initial.map(|(index, task)| (TaskIx(index as u32), task.first_ns))
    }

    /// What the task does next. Called once when the task starts and then whenever its
    /// previous step is complete; `now_ns` never goes backwards.
    pub fn next(&mut self, task: TaskIx, now_ns: u64) -> Step {
        let state = &mut self.tasks[task.0 as usize];
        if state.instant.0 != now_ns {
            state.instant = (now_ns, 0);
        }
        loop {
            let step = self.advance(task, now_ns);
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
                return step;
            }
        }
    }

    /// Name of a task: `<task>-<index>`, of a forked one `<task>-<index>-<fork>`.
    pub fn name(&self, task: TaskIx) -> &str {
        &self.tasks[task.0 as usize].name
    }

    /// Settings in force.
    pub fn settings(&self, task: TaskIx) -> &Settings {
        &self.tasks[task.0 as usize].settings
    }

    /// The task whose process this one is a thread of; `None`: a process of its own.
    pub fn thread_of(&self, task: TaskIx) -> Option<TaskIx> {
        self.tasks[task.0 as usize].thread_of
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
        let mut blocked: Vec<_> = self.sync.blocked(&self.workload).collect();
        blocked.sort_unstable_by_key(|(task, _)| *task);
        blocked
    }

    /// The workload that runs.
    pub fn workload(&self) -> &Arc<Workload> {
        &self.workload
    }

    /// One event or one step of bookkeeping; `None`: nothing anyone else needs to know.
    fn advance(&mut self, ix: TaskIx, now_ns: u64) -> Option<Step> {
        let workload = &*self.workload;
        let state = &mut self.tasks[ix.0 as usize];
        let definition = &workload.definitions[state.definition as usize];
        let program = &*definition.program;
        if state.waits_for_delay {
            state.waits_for_delay = false;
            if state.first_ns > now_ns {
                return Some(Step::SleepUntil { at_ns: state.first_ns });
            }
        }
        if state.cursor.done || Some(state.cursor.task_loop) == program.loops {
            state.cursor.done = true;
            return Some(Step::Exit);
        }
        let phase = &program.phases[state.cursor.phase];
        if !state.cursor.entered {
            state.cursor.entered = true;
            if phase.change.apply(&mut state.settings, &definition.task_cpus) {
                return Some(Step::Change(state.settings.clone()));
            }
        }
        let Some(event) = phase.events.get(state.cursor.event) else {
            state.cursor.end_of_phase(phase, program.phases.len());
            return None;
        };
        state.cursor.event += 1;
        match event {
            Event::Run(span) => {
                let work_ns = state.draw(span, self.seed);
                (work_ns > 0).then_some(Step::Run { work_ns })
            }
            Event::Runtime(span) => {
                let ns = state.draw(span, self.seed);
                (ns > 0).then_some(Step::Runtime { ns })
            }
            Event::Sleep(span) => {
                let ns = state.draw(span, self.seed);
                (ns > 0).then_some(Step::Sleep { ns })
            }
            Event::Timer { timer, period } => {
                let period_ns = state.draw(period, self.seed);
                let (slot, kind) = match *timer {
                    TimerRef::Shared(i) => {
                        (&mut self.timers[i as usize], workload.timers[i as usize])
                    }
                    TimerRef::Own(i) => {
                        (&mut state.own_timers[i as usize], definition.own_timers[i as usize])
                    }
                };
                let at_ns = slot.unwrap_or(state.first_ns).saturating_add(period_ns);
                let waits = at_ns > now_ns;
                *slot = Some(match kind {
                    TimerKind::Relative if !waits => now_ns,
                    _ => at_ns,
                });
                waits.then_some(Step::SleepUntil { at_ns })
            }
            Event::Yield => Some(Step::Yield),
            Event::Fork { definition } => Some(self.fork(ix, *definition)),
            Event::Suspend => state.after(self.sync.suspend(ix, state.definition)),
            Event::Resume { definition } => state.after(self.sync.resume(*definition)),
            Event::SemPost { semaphore } => state.after(self.sync.post(*semaphore)),
            Event::SemWait { semaphore } => state.after(self.sync.wait(ix, *semaphore)),
            Event::Barrier { barrier } => {
                let participants = workload.barriers[*barrier as usize].participants;
                state.after(self.sync.meet(ix, *barrier, participants))
            }
        }
    }

    fn fork(&mut self, parent: TaskIx, definition_ix: u32) -> Step {
        let definition = &self.workload.definitions[definition_ix as usize];
        let count = &mut self.forks[definition_ix as usize];
        if *count >= FORK_LIMIT {
            return Step::Stuck(format!(
                "task {:?} forks {:?} once more than the {FORK_LIMIT} times rt-app allows",
                self.tasks[parent.0 as usize].name, definition.name
            ));
        }
        let number = *count;
        *count += 1;
        let child = TaskIx(self.tasks.len() as u32);
        let forker = &mut self.tasks[parent.0 as usize];
        // Depends on the line of descent alone, not on which parent came first.
        let stream = mix(forker.stream ^ mix(forker.children)) | FORKED;
        forker.children += 1;
        let mut state = TaskState {
            name: format!("{}-{}-{number:04}", definition.name, child.0),
            definition: definition_ix,
            settings: definition.settings.clone(),
            thread_of: definition.leader(number),
            parent: Some(parent),
            stream,
            rng: None,
            first_ns: 0,
            waits_for_delay: true,
            own_timers: vec![None; definition.own_timers.len()],
            children: 0,
            cursor: Cursor::default(),
            instant: (0, 0),
        };
        state.first_ns = state.draw(&definition.delay, self.seed);
        self.tasks.push(state);
        Step::Fork { child }
    }
}

/// Marks the random streams of forked tasks and of start times.
const FORKED: u64 = 1 << 63;
const STARTS: u64 = 1 << 62;

/// When each initial task starts. Without `arrive` every instance has its own delay; with it
/// instance 0 starts after the delay and each other one a gap after the one before.
fn start_times(workload: &Workload, seed: u64) -> Vec<u64> {
    let mut starts = Vec::with_capacity(workload.tasks.len());
    let mut current = None;
    for task in &workload.tasks {
        let definition = &workload.definitions[task.definition as usize];
        let fresh = current.as_ref().is_none_or(|(index, _, _)| *index != task.definition);
        if fresh {
            let rng = stream(seed, STARTS | u64::from(task.definition));
            current = Some((task.definition, rng, 0));
        }
        if let Some((_, rng, last_ns)) = &mut current {
            *last_ns = match &definition.arrive {
                Some(gap) if !fresh => gap.draw(rng).saturating_add(*last_ns),
                _ => definition.delay.draw(rng),
            };
            starts.push(*last_ns);
        }
    }
    starts
}

fn stream(seed: u64, number: u64) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(number);
    rng
}

/// The finalizer of SplitMix64: spreads every bit over the whole word.
fn mix(word: u64) -> u64 {
    let word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

impl TaskState {
    fn draw(&mut self, span: &Span, seed: u64) -> u64 {
        if let Span::Fixed(ns) = *span {
            return ns;
        }
        let number = self.stream;
        let rng = self.rng.get_or_insert_with(|| Box::new(stream(seed, number)));
        span.draw(&mut **rng)
    }

    /// How an event in which tasks wait for or wake each other went.
    fn after(&mut self, meeting: Meeting) -> Option<Step> {
        match meeting {
            Meeting::GoOn(tasks) => (!tasks.is_empty()).then_some(Step::Wake { tasks }),
            Meeting::Wait => Some(Step::Block),
            Meeting::WaitAndRetry => {
                self.cursor.event -= 1;
                Some(Step::Block)
            }
        }
    }
}

impl Cursor {
    fn end_of_phase(&mut self, phase: &Phase, phases: usize) {
        self.event = 0;
        self.entered = false;
        self.phase_loop += 1;
        if Some(self.phase_loop) != phase.loops {
            return;
        }
        self.phase_loop = 0;
        self.phase += 1;
        if self.phase == phases {
            self.phase = 0;
            self.task_loop += 1;
        }
    }
}

#[cfg(test)]
#[path = "runner_tests.rs"]
mod tests;
