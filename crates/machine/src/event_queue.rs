// SPDX-License-Identifier: MIT OR Apache-2.0
//! What will happen when: a heap ordered by time, then by the documented order of
//! one instant, or by choice. What a CPU has one of at a time is not in it, but in a list of its own.

use crate::choice::Ties;
use crate::cpu_times::CpuTimes;
use rota_choice::{Choices, Site};
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Something due at a time. The order of the variants is the order within one
/// instant: tasks that come and wakeups come before anything that makes a CPU pick.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Due {
    /// A task of the workload starts, by its index.
    Arrive(u32),
    /// A sleeping task's timer fires: how many were set before, as a kernel's timers that end
    /// together end in the order in which they were set, and the task's index in the machine.
    Wake(u64, u32),
    /// Requests of customers arrive.
    Customers,
    /// Something happens from outside: its number in the workload.
    Outside(u32),
    /// A deadline task's next period begins: its index in the machine, generation.
    Replenish(u32, u64),
    /// The deadline server of sched_ext of a CPU, or of the fair class: CPU, generation.
    Server(u32, u64),
    FairServer(u32, u64),
    /// The frequency of CPUs that have one clock changes: their number, generation.
    Clock(u32, u64),
    /// The running task of a CPU may have finished its work or its slice.
    Stop(u32),
    /// The periodic tick of a CPU.
    Tick(u32),
    /// Another class takes a CPU, by its index in the configuration, and gives it back.
    Interruption(u32),
    Resume(u32),
    /// A CPU that was made to wait may reschedule, see `System::may_look`.
    Look(u32),
    /// A CPU learns that another one asks it to reschedule.
    Ipi(u32),
    /// A CPU is idle, see `System::become_idle`.
    Idle(u32),
    /// A `bpf_timer` expires: start order (its key), see `System::timers`.
    Timer(u64),
    /// The watchdog looks for stalled tasks.
    Watchdog,
    /// The warm-up is over, on a machine that is not flat.
    Measured,
    /// A scheduler is loaded, or taken away.
    Load,
    Unload,
}

/// An event in the heap: the earliest is the greatest. Most differ in their times, so that these are
/// compared in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    at_ns: u64,
    due: Due,
}

impl Ord for Entry {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        other.at_ns.cmp(&self.at_ns).then_with(|| other.due.cmp(&self.due))
    }
}

impl PartialOrd for Entry {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }

    #[inline(always)]
    fn le(&self, other: &Self) -> bool {
        match self.at_ns == other.at_ns {
            true => self.due_later(other),
            false => self.at_ns > other.at_ns,
        }
    }
}

impl Entry {
    #[inline(never)]
    fn due_later(&self, other: &Self) -> bool {
        self.due >= other.due
    }
}

/// Pending events.
#[derive(Debug)]
pub(crate) struct EventQueue {
    heap: BinaryHeap<Entry>,
    /// When running tasks stop, and when CPUs have their ticks.
    stops: CpuTimes,
    ticks: CpuTimes,
    /// Taken out of the heap, all due now: one of them is to be chosen.
    due: Vec<(u64, Due)>,
    /// Tasks that come at one instant come in any order; `false`: before all else, in theirs.
    chooses_arrivals: bool,
    /// Timers of sleeping tasks so far.
    sleeps: u64,
}

impl EventQueue {
    /// No events, of so many CPUs.
    pub(crate) fn new(cpus: u32, chooses_arrivals: bool) -> Self {
        Self {
            heap: BinaryHeap::new(),
            stops: CpuTimes::new(cpus),
            ticks: CpuTimes::new(cpus),
            due: Vec::new(),
            chooses_arrivals,
            sleeps: 0,
        }
    }

    /// The running task of a CPU stops then, and not when it was to stop before; `u64::MAX`: never.
    pub(crate) fn stop_at(&mut self, at_ns: u64, cpu: u32) {
        self.stops.set(cpu, at_ns);
    }

    /// A CPU has its next tick then, and not when it was to have it before.
    pub(crate) fn tick_at(&mut self, at_ns: u64, cpu: u32) {
        self.ticks.set(cpu, at_ns);
    }

    /// Sets the timer of a task that goes to sleep.
    pub(crate) fn wake_at(&mut self, at_ns: u64, task: u32) {
        self.push(at_ns, Due::Wake(self.sleeps, task));
        self.sleeps += 1;
    }

    pub(crate) fn push(&mut self, at_ns: u64, due: Due) {
        self.heap.push(Entry { at_ns, due });
    }

    /// Time of the next event.
    pub(crate) fn next_at(&self) -> Option<u64> {
        let at_ns = self.heap.peek().map_or(u64::MAX, |entry| entry.at_ns);
        let at_ns = at_ns.min(self.stops.earliest()).min(self.ticks.earliest());
        (at_ns != u64::MAX).then_some(at_ns)
    }

    /// The CPU with a tick then, if that comes before all else. It stays until it is set anew.
    #[inline]
    pub(crate) fn due_tick(&self, now_ns: u64) -> Option<u32> {
        let cpu = self.ticks.first().filter(|_| self.ticks.earliest() == now_ns)?;
        let other_ns = self.heap.peek().map_or(u64::MAX, |entry| entry.at_ns);
        (now_ns < self.stops.earliest().min(other_ns)).then_some(cpu)
    }

    /// Takes the next event if it is due at or before `now_ns`. Of several it is the documented
    /// one, or a choice.
    #[inline]
    pub(crate) fn pop_due(&mut self, now_ns: u64, choices: &mut Choices) -> Option<Due> {
        if choices.orders_ties() {
            return self.choose_due(now_ns, choices);
        }
        self.pop(now_ns).map(|(_, due)| due)
    }

    fn pop(&mut self, now_ns: u64) -> Option<(u64, Due)> {
        let next_ns = self.next_at().filter(|&at_ns| at_ns <= now_ns)?;
        let others = self.heap.peek().filter(|entry| entry.at_ns == next_ns).map(|entry| entry.due);
        let is_first = |due: Due| others.is_none_or(|other| due < other);
        let of = |times: &CpuTimes| times.first().filter(|_| times.earliest() == next_ns);
        // in the order of `Due`
        if of(&self.stops).is_some_and(|cpu| is_first(Due::Stop(cpu))) {
            return self.stops.take().map(|(at_ns, cpu)| (at_ns, Due::Stop(cpu)));
        }
        if of(&self.ticks).is_some_and(|cpu| is_first(Due::Tick(cpu))) {
            return self.ticks.take().map(|(at_ns, cpu)| (at_ns, Due::Tick(cpu)));
        }
        self.heap.pop().map(|Entry { at_ns, due }| (at_ns, due))
    }

    fn choose_due(&mut self, now_ns: u64, choices: &mut Choices) -> Option<Due> {
        while let Some(event) = self.pop(now_ns) {
            self.due.push(event);
        }
        if !self.chooses_arrivals {
            let first = self.due.iter().enumerate().min_by_key(|(_, (_, due))| *due);
            if let Some((at, (_, Due::Arrive(_)))) = first {
                return Some(self.due.swap_remove(at).1);
            }
        }
        if self.due.is_empty() {
            return None;
        }
        let at = choices.choose(Site::Event, &Ties(&self.due));
        Some(self.due.swap_remove(at as usize).1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use rota_choice::Seeded;
    use std::collections::HashSet;

    fn shuffled(seed: u64) -> Choices {
        Choices::by(Seeded::new(seed).with_shuffled_ties())
    }

    /// What comes out at 10 of three wakeups then, one before and one after.
    fn drawn(seed: u64) -> Vec<Due> {
        let (mut queue, choices) = (EventQueue::new(2, true), &mut shuffled(seed));
        for (at, task) in [(10, 1), (11, 9), (10, 2), (5, 0), (10, 3)] {
            queue.push(at, Due::Wake(0, task));
        }
        assert_eq!(queue.pop_due(5, choices), Some(Due::Wake(0, 0)));
        assert_eq!((queue.pop_due(9, choices), queue.next_at()), (None, Some(10)));
        std::iter::from_fn(|| queue.pop_due(10, choices)).collect()
    }

    #[test]
    fn a_shuffled_queue_has_every_order_of_an_instant_and_keeps_instants_apart() {
        let orders: HashSet<Vec<Due>> = (0..200).map(drawn).collect();
        assert_eq!(orders.len(), 6);
        for mut order in orders {
            order.sort();
            assert_eq!(order, [1, 2, 3].map(|task| Due::Wake(0, task)));
        }
        assert_eq!(drawn(7), drawn(7));
    }

    #[test]
    fn tasks_that_come_can_keep_their_order_where_all_else_is_drawn() {
        let orders: HashSet<Vec<Due>> = (0..200)
            .map(|seed| {
                let (mut queue, choices) = (EventQueue::new(2, false), &mut shuffled(seed));
                let wakes = [1, 2].map(|task| Due::Wake(0, task));
                for due in [2, 0, 1].map(Due::Arrive).into_iter().chain(wakes) {
                    queue.push(10, due);
                }
                std::iter::from_fn(|| queue.pop_due(10, choices)).collect()
            })
            .collect();
        assert_eq!(orders.len(), 2);
        assert!(orders.iter().all(|order| order[..3] == [0, 1, 2].map(Due::Arrive)));
    }

    #[test]
    fn wakeups_of_an_instant_come_first_and_in_the_order_in_which_timers_were_set() {
        // However it is asked for: recorded choices are the documented ones all the same.
        for recorded in [false, true] {
            let mut choices = Choices::by(Seeded::new(1));
            if recorded {
                choices = choices.recorded();
            }
            in_documented_order(&mut choices);
        }
    }

    fn in_documented_order(choices: &mut Choices) {
        let mut queue = EventQueue::new(2, true);
        queue.tick_at(9, 0);
        queue.tick_at(10, 0);
        queue.push(10, Due::Customers);
        queue.stop_at(4, 1);
        queue.stop_at(10, 1);
        queue.wake_at(10, 3);
        queue.wake_at(10, 1);
        queue.push(5, Due::Watchdog);
        assert_eq!(queue.pop_due(4, choices), None);
        let order: Vec<_> = std::iter::from_fn(|| queue.pop_due(10, choices)).collect();
        assert_eq!(
            order,
            [
                Due::Watchdog,
                Due::Wake(0, 3),
                Due::Wake(1, 1),
                Due::Customers,
                Due::Stop(1),
                Due::Tick(0)
            ]
        );
    }
}
