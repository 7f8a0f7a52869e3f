// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sub-schedulers come and go: `scx_sub_enable_workfn()`, `scx_sub_disable()`.

use super::{Own, Sub, SubExit, SubIx};
use crate::consts::*;
use crate::current::Thread;
use crate::exit::ExitKind;
use crate::hosted::Hosted;
use crate::layout::ABSENT;
use crate::ops::{Op, Ops};
use crate::run::RunError;
use crate::system::System;
use crate::task::Tid;
use rota_vm::memory::Perm;

/// `SCX_SUB_MAX_DEPTH`.
const MAX_DEPTH: usize = 4;

impl System {
    /// `scx_sub_enable_workfn()`: attaches the scheduler of a cgroup; or says why not.
    pub(crate) fn attach_sub(
        &mut self,
        o: &mut dyn Ops,
        cgroup: &str,
    ) -> Result<Result<(), String>, RunError> {
        let refused = |errno: &str, why: &str| Ok(Err(format!("is refused ({errno}): {why}")));
        if !self.hosted.enabled || self.hosted.exit.is_some() {
            return refused("ENODEV", "no scheduler is attached");
        }
        let Some(at) = self.cgroups.find(cgroup) else {
            return refused("ENOENT", "there is no such cgroup then");
        };
        // find_parent_sched()
        let parent = self.sched_of_cgroup(at);
        let own = |ix: SubIx| self.subs.get(ix).cgroup == at;
        if at == 0 || parent.is_some_and(own) {
            return refused("EBUSY", "a scheduler is attached to it");
        }
        if !self.for_sched(o, parent, |_, o| o.has(Op::SubAttach)) {
            return refused("EOPNOTSUPP", "the scheduler above has no ops.sub_attach()");
        }
        let below = |ix: &SubIx| {
            let sub = self.subs.get(*ix);
            sub.parent == parent && self.is_in_cgroup(sub.cgroup, at)
        };
        if self.subs.linked().iter().any(below) {
            return refused("EBUSY", "a scheduler is attached below it");
        }
        let ix = self.load_sub(cgroup, at, parent)?;
        self.as_thread(Thread::EnableHelper, |system| system.enable_sub(o, ix));
        if self.subs.get(ix).own.hosted.exit.is_some() {
            self.disable_sub(o, ix);
        }
        Ok(Ok(()))
    }

    /// `scx_alloc_and_add_sched()`, and what user space does before.
    fn load_sub(
        &mut self,
        cgroup: &str,
        at: u32,
        parent: Option<SubIx>,
    ) -> Result<SubIx, RunError> {
        let ix = SubIx(self.subs.all.len() as u16);
        let (global, rqs) = self.new_queues();
        let hosted = Hosted { watched: self.always, ..Hosted::default() };
        let dsp = vec![Default::default(); rqs.len()];
        let own = Own { hosted, global, dsp, ..Own::default() };
        let sub = Sub { own, ops: None, cgroup: at, parent, linked: false, attached: false };
        self.subs.all.push(sub);
        let known = |candidate: &super::Candidate| *candidate.cgroup == *cgroup;
        let Some(place) = self.subs.candidates.iter().position(known) else {
            let what = format!("no scheduler is known for cgroup {cgroup:?}");
            return Err(RunError::Load(what));
        };
        let mut candidate = self.subs.candidates.remove(place);
        let id = self.cgroups.id(at);
        self.swap_sub(ix);
        self.subs.acting = Some(ix);
        let loaded = (candidate.load)(self, id);
        self.swap_sub(ix);
        self.subs.acting = None;
        self.subs.candidates.insert(place, candidate);
        self.subs.get_mut(ix).ops = Some(loaded?);
        Ok(ix)
    }

    fn enable_sub(&mut self, o: &mut dyn Ops, ix: SubIx) {
        let (parent, at) = (self.subs.get(ix).parent, self.subs.get(ix).cgroup);
        let tid_to_task = self.hosted_of(None).flags & OPS_TID_TO_TASK != 0;
        let mut depth = 1;
        let mut above = parent;
        while let Some(next) = above {
            (depth, above) = (depth + 1, self.subs.get(next).parent);
        }
        self.subs.get_mut(ix).linked = true;
        self.for_sched(o, Some(ix), |system, o| {
            system.set_up_hosted(o);
            if depth >= MAX_DEPTH {
                let text = format!("max nesting depth {MAX_DEPTH} violated");
                return system.error(ExitKind::Error, text);
            }
            system.init_scheduler(o);
            if system.hosted.exit.is_some() {
                return;
            }
            system.validate_ops(o);
            if !o.cid_form() {
                system.error(ExitKind::Error, "sub-sched requires cid-form struct_ops".into());
            } else if o.params().flags & OPS_TID_TO_TASK != 0 && !tid_to_task {
                let text = "SCX_OPS_TID_TO_TASK requires root scheduler to enable it";
                system.error(ExitKind::Error, text.into());
            }
        });
        if self.subs.get(ix).own.hosted.exit.is_some() {
            return;
        }
        let args = self.sub_args(ix);
        let ret = self.for_sched(o, parent, |system, o| {
            system.call(o, Op::SubAttach, None, None, &[args]) as i32
        });
        self.for_sched(o, Some(ix), |system, o| {
            if ret != 0 {
                let ret = system.sanitize_err(Op::SubAttach, i64::from(ret));
                return system.error(ExitKind::Error, format!("parent rejected ({ret})"));
            }
            system.hosted.bypassing = true;
            system.hosted.has_op =
                Op::ALL.iter().filter(|op| o.has(**op)).fold(0, |set, op| set | 1 << (*op as u8));
            system.hosted.enabled = true;
        });
        if self.subs.get(ix).own.hosted.exit.is_some() {
            return;
        }
        self.subs.get_mut(ix).attached = true;
        let tasks = self.tasks_below(at);
        for (done, t) in tasks.iter().enumerate() {
            if !self.for_sched(o, Some(ix), |system, o| system.scx_init_task(o, *t, false)) {
                // scx_sub_init_cancel_task()
                for t in &tasks[..done] {
                    self.for_sched(o, Some(ix), |system, o| system.call_exit_task(o, *t, true));
                }
                return;
            }
        }
        for t in tasks {
            self.hand_over(o, t, Some(ix));
        }
        self.for_sched(o, Some(ix), |system, _| system.hosted.bypassing = false);
        self.enqueue_anew(o, ix);
    }

    /// A task gets another scheduler, which has prepared it already.
    fn hand_over(&mut self, o: &mut dyn Ops, t: Tid, to: Option<SubIx>) {
        self.running.this_cpu = self.task(t).cpu;
        self.change_task(o, t, DEQ_SAVE | DEQ_MOVE, |system, o| {
            system.for_task(o, t, |system, o| system.disable_and_exit_task(o, t));
            system.task_mut(t).sched = to;
            system.set_scx_state(t, TASK_READY);
            if system.task(t).class.is_ext() {
                system.for_task(o, t, |system, o| system.enable_task(o, t));
            }
        });
    }

    /// `scx_bypass()` of a sub-scheduler that begins or ends: what is queued is queued anew, in the
    /// bypass queues of the one of all while it bypasses.
    fn enqueue_anew(&mut self, o: &mut dyn Ops, ix: SubIx) {
        for cpu in 0..self.nr_cpus() {
            self.running.this_cpu = cpu;
            let queued: Vec<u32> = self.cpus.links.iter(&self.rq(cpu).runnable).collect();
            let own = |t: &Tid| self.task(*t).sched == Some(ix);
            let queued: Vec<Tid> = queued.into_iter().rev().map(Tid).filter(own).collect();
            for t in queued {
                self.change_task(o, t, DEQ_SAVE | DEQ_MOVE | DEQ_NOCLOCK, |_, _| {});
            }
            self.cpus.resched_curr(cpu);
        }
    }

    /// Live tasks of a cgroup and those below.
    fn tasks_below(&self, at: u32) -> Vec<Tid> {
        let tasks = self.live_tasks().into_iter();
        tasks.filter(|t| self.is_in_cgroup(self.task(*t).cgroup, at)).collect()
    }

    /// Sub-schedulers that have to go, go.
    pub(crate) fn retire_subs(&mut self, o: &mut dyn Ops) {
        while let Some(ix) = self.failed_sub() {
            self.disable_sub(o, ix);
        }
    }

    fn failed_sub(&self) -> Option<SubIx> {
        let gone = |ix: &SubIx| self.subs.get(*ix).own.hosted.exit.is_some();
        self.subs.linked().into_iter().find(gone)
    }

    /// Whether one has to go.
    #[inline]
    pub(crate) fn has_failed_sub(&self) -> bool {
        !self.subs.all.is_empty() && self.failed_sub().is_some()
    }

    /// User space takes the scheduler of a cgroup away; whether there is one.
    pub(crate) fn detach_sub(&mut self, o: &mut dyn Ops, cgroup: &str) -> bool {
        let at = self.cgroups.find(cgroup);
        let of = |ix: &SubIx| Some(self.subs.get(*ix).cgroup) == at;
        let Some(ix) = self.subs.linked().into_iter().find(of) else { return false };
        self.end_sub(o, ix, ExitKind::Unreg, 0, String::new());
        true
    }

    /// `scx_cgroup_lifetime_notify()`: a cgroup goes, and its scheduler with it.
    pub(crate) fn end_sub_of_cgroup(&mut self, o: &mut dyn Ops, at: u32) {
        let of = |ix: &SubIx| self.subs.get(*ix).cgroup == at;
        if let Some(ix) = self.subs.linked().into_iter().find(of) {
            let text = format!("cgroup {} going offline", self.cgroups.id(at));
            self.end_sub(o, ix, ExitKind::UnregKern, 2 << 32, text);
        }
    }

    /// The one of all goes, and all others before it.
    pub(crate) fn end_subs(&mut self, o: &mut dyn Ops) {
        while let Some(ix) = self.subs.linked().pop() {
            self.end_sub(o, ix, ExitKind::Parent, 0, String::new());
        }
    }

    fn end_sub(&mut self, o: &mut dyn Ops, ix: SubIx, kind: ExitKind, code: i64, text: String) {
        self.for_sched(o, Some(ix), |system, _| {
            system.exit_with(kind, code, text);
            if let Some(exit) = system.hosted.exit.as_mut().filter(|exit| exit.kind == kind) {
                exit.cpu = None;
            }
        });
        self.disable_sub(o, ix);
    }

    /// `scx_sub_disable()`: its children go first, then its tasks are the parent's.
    fn disable_sub(&mut self, o: &mut dyn Ops, ix: SubIx) {
        loop {
            let children = self.subs.linked();
            let child = children.into_iter().find(|c| self.subs.get(*c).parent == Some(ix));
            let Some(child) = child else { break };
            self.end_sub(o, child, ExitKind::Parent, 0, String::new());
        }
        self.as_thread(Thread::Helper, |system| system.take_sub_away(o, ix));
    }

    fn take_sub_away(&mut self, o: &mut dyn Ops, ix: SubIx) {
        let (parent, at) = (self.subs.get(ix).parent, self.subs.get(ix).cgroup);
        self.for_sched(o, Some(ix), |system, _| {
            system.spend_anew();
            system.hosted.bypassing = true;
        });
        self.enqueue_anew(o, ix);
        let own = |t: &Tid| self.task(*t).sched == Some(ix);
        let tasks: Vec<Tid> = self.live_tasks().into_iter().filter(own).collect();
        let mut refused = false;
        for t in tasks {
            // after scx_fail_parent() the rest goes over as it is
            if !refused && !self.for_sched(o, parent, |s, o| s.scx_init_task(o, t, false)) {
                refused = true;
                let label = self.task(t).label();
                let text =
                    format!("ops.init_task() failed for {label} while disabling a sub-scheduler");
                self.for_sched(o, parent, |system, _| system.error(ExitKind::Error, text));
            }
            self.hand_over(o, t, parent);
        }
        let is_error =
            |system: &System| system.hosted.exit.as_ref().is_some_and(|e| e.kind.is_error());
        self.for_sched(o, Some(ix), |system, o| {
            if is_error(system) {
                system.take_dump(o);
            }
            system.hosted.enabled = false;
        });
        let args = self.sub_args(ix);
        self.subs.get_mut(ix).linked = false;
        if std::mem::take(&mut self.subs.get_mut(ix).attached) {
            self.for_sched(o, parent, |system, o| {
                if system.has(Op::SubDetach) {
                    system.call(o, Op::SubDetach, None, None, &[args]);
                }
            });
        }
        let exit = self.for_sched(o, Some(ix), |system, o| {
            system.hosted.has_op = 0;
            if o.has(Op::Exit) {
                let info = system.publish_exit_info();
                system.call(o, Op::Exit, None, None, &[info]);
            }
            system.hosted.exit.clone()
        });
        // its maps and timers go with it
        self.timers.cancel_all_of_sub(ix);
        self.subs.get_mut(ix).ops = None;
        let (at_ns, cgroup) = (self.now_ns, self.cgroups.get(at).path.clone());
        if let Some(exit) = exit {
            self.subs.exits.push(SubExit { at_ns, cgroup, exit });
        }
    }

    /// `struct scx_sub_attach_args` and `scx_sub_detach_args`, which are alike: the ops, as far as
    /// the machine has them, and the cgroup's path.
    fn sub_args(&mut self, ix: SubIx) -> u64 {
        let at = self.subs.get(ix).cgroup;
        let path = self.cgroups.get(at).path.clone();
        let (id, layout) = (self.cgroups.id(at), self.guest.layouts.sub_args.clone());
        let ops_layout = self.guest.layouts.sub_ops.clone();
        let size = path.len() as u32 + 1;
        let text = self.guest.mem.alloc("cgroup_path", size, Perm::ReadOnly);
        self.guest.write_text(text, &path, size as usize);
        let ops = self.guest.mem.alloc_kernel(self.guest.layouts.sub_ops_shape);
        self.guest.put_u64(ops, ops_layout.sub_cgroup_id, id);
        let params = self.subs.get(ix).ops.as_ref().map(|ops| ops.params().clone());
        if let Some(params) = params.filter(|_| ops_layout.name != ABSENT) {
            self.guest.write_text(ops + u64::from(ops_layout.name), &params.name, 128);
            self.guest.put_u64(ops, ops_layout.flags, params.flags);
        }
        let args = self.guest.mem.alloc_kernel(self.guest.layouts.sub_args_shape);
        self.guest.put_u64(args, layout.ops, ops);
        self.guest.put_u64(args, layout.cgroup_path, text);
        args
    }
}
