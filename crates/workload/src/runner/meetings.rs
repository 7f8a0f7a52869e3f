// SPDX-License-Identifier: MIT OR Apache-2.0
//! What semaphores and barriers do.

use super::step::Step;
use super::Runner;
use crate::event::MeetingEvent;
use crate::model::TaskIx;

impl Runner {
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
        self.tasks[task.0 as usize].after(meeting)
    }
}
