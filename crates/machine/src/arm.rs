// SPDX-License-Identifier: MIT OR Apache-2.0
//! When a CPU is due next: the end of its task's work or slice, and its tick.

use crate::choice::Turns;
use crate::consts::SLICE_INF;
use crate::ops::Op;
use crate::run::Machine;
use crate::system::System;
use crate::task::{Tid, Work};
use rota_choice::Site;

impl System {
    /// When the current task of a CPU is done with its step or, with exact slices, has
    /// used its slice; `u64::MAX`: not by itself.
    fn stop_at(&self, cpu: u32) -> u64 {
        let rq = self.rq(cpu);
        let Some(t) = rq.curr else { return u64::MAX };
        let mut at_ns = match self.task(t).work {
            Work::Run { left } => rq.progressed_at_ns.saturating_add(rq.pace.ns_for(rq.debt, left)),
            Work::Until { at_ns } => at_ns,
            // a task that just yielded goes on once its CPU picks it again
            Work::Next | Work::Block => u64::MAX,
        };
        // a CPU that is still to reschedule knows about the slice
        if self.config.exact_slices && !rq.need_resched {
            let slice_ns = self.slice(t);
            if self.task(t).class.is_hosted() && slice_ns != SLICE_INF {
                at_ns = at_ns.min(rq.charged_at_ns.saturating_add(slice_ns));
            }
            let limit_ns = if self.ext_is_alone() { None } else { self.limit_ns(cpu, t) };
            if let Some(left_ns) = limit_ns {
                at_ns = at_ns.min(rq.charged_at_ns.saturating_add(left_ns));
            }
        }
        at_ns
    }

    /// What a task does from now on.
    #[inline]
    pub(crate) fn set_work(&mut self, t: Tid, work: Work) {
        let task = self.task_mut(t);
        task.work = work;
        let cpu = task.cpu;
        self.cpus.touched.insert(cpu);
    }

    /// Schedules [`System::stop_at`] of every CPU where it moved: a task was switched
    /// in, overhead was charged, a slice was changed behind the CPU's back.
    pub(crate) fn arm_cpus(&mut self) {
        let touched = std::mem::take(&mut self.cpus.touched);
        if self.config.exact_slices {
            // hosted code can store a slice at any time
            return (0..self.nr_cpus()).for_each(|cpu| self.arm_cpu(cpu));
        }
        touched.iter().for_each(|cpu| self.arm_cpu(cpu));
    }

    /// The same where few moved, and no slice can be changed behind a CPU's back.
    pub(crate) fn arm_touched(&mut self) {
        while let Some(cpu) = self.cpus.touched.first() {
            self.cpus.touched.remove(cpu);
            self.arm_cpu(cpu);
        }
    }

    fn arm_cpu(&mut self, cpu: u32) {
        let at_ns = self.stop_at(cpu);
        // as it is armed now, it is touched no longer
        let rq = &mut self.cpus.rqs[cpu as usize];
        if at_ns == rq.armed_at_ns {
            return;
        }
        rq.armed_at_ns = at_ns;
        self.queue.stop_at(at_ns.max(self.now_ns), cpu);
    }

    /// The part of the audit about this: a CPU that was not touched is armed for when it is due.
    pub(crate) fn audit_armed(&self, cpu: u32) -> Result<(), String> {
        if self.config.exact_slices || self.cpus.touched.contains(cpu) {
            return Ok(());
        }
        let (at_ns, armed_at_ns) = (self.stop_at(cpu), self.rq(cpu).armed_at_ns);
        if at_ns == armed_at_ns {
            return Ok(());
        }
        Err(format!("is due at {at_ns} ns, and armed for {armed_at_ns} ns"))
    }
}

impl Machine {
    /// A busy CPU ticks at whole multiples of the tick period, or a moment later; an idle one not.
    /// With exact slices, ticks matter only to a scheduler that has `ops.tick()`.
    pub(crate) fn arm_tick(&mut self, cpu: u32) {
        let system = &mut self.system;
        let wanted = !system.config.exact_slices || system.has(Op::Tick) || system.other.is_some();
        if system.rq(cpu).curr.is_none() || !wanted {
            return;
        }
        let stopped = system.can_stop_tick(cpu);
        if system.rq(cpu).tick_armed && system.rq(cpu).tick_stopped == stopped {
            return;
        }
        let number = system.now_ns / system.config.tick_ns() + 1;
        let at_ns = match stopped {
            true => system.remote_tick_at_ns(),
            false => system.tick_at_ns(number, cpu),
        };
        let rq = system.rq_mut(cpu);
        (rq.tick_armed, rq.tick_stopped, rq.tick_due_ns) = (true, stopped, at_ns);
        system.queue.tick_at(at_ns, cpu);
    }
}

impl System {
    /// When a CPU has the tick with this number.
    fn tick_at_ns(&mut self, number: u64, cpu: u32) -> u64 {
        let (tick_ns, turn_ns) = (self.config.tick_ns(), self.config.lab().tick_turn_ns);
        if turn_ns == 0 {
            return number * tick_ns;
        }
        let (first, cpus) = (self.first_at_tick(number), self.nr_cpus());
        let turn = u64::from((cpu + cpus - first) % cpus);
        number * tick_ns + (turn * turn_ns).min(tick_ns - 1)
    }

    /// The CPU that has this tick before the others have it.
    fn first_at_tick(&mut self, number: u64) -> u32 {
        if !self.choices.orders_ties() {
            return 0;
        }
        match self.cpus.tick_turn {
            Some((last, first)) if last == number => first,
            _ => {
                let turns = Turns { cpus: self.nr_cpus() };
                let first = self.choices.choose(Site::TickTurn { number }, &turns);
                self.cpus.tick_turn = Some((number, first));
                first
            }
        }
    }
}
