// SPDX-License-Identifier: MIT OR Apache-2.0
//! What semaphores and barriers do.

use super::news::Lock;
use super::step::Step;
use super::Runner;
use crate::event::MeetingEvent;
use crate::model::TaskIx;
use crate::sync::Meeting;

impl Runner {
    /// A task that has forked waits in the same system call. It tries again once it is woken up, and does
    /// not fork again.
    pub(super) fn wait_in_call(&mut self, task: TaskIx, semaphore: u32) -> Option<Step> {
        let next = self.tasks[task.0 as usize].cursor.event;
        let step = self.meeting_event(task, MeetingEvent::SemWait { semaphore });
        let state = &mut self.tasks[task.0 as usize];
        state.cursor.event = next;
        state.call = state.call.filter(|_| step == Some(Step::Block));
        step
    }

    pub(super) fn meeting_event(&mut self, task: TaskIx, event: MeetingEvent) -> Option<Step> {
        let waiter = self.waiter(task);
        let meeting = match event {
            MeetingEvent::SemPost { semaphore } => self.sync.semaphores.post(semaphore),
            MeetingEvent::SemWait { semaphore } => self.sync.semaphores.wait(waiter, semaphore),
            MeetingEvent::Barrier { barrier } => {
                let participants = self.workload.barriers[barrier as usize].participants;
                self.sync.barriers.meet(waiter, barrier, participants)
            }
        };
        let lock = match event {
            MeetingEvent::SemPost { .. } => None,
            MeetingEvent::SemWait { semaphore } => Some(Lock::Semaphore(semaphore)),
            MeetingEvent::Barrier { barrier } => Some(Lock::Barrier(barrier)),
        };
        match (&meeting, lock) {
            (Meeting::GoOn(_), Some(lock)) => self.acquires(task, lock),
            (_, Some(lock)) => self.begins_to_wait(task, lock, None),
            (_, None) => {}
        }
        self.tasks[task.0 as usize].after(meeting, false)
    }
}
