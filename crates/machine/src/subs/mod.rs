// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sub-schedulers (`CONFIG_EXT_SUB_SCHED`): schedulers that have the tasks of a cgroup, below the
//! one that is attached to all. What `ext/` keeps of a scheduler of its own (`struct scx_sched`)
//! is exchanged while the machine acts for a sub-scheduler; what the kernel keeps by CPU and for
//! all of them (`struct scx_rq`, idle masks) stays.

mod dispatch;
mod life;

use crate::dsq::DsqIx;
use crate::exit::ExitInfo;
use crate::hosted::Hosted;
use crate::ops::Ops;
use crate::rq::DspEntry;
use crate::run::RunError;
use crate::system::System;
use crate::task::Tid;
use rustc_hash::FxHashMap;
use std::mem::swap;
use std::sync::Arc;

/// Which of the sub-schedulers that were ever attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SubIx(u16);

/// Loads the scheduler for a cgroup, by the id of that (`ops.sub_cgroup_id`).
pub type SubLoader = Box<dyn FnMut(&mut System, u64) -> Result<Box<dyn Ops>, RunError>>;

/// A scheduler that a machine can attach to a cgroup.
pub(crate) struct Candidate {
    pub(crate) cgroup: Arc<str>,
    load: SubLoader,
}

/// A sub-scheduler that left.
#[derive(Clone, Debug)]
pub struct SubExit {
    /// When.
    pub at_ns: u64,
    /// Its cgroup.
    pub cgroup: String,
    /// Why.
    pub exit: ExitInfo,
}

/// All sub-schedulers.
#[derive(Default)]
pub(crate) struct Subs {
    pub(crate) candidates: Vec<Candidate>,
    all: Vec<Sub>,
    /// The one that the machine acts for; `None`: the one of all (`scx_root`).
    pub(crate) acting: Option<SubIx>,
    pub(crate) exits: Vec<SubExit>,
}

/// `struct scx_sched` of a sub-scheduler.
struct Sub {
    /// Its own, or while the machine acts for it the one's that it acted for before.
    own: Own,
    /// `None`: one of its callbacks runs, or it is gone.
    ops: Option<Box<dyn Ops>>,
    cgroup: u32,
    parent: Option<SubIx>,
    /// It is in its parent's list of children (`scx_link_sched()`).
    linked: bool,
    /// `sub_attached`.
    attached: bool,
}

/// What is exchanged.
#[derive(Default)]
struct Own {
    hosted: Hosted,
    user: FxHashMap<u64, DsqIx>,
    global: Vec<DsqIx>,
    /// `dsp_ctx` of each CPU.
    dsp: Vec<(Vec<DspEntry>, u32)>,
}

/// A sub-scheduler that the machine has begun to act for, and the one before it.
struct Acting {
    ix: SubIx,
    outer: Option<SubIx>,
    ops: Box<dyn Ops>,
}

impl Subs {
    fn get(&self, ix: SubIx) -> &Sub {
        &self.all[usize::from(ix.0)]
    }

    /// Whether there is none, nor was any.
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    fn get_mut(&mut self, ix: SubIx) -> &mut Sub {
        &mut self.all[usize::from(ix.0)]
    }

    /// Those that are attached, parents before their children.
    fn linked(&self) -> Vec<SubIx> {
        let all = (0..).zip(&self.all).filter(|(_, sub)| sub.linked);
        all.map(|(at, _)| SubIx(at)).collect()
    }
}

impl System {
    /// Makes a scheduler known that can be attached to a cgroup.
    pub fn add_sub_scheduler(&mut self, cgroup: &str, load: SubLoader) {
        self.cgroups.ensure(&mut self.guest, cgroup);
        self.subs.candidates.push(Candidate { cgroup: cgroup.into(), load });
    }

    fn swap_sub(&mut self, ix: SubIx) {
        let own = &mut self.subs.all[usize::from(ix.0)].own;
        swap(&mut self.hosted, &mut own.hosted);
        swap(&mut self.queues.user, &mut own.user);
        swap(&mut self.queues.global, &mut own.global);
        for (rq, dsp) in self.cpus.rqs.iter_mut().zip(&mut own.dsp) {
            swap(&mut rq.scx.dsp_buf, &mut dsp.0);
            swap(&mut rq.scx.dsp_nr_tasks, &mut dsp.1);
        }
    }

    /// Whether the machine acts for a task's scheduler.
    #[inline]
    pub(crate) fn acts_for(&self, t: Tid) -> bool {
        self.task(t).sched == self.subs.acting || self.hosted.is_fair
    }

    /// Lets the scheduler of a task act (`scx_task_sched()`).
    #[inline]
    pub(crate) fn for_task<R>(
        &mut self,
        o: &mut dyn Ops,
        t: Tid,
        act: impl FnOnce(&mut Self, &mut dyn Ops) -> R,
    ) -> R {
        let is_there = self.acts_for(t);
        let mut guest = if is_there { None } else { self.enter_sub(self.task(t).sched) };
        // called in one place, so that it can be inlined
        let result = act(self, guest.as_mut().map_or(o, |guest| &mut *guest.ops));
        if let Some(guest) = guest {
            self.leave_sub(guest);
        }
        result
    }

    /// Lets a scheduler act. The one of all is there where no sub-scheduler acts, and of those the
    /// ones that no callback of runs.
    pub(crate) fn for_sched<R>(
        &mut self,
        o: &mut dyn Ops,
        sched: Option<SubIx>,
        act: impl FnOnce(&mut Self, &mut dyn Ops) -> R,
    ) -> R {
        let mut guest = self.enter_sub(sched);
        let result = act(self, guest.as_mut().map_or(o, |guest| &mut *guest.ops));
        if let Some(guest) = guest {
            self.leave_sub(guest);
        }
        result
    }

    #[cold]
    fn enter_sub(&mut self, sched: Option<SubIx>) -> Option<Acting> {
        let ix = sched.filter(|ix| self.subs.acting != Some(*ix))?;
        let ops = self.subs.get_mut(ix).ops.take()?;
        let outer = self.subs.acting;
        if let Some(outer) = outer {
            self.swap_sub(outer);
        }
        self.swap_sub(ix);
        self.subs.acting = Some(ix);
        Some(Acting { ix, outer, ops })
    }

    #[cold]
    fn leave_sub(&mut self, acting: Acting) {
        let Acting { ix, outer, ops } = acting;
        self.swap_sub(ix);
        if let Some(outer) = outer {
            self.swap_sub(outer);
        }
        self.subs.acting = outer;
        self.subs.get_mut(ix).ops = Some(ops);
    }

    /// Acts on a task that the scheduler has, if it has it (`scx_task_on_sched()`).
    pub(crate) fn is_task_own(&mut self, t: Tid, act: impl FnOnce(&mut Self)) -> bool {
        let is_own = self.hosted.is_fair || self.task(t).sched == self.subs.acting;
        if is_own {
            act(self);
        }
        is_own
    }

    /// Acts on what the machine keeps of a scheduler, without any of its callbacks, where that of
    /// all acts.
    pub(crate) fn on_sched(&mut self, sched: Option<SubIx>, act: impl FnOnce(&mut Self)) {
        let away = sched.filter(|_| self.subs.acting.is_none() && !self.hosted.is_fair);
        if let Some(ix) = away {
            self.swap_sub(ix);
        }
        act(self);
        if let Some(ix) = away {
            self.swap_sub(ix);
        }
    }

    /// What the machine keeps of a scheduler that does not act now, or does.
    pub(crate) fn hosted_of(&self, sched: Option<SubIx>) -> &Hosted {
        match (sched, self.subs.acting) {
            (sched, acting) if sched == acting => &self.hosted,
            // where another one acts, its own place holds that of the one of all
            (None, Some(acting)) => &self.subs.get(acting).own.hosted,
            (Some(ix), _) => &self.subs.get(ix).own.hosted,
            (None, None) => &self.hosted,
        }
    }

    /// A task or cgroup at this guest address is gone.
    pub(crate) fn release_in_subs(&mut self, addr: u64) {
        for at in 0..self.subs.all.len() {
            if let Some(mut ops) = self.subs.all[at].ops.take() {
                ops.release_owner(self, addr);
                self.subs.all[at].ops = Some(ops);
            }
        }
    }

    /// `cgrp->scx_sched`: the scheduler whose cgroup is the nearest.
    pub(crate) fn sched_of_cgroup(&self, at: u32) -> Option<SubIx> {
        if self.subs.all.is_empty() {
            return None;
        }
        let mut next = Some(at);
        while let Some(at) = next {
            let linked = self.subs.linked();
            let found = linked.into_iter().find(|ix| self.subs.get(*ix).cgroup == at);
            if found.is_some() {
                return found;
            }
            next = self.cgroups.get(at).parent;
        }
        None
    }

    /// `cgroup_is_descendant()`.
    fn is_in_cgroup(&self, at: u32, ancestor: u32) -> bool {
        let mut next = Some(at);
        while let Some(at) = next {
            if at == ancestor {
                return true;
            }
            next = self.cgroups.get(at).parent;
        }
        false
    }
}
