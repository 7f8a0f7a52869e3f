// SPDX-License-Identifier: MIT OR Apache-2.0
//! All that happens at one instant, in order: what is due, then the CPUs that must pick.
//!
//! Real CPUs pick side by side. A task that a CPU has just put back can be taken from its queue
//! at once, but not away from that CPU, which holds its lock until the switch is complete
//! (`finish_lock_switch()`). So a CPU that takes such a task waits with its own still running,
//! and puts it back only after that; others that look meanwhile find neither. Which CPU is the
//! first is a choice, as none is always the fastest; where ties are shuffled, the next one, too.

use crate::choice::Asked;
use crate::cpuset::CpuSet;
use crate::event_queue::Due;
use crate::ops::Ops;
use crate::run::{Machine, RunError};
use crate::sched::Picked;
use crate::system::System;
use rota_choice::{Choices, Site};
use std::collections::VecDeque;

/// The CPUs that were asked to pick at the same time.
struct Round {
    /// CPUs of the machine.
    cpus: u32,
    /// Still to be asked.
    asked: CpuSet,
    /// Where the next one is to be chosen.
    site: Site,
    /// The one after the last that was asked.
    from: u32,
    /// Have taken a task, and wait for another CPU to complete its switch.
    waiting: VecDeque<u32>,
}

impl Round {
    #[inline]
    fn new(cpus: u32) -> Self {
        Self {
            cpus,
            asked: CpuSet::default(),
            site: Site::NextCpu,
            from: 0,
            waiting: VecDeque::new(),
        }
    }

    fn is_over(&self) -> bool {
        self.asked.is_empty() && self.waiting.is_empty()
    }

    /// Begins anew. With exact slices a pick and its switch are one step that takes no time, and the
    /// lowest CPU is the first.
    fn begin(&mut self, asked: CpuSet, exact_slices: bool) {
        (self.asked, self.from) = (asked, 0);
        self.site = if exact_slices { Site::NextCpu } else { Site::FirstCpu };
    }

    /// The next CPU in turn, or by choice.
    fn next(&mut self, choices: &mut Choices) -> Option<u32> {
        let site = std::mem::replace(&mut self.site, Site::NextCpu);
        let cpu = if site == Site::FirstCpu || choices.orders_ties() {
            let asked = Asked { cpus: &self.asked, from: self.from, all: self.cpus };
            let position = choices.choose(site, &asked);
            self.asked.nth(position)?
        } else {
            self.asked.next_from(self.from).or_else(|| self.asked.first())?
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
        if self.system.now_ns >= end_ns {
            return Ok(());
        }
        let mut round = Round::new(self.system.nr_cpus());
        loop {
            while let Some(due) = self.system.next_due() {
                self.system.told.counters.events += 1;
                self.handle(o, due)?;
                self.system.drain_deferred(o);
                if self.system.hosted.exit.is_some() {
                    return Ok(());
                }
            }
            let Some(picked) = self.next_pick(o, &mut round) else {
                if !round.is_over() || !self.system.cpus.resched.is_empty() {
                    continue;
                }
                // of a scheduler that was attached while all CPUs slept
                if !self.system.cpus.deferred.is_empty() {
                    self.system.drain_deferred(o);
                    continue;
                }
                self.system.arm_cpus();
                if !self.system.config.nohz_full.is_empty() {
                    self.rearm_ticks();
                }
                if self.system.queue.next_at() == Some(self.system.now_ns) {
                    continue;
                }
                if self.system.core_sched.is_over() {
                    self.system.flip_core_sched(false);
                    continue;
                }
                break;
            };
            let cpu = picked.cpu;
            self.system.finish_schedule(o, picked);
            self.system.drain_deferred(o);
            if self.system.hosted.exit.is_some() {
                return Ok(());
            }
            self.advance(o, cpu)?;
            self.system.drain_deferred(o);
        }
        Ok(())
    }

    /// Lets the next CPU pick, and gives what it can switch to right away.
    fn next_pick(&mut self, o: &mut dyn Ops, round: &mut Round) -> Option<Picked> {
        if round.asked.is_empty() {
            if let Some(cpu) = round.waiting.pop_front() {
                return Some(self.system.pick_next(o, cpu));
            }
            if self.system.cpus.resched.is_empty() {
                return None;
            }
            round.begin(self.system.cpus.resched, self.system.config.exact_slices);
        }
        let cpu = round.next(&mut self.system.choices)?;
        if self.system.is_offline(cpu) {
            self.system.rq_mut(cpu).need_resched = false;
            self.system.cpus.resched.remove(cpu);
            return None;
        }
        if self.system.rq(cpu).interrupted || self.system.rq(cpu).in_call {
            self.system.cpus.resched.remove(cpu);
            return None;
        }
        if !self.system.may_look(cpu) || !self.system.is_awake(cpu) {
            return None;
        }
        self.system.told.counters.events += 1;
        let picked = self.system.pick_next(o, cpu);
        if self.system.has_to_wait(&picked) {
            round.waiting.push_back(cpu);
            return None;
        }
        Some(picked)
    }
}

impl System {
    /// Takes what happens next at this instant.
    #[inline]
    fn next_due(&mut self) -> Option<Due> {
        self.queue.pop_due(self.now_ns, &mut self.choices)
    }

    /// Whether a CPU has to give up a task for one that another CPU is just switching away from.
    fn has_to_wait(&self, picked: &Picked) -> bool {
        let hosted = picked.next.filter(|(next, _)| self.task(*next).class.is_hosted());
        let put_back = hosted.and_then(|(next, _)| self.task(next).put_back);
        !self.config.exact_slices
            && picked.gives_way()
            && put_back.is_some_and(|(at_ns, cpu)| at_ns == self.now_ns && cpu != picked.cpu)
    }
}
