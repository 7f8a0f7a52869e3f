// SPDX-License-Identifier: MIT OR Apache-2.0
//! `scx_bpf_sub_dispatch()`.

use crate::exit::ExitKind;
use crate::ext::dispatch::Verdict;
use crate::system::System;

impl System {
    /// `scx_bpf_sub_dispatch()`: whether a child has found something to run.
    pub(crate) fn sub_dispatch(&mut self, cgroup_id: u64) -> bool {
        let (parent, cpu) = (self.subs.acting, self.running.ctx.locked_rq);
        let at = self.cgroups.by_id(cgroup_id);
        let linked = self.subs.linked();
        let child = linked.into_iter().find(|ix| Some(self.subs.get(*ix).cgroup) == at);
        let (Some(child), Some(cpu)) = (child, cpu) else { return false };
        if self.subs.get(child).parent != parent {
            let text = format!("trying to dispatch a distant sub-sched on cgroup {cgroup_id}");
            self.error(ExitKind::Error, text);
            return false;
        }
        // one that dispatches already is asked by itself
        let Some(mut ops) = self.subs.get_mut(child).ops.take() else { return false };
        if let Some(parent) = parent {
            self.swap_sub(parent);
        }
        self.swap_sub(child);
        self.subs.acting = Some(child);
        // rq->scx.sub_dispatch_prev
        let prev = self.rq(cpu).curr.filter(|prev| self.task(*prev).class.is_ext());
        let verdict = self.dispatch_sched(&mut *ops, cpu, prev);
        self.swap_sub(child);
        if let Some(parent) = parent {
            self.swap_sub(parent);
        }
        self.subs.acting = parent;
        self.subs.get_mut(child).ops = Some(ops);
        verdict != Verdict::None
    }
}
