// SPDX-License-Identifier: MIT OR Apache-2.0
//! One CPU: `struct rq` and its `struct scx_rq`, as the host keeps it.

use crate::class::{Servers, Waiting};
use crate::cpuset::CpuSet;
use crate::dsq::DsqIx;
use crate::hardware::pace::{work_of, Pace};
use crate::list::{Links, List};
use crate::running::Site;
use crate::task::Tid;
use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};

/// A task that a scheduler asked to dispatch, waiting in its CPU's buffer
/// (`struct scx_dsp_buf_ent`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct DspEntry {
    pub(crate) task: Tid,
    pub(crate) qseq: u64,
    pub(crate) dsq_id: u64,
    pub(crate) enq_flags: u64,
    pub(crate) asked: Asked,
}

/// Slice and virtual time that an insertion asks for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Asked {
    /// 0: the task keeps its slice.
    pub(crate) slice_ns: u64,
    /// Of an insertion by virtual time.
    pub(crate) vtime: u64,
    pub(crate) site: Option<Site>,
}

/// One CPU.
#[derive(Debug)]
pub(crate) struct Rq {
    /// Guest `struct rq`.
    pub(crate) addr: u64,
    /// Guest `struct task_struct` of the idle task.
    pub(crate) idle_addr: u64,
    /// And of its stopper, once a tracing program sees it.
    pub(crate) stopper_addr: u64,
    /// Running task; `None` is the idle task.
    pub(crate) curr: Option<Tid>,
    /// Tasks that it is to move from here, see `class/stop.rs`.
    pub(crate) stop_work: Vec<Tid>,
    /// The CPU's stopper thread runs, for no time: `curr` is neither a task nor idle.
    pub(crate) stopper: bool,
    /// Somebody of a higher class runs, see `interruption.rs`.
    pub(crate) interrupted: bool,
    /// Its task is in a system call, where the kernel does not preempt it.
    pub(crate) in_call: bool,
    pub(crate) need_resched: bool,
    /// Interrupts on their way here that ask it to look, see `System::resched_cpu`.
    pub(crate) ipis_in_flight: u32,
    /// On its way to idle, see `System::become_idle`: whether to tell the scheduler.
    pub(crate) entering_idle: Option<bool>,
    /// See `System::may_look`: the last time through the scheduler, how often of late
    /// without a task taking a step, and whether the next time has to wait.
    pub(crate) looked_at_ns: u64,
    pub(crate) fruitless_looks: u32,
    pub(crate) looks_later: bool,
    /// `rq->nr_pinned`: tasks that have disabled migration here.
    pub(crate) nr_pinned: u32,
    /// Guest `cpumask_of()` this CPU, once a task has it.
    pub(crate) cpumask_addr: u64,
    /// Runnable tasks of the classes above sched_ext that `class/` has itself.
    pub(crate) nr_higher: u32,
    /// Those that wait.
    pub(crate) waiting: Waiting,
    /// `rq->ext_server` and `rq->fair_server`.
    pub(crate) servers: Servers,
    /// When the current task's time was last charged.
    pub(crate) charged_at_ns: u64,
    /// CPU time of tasks that were charged for it.
    pub(crate) busy_ns: u64,
    /// Until when its work is counted: no earlier than it was charged, as other CPUs can change
    /// its speed.
    pub(crate) progressed_at_ns: u64,
    /// Overhead still to be paid before the current task makes progress, in 1/1024 ns at full speed.
    pub(crate) debt: u64,
    /// How fast it is.
    pub(crate) pace: Pace,
    /// When its task is to stop, as the queue of events knows it.
    pub(crate) armed_at_ns: u64,
    pub(crate) tick_armed: bool,
    /// When: one that was already taken out of the queue, where ties are shuffled, can be stale.
    pub(crate) tick_due_ns: u64,
    /// It is stopped: another CPU has it, once a second.
    pub(crate) tick_stopped: bool,
    /// Callback instructions since the last pick on this CPU.
    pub(crate) insns_since_pick: u64,
    pub(crate) cpuperf_target: u32,
    /// When `rq->clock_pelt` was last updated, and to what, on a machine that is not flat.
    pub(crate) clock_pelt: Option<(u64, u64)>,
    /// Of the hosted scheduler that the machine acts for, see `class/sides.rs`.
    pub(crate) scx: ScxRq,
}

/// `struct scx_rq`: what a CPU keeps of one hosted scheduler.
#[derive(Debug)]
pub(crate) struct ScxRq {
    /// The task that had to make way for that with slice left.
    pub(crate) goes_on: Option<Tid>,
    /// The last that was put back by a CPU that became idle.
    pub(crate) put_last: Option<Tid>,
    /// `rq->next_class` is below the scheduler's: the CPU is, or is becoming, idle.
    pub(crate) next_idle: bool,
    /// It is above: the CPU is, or is becoming, another class's.
    pub(crate) next_higher: bool,
    /// `rq->scx.nr_running`.
    pub(crate) nr_running: u32,
    /// `SCX_RQ_CAN_STOP_TICK`.
    pub(crate) can_stop_tick: bool,
    /// `rq->scx.cpu_released`.
    pub(crate) released: bool,
    /// `SCX_RQ_IN_BALANCE`.
    pub(crate) in_balance: bool,
    /// `rq->scx.runnable_list`.
    pub(crate) runnable: List,
    pub(crate) local: DsqIx,
    pub(crate) bypass: DsqIx,
    pub(crate) nr_immed: u32,
    pub(crate) extra_enq_flags: u64,
    /// `rq->scx.ddsp_deferred_locals`.
    pub(crate) ddsp_deferred: VecDeque<Tid>,
    /// Pending `scx_bpf_dsq_reenq` requests: local queue, then user queues.
    pub(crate) reenq_local: Option<u64>,
    pub(crate) reenq_user: VecDeque<(DsqIx, u64)>,
    pub(crate) kick: CpuSet,
    pub(crate) kick_if_idle: CpuSet,
    pub(crate) preempt: CpuSet,
    /// `rq->scx.cpus_to_wait`.
    pub(crate) wait: CpuSet,
    /// `scx_dsp_ctx` of this CPU.
    pub(crate) dsp_buf: Vec<DspEntry>,
    pub(crate) dsp_nr_tasks: u32,
    /// `direct_dispatch_task` of this CPU.
    pub(crate) direct: Direct,
    pub(crate) in_select_cpu: bool,
}

impl Deref for Rq {
    type Target = ScxRq;

    #[inline]
    fn deref(&self) -> &ScxRq {
        &self.scx
    }
}

impl DerefMut for Rq {
    #[inline]
    fn deref_mut(&mut self) -> &mut ScxRq {
        &mut self.scx
    }
}

/// `direct_dispatch_task`: which task may be dispatched right now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direct {
    /// Not in select_cpu or enqueue: insertions go to the dispatch buffer.
    No,
    /// This task.
    Task(Tid),
    /// It already happened.
    Done,
}

impl Rq {
    /// Whether the CPU cannot go through its scheduler now, but will.
    pub(crate) fn comes_later(&self) -> bool {
        self.looks_later || self.entering_idle.is_some()
    }

    /// Whether it need not have gone through its scheduler yet: as above, or somebody else has
    /// the CPU, or it has not heard.
    pub(crate) fn is_excused(&self) -> bool {
        self.comes_later() || self.interrupted || self.in_call || self.ipis_in_flight > 0
    }

    /// The CPU has to do something for the kernel that takes this long at full speed.
    #[inline]
    pub(crate) fn owe(&mut self, ns: u64) {
        self.debt = self.debt.saturating_add(work_of(ns));
    }

    pub(crate) fn new(addr: u64, idle_addr: u64, local: DsqIx, bypass: DsqIx) -> Self {
        Self {
            addr,
            idle_addr,
            stopper_addr: 0,
            curr: None,
            stop_work: Vec::new(),
            nr_pinned: 0,
            cpumask_addr: 0,
            stopper: false,
            interrupted: false,
            in_call: false,
            need_resched: false,
            ipis_in_flight: 0,
            entering_idle: None,
            looked_at_ns: 0,
            fruitless_looks: 0,
            looks_later: false,
            nr_higher: 0,
            waiting: Waiting::default(),
            servers: Servers::default(),
            charged_at_ns: 0,
            busy_ns: 0,
            progressed_at_ns: 0,
            debt: 0,
            pace: Pace::default(),
            armed_at_ns: u64::MAX,
            tick_armed: false,
            tick_due_ns: 0,
            tick_stopped: false,
            insns_since_pick: 0,
            cpuperf_target: crate::consts::CPUPERF_ONE,
            clock_pelt: None,
            scx: ScxRq::new(local, bypass),
        }
    }
}

impl ScxRq {
    pub(crate) fn new(local: DsqIx, bypass: DsqIx) -> Self {
        Self {
            goes_on: None,
            put_last: None,
            next_idle: true,
            next_higher: false,
            nr_running: 0,
            can_stop_tick: false,
            released: false,
            in_balance: false,
            runnable: List::default(),
            local,
            bypass,
            nr_immed: 0,
            extra_enq_flags: 0,
            ddsp_deferred: VecDeque::new(),
            reenq_local: None,
            reenq_user: VecDeque::new(),
            kick: CpuSet::default(),
            kick_if_idle: CpuSet::default(),
            preempt: CpuSet::default(),
            wait: CpuSet::default(),
            dsp_buf: Vec::new(),
            dsp_nr_tasks: 0,
            direct: Direct::No,
            in_select_cpu: false,
        }
    }
}

/// All CPUs.
#[derive(Debug, Default)]
pub(crate) struct Cpus {
    pub(crate) rqs: Vec<Rq>,
    /// Of the tasks that are runnable on a CPU.
    pub(crate) links: Links,
    /// CPUs with work in `irq_work` or deferred lists.
    pub(crate) deferred: CpuSet,
    pub(crate) resched: CpuSet,
    /// CPUs that may be due at another time than they are armed for: something of them, or of the task
    /// that they run, changed.
    pub(crate) touched: CpuSet,
    /// Those whose tick may stop (`nohz_full=`).
    pub(crate) nohz_full: CpuSet,
    /// The last tick that CPUs have one after the other, and which has it first.
    pub(crate) tick_turn: Option<(u64, u32)>,
}

impl Cpus {
    #[inline]
    pub(crate) fn rq(&self, cpu: u32) -> &Rq {
        &self.rqs[cpu as usize]
    }

    #[inline]
    pub(crate) fn rq_mut(&mut self, cpu: u32) -> &mut Rq {
        self.touched.insert(cpu);
        &mut self.rqs[cpu as usize]
    }

    /// A CPU whose tick never stops.
    pub(crate) fn housekeeping(&self) -> u32 {
        (0..self.rqs.len() as u32).find(|cpu| !self.nohz_full.contains(*cpu)).unwrap_or(0)
    }

    /// `resched_curr()`.
    #[inline]
    pub(crate) fn resched_curr(&mut self, cpu: u32) {
        self.rq_mut(cpu).need_resched = true;
        self.resched.insert(cpu);
    }
}
