// SPDX-License-Identifier: MIT OR Apache-2.0
//! A simulated task, as the host keeps it. What hosted code reads and writes of it
//! (slice, vtime, flags …) lives in guest memory, at [`Task::addr`].

use crate::class::{Class, Entity};
use crate::consts::DSQ_INVALID;
use crate::cpuset::CpuSet;
use crate::dsq::DsqIx;
use crate::hardware::pace::work_of;
use crate::hardware::warmth::Footprint;
use crate::outside::signals::Halt;
use crate::rq::Asked;
use crate::running::Site;
use crate::subs::SubIx;
use rota_workload::{Identity, Settings, TaskIx};
use std::sync::Arc;

/// Index of a task in the machine. Never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tid(pub(crate) u32);

/// Who owns a queued task: `enum scx_ops_state`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpsState {
    /// The kernel.
    None,
    /// Being handed to the scheduler.
    Queueing,
    /// The scheduler; the number tells this time from earlier ones.
    Queued(u64),
    /// Being dispatched.
    Dispatching,
}

/// Whether a task wants a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Forked, not yet woken.
    New,
    /// On a run queue, running or waiting.
    Runnable,
    /// Running, about to block at its next `schedule()`.
    Blocking,
    /// Blocked or sleeping.
    Sleeping,
    /// Running, about to exit.
    Exiting,
    /// Exited.
    Dead,
}

/// What the task does with the CPU once it has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// Ask the workload.
    Next,
    /// Execute this much work, in 1/1024 ns of a CPU at full speed.
    Run { left: u64 },
    /// Be busy until this time of the wall clock.
    Until { at_ns: u64 },
    /// Sleep, once it is switched out.
    Block,
}

impl Work {
    /// Work that takes this long at full speed.
    pub(crate) fn run(ns: u64) -> Self {
        Self::Run { left: work_of(ns) }
    }
}

/// One task. What most decisions need of it comes first, in a few lines of a processor's cache: with
/// a thousand tasks each line of the next one is far away.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Task {
    /// Guest `struct task_struct`, 0 once freed.
    pub(crate) addr: u64,
    pub(crate) work: Work,
    /// What it got done since it came onto its CPU, in the unit of [`Work::Run`].
    pub(crate) worked: u64,
    pub(crate) ops_state: OpsState,
    pub(crate) ops_qseq: u64,
    pub(crate) ddsp_dsq_id: u64,
    pub(crate) ddsp_enq_flags: u64,
    /// Key in the queue's tree, `None` while on its list.
    pub(crate) dsq_key: Option<(u64, u64)>,
    pub(crate) dsq_pos: i64,
    pub(crate) runnable_at_jiffies: u64,
    pub(crate) nvcsw: u64,
    pub(crate) nivcsw: u64,
    /// When and by which CPU it was last put back into a queue, to make way for another.
    pub(crate) put_back: Option<(u64, u32)>,
    pub(crate) dsq: Option<DsqIx>,
    /// Where it ran last, to see migrations.
    pub(crate) last_cpu: Option<u32>,
    /// The task that it is making.
    pub(crate) makes: Option<TaskIx>,
    /// It is stopped by a signal, or about to be.
    pub(crate) halt: Option<Box<Halt>>,
    /// What it has in caches, on a machine that is not flat.
    pub(crate) footprint: Option<Box<Footprint>>,
    pub(crate) ix: TaskIx,
    pub(crate) pid: u32,
    /// `task_cpu(p)`.
    pub(crate) cpu: u32,
    pub(crate) weight: u32,
    pub(crate) cgroup: u32,
    pub(crate) dsq_seq: u32,
    pub(crate) sticky_cpu: i32,
    pub(crate) selected_cpu: i32,
    pub(crate) nr_cpus_allowed: u32,
    /// `prio`: the smaller one is before.
    pub(crate) prio: i32,
    /// `p->scx.sched`; `None`: the scheduler that is attached to all.
    pub(crate) sched: Option<SubIx>,
    /// Who waits for a mutex of its and lends it his class (`p->pi_top_task`).
    pub(crate) lender: Option<Tid>,
    /// The call that inserted it last, for messages.
    pub(crate) inserted_from: Option<Site>,
    pub(crate) ddsp_asked: Asked,
    /// `p->sched_class`, and the standing there.
    pub(crate) class: Class,
    pub(crate) state: State,
    /// It has taken its last step.
    pub(crate) ends: bool,
    /// And was taken out and put back for that.
    pub(crate) moved: bool,
    /// The workload's own timers say what its jobs are.
    pub(crate) timed: bool,
    /// `task_on_rq_migrating()`.
    pub(crate) migrating: bool,
    /// On `rq->scx.runnable_list`.
    pub(crate) on_runnable_list: bool,
    /// On `rq->scx.ddsp_deferred_locals`.
    pub(crate) ddsp_deferred: bool,
    /// `p->migration_disabled`.
    pub(crate) migration_disabled: bool,
    /// Its class is the lender's.
    pub(crate) lent: bool,
    /// `SCHED_EXT` was taken from it at the load of a scheduler, by `p->scx.disallow`.
    pub(crate) rejected: bool,
    /// `p->core_cookie`, 0: none.
    pub(crate) core_cookie: u64,
    /// Energy that it used and that was not told yet, in femtojoules.
    pub(crate) used_fj: u128,
    /// `p->cpus_mask`.
    pub(crate) cpus: CpuSet,

    // what is seldom needed
    pub(crate) tgid: u32,
    pub(crate) name: String,
    /// The workload's task that it was made from.
    pub(crate) instance_of: Arc<str>,
    pub(crate) parent: Option<Tid>,
    pub(crate) settings: Settings,
    pub(crate) identity: Identity,
    pub(crate) entity: Entity,
    /// `SCX_TASK_STATE_MASK` as to the fair class's scheduler.
    pub(crate) fair_state: u32,
    /// `p->scx.slice` and `dsq_vtime` as to sched_ext while it is in the fair class.
    pub(crate) parked: (u64, u64),
    /// The CPU that it may use only because migration is disabled.
    pub(crate) pinned: Option<u32>,
    /// What it has asked for itself (`p->user_cpus_ptr`).
    pub(crate) user_cpus: Option<CpuSet>,
    pub(crate) cgrp_moving_from: Option<u32>,
    /// Once its settings were changed from outside: those that it asked for itself.
    pub(crate) own_settings: Option<Box<Settings>>,
    /// `p->core_occupation`.
    pub(crate) core_occupation: u32,
    /// `p->scx.core_sched_at`.
    pub(crate) core_sched_at: u64,
}

impl Task {
    /// `PF_EXITING`.
    pub(crate) fn is_exiting(&self) -> bool {
        self.moved || self.state == State::Exiting
    }

    pub(crate) fn new(
        ix: TaskIx,
        pid: u32,
        tgid: u32,
        name: String,
        instance_of: Arc<str>,
        settings: Settings,
        identity: Identity,
    ) -> Self {
        Self {
            ix,
            pid,
            tgid,
            name,
            instance_of,
            addr: 0,
            parent: None,
            class: Class::of(&settings),
            entity: Entity::default(),
            lender: None,
            rejected: false,
            fair_state: 0,
            parked: (0, 0),
            prio: 120,
            lent: false,
            settings,
            identity,
            cpu: 0,
            cpus: CpuSet::default(),
            migration_disabled: false,
            pinned: None,
            user_cpus: None,
            nr_cpus_allowed: 0,
            weight: 100,
            cgroup: 0,
            state: State::New,
            work: Work::Next,
            worked: 0,
            used_fj: 0,
            footprint: None,
            ends: false,
            timed: false,
            moved: false,
            makes: None,
            last_cpu: None,
            put_back: None,
            dsq: None,
            dsq_key: None,
            dsq_pos: 0,
            dsq_seq: 0,
            ops_state: OpsState::None,
            ops_qseq: 0,
            ddsp_dsq_id: DSQ_INVALID,
            ddsp_enq_flags: 0,
            ddsp_asked: Asked::default(),
            inserted_from: None,
            ddsp_deferred: false,
            sticky_cpu: -1,
            selected_cpu: 0,
            on_runnable_list: false,
            runnable_at_jiffies: 0,
            migrating: false,
            nvcsw: 0,
            nivcsw: 0,
            cgrp_moving_from: None,
            own_settings: None,
            sched: None,
            core_cookie: 0,
            core_occupation: 0,
            core_sched_at: 0,
            halt: None,
        }
    }

    /// `p->comm[p->pid]`, as the kernel prints a task.
    pub(crate) fn label(&self) -> String {
        format!("{}[{}]", comm(&self.name), self.pid)
    }
}

/// `TASK_COMM_LEN` - 1 bytes of a name.
pub(crate) fn comm(name: &str) -> &str {
    let mut end = name.len().min(15);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    &name[..end]
}
