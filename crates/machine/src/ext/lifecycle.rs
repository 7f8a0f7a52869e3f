// SPDX-License-Identifier: MIT OR Apache-2.0
//! A scheduler's and a task's life: `scx_root_enable_workfn()`, `scx_fork()`,
//! `scx_enable_task()`, `sched_ext_dead()`.

use crate::consts::*;
use crate::exit::ExitKind;
use crate::ops::{Op, Ops};
use crate::system::System;
use crate::task::Tid;
use crate::tasks::Tasks;
use crate::weight;
use rota_workload::Policy;

impl System {
    /// `scx_set_task_state()`.
    fn set_scx_state(&mut self, t: Tid, state: u32) {
        self.change_flags(t, TASK_STATE_MASK, state);
    }

    fn scx_state(&self, t: Tid) -> u32 {
        self.flags(t) & TASK_STATE_MASK
    }

    /// `scx_root_enable_workfn()` on a machine without tasks: false if the scheduler
    /// refused or was refused.
    pub(crate) fn enable_scheduler(&mut self, o: &mut dyn Ops) -> bool {
        let params = o.params().clone();
        let always = if self.config.lab().enq_exiting { OPS_ENQ_EXITING } else { 0 };
        self.hosted.flags = params.flags | always;
        self.hosted.dsp_max_batch = if params.dispatch_max_batch == 0 {
            DSP_DFL_MAX_BATCH
        } else {
            params.dispatch_max_batch
        };
        let timeout_ms =
            if params.timeout_ms == 0 { WATCHDOG_MAX_TIMEOUT_MS } else { params.timeout_ms };
        self.hosted.watchdog_timeout_ns = u64::from(timeout_ms) * 1_000_000;
        self.idle_enable(o.has(Op::UpdateIdle));
        if o.has(Op::Init) {
            let ret = self.call(o, Op::Init, None, None, &[]) as i32;
            if ret != 0 {
                let ret = self.sanitize_err(Op::Init, i64::from(ret));
                self.error(ExitKind::Error, format!("ops.init() failed ({ret})"));
            }
        }
        if self.hosted.exit.is_none() {
            self.validate_ops(o);
        }
        if self.hosted.exit.is_some() {
            return false;
        }
        self.hosted.has_op =
            Op::ALL.iter().filter(|op| o.has(**op)).fold(0, |set, op| set | 1 << (*op as u8));
        self.hosted.enabled = true;
        self.cgroup_init(o);
        if self.hosted.exit.is_some() {
            return false;
        }
        // scx_bypass(false): every CPU goes through its scheduler once
        (0..self.nr_cpus()).for_each(|cpu| self.cpus.resched_curr(cpu));
        // a run begins a while later: every CPU has run some kernel thread since
        for cpu in 0..self.nr_cpus() {
            self.running.this_cpu = cpu;
            self.update_idle(o, cpu, false, true);
            self.update_idle(o, cpu, true, true);
        }
        self.running.this_cpu = 0;
        self.hosted.exit.is_none()
    }

    /// `validate_ops()` and `bpf_scx_init_member()`.
    fn validate_ops(&mut self, o: &dyn Ops) {
        let params = o.params();
        if params.flags & !self.config.rules.ops_flags != 0 {
            let text =
                format!("ops.flags {:#x} has bits that this kernel does not know", params.flags);
            self.error(ExitKind::Error, text);
        } else if params.name.is_empty() {
            self.error(ExitKind::Error, "ops.name is empty".into());
        } else if params.timeout_ms > WATCHDOG_MAX_TIMEOUT_MS {
            let text = format!(
                "ops.timeout_ms is {}, at most {WATCHDOG_MAX_TIMEOUT_MS} is allowed",
                params.timeout_ms
            );
            self.error(ExitKind::Error, text);
        } else if params.flags & OPS_ENQ_LAST != 0 && !o.has(Op::Enqueue) {
            self.error(
                ExitKind::Error,
                "SCX_OPS_ENQ_LAST requires ops.enqueue() to be implemented".into(),
            );
        } else if params.flags & OPS_BUILTIN_IDLE_PER_NODE != 0
            && o.has(Op::UpdateIdle)
            && params.flags & OPS_KEEP_BUILTIN_IDLE == 0
        {
            self.error(
                ExitKind::Error,
                "SCX_OPS_BUILTIN_IDLE_PER_NODE requires CPU idle selection enabled".into(),
            );
        } else if !o.cid_form() && (o.has(Op::SubAttach) || o.has(Op::SubDetach)) {
            let text = "sub_attach/sub_detach requires cid-form struct_ops";
            self.error(ExitKind::Error, text.into());
        }
    }

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

    /// `scx_fork()` and `scx_post_fork()`: false if the scheduler refused the task.
    pub(crate) fn fork_task(&mut self, o: &mut dyn Ops, t: Tid) -> bool {
        if !self.hosted.enabled {
            return true;
        }
        if self.has(Op::InitTask) {
            let cgroup = self.cgroups.get(self.task(t).cgroup).addr;
            let args = self.guest.scratch.init_task_args;
            let layout = self.guest.layouts.init_task_args.clone();
            self.guest.mem.set_u8(args + u64::from(layout.fork), 1);
            self.guest.put_u64(args, layout.cgroup, cgroup);
            let addr = self.task(t).addr;
            let ret = self.call(o, Op::InitTask, None, Some(t), &[addr, args]) as i32;
            if ret != 0 {
                let ret = self.sanitize_err(Op::InitTask, i64::from(ret));
                let label = self.task(t).label();
                self.error(ExitKind::Error, format!("ops.init_task() failed ({ret}) for {label}"));
                return false;
            }
            let disallow = self.guest.layouts.task.scx_disallow;
            if disallow != crate::layout::ABSENT
                && self.guest.mem.get_u8(addr + u64::from(disallow)) != 0
            {
                let label = self.task(t).label();
                let text =
                    format!("ops.init_task() set task->scx.disallow for {label} during fork");
                self.error(ExitKind::Error, text);
            }
        }
        self.set_scx_state(t, TASK_READY);
        if self.task(t).class.is_ext() {
            self.enable_task(o, t);
        }
        true
    }

    /// `scx_enable_task()`.
    pub(crate) fn enable_task(&mut self, o: &mut dyn Ops, t: Tid) {
        self.publish_weight(t);
        let (cpu, weight) = (self.task(t).cpu, self.task(t).weight);
        if self.has(Op::Enable) {
            self.call_task(o, Op::Enable, cpu, t, &[]);
        }
        if self.has(Op::SetWeight) {
            self.call_task(o, Op::SetWeight, cpu, t, &[u64::from(weight)]);
        }
        self.set_scx_state(t, TASK_ENABLED);
    }

    /// `scx_disable_task()`.
    fn disable_task(&mut self, o: &mut dyn Ops, t: Tid) {
        self.tasks.clear_direct_dispatch(t);
        if self.has(Op::Disable) {
            let cpu = self.task(t).cpu;
            self.call_task(o, Op::Disable, cpu, t, &[]);
        }
        self.set_scx_state(t, TASK_READY);
        if self.config.rules.disable_resets {
            self.set_vtime(t, 0);
            self.set_slice(t, 0);
        }
    }

    /// `switched_from_scx()`.
    pub(crate) fn disable_if_enabled(&mut self, o: &mut dyn Ops, t: Tid) {
        if self.scx_state(t) == TASK_ENABLED {
            self.disable_task(o, t);
        }
    }

    /// `scx_disable_and_exit_task()`.
    pub(crate) fn disable_and_exit_task(&mut self, o: &mut dyn Ops, t: Tid) {
        match self.scx_state(t) {
            TASK_ENABLED => self.disable_task(o, t),
            TASK_READY => {}
            _ => return,
        }
        if self.has(Op::ExitTask) {
            let args = self.guest.scratch.exit_task_args;
            self.guest.mem.set_u8(args + u64::from(self.guest.layouts.exit_task_args.cancelled), 0);
            let cpu = self.task(t).cpu;
            self.call_task(o, Op::ExitTask, cpu, t, &[args]);
        }
        self.set_scx_state(t, TASK_NONE);
    }

    /// `sched_ext_dead()`, and the end of the task itself.
    pub(crate) fn task_dead(&mut self, o: &mut dyn Ops, t: Tid) {
        self.disable_and_exit_task(o, t);
        self.set_scx_state(t, TASK_DEAD);
        let addr = self.task(t).addr;
        o.release_owner(self, addr);
        self.free_task(t);
    }

    /// `reweight_task_scx()`.
    pub(crate) fn reweight_task(&mut self, o: &mut dyn Ops, t: Tid) {
        self.publish_weight(t);
        let (cpu, weight) = (self.task(t).cpu, self.task(t).weight);
        if self.has(Op::SetWeight) && self.scx_state(t) == TASK_ENABLED {
            self.call_task(o, Op::SetWeight, cpu, t, &[u64::from(weight)]);
        }
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
