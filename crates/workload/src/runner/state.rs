// SPDX-License-Identifier: MIT OR Apache-2.0
//! The state of one task: where in its program it is, its settings and its own timers.

use rota_choice::{Choices, Origin};

use super::step::Step;
use crate::event::Call;
use crate::model::{Identity, Phase, Settings, TaskIx};
use crate::random::Span;
use crate::sync::Meeting;

use super::flows::Underway;
use super::news::Lock;

#[derive(Clone, Debug)]
pub(super) struct TaskState {
    pub(super) name: String,
    pub(super) definition: u32,
    pub(super) settings: Settings,
    pub(super) thread_of: Option<TaskIx>,
    pub(super) parent: Option<TaskIx>,
    pub(super) identity: Identity,
    /// Its random numbers are those of this stream.
    pub(super) stream: u64,
    /// Start of the task's own time: its timers count from here (rt-app's `t_first`).
    pub(super) first_ns: u64,
    /// A forked task with a delay waits for it before its first event.
    pub(super) waits_for_delay: bool,
    /// As far as they were used.
    pub(super) own_timers: Vec<Option<u64>>,
    pub(super) children: u64,
    pub(super) cursor: Cursor,
    /// It waits until another task wakes it.
    pub(super) blocked: bool,
    /// It was waiting for a condition and has this mutex to lock before it goes on.
    pub(super) relocks: Option<u32>,
    /// The system call that it is in, which has forked.
    pub(super) call: Option<Call>,
    /// The semaphore that its end posts.
    pub(super) leaves: Option<u32>,
    /// The flow that it is in.
    pub(super) flow: Option<Box<Underway>>,
    /// What it has begun to wait for and does not have yet.
    pub(super) waits_at: Option<Lock>,
    /// Instant of the last step and the steps done at it without using time.
    pub(super) instant: (u64, u32),
}

/// Where in its program a task is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cursor {
    pub(super) task_loop: u64,
    pub(super) phase: usize,
    pub(super) phase_loop: u64,
    /// The phase's settings were applied for this iteration.
    pub(super) entered: bool,
    pub(super) event: usize,
    pub(super) done: bool,
}

impl TaskState {
    /// A length of time for what this task, whose number is `task`, does.
    pub(super) fn draw(&self, span: &Span, task: TaskIx, choices: &mut Choices) -> u64 {
        span.draw(&mut || choices.draw(Origin::Task(task.0, self.stream)))
    }

    pub(super) fn own_timer(&mut self, index: u32) -> &mut Option<u64> {
        let index = index as usize;
        if index >= self.own_timers.len() {
            self.own_timers.resize(index + 1, None);
        }
        &mut self.own_timers[index]
    }

    /// How an event in which tasks wait for or wake each other went; `sync` as in [`Step::Wake`].
    pub(super) fn after(&mut self, meeting: Meeting, sync: bool) -> Option<Step> {
        match meeting {
            Meeting::GoOn(tasks) => (!tasks.is_empty()).then_some(Step::Wake { tasks, sync }),
            Meeting::Wait => Some(Step::Block),
            Meeting::WaitAndRetry => {
                self.cursor.event -= 1;
                Some(Step::Block)
            }
        }
    }
}

impl Cursor {
    pub(super) fn end_of_phase(&mut self, phase: &Phase, phases: usize) {
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
