// SPDX-License-Identifier: MIT OR Apache-2.0
//! State of the simulated kernel, and how callbacks are made from it.

use crate::cgroup::Cgroups;
use crate::config::Config;
use crate::consts::*;
use crate::cpuset::CpuSet;
use crate::dsq::{Dsq, DsqIx};
use crate::event_queue::{Due, EventQueue};
use crate::exit::{ExitInfo, ExitKind};
use crate::ext::idle::IdleMasks;
use crate::identity::Identities;
use crate::kernel_objects::Scratch;
use crate::layout::{Layouts, ABSENT};
use crate::list::Links;
use crate::ops::{Op, Ops, Tracepoint};
use crate::rq::Rq;
use crate::spending::Spending;
use crate::stats::Counters;
use crate::task::{Task, Tid};
use crate::timers::Timers;
use rota_choice::Choices;
use rota_trace::{Cost, Event, EventKind};
use rota_vm::memory::Memory;
use rustc_hash::FxHashMap;

/// What the running callback may do, `scx_kf_allow_flags` and the locked rq.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Context {
    pub(crate) op: Option<Op>,
    /// `scx_locked_rq()`.
    pub(crate) locked_rq: Option<u32>,
    /// `current->scx.kf_tasks[0]`: the task that the callback is about.
    pub(crate) task: Option<Tid>,
    /// It is a program at a tracepoint.
    pub(crate) tracing: bool,
}

/// The simulated kernel: everything but the scheduler that it hosts.
pub struct Core {
    pub(crate) config: Config,
    pub(crate) mem: Memory,
    pub(crate) layouts: Layouts,
    pub(crate) now_ns: u64,
    pub(crate) choices: Choices,
    /// The last tick that CPUs have one after the other, and which has it first.
    pub(crate) tick_turn: Option<(u64, u32)>,
    pub(crate) rqs: Vec<Rq>,
    pub(crate) tasks: Vec<Task>,
    /// Task of a guest memory region, by region number.
    pub(crate) task_of_region: Vec<Option<Tid>>,
    pub(crate) tid_of_pid: FxHashMap<u32, Tid>,
    /// Live threads of each process, by tgid.
    pub(crate) threads_of: FxHashMap<u32, u32>,
    pub(crate) dsqs: Vec<Dsq>,
    pub(crate) user_dsqs: FxHashMap<u64, DsqIx>,
    pub(crate) global_dsqs: Vec<DsqIx>,
    pub(crate) dsq_links: Links,
    pub(crate) run_links: Links,
    pub(crate) idle: IdleMasks,
    pub(crate) cgroups: Cgroups,
    pub(crate) timers: Timers,
    pub(crate) queue: EventQueue,
    pub(crate) scratch: Scratch,
    pub(crate) identities: Identities,
    /// `smp_processor_id()`.
    pub(crate) this_cpu: u32,
    pub(crate) ctx: Context,
    /// A process that is no task of the workload has the CPU for the moment.
    pub(crate) outsider: bool,
    /// CPUs with work in `irq_work` or deferred lists.
    pub(crate) deferred: CpuSet,
    pub(crate) resched: CpuSet,
    /// Tasks above sched_ext that wait for a CPU.
    pub(crate) nr_waiting: u32,
    /// What all live tasks have reserved (`dl_bw->total_bw`).
    pub(crate) reserved: u64,
    /// The workload has tasks above sched_ext.
    pub(crate) higher_classes: bool,
    /// Callbacks that the scheduler has and that are enabled by now, by [`Op`] number.
    pub(crate) has_op: u64,
    pub(crate) ops_flags: u64,
    pub(crate) dsp_max_batch: u32,
    pub(crate) watchdog_timeout_ns: u64,
    /// `scx_init_task_enabled`: forks go through `ops.init_task()`.
    pub(crate) enabled: bool,
    pub(crate) bypassing: bool,
    pub(crate) cgroup_enabled: bool,
    pub(crate) exit: Option<ExitInfo>,
    pub(crate) dump: Option<crate::dump::DumpBuffer>,
    pub(crate) events: Vec<Event>,
    pub(crate) counters: Counters,
    pub(crate) spending: Spending,
    pub(crate) printed: Vec<String>,
    pub(crate) next_pid: u32,
    /// DSQ iterators in use: guest address of the iterator to its state.
    pub(crate) iters: crate::kfuncs::iter::Iters,
    /// css iterators in use: what is left of each walk.
    pub(crate) css_iters: FxHashMap<u64, Vec<u64>>,
    /// `struct scx_cmask` for `ops.set_cmask()`, 0 until first used.
    pub(crate) cmask_scratch: u64,
    /// The hosted object, for kernel functions that call back into it.
    pub(crate) binding: Option<std::sync::Arc<crate::policy::Binding>>,
}

impl Core {
    /// The kernel's clock: time since boot, while [`Core::now_ns`] counts from the start
    /// of the run.
    #[inline]
    pub(crate) fn clock_ns(&self) -> u64 {
        self.now_ns + BOOT_NS
    }

    /// Jiffies since boot.
    pub(crate) fn jiffies(&self) -> u64 {
        self.clock_ns() / self.config.tick_ns()
    }

    pub(crate) fn nr_cpus(&self) -> u32 {
        self.config.topology.cpus()
    }

    #[inline]
    pub(crate) fn task(&self, t: Tid) -> &Task {
        &self.tasks[t.0 as usize]
    }

    #[inline]
    pub(crate) fn task_mut(&mut self, t: Tid) -> &mut Task {
        &mut self.tasks[t.0 as usize]
    }

    #[inline]
    pub(crate) fn rq(&self, cpu: u32) -> &Rq {
        &self.rqs[cpu as usize]
    }

    #[inline]
    pub(crate) fn rq_mut(&mut self, cpu: u32) -> &mut Rq {
        &mut self.rqs[cpu as usize]
    }

    #[inline]
    pub(crate) fn dsq(&self, d: DsqIx) -> &Dsq {
        &self.dsqs[d.0 as usize]
    }

    /// The live task whose `task_struct` is at this guest address.
    pub(crate) fn task_at(&self, addr: u64) -> Option<Tid> {
        if addr as u32 != 0 {
            return None;
        }
        self.task_of_region.get((addr >> 32) as usize).copied().flatten()
    }

    #[inline]
    pub(crate) fn slice(&self, t: Tid) -> u64 {
        self.mem.get_u64(self.task(t).addr + u64::from(self.layouts.task.scx_slice))
    }

    #[inline]
    pub(crate) fn set_slice(&mut self, t: Tid, slice_ns: u64) {
        let at = self.task(t).addr + u64::from(self.layouts.task.scx_slice);
        self.mem.set_u64(at, slice_ns);
    }

    #[inline]
    pub(crate) fn vtime(&self, t: Tid) -> u64 {
        self.mem.get_u64(self.task(t).addr + u64::from(self.layouts.task.scx_dsq_vtime))
    }

    #[inline]
    pub(crate) fn set_vtime(&mut self, t: Tid, vtime: u64) {
        let at = self.task(t).addr + u64::from(self.layouts.task.scx_dsq_vtime);
        self.mem.set_u64(at, vtime);
    }

    /// `p->scx.flags`.
    #[inline]
    pub(crate) fn flags(&self, t: Tid) -> u32 {
        self.mem.get_u32(self.task(t).addr + u64::from(self.layouts.task.scx_flags))
    }

    #[inline]
    pub(crate) fn has_flag(&self, t: Tid, flag: u32) -> bool {
        self.flags(t) & flag != 0
    }

    #[inline]
    pub(crate) fn change_flags(&mut self, t: Tid, clear: u32, set: u32) {
        let at = self.task(t).addr + u64::from(self.layouts.task.scx_flags);
        let flags = self.mem.get_u32(at);
        self.mem.set_u32(at, flags & !clear | set);
    }

    /// Writes a field of a kernel object if this kernel has it.
    #[inline]
    pub(crate) fn put_u32(&mut self, base: u64, offset: u32, value: u32) {
        if offset != ABSENT {
            self.mem.set_u32(base + u64::from(offset), value);
        }
    }

    /// As [`Core::put_u32`], two bytes.
    pub(crate) fn put_u16(&mut self, base: u64, offset: u32, value: u16) {
        if offset != ABSENT {
            self.mem.set_u16(base + u64::from(offset), value);
        }
    }

    /// As [`Core::put_u32`], eight bytes.
    #[inline]
    pub(crate) fn put_u64(&mut self, base: u64, offset: u32, value: u64) {
        if offset != ABSENT {
            self.mem.set_u64(base + u64::from(offset), value);
        }
    }

    #[inline]
    pub(crate) fn emit(&mut self, cpu: Option<u32>, kind: EventKind) {
        self.events.push(Event { time_ns: self.now_ns, cpu, kind });
    }

    /// `resched_curr()`.
    #[inline]
    pub(crate) fn resched_curr(&mut self, cpu: u32) {
        self.rq_mut(cpu).need_resched = true;
        self.resched.insert(cpu);
    }

    /// `resched_curr()` of a CPU that may be another one, which learns of it by an interrupt.
    pub(crate) fn resched_cpu(&mut self, cpu: u32) {
        let ipi_ns = self.config.costs.ipi_ns;
        if cpu == self.this_cpu || ipi_ns == 0 {
            return self.resched_curr(cpu);
        }
        let rq = self.rq_mut(cpu);
        rq.need_resched = true;
        rq.ipis_in_flight += 1;
        self.queue.push(self.now_ns + ipi_ns, Due::Ipi(cpu));
    }

    /// `scheduler_ipi()`: unless the CPU has rescheduled meanwhile.
    pub(crate) fn ipi(&mut self, cpu: u32) {
        self.rq_mut(cpu).ipis_in_flight -= 1;
        if self.rq(cpu).need_resched {
            self.resched.insert(cpu);
        }
    }

    /// `scx_bypassing()`.
    pub(crate) fn is_bypassing(&self) -> bool {
        self.bypassing
    }

    /// `SCX_HAS_OP()`.
    #[inline]
    pub(crate) fn has(&self, op: Op) -> bool {
        self.has_op >> (op as u8) & 1 == 1
    }

    /// `SCX_CALL_OP*()`: makes a callback in its context, counts and charges it. A guest
    /// fault ejects the scheduler, as a verifier would have refused to load it.
    pub(crate) fn call(
        &mut self,
        o: &mut dyn Ops,
        op: Op,
        locked_rq: Option<u32>,
        task: Option<Tid>,
        args: &[u64],
    ) -> u64 {
        if !self.may_execute(0) {
            return 0;
        }
        let inner = Context { op: Some(op), locked_rq, task, tracing: false };
        let outer = std::mem::replace(&mut self.ctx, inner);
        let result = o.call(self, op, args);
        self.ctx = outer;
        match result {
            Ok(ret) => {
                self.charge_callback(op, task, ret.instructions);
                ret.value
            }
            Err(fault) => {
                self.fault(format!("ops.{}(): {fault}", op.name()));
                0
            }
        }
    }

    /// Passes a tracepoint that the scheduler may watch.
    pub(crate) fn pass(&mut self, o: &mut dyn Ops, at: Tracepoint, args: &[u64]) {
        if !self.may_execute(0) {
            return;
        }
        let inner = Context { tracing: true, ..Context::default() };
        let outer = std::mem::replace(&mut self.ctx, inner);
        let result = o.pass(self, at, args);
        self.ctx = outer;
        match result {
            Ok(instructions) => {
                self.counters.count_tracepoint(at, instructions);
                self.charge_program(at.name(), None, instructions);
            }
            Err(fault) => self.fault(format!("tp_btf/{}: {fault}", at.name())),
        }
    }

    /// A program was stopped, after how many instructions is not known: its budget at most.
    pub(crate) fn fault(&mut self, text: String) {
        self.error(ExitKind::Error, text);
        self.count_executed(self.config.budget);
    }

    fn charge_callback(&mut self, op: Op, task: Option<Tid>, instructions: u64) {
        self.counters.count_callback(op, instructions);
        self.charge_program(op.name(), task, instructions);
    }

    fn charge_program(&mut self, name: &'static str, task: Option<Tid>, instructions: u64) {
        self.count_executed(instructions);
        let cpu = self.this_cpu;
        let cost_ns = instructions * self.config.costs.insn_ps / 1000;
        let rq = self.rq_mut(cpu);
        rq.insns_since_pick += instructions;
        rq.debt_ns += cost_ns;
        if self.config.detail {
            let pid = task.map_or(0, |t| self.task(t).pid);
            let cost = Cost::Instructions(instructions);
            self.emit(Some(cpu), EventKind::OpCall { op: name.into(), pid, cost });
        }
    }

    /// Callback about a task: `SCX_CALL_OP_TASK()`.
    pub(crate) fn call_task(
        &mut self,
        o: &mut dyn Ops,
        op: Op,
        rq: u32,
        t: Tid,
        rest: &[u64],
    ) -> u64 {
        let mut args = [self.task(t).addr, 0, 0, 0, 0];
        args[1..=rest.len()].copy_from_slice(rest);
        self.call(o, op, Some(rq), Some(t), &args[..=rest.len()])
    }

    /// `scx_error()` and friends: the first one wins (`scx_claim_exit()`).
    pub(crate) fn error(&mut self, kind: ExitKind, message: String) {
        self.exit_with(kind, 0, message);
    }

    pub(crate) fn exit_with(&mut self, kind: ExitKind, code: i64, mut message: String) {
        if self.exit.is_some() {
            return;
        }
        let mut end = message.len().min(EXIT_MSG_LEN - 1);
        while !message.is_char_boundary(end) {
            end -= 1;
        }
        message.truncate(end);
        self.exit =
            Some(ExitInfo { kind, code, message, cpu: Some(self.this_cpu), dump: String::new() });
    }

    /// `scx_cpu_valid()`: ejects the scheduler for a CPU that does not exist.
    pub(crate) fn cpu_valid(&mut self, cpu: i64, place: &str) -> bool {
        if (0..i64::from(self.nr_cpus())).contains(&cpu) {
            return true;
        }
        let place = if place.is_empty() { String::new() } else { format!(" {place}") };
        self.error(ExitKind::Error, format!("invalid CPU {cpu}{place}"));
        false
    }

    /// `ops_sanitize_err()`.
    pub(crate) fn sanitize_err(&mut self, op: Op, err: i64) -> i64 {
        if (-MAX_ERRNO..0).contains(&err) {
            return err;
        }
        self.error(ExitKind::Error, format!("ops.{}() returned an invalid errno {err}", op.name()));
        -71 // -EPROTO
    }
}
