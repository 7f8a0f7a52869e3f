// SPDX-License-Identifier: MIT OR Apache-2.0
//! Other classes: times at which a CPU belongs to something above sched_ext, a kernel thread for
//! instance. The machine has none of its own; what a real machine had can be given to it.
//!
//! To the scheduler it is what it is in the kernel (`put_prev_task_scx()` for a task of a higher
//! class): a task with slice left stays at the head of its CPU's own queue and goes on with that
//! slice; one whose slice is used up, only not yet ended by a tick, is enqueued again.

use crate::class::stop::Next;
use crate::event_queue::Due;
use crate::ops::Ops;
use crate::system::System;
use crate::task::State;
use rota_trace::OffCpu;

/// A CPU has something else to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interruption {
    /// Which one.
    pub cpu: u32,
    /// From when on.
    pub at_ns: u64,
    /// For how long.
    pub for_ns: u64,
}

impl System {
    /// Those that the run was given; of CPUs that the machine has.
    pub(crate) fn expect_interruptions(&mut self) {
        let cpus = self.nr_cpus();
        for (interruption, number) in self.config.lab().interruptions.iter().zip(0..) {
            if interruption.cpu < cpus {
                self.queue.push(interruption.at_ns, Due::Interruption(number));
            }
        }
    }

    /// Somebody takes the CPU, unless its task is just leaving, it is on its way to be
    /// idle, or taken already.
    pub(crate) fn interrupt(&mut self, o: &mut dyn Ops, number: u32) {
        let Interruption { cpu, for_ns, .. } = self.config.lab().interruptions[number as usize];
        let prev = self.rq(cpu).curr;
        let leaves = prev.is_some_and(|p| self.task(p).state != State::Runnable);
        let rq = self.rq(cpu);
        if rq.interrupted || rq.entering_idle.is_some() || leaves {
            return;
        }
        self.running.this_cpu = cpu;
        match prev {
            Some(p) => {
                let class = self.task(p).class;
                self.put_prev_any(o, cpu, p, Next::Unseen);
                self.leave_cpu(cpu, p, OffCpu::Runnable);
                self.sched_info_switch(prev, None);
                if class.is_hosted() {
                    let goes_on = (self.slice(p) != 0).then_some(p);
                    self.on_side_of(class, |system| system.rq_mut(cpu).goes_on = goes_on);
                }
                self.rq_mut(cpu).curr = None;
                let (addr, idle) = (self.rq(cpu).addr, self.rq(cpu).idle_addr);
                self.guest.put_u64(addr, self.guest.layouts.rq.curr, idle);
            }
            None => self.update_idle(o, cpu, false, true),
        }
        let rq = self.rq_mut(cpu);
        rq.interrupted = true;
        rq.need_resched = false;
        self.set_next_other(cpu);
        self.cpus.resched.remove(cpu);
        self.queue.push(self.now_ns + for_ns, Due::Resume(cpu));
        self.respeed_core(cpu);
    }

    /// The CPU is sched_ext's again.
    pub(crate) fn resume(&mut self, cpu: u32) {
        let rq = self.rq_mut(cpu);
        rq.interrupted = false;
        rq.stopper = true;
        self.respeed_core(cpu);
        self.cpus.resched_curr(cpu);
    }
}
