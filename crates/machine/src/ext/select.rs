// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where a waking task goes: `select_task_rq()` and `select_task_rq_scx()`.

use crate::consts::DSQ_LOCAL;
use crate::ops::{Op, Ops};
use crate::rq::Direct;
use crate::running::{Site, Subject};
use crate::system::System;
use crate::task::Tid;
use crate::tracing::Place;

impl System {
    /// `select_task_rq()`: the CPU, and whether the class chose it (`WF_RQ_SELECTED`).
    pub(crate) fn select_task_rq(
        &mut self,
        o: &mut dyn Ops,
        t: Tid,
        wake_flags: u64,
    ) -> (u32, bool) {
        let prev_cpu = self.task(t).cpu;
        let pinned = self.task(t).migration_disabled;
        let (cpu, selected) = if self.task(t).nr_cpus_allowed > 1 && !pinned {
            let args = [self.task(t).addr, self.cpu_arg(prev_cpu), wake_flags];
            self.pass(o, Place::SelectTaskRqScx, &args);
            let cpu = self
                .for_task(o, t, |system, o| system.select_task_rq_scx(o, t, prev_cpu, wake_flags));
            self.leave(o, Place::SelectTaskRqScx, &[args[0], args[1], args[2], u64::from(cpu)]);
            (cpu, true)
        } else {
            (self.task(t).cpus_ptr().first().unwrap_or(prev_cpu), false)
        };
        // is_cpu_allowed()
        let is_there = if pinned { !self.is_offline(cpu) } else { self.hotplug.is_active(cpu) };
        if self.task(t).cpus_ptr().contains(cpu) && is_there {
            return (cpu, selected);
        }
        (self.select_fallback(o, t, prev_cpu), selected)
    }

    fn select_task_rq_scx(
        &mut self,
        o: &mut dyn Ops,
        t: Tid,
        prev_cpu: u32,
        wake_flags: u64,
    ) -> u32 {
        if self.has(Op::SelectCpu) && !self.is_bypassing() {
            let here = self.running.this_cpu;
            self.rq_mut(here).direct = Direct::Task(t);
            self.rq_mut(here).in_select_cpu = true;
            let args = [self.task(t).addr, self.cpu_arg(prev_cpu), wake_flags];
            let cpu = self.call(o, Op::SelectCpu, None, Some(t), &args) as i32;
            let cpu = self.cpu_ret(cpu);
            self.rq_mut(here).in_select_cpu = false;
            self.rq_mut(here).direct = Direct::No;
            self.set_selected_cpu(t, cpu);
            let site = Some(Site { op: Some(Op::SelectCpu), at: None });
            let subject = Subject { task: Some(t), site };
            let place = "from ops.select_cpu()";
            if self.about(subject, |system| system.cpu_valid(i64::from(cpu), place)) {
                return cpu as u32;
            }
            return prev_cpu;
        }
        let cpu = match self.select_cpu_dfl(t, prev_cpu, wake_flags, None, 0) {
            Some(cpu) => {
                self.refill_slice(t);
                self.task_mut(t).ddsp_dsq_id = DSQ_LOCAL;
                cpu
            }
            None => prev_cpu,
        };
        self.set_selected_cpu(t, cpu as i32);
        cpu
    }

    fn set_selected_cpu(&mut self, t: Tid, cpu: i32) {
        self.task_mut(t).selected_cpu = cpu;
        let addr = self.task(t).addr;
        self.guest.put_u32(addr, self.guest.layouts.task.scx_selected_cpu, cpu as u32);
    }
}
