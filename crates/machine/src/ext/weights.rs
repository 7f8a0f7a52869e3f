// SPDX-License-Identifier: MIT OR Apache-2.0
//! Weights and shares of tasks: `set_task_scx_weight()`, `reweight_task_scx()`.

use crate::class::Class;
use crate::consts::*;
use crate::exit::ExitKind;
use crate::ops::{Op, Ops};
use crate::system::System;
use crate::task::Tid;
use crate::tasks::Tasks;
use crate::weight;
use rota_workload::Policy;

impl System {
    pub(crate) fn publish_weight(&mut self, t: Tid) {
        let weight = self.tasks.weight_of(t);
        self.task_mut(t).weight = weight;
        let addr = self.task(t).addr;
        self.guest.put_u32(addr, self.guest.layouts.task.scx_weight, weight);
        self.guest.put_u64(
            addr,
            self.guest.layouts.task.load_weight,
            u64::from(weight) * 1024 / 100,
        );
    }

    /// `reweight_task_scx()`.
    pub(crate) fn reweight_task(&mut self, o: &mut dyn Ops, t: Tid) {
        self.publish_weight(t);
        let (cpu, weight) = (self.task(t).cpu, self.task(t).weight);
        // a task of a class above keeps its state READY
        let class = if self.task(t).class == Class::Fair { Class::Fair } else { Class::Ext };
        self.hosting(o, class, |system, o| {
            system.for_task(o, t, |system, o| {
                if system.has(Op::SetWeight) && system.scx_state(t) == TASK_ENABLED {
                    system.call_task(o, Op::SetWeight, cpu, t, &[u64::from(weight)]);
                }
            });
        });
    }
}

/// `rota_shares`.
pub(crate) fn publish_share(system: &mut System, o: &mut dyn Ops, t: Tid, share: u64) {
    let pid = system.task(t).pid;
    if let Err(fault) = o.set_share(system, pid, share) {
        system.error(ExitKind::Error, format!("rota_shares: {fault}"));
    }
}

impl Tasks {
    /// Weight of a task: an explicit one, or by its nice value (`__scx_enable_task()`), which is 0
    /// for tasks above sched_ext.
    pub(crate) fn weight_of(&self, t: Tid) -> u32 {
        let settings = &self.get(t).settings;
        match (settings.weight, settings.policy) {
            (Some(weight), _) => weight.clamp(1, 10_000),
            (None, Policy::Idle) => weight::of_idle(),
            (None, policy) if policy.is_real_time() => weight::of_nice(0),
            (None, _) => weight::of_nice(settings.priority),
        }
    }
}
