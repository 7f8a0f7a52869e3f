// SPDX-License-Identifier: MIT OR Apache-2.0
//! What mutexes and condition variables do.

use super::news::Lock;
use super::step::Step;
use super::Runner;
use crate::event::LockEvent;
use crate::model::TaskIx;
use crate::sync::{Loan, Meeting, Waiter};

impl Runner {
    pub(super) fn lock_event(&mut self, task: TaskIx, event: LockEvent) -> Option<Step> {
        let step = self.do_lock_event(task, event);
        self.update_loans();
        step
    }

    fn do_lock_event(&mut self, task: TaskIx, event: LockEvent) -> Option<Step> {
        let waiter = self.waiter(task);
        match event {
            LockEvent::Lock { mutex } => {
                let meeting = self.lock(waiter, mutex);
                self.tasks[task.0 as usize].after(meeting, false)
            }
            LockEvent::Unlock { mutex } => wake(self.unlock(task, mutex)),
            LockEvent::Signal { condition } => wake(self.sync.conditions.signal(condition)),
            LockEvent::Broad { condition } => wake(self.sync.conditions.broadcast(condition)),
            LockEvent::Wait { condition, mutex } => {
                Some(self.wait_for(waiter, condition, mutex, None))
            }
            LockEvent::Sync { condition, mutex } => {
                let signalled = self.sync.conditions.signal(condition);
                Some(self.wait_for(waiter, condition, mutex, signalled))
            }
        }
    }

    fn lock(&mut self, waiter: Waiter, mutex: u32) -> Meeting {
        let holder = self.sync.mutexes.owner(mutex);
        let meeting = self.sync.mutexes.lock(waiter, mutex);
        match meeting {
            Meeting::GoOn(_) => self.acquires(waiter.task, Lock::Mutex(mutex)),
            _ => self.begins_to_wait(waiter.task, Lock::Mutex(mutex), holder),
        }
        meeting
    }

    fn unlock(&mut self, task: TaskIx, mutex: u32) -> Option<TaskIx> {
        let holder = self.sync.mutexes.owner(mutex);
        let next = self.sync.mutexes.unlock(task, mutex);
        // an unlock that is refused changes no holder
        if holder.is_some() && holder != self.sync.mutexes.owner(mutex) {
            self.releases(task, mutex);
        }
        next
    }

    /// `pthread_cond_wait()`: queues at the condition and frees the mutex as one, and once woken
    /// locks it again.
    fn wait_for(
        &mut self,
        waiter: Waiter,
        condition: u32,
        mutex: u32,
        signalled: Option<TaskIx>,
    ) -> Step {
        self.sync.conditions.wait(waiter, condition);
        let next = self.unlock(waiter.task, mutex);
        self.begins_to_wait(waiter.task, Lock::Condition(condition), None);
        let state = &mut self.tasks[waiter.task.0 as usize];
        state.blocked = true;
        state.relocks = Some(mutex);
        // Whoever it wakes is woken before it blocks itself.
        wake(signalled.into_iter().chain(next)).unwrap_or(Step::Block)
    }

    /// The end of a wait: the mutex is locked again before anything else happens.
    pub(super) fn lock_again(&mut self, task: TaskIx, mutex: u32) -> Option<Step> {
        let waiter = self.waiter(task);
        let meeting = self.lock(waiter, mutex);
        self.update_loans();
        match meeting {
            Meeting::GoOn(_) => {
                self.tasks[task.0 as usize].relocks = None;
                None
            }
            Meeting::Wait | Meeting::WaitAndRetry => Some(Step::Block),
        }
    }

    fn update_loans(&mut self) {
        let tasks = &self.tasks;
        let rank = |t: TaskIx| Waiter::new(t, &tasks[t.0 as usize].settings).rank;
        self.sync.loans.update(&mut self.sync.mutexes, rank);
    }

    /// Who runs with whose priority: what has changed since the last call. To be heeded before
    /// the step that came with it.
    pub fn take_loans(&mut self) -> Vec<Loan> {
        self.sync.loans.take()
    }

    /// The task as others see it wait.
    pub(super) fn waiter(&self, task: TaskIx) -> Waiter {
        Waiter::new(task, &self.tasks[task.0 as usize].settings)
    }
}

fn wake(tasks: impl IntoIterator<Item = TaskIx>) -> Option<Step> {
    let tasks: Vec<TaskIx> = tasks.into_iter().collect();
    (!tasks.is_empty()).then_some(Step::Wake { tasks, sync: false })
}
