// SPDX-License-Identifier: MIT OR Apache-2.0
//! What will happen when: a heap ordered by time, then by the documented order of
//! one instant.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Something due at a time. The order of the variants is the order within one
/// instant: wakeups (in the order of the workload file) come before anything that
/// makes a CPU pick.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Due {
    /// A task of the workload starts, by its index.
    Arrive(u32),
    /// A sleeping task's timer fires, by its index in the machine.
    Wake(u32),
    /// Requests of customers arrive.
    Customers,
    /// The running task of a CPU may have finished its work or its slice: CPU, generation.
    Stop(u32, u64),
    /// The periodic tick of a CPU.
    Tick(u32),
    /// Another class takes a CPU, by its index in the configuration, and gives it back.
    Interruption(u32),
    Resume(u32),
    /// A CPU that was made to wait may reschedule, see `Core::may_look`.
    Look(u32),
    /// A CPU is idle, see `Core::become_idle`.
    Idle(u32),
    /// A `bpf_timer` expires: start order (its key), see `Core::timers`.
    Timer(u64),
    /// The watchdog looks for stalled tasks.
    Watchdog,
}

/// Pending events.
#[derive(Debug, Default)]
pub(crate) struct EventQueue(BinaryHeap<Reverse<(u64, Due)>>);

impl EventQueue {
    pub(crate) fn push(&mut self, at_ns: u64, due: Due) {
        self.0.push(Reverse((at_ns, due)));
    }

    /// Time of the next event.
    pub(crate) fn next_at(&self) -> Option<u64> {
        self.0.peek().map(|Reverse((at, _))| *at)
    }

    /// Takes the next event if it is due at or before `now_ns`.
    pub(crate) fn pop_due(&mut self, now_ns: u64) -> Option<Due> {
        if self.next_at()? > now_ns {
            return None;
        }
        self.0.pop().map(|Reverse((_, due))| due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wakeups_of_an_instant_come_first_and_in_task_order() {
        let mut queue = EventQueue::default();
        queue.push(10, Due::Tick(0));
        queue.push(10, Due::Customers);
        queue.push(10, Due::Stop(1, 7));
        queue.push(10, Due::Wake(3));
        queue.push(10, Due::Wake(1));
        queue.push(5, Due::Watchdog);
        assert_eq!(queue.pop_due(4), None);
        let order: Vec<_> = std::iter::from_fn(|| queue.pop_due(10)).collect();
        assert_eq!(
            order,
            [
                Due::Watchdog,
                Due::Wake(1),
                Due::Wake(3),
                Due::Customers,
                Due::Stop(1, 7),
                Due::Tick(0)
            ]
        );
    }
}
