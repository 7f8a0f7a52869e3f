// SPDX-License-Identifier: MIT OR Apache-2.0
//! The stop class (`kernel/sched/stop_task.c`): a CPU's stopper thread is above all tasks, runs for
//! an instant, and moves tasks off the CPU that they run on.

use crate::ops::Ops;
use crate::system::System;
use crate::task::Tid;
use rota_trace::OffCpu;

/// What a CPU switches to when it puts its task back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Idle,
    Task(Tid),
    Stopper,
    /// An interruption of a recording, of which no scheduler is told.
    Unseen,
}

impl From<Option<Tid>> for Next {
    fn from(next: Option<Tid>) -> Self {
        next.map_or(Next::Idle, Next::Task)
    }
}

impl System {
    /// `stop_one_cpu_nowait()` with `migration_cpu_stop()`: the stopper of a CPU shall move a task
    /// that runs there.
    pub(crate) fn stop_for(&mut self, cpu: u32, t: Tid) {
        let work = &mut self.rq_mut(cpu).stop_work;
        if !work.contains(&t) {
            work.push(t);
        }
        self.set_next_stopper(cpu);
        self.hand_back_immediate(cpu);
        self.resched_cpu(cpu);
    }

    /// `put_prev_set_next_task()` and `context_switch()` to the stopper.
    pub(crate) fn switch_to_stopper(
        &mut self,
        o: &mut dyn Ops,
        cpu: u32,
        prev: Option<Tid>,
        why: OffCpu,
    ) {
        let again = self.rq(cpu).stopper;
        match prev {
            Some(p) => {
                self.put_prev_any(o, cpu, p, Next::Stopper);
                self.leave_cpu(cpu, p, why);
            }
            None if again => {}
            None => self.update_idle(o, cpu, false, true),
        }
        if self.hosted.watched.at_switch() && !again {
            let (left, stopper) = (self.on_cpu_addr(cpu, prev, false), self.stopper_addr(cpu));
            self.pass_switch(o, cpu, left, stopper);
            self.sched_info_switch(prev, None);
        }
        let (addr, idle) = (self.rq(cpu).addr, self.rq(cpu).idle_addr);
        self.rq_mut(cpu).curr = None;
        self.rq_mut(cpu).stopper = true;
        self.guest.put_u64(addr, self.guest.layouts.rq.curr, idle);
        self.respeed_core(cpu);
        self.cpus.resched_curr(cpu);
    }

    /// `cpu_stopper_thread()`: `migration_cpu_stop()` for each of the tasks.
    pub(crate) fn run_stopper(&mut self, o: &mut dyn Ops, cpu: u32) {
        for t in std::mem::take(&mut self.rq_mut(cpu).stop_work) {
            if self.task(t).addr != 0 {
                self.leave_forbidden_cpu(o, t);
                self.leave_for_any(o, cpu, t);
            }
        }
    }

    /// The CPUs that a task may use went offline before the stopper came. The kernel leaves it
    /// where it is (`__migrate_task()`), and looks for others when it next wakes up; here it leaves.
    fn leave_for_any(&mut self, o: &mut dyn Ops, cpu: u32, t: Tid) {
        let task = self.task(t);
        let stays = task.cpus.contains(cpu) || task.migration_disabled;
        if task.cpu != cpu || stays || !self.is_queued(t) {
            return;
        }
        let to = self.select_fallback(o, t, cpu);
        if to != cpu {
            self.migrate_any(o, t, cpu, to);
            self.check_preempt(to, t);
        }
    }
}
