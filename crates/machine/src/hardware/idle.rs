// SPDX-License-Identifier: MIT OR Apache-2.0
//! Idle states: how deep a CPU sleeps, and how long it takes to wake up, before it switches to a
//! task and at nobody's cost.
//!
//! Which state is chosen as a CPU becomes idle: the deepest one that is worth it for the time to the
//! CPU's next timer, and for the median of its last idle times (as the kernel's `menu` governor,
//! `drivers/cpuidle/governors/menu.c`, reckons in principle).

use super::parts::{IdleState, Ipi};
use crate::event_queue::Due;
use crate::system::System;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Idle times that a CPU remembers.
const INTERVALS: usize = 8;

/// What is kept of a CPU's idleness.
#[derive(Debug, Default)]
pub(crate) struct Idleness {
    /// Since when it is idle.
    since_ns: Option<u64>,
    /// The state that was chosen then.
    state: usize,
    /// Someone wants it: when it is awake.
    awake_at_ns: Option<u64>,
    /// Its last idle times, the oldest first.
    intervals_ns: Vec<u64>,
    /// When its timers expire. Those of the past are taken out as it becomes idle.
    timers_ns: BinaryHeap<Reverse<u64>>,
}

impl Idleness {
    pub(crate) fn expect_timer(&mut self, at_ns: u64) {
        self.timers_ns.push(Reverse(at_ns));
    }

    /// The CPU becomes idle, or goes on to be.
    fn begin(&mut self, now_ns: u64, states: &[IdleState]) {
        self.since_ns = Some(now_ns);
        self.awake_at_ns = None;
        while self.timers_ns.peek().is_some_and(|Reverse(at_ns)| *at_ns <= now_ns) {
            self.timers_ns.pop();
        }
        let timer_ns = self.timers_ns.peek().map_or(u64::MAX, |Reverse(at_ns)| at_ns - now_ns);
        let mut known = self.intervals_ns.clone();
        known.sort_unstable();
        let usual_ns = known.get(known.len() / 2).copied().unwrap_or(u64::MAX);
        let worth = |state: &IdleState| state.residency_ns <= timer_ns.min(usual_ns);
        self.state = states.iter().rposition(worth).unwrap_or(0);
    }

    /// It is to do something: how long it was idle counts from now on.
    fn end(&mut self, now_ns: u64) {
        let Some(since_ns) = self.since_ns.take().filter(|since_ns| *since_ns < now_ns) else {
            return;
        };
        if self.intervals_ns.len() == INTERVALS {
            self.intervals_ns.remove(0);
        }
        self.intervals_ns.push(now_ns - since_ns);
    }
}

impl System {
    /// Whether leaving idle takes as long as the CPU's state says, and not
    /// [`Costs::idle_exit_ns`](crate::config::Costs::idle_exit_ns).
    pub(crate) fn has_idle_states(&self, cpu: u32) -> bool {
        let states = |models: &super::speed::Models| models.hardware.core_type(cpu).idle.len();
        self.models.as_deref().is_some_and(|models| states(models) > 0)
    }

    /// A CPU has nothing to do from now on.
    #[inline]
    pub(crate) fn begin_idle(&mut self, cpu: u32) {
        let now_ns = self.now_ns;
        if let Some(models) = self.models.as_deref_mut() {
            let states = &models.hardware.core_type(cpu).idle;
            models.idleness[cpu as usize].begin(now_ns, states);
        }
    }

    /// A task's timer, or one of a scheduler, will interrupt a CPU.
    #[inline]
    pub(crate) fn expect_timer(&mut self, cpu: u32, at_ns: u64) {
        if let Some(models) = self.models.as_deref_mut() {
            models.idleness[cpu as usize].expect_timer(at_ns);
        }
    }

    /// Whether a CPU that is to reschedule has left its idle state; if not, it soon will.
    #[inline]
    pub(crate) fn is_awake(&mut self, cpu: u32) -> bool {
        self.models.is_none() || self.rq(cpu).curr.is_some() || self.wakes(cpu)
    }

    #[inline(never)]
    fn wakes(&mut self, cpu: u32) -> bool {
        let (now_ns, exit) = (self.now_ns, self.exit_of(cpu));
        let cluster = self.config.topology.cluster_of(cpu);
        let Some(models) = self.models.as_deref_mut() else { return true };
        let idleness = &mut models.idleness[cpu as usize];
        let awake_at_ns = match (idleness.awake_at_ns, exit) {
            (Some(at_ns), _) => at_ns,
            (None, None) => now_ns,
            (None, Some((exit_ns, flush))) => {
                if let Some(caches) = models.caches.as_mut().filter(|_| flush) {
                    caches.flush(cluster);
                }
                now_ns + exit_ns
            }
        };
        if idleness.awake_at_ns.replace(awake_at_ns).is_none() {
            idleness.end(now_ns);
            if awake_at_ns > now_ns {
                self.rq_mut(cpu).looks_later = true;
                self.queue.push(awake_at_ns, Due::Look(cpu));
            }
        }
        if awake_at_ns > now_ns {
            self.cpus.resched.remove(cpu);
        }
        awake_at_ns <= now_ns
    }

    /// How long an idle CPU takes to wake up, and whether its cluster has lost its cache; `None`: it
    /// has no idle states. While a sibling is awake the core is, too.
    fn exit_of(&self, cpu: u32) -> Option<(u64, bool)> {
        let models = self.models.as_deref()?;
        let states = &models.hardware.core_type(cpu).idle;
        if self.polls(cpu) {
            return Some((0, false));
        }
        let siblings = self.config.topology.siblings(cpu);
        let shared = siblings.iter().any(|other| self.is_busy(other));
        let deepest = models.idleness[cpu as usize].state;
        let state = states.get(if shared { 0 } else { deepest })?;
        // a cache that other cores have, too, stays
        let others = self.config.topology.cluster_cpus(cpu);
        let flush = state.flush && !shared && !others.iter().any(|other| self.is_busy(other));
        Some((state.exit_ns, flush))
    }

    /// How long the interrupt takes by which the CPU that acts asks another one to reschedule.
    pub(crate) fn ipi_ns(&self, to: u32) -> u64 {
        let Some(ipi) = self.ipi_costs() else { return self.config.costs.ipi_ns };
        if self.polls(to) {
            return 0;
        }
        let topology = &self.config.topology;
        match topology.llc_of(self.running.this_cpu) == topology.llc_of(to) {
            true => ipi.llc_ns,
            false => ipi.other_llc_ns,
        }
    }

    /// What interrupts cost, where that is modelled.
    pub(crate) fn ipi_costs(&self) -> Option<Ipi> {
        self.models.as_deref().and_then(|models| models.hardware.ipi)
    }

    /// Whether a CPU has become idle just now and still watches for work, so that nobody needs to
    /// interrupt it (`set_nr_if_polling()`, `kernel/sched/core.c`).
    pub(crate) fn polls(&self, cpu: u32) -> bool {
        let Some(models) = self.models.as_deref() else { return false };
        let poll_ns = models.hardware.core_type(cpu).poll_ns;
        let since_ns = models.idleness[cpu as usize].since_ns;
        since_ns.is_some_and(|since_ns| self.now_ns - since_ns < poll_ns)
    }

    /// How late the timer of a task that goes to sleep may be (`current->timer_slack_ns`).
    pub(crate) fn timer_slack_ns(&self, is_normal: bool) -> u64 {
        match self.models.as_deref() {
            Some(models) if is_normal => models.hardware.timer_slack_ns,
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: u64 = 1_000;

    fn states() -> Vec<IdleState> {
        let state = |name: &str, exit_us, residency_us| IdleState {
            name: name.into(),
            exit_ns: exit_us * US,
            residency_ns: residency_us * US,
            flush: false,
        };
        vec![state("C1", 1, 1), state("C1E", 2, 4), state("C6", 190, 600)]
    }

    #[test]
    fn the_deepest_state_that_is_worth_it_is_chosen() {
        let mut cpu = Idleness::default();
        let mut chosen = |timer_us: Option<u64>, now_us: u64| {
            cpu.timers_ns.clear();
            timer_us.into_iter().for_each(|us| cpu.expect_timer((now_us + us) * US));
            cpu.begin(now_us * US, &states());
            cpu.state
        };
        assert_eq!(chosen(None, 0), 2);
        assert_eq!(chosen(Some(600), 0), 2);
        assert_eq!(chosen(Some(599), 0), 1);
        assert_eq!(chosen(Some(3), 0), 0);
    }

    #[test]
    fn short_idle_times_of_late_count_as_much_as_the_next_timer() {
        let mut cpu = Idleness::default();
        let mut now_ns = 0;
        let mut idle_for = |us: u64| {
            cpu.begin(now_ns, &states());
            now_ns += us * US;
            cpu.end(now_ns);
            now_ns += 50 * US;
            cpu.begin(now_ns, &states());
            cpu.state
        };
        // as long as most of the last eight were long: four of eight
        (0..8).for_each(|_| assert_eq!(idle_for(700), 2));
        assert_eq!([0; 4].map(|_| idle_for(20)), [2, 2, 2, 2]);
        assert_eq!(idle_for(20), 1);
    }
}
