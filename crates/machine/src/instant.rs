// SPDX-License-Identifier: MIT OR Apache-2.0
//! All that happens at one instant, in order: what is due, then the CPUs that must pick.
//!
//! Real CPUs pick side by side. A task that a CPU has just put back can be taken from its queue
//! at once, but not away from that CPU, which holds its lock until the switch is complete
//! (`finish_lock_switch()`). So a CPU that takes such a task waits with its own still running,
//! and puts it back only after that; others that look meanwhile find neither. Who is the
//! first is drawn, as no CPU is always the fastest; with `Config::shuffle_ties`, who is the next
//! of them, too.

use crate::core::Core;
use crate::cpuset::CpuSet;
use crate::event_queue::EventQueue;
use crate::ops::Ops;
use crate::run::{Machine, RunError};
use crate::sched::Picked;
use rand::RngCore;
use std::collections::VecDeque;

/// The CPUs that were asked to pick at the same time.
#[derive(Default)]
struct Round {
    /// Still to be asked, from this number on.
    asked: CpuSet,
    from: u32,
    /// Have taken a task, and wait for another CPU to complete its switch.
    waiting: VecDeque<u32>,
}

impl Round {
    fn is_over(&self) -> bool {
        self.asked.is_empty() && self.waiting.is_empty()
    }

    /// The next CPU in turn, or any of them if lots are drawn.
    fn next(&mut self, queue: &mut EventQueue) -> Option<u32> {
        let cpu = match queue.draw(self.asked.len()) {
            Some(at) => self.asked.iter().nth(at as usize)?,
            None => self.asked.next_from(self.from).or_else(|| self.asked.first())?,
        };
        self.asked.remove(cpu);
        self.from = cpu + 1;
        Some(cpu)
    }
}

impl Machine {
    /// Everything that happens at one instant: first what is due, then the CPUs that must pick.
    /// A CPU that one of them kicks comes after all that were asked before it. What a pick makes
    /// due at this very instant happens before the next CPU picks.
    pub(crate) fn settle_instant(&mut self, o: &mut dyn Ops, end_ns: u64) -> Result<(), RunError> {
        if self.core.now_ns >= end_ns {
            return Ok(());
        }
        let mut round = Round::default();
        loop {
            while let Some(due) = self.core.queue.pop_due(self.core.now_ns) {
                self.core.counters.events += 1;
                self.handle(o, due)?;
                self.core.drain_deferred(o);
                if self.core.exit.is_some() {
                    return Ok(());
                }
            }
            let Some(picked) = self.next_pick(o, &mut round) else {
                if !round.is_over() || !self.core.resched.is_empty() {
                    continue;
                }
                self.arm_cpus();
                if self.core.queue.next_at() == Some(self.core.now_ns) {
                    continue;
                }
                break;
            };
            let cpu = picked.cpu;
            self.core.finish_schedule(o, picked);
            self.core.drain_deferred(o);
            if self.core.exit.is_some() {
                return Ok(());
            }
            self.advance(o, cpu)?;
            self.core.drain_deferred(o);
        }
        Ok(())
    }

    /// Lets the next CPU pick, and gives what it can switch to right away.
    fn next_pick(&mut self, o: &mut dyn Ops, round: &mut Round) -> Option<Picked> {
        if round.asked.is_empty() {
            if let Some(cpu) = round.waiting.pop_front() {
                return Some(self.core.pick_next(o, cpu));
            }
            round.asked = self.core.resched;
            round.from = self.core.who_begins(&round.asked);
        }
        let cpu = round.next(&mut self.core.queue)?;
        if self.core.rq(cpu).interrupted {
            self.core.resched.remove(cpu);
            return None;
        }
        if !self.core.may_look(cpu) {
            return None;
        }
        self.core.counters.events += 1;
        let picked = self.core.pick_next(o, cpu);
        if self.core.has_to_wait(&picked) {
            round.waiting.push_back(cpu);
            return None;
        }
        Some(picked)
    }
}

impl Core {
    /// The CPU to begin with. With exact slices a pick and its switch are one step that takes no
    /// time, and the lowest CPU is the first.
    fn who_begins(&mut self, cpus: &CpuSet) -> u32 {
        let Some(first) = cpus.first().filter(|_| !self.config.exact_slices) else { return 0 };
        if cpus.next_from(first + 1).is_none() {
            return first;
        }
        self.races.next_u32() % self.nr_cpus()
    }

    /// Whether a CPU has to give up a task for one that another CPU is just switching away from.
    fn has_to_wait(&self, picked: &Picked) -> bool {
        let ext = picked.next.filter(|(next, _)| self.task(*next).class.is_ext());
        let put_back = ext.and_then(|(next, _)| self.task(next).put_back);
        !self.config.exact_slices
            && picked.gives_way()
            && put_back.is_some_and(|(at_ns, cpu)| at_ns == self.now_ns && cpu != picked.cpu)
    }
}
