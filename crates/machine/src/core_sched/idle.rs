// SPDX-License-Identifier: MIT OR Apache-2.0
//! CPUs that core scheduling keeps idle.

use crate::ops::Ops;
use crate::system::System;
use rota_trace::EventKind;

impl System {
    /// A CPU idles although it has tasks, or does so no more.
    pub(super) fn set_forced_idle(&mut self, cpu: u32, forced: bool) {
        let was = std::mem::replace(&mut self.core_sched.rq_mut(cpu).forced, forced);
        if was != forced {
            self.emit(Some(cpu), EventKind::ForcedIdle { forced });
        }
    }

    /// `pick_task_idle()` of a sibling: the CPU itself does it when it switches.
    pub(super) fn pick_task_idle(&mut self, o: &mut dyn Ops, cpu: u32) {
        let rq = self.rq(cpu);
        let is_idle = rq.curr.is_none() && !rq.stopper && rq.entering_idle.is_none();
        if cpu != self.running.this_cpu && is_idle {
            self.update_idle(o, cpu, true, false);
        }
    }

    /// Whether a CPU runs a task that must not go on next to what its core has picked.
    pub(crate) fn must_leave_core(&self, cpu: u32) -> bool {
        let pick = self.core_sched.enabled.then(|| self.core_sched.rq(cpu).pick).flatten();
        let curr = self.rq(cpu).curr;
        pick.is_some() && curr.is_some_and(|t| self.task(t).core_cookie != self.core_of(cpu).cookie)
    }
}
