// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `fork`, `vfork`, `exit`, `suspend` and `resume` do.

use super::start::mix;
use super::state::{Cursor, TaskState};
use super::step::Step;
use super::{Runner, FORK_LIMIT, LIVE_LIMIT};
use crate::event::TaskEvent;
use crate::model::{Leaders, TaskIx};
use crate::random::FORKED;
use rota_choice::Choices;

impl Runner {
    pub(super) fn task_event(
        &mut self,
        task: TaskIx,
        event: TaskEvent,
        choices: &mut Choices,
    ) -> Option<Step> {
        let waiter = self.waiter(task);
        let state = &mut self.tasks[task.0 as usize];
        match event {
            TaskEvent::Fork { definition, call } => {
                state.call = call;
                Some(self.fork(task, definition, choices))
            }
            TaskEvent::Exit { semaphore } => {
                state.leaves = semaphore;
                self.ends(task);
                Some(Step::Exit)
            }
            TaskEvent::Suspend { name } => {
                let name = name.unwrap_or(state.definition);
                state.after(self.sync.suspended.suspend(waiter, name), false)
            }
            TaskEvent::Resume { name: None } => None,
            TaskEvent::Resume { name: Some(name) } => {
                state.after(self.sync.suspended.resume(name), false)
            }
        }
    }

    fn fork(&mut self, parent: TaskIx, definition_ix: u32, choices: &mut Choices) -> Step {
        let definition = &self.workload.definitions[definition_ix as usize];
        let thread_of = match definition.leaders {
            Leaders::Themselves => None,
            Leaders::Initial { .. } => definition.leader(self.forks[definition_ix as usize]),
            Leaders::Fork { definition: leads } => {
                let process = self.tasks[parent.0 as usize].thread_of.unwrap_or(parent);
                if self.tasks[process.0 as usize].definition != leads {
                    return Step::Stuck(format!(
                        "task {:?} forks {:?}, a thread of {:?}: only a task of that process can",
                        self.tasks[parent.0 as usize].name,
                        definition.name,
                        self.workload.definitions[leads as usize].name
                    ));
                }
                Some(process)
            }
        };
        let count = &mut self.forks[definition_ix as usize];
        if *count >= FORK_LIMIT {
            return Step::Stuck(format!(
                "task {:?} forks {:?} once more than the {FORK_LIMIT} times rt-app allows",
                self.tasks[parent.0 as usize].name, definition.name
            ));
        }
        if self.alive >= LIVE_LIMIT {
            return Step::Stuck(format!(
                "task {:?} forks {:?} while {LIVE_LIMIT} tasks live: no more than that can live at \
                 once",
                self.tasks[parent.0 as usize].name, definition.name
            ));
        }
        self.alive += 1;
        if !definition.is_background() {
            self.ending = self.ending.map(|ending| ending + 1);
        }
        let number = *count;
        *count += 1;
        let child = TaskIx(self.tasks.len() as u32);
        let forker = &mut self.tasks[parent.0 as usize];
        // Depends on the line of descent alone, not on which parent came first.
        let stream = mix(forker.stream ^ mix(forker.children)) | FORKED;
        forker.children += 1;
        let forker = self.tasks[parent.0 as usize].identity;
        let identity = match thread_of {
            Some(leader) => self.tasks[leader.0 as usize].identity,
            None => definition.identity(Some(forker)),
        };
        let mut state = TaskState {
            name: format!("{}-{}-{number:04}", definition.name, child.0),
            definition: definition_ix,
            settings: definition.settings.clone(),
            thread_of,
            parent: Some(parent),
            identity,
            stream,
            first_ns: 0,
            waits_for_delay: true,
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
        };
        state.first_ns = state.draw(&definition.delay, child, choices);
        self.tasks.push(state);
        Step::Fork { child }
    }
}
