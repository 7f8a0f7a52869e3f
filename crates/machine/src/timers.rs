// SPDX-License-Identifier: MIT OR Apache-2.0
//! `bpf_timer`s that are running.

use crate::class::Class;
use crate::event_queue::Due;
use crate::ops::Ops;
use crate::pace::LOOK_NS;
use crate::subs::SubIx;
use crate::system::System;
use rustc_hash::FxHashMap;

/// Running timers. Each start gets a number; a restarted timer's old number is stale.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    starts: u64,
    by_start: FxHashMap<u64, Start>,
    by_addr: FxHashMap<u64, u64>,
    /// A timer's callback runs.
    pub(crate) expiring: bool,
}

/// A timer, its CPU, and whose it is.
type Start = (u64, u32, Owner);

/// The scheduler that a timer is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    Fair,
    /// Of sched_ext: the one of all, or of a cgroup.
    Ext(Option<SubIx>),
}

impl System {
    pub(crate) fn start_timer(&mut self, timer: u64, at_ns: u64, cpu: Option<u32>) {
        self.timers.cancel_timer(timer);
        self.timers.starts += 1;
        let start = self.timers.starts;
        let cpu = cpu.filter(|c| *c < self.nr_cpus()).unwrap_or(self.running.this_cpu);
        let owner = if self.hosted.is_fair { Owner::Fair } else { Owner::Ext(self.subs.acting) };
        self.timers.by_start.insert(start, (timer, cpu, owner));
        self.timers.by_addr.insert(timer, start);
        // a callback that starts a timer without a delay must not stop time
        let earliest_ns = if self.timers.expiring { self.now_ns + LOOK_NS } else { self.now_ns };
        let at_ns = at_ns.max(earliest_ns);
        self.expect_timer(cpu, at_ns);
        self.queue.push(at_ns, Due::Timer(start));
    }

    /// Runs a timer that is due, on its CPU.
    pub(crate) fn timer_due(&mut self, o: &mut dyn Ops, start: u64) {
        let Some((timer, cpu, owner)) = self.timers.by_start.remove(&start) else { return };
        self.timers.by_addr.remove(&timer);
        let cpu = self.timer_cpu(cpu);
        match owner {
            Owner::Fair => {
                self.hosting(o, Class::Fair, |system, o| system.run_timer(o, timer, cpu));
            }
            Owner::Ext(sched) => {
                self.for_sched(o, sched, |system, o| system.run_timer(o, timer, cpu));
            }
        }
    }

    fn run_timer(&mut self, o: &mut dyn Ops, timer: u64, cpu: u32) {
        if !self.may_execute(0) {
            return;
        }
        self.running.this_cpu = cpu;
        self.update_curr(cpu);
        self.timers.expiring = true;
        let result = o.run_timer(self, timer);
        self.timers.expiring = false;
        match result {
            Ok(ret) => {
                self.count_executed(ret.instructions);
                // those of the kernel's own class take no time: see charge_program()
                if !self.hosted.is_fair {
                    let cost_ns = ret.instructions * self.config.costs.insn_ps / 1000;
                    self.rq_mut(cpu).owe(cost_ns);
                }
            }
            Err(fault) => self.fault("bpf_timer callback", None, fault),
        }
    }
}

impl Timers {
    /// The maps of sched_ext's scheduler are gone, and its timers with them.
    pub(crate) fn cancel_all_of_ext(&mut self) {
        self.retain(|owner| owner == Owner::Fair);
    }

    /// The same of a scheduler of a cgroup.
    pub(crate) fn cancel_all_of_sub(&mut self, sub: SubIx) {
        self.retain(|owner| owner != Owner::Ext(Some(sub)));
    }

    fn retain(&mut self, keep: impl Fn(Owner) -> bool) {
        self.by_start.retain(|_, (.., owner)| keep(*owner));
        let left = &self.by_start;
        self.by_addr.retain(|_, start| left.contains_key(start));
    }

    pub(crate) fn cancel_timer(&mut self, timer: u64) -> bool {
        match self.by_addr.remove(&timer) {
            Some(start) => self.by_start.remove(&start).is_some(),
            None => false,
        }
    }
}
