// SPDX-License-Identifier: MIT OR Apache-2.0
//! A scheduler's and a task's life: `scx_root_enable_workfn()`, `scx_fork()`,
//! `scx_enable_task()`, `sched_ext_dead()`.

use crate::class::{Class, Takes};
use crate::consts::*;
use crate::current::Thread;
use crate::exit::ExitKind;
use crate::ext::weights::publish_share;
use crate::ops::{Op, Ops};
use crate::system::System;
use crate::task::{State, Tid};
use crate::tracing::Place;
use rota_trace::EventKind;
use rota_workload::Policy;

impl System {
    /// `scx_set_task_state()`.
    pub(crate) fn set_scx_state(&mut self, t: Tid, state: u32) {
        if self.hosted.is_fair {
            self.task_mut(t).fair_state = state;
        } else {
            self.change_flags(t, TASK_STATE_MASK, state);
        }
    }

    pub(crate) fn scx_state(&self, t: Tid) -> u32 {
        if self.hosted.is_fair {
            self.task(t).fair_state
        } else {
            self.flags(t) & TASK_STATE_MASK
        }
    }

    /// `scx_root_enable_workfn()`: false if the scheduler refused or was refused.
    pub(crate) fn enable_scheduler(&mut self, o: &mut dyn Ops) -> bool {
        if self.hosted.is_fair {
            return self.enable_on_side(o);
        }
        self.hosted.watched = o.watched().and(self.always);
        self.as_outsider(|system| system.pass_reg(o));
        self.as_thread(Thread::EnableHelper, |system| system.enable_on_side(o))
    }

    fn enable_on_side(&mut self, o: &mut dyn Ops) -> bool {
        self.set_up_hosted(o);
        self.idle_enable(o.has(Op::UpdateIdle));
        self.init_scheduler(o);
        if self.hosted.exit.is_none() {
            self.check_hotplug_seq(o.params().hotplug_seq);
        }
        if self.hosted.exit.is_none() {
            self.validate_ops(o);
        }
        if self.hosted.exit.is_none() && !self.hosted.is_fair {
            self.attach_ext_server();
        }
        if self.hosted.exit.is_some() {
            return false;
        }
        self.hosted.bypassing = true;
        self.hosted.has_op =
            Op::ALL.iter().filter(|op| o.has(**op)).fold(0, |set, op| set | 1 << (*op as u8));
        self.hosted.enabled = true;
        self.cgroup_init(o);
        if self.hosted.exit.is_some() {
            return false;
        }
        // the fair class is there before any task
        if !self.hosted.is_fair {
            if !self.init_tasks(o) {
                return false;
            }
            self.switch_tasks(o);
        }
        self.bypass(o, false);
        if !self.hosted.is_fair {
            self.detach_servers();
        }
        // what follows is a while later: every idle CPU has run some kernel thread since
        for cpu in 0..self.nr_cpus() {
            if self.rq(cpu).curr.is_none() && !self.rq(cpu).interrupted {
                self.running.this_cpu = cpu;
                self.as_curr(|system| {
                    system.update_idle_of_side(o, cpu, false, true);
                    system.update_idle_of_side(o, cpu, true, true);
                });
            }
        }
        self.running.this_cpu = 0;
        self.hosted.exit.is_none()
    }

    /// `scx_alloc_and_add_sched()`: what a scheduler's plain members say.
    pub(crate) fn set_up_hosted(&mut self, o: &dyn Ops) {
        self.hosted.is_root = true;
        self.hosted.is_cid = o.cid_form();
        let params = o.params();
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
    }

    /// `ops.init()`.
    pub(crate) fn init_scheduler(&mut self, o: &mut dyn Ops) {
        if o.has(Op::Init) {
            let ret = self.call(o, Op::Init, None, None, &[]) as i32;
            if ret != 0 {
                let ret = self.sanitize_err(Op::Init, i64::from(ret));
                self.error_of(Op::Init, None, format!("ops.init() failed ({ret})"));
            }
        }
    }

    /// All tasks that there are, in the order of their forks (`scx_tasks`).
    pub(crate) fn live_tasks(&self) -> Vec<Tid> {
        self.tasks.ids().filter(|t| self.task(*t).state != State::Dead).collect()
    }

    /// The part of `scx_root_enable_workfn()` that prepares existing tasks.
    fn init_tasks(&mut self, o: &mut dyn Ops) -> bool {
        let tasks = self.live_tasks();
        tasks.into_iter().all(|t| {
            if let Some(share) = self.task(t).settings.share {
                publish_share(self, o, t, share);
            }
            self.init_task(o, t, false)
        })
    }

    /// The part that switches them: all but those that `SCX_OPS_SWITCH_PARTIAL` leaves where
    /// they are change their class, and every one is taken out and put back.
    fn switch_tasks(&mut self, o: &mut dyn Ops) {
        let partial = self.hosted.flags & OPS_SWITCH_PARTIAL != 0;
        if self.other.is_some() {
            self.tasks.takes = if partial { Takes::Marked } else { Takes::All };
        }
        for t in self.live_tasks() {
            if self.scx_state(t) == TASK_READY {
                self.switch_task(o, t, DEQ_SAVE | DEQ_MOVE | DEQ_NOCLOCK, |system, _| {
                    system.reset_ext_slice(t);
                });
                // where no class had it before: of a program, which is there before any other task
                if self.other.is_none() {
                    self.enable_task(o, t);
                    self.tell_cpumask(o, t);
                }
            }
        }
    }

    /// A task gets the class that is its own now that a scheduler has come or gone.
    pub(crate) fn switch_task(
        &mut self,
        o: &mut dyn Ops,
        t: Tid,
        flags: u64,
        change: impl FnOnce(&mut Self, &mut dyn Ops),
    ) {
        let (old, new) = (self.task(t).class, self.tasks.effective_class(t).0);
        let moves = old.told() != new.told();
        self.running.this_cpu = self.task(t).cpu;
        self.change_class(o, t, flags | if moves { DEQ_CLASS } else { 0 }, new, change);
        if moves {
            let pid = self.task(t).pid;
            self.emit(None, EventKind::SchedClass { pid, class: new.told() });
        }
    }

    /// `validate_ops()` and `bpf_scx_init_member()`.
    pub(crate) fn validate_ops(&mut self, o: &dyn Ops) {
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
        } else if params.flags & OPS_SWITCH_PARTIAL != 0 && self.other.is_none() {
            let text = "SCX_OPS_SWITCH_PARTIAL needs a fair class, and this machine has none";
            self.error(ExitKind::Error, text.into());
        }
    }

    /// `scx_fork()` and `scx_post_fork()`, for each hosted scheduler: false if sched_ext's refused
    /// the task.
    pub(crate) fn fork_task(&mut self, o: &mut dyn Ops, t: Tid) -> bool {
        let forked = self.fork_on_side(o, t);
        if self.other.is_some() {
            if self.task(t).class == Class::Fair {
                self.enter_fair(t);
            }
            self.hosting(o, Class::Fair, |system, o| system.fork_on_side(o, t));
        }
        forked
    }

    fn fork_on_side(&mut self, o: &mut dyn Ops, t: Tid) -> bool {
        if !self.hosted.enabled {
            return true;
        }
        if !self.hosted.is_fair {
            let sched = self.sched_of_cgroup(self.task(t).cgroup);
            self.task_mut(t).sched = sched;
        }
        if !self.for_task(o, t, |system, o| system.init_task(o, t, true)) {
            return false;
        }
        let addr = self.task(t).addr;
        self.pass(o, Place::ScxPostFork, &[addr]);
        if self.is_of_side(t) {
            self.for_task(o, t, |system, o| system.enable_task(o, t));
        }
        self.leave(o, Place::ScxPostFork, &[addr, 0]);
        true
    }

    /// `__scx_init_task()` of the scheduler that gets the task.
    fn init_task(&mut self, o: &mut dyn Ops, t: Tid, fork: bool) -> bool {
        let ready = self.scx_init_task(o, t, fork);
        if ready {
            self.set_scx_state(t, TASK_READY);
        }
        ready
    }

    /// `__scx_init_task()`.
    pub(crate) fn scx_init_task(&mut self, o: &mut dyn Ops, t: Tid, fork: bool) -> bool {
        let disallow = self.guest.layouts.task.scx_disallow;
        if !fork {
            self.change_flags(t, 0, TASK_RESET_RUNNABLE_AT);
            if disallow != crate::layout::ABSENT {
                let addr = self.task(t).addr;
                self.guest.mem.set_u8(addr + u64::from(disallow), 0);
            }
        }
        if self.has(Op::InitTask) {
            let cgroup = self.cgroups.get(self.task(t).cgroup).addr;
            let args = self.guest.scratch.init_task_args;
            let layout = self.guest.layouts.init_task_args.clone();
            self.guest.mem.set_u8(args + u64::from(layout.fork), fork.into());
            self.guest.put_u64(args, layout.cgroup, cgroup);
            let addr = self.task(t).addr;
            let ret = self.call(o, Op::InitTask, None, Some(t), &[addr, args]) as i32;
            if ret != 0 {
                let ret = self.sanitize_err(Op::InitTask, i64::from(ret));
                let label = self.task(t).label();
                let text = format!("ops.init_task() failed ({ret}) for {label}");
                self.error_of(Op::InitTask, Some(t), text);
                return false;
            }
            if self.is_disallowed(t) && fork {
                let label = self.task(t).label();
                let text =
                    format!("ops.init_task() set task->scx.disallow for {label} during fork");
                self.error_of(Op::InitTask, Some(t), text);
            } else if self.is_disallowed(t) && self.task(t).settings.policy == Policy::Ext {
                self.task_mut(t).rejected = true;
                self.publish_priority(t);
            }
        }
        true
    }

    /// `p->scx.disallow`.
    pub(crate) fn is_disallowed(&self, t: Tid) -> bool {
        let disallow = self.guest.layouts.task.scx_disallow;
        let addr = self.task(t).addr;
        disallow != crate::layout::ABSENT && self.guest.mem.get_u8(addr + u64::from(disallow)) != 0
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
        if self.config.rules.disable_resets && !self.hosted.is_fair {
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
        self.call_exit_task(o, t, false);
        self.set_scx_state(t, TASK_NONE);
    }

    /// `ops.exit_task()`; `cancelled`: the scheduler never had the task.
    pub(crate) fn call_exit_task(&mut self, o: &mut dyn Ops, t: Tid, cancelled: bool) {
        if o.has(Op::ExitTask) {
            let args = self.guest.scratch.exit_task_args;
            let at = args + u64::from(self.guest.layouts.exit_task_args.cancelled);
            self.guest.mem.set_u8(at, u8::from(cancelled));
            let cpu = self.task(t).cpu;
            self.call_task(o, Op::ExitTask, cpu, t, &[args]);
        }
    }

    /// `sched_ext_dead()`, and the end of the task itself.
    pub(crate) fn task_dead(&mut self, o: &mut dyn Ops, t: Tid) {
        let addr = self.task(t).addr;
        self.pass(o, Place::SchedExtDead, &[addr]);
        self.for_task(o, t, |system, o| system.disable_and_exit_task(o, t));
        self.set_scx_state(t, TASK_DEAD);
        self.leave(o, Place::SchedExtDead, &[addr, 0]);
        o.release_owner(self, addr);
        self.release_in_subs(addr);
        if self.other.is_some() {
            self.hosting(o, Class::Fair, |system, o| {
                system.disable_and_exit_task(o, t);
                o.release_owner(system, addr);
            });
        }
        self.free_core_cookie(t);
        self.free_task(t);
    }
}
