// SPDX-License-Identifier: MIT OR Apache-2.0
//! State of the simulated kernel, and how callbacks are made from it.

use crate::cgroup::Cgroups;
use crate::class::{Above, Side};
use crate::config::Config;
use crate::consts::*;
use crate::core_sched::CoreSched;
use crate::dsq::{Dsq, DsqIx, Queues};
use crate::event_queue::{Due, EventQueue};
use crate::exit::{ExitInfo, ExitKind, ExitTask, Origin};
use crate::ext::idle::IdleMasks;
use crate::guest::Guest;
use crate::hardware::speed::Models;
use crate::hosted::Hosted;
use crate::ops::{Op, Ops};
use crate::outside::hotplug::Hotplug;
use crate::rq::{Cpus, Rq};
use crate::running::{Context, Running, Site, Subject};
use crate::subs::Subs;
use crate::task::{comm, Task, Tid};
use crate::tasks::Tasks;
use crate::timers::Timers;
use crate::told::Told;
use crate::tracing::Places;
use crate::uclamp::Clamped;
use crate::user_half::Program;
use rota_choice::Choices;
use rota_trace::{Cost, CpuList, Event, EventKind};
use rota_vm::engine::Engine;
use rota_vm::error::Fault;
use rota_vm::runtime::CodePlace;
use std::sync::Arc;

/// The simulated kernel: everything but the scheduler that it hosts. A function that needs one
/// group only is a function of that group.
pub struct System {
    pub(crate) config: Config,
    /// What compiles the code of schedulers that are loaded from now on.
    pub engine: Option<Arc<dyn Engine>>,
    pub(crate) choices: Choices,
    pub(crate) now_ns: u64,
    pub(crate) queue: EventQueue,
    pub(crate) timers: Timers,
    pub(crate) tasks: Tasks,
    /// Dispatch queues.
    pub(crate) queues: Queues,
    pub(crate) cpus: Cpus,
    pub(crate) idle: IdleMasks,
    /// Of tasks above sched_ext.
    pub(crate) above: Above,
    pub(crate) cgroups: Cgroups,
    pub(crate) guest: Guest,
    /// What the machine keeps of the scheduler.
    pub(crate) hosted: Hosted,
    /// The same of the fair class, if there is one: of the side that the machine does not act for.
    pub(crate) other: Option<Box<Side>>,
    /// The call into the scheduler that is being made.
    pub(crate) running: Running,
    pub(crate) told: Told,
    pub(crate) hotplug: Hotplug,
    pub(crate) core_sched: CoreSched,
    pub(crate) subs: Subs,
    /// What is kept whether the scheduler has programs there or not.
    pub(crate) always: Places,
    /// Of a machine that is not flat.
    pub(crate) models: Option<Box<Models>>,
    /// Where a task has asked for clamps of utilization.
    pub(crate) clamped: Option<Box<Clamped>>,
    /// The scheduler's program, if it takes part.
    pub(crate) program: Option<Box<Program>>,
}

impl System {
    /// The kernel's clock: time since boot, while [`System::now_ns`] counts from the start
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
        self.tasks.get(t)
    }

    #[inline]
    pub(crate) fn task_mut(&mut self, t: Tid) -> &mut Task {
        self.tasks.get_mut(t)
    }

    #[inline]
    pub(crate) fn rq(&self, cpu: u32) -> &Rq {
        self.cpus.rq(cpu)
    }

    #[inline]
    pub(crate) fn rq_mut(&mut self, cpu: u32) -> &mut Rq {
        self.cpus.rq_mut(cpu)
    }

    #[inline]
    pub(crate) fn dsq(&self, d: DsqIx) -> &Dsq {
        self.queues.get(d)
    }

    #[inline]
    pub(crate) fn slice(&self, t: Tid) -> u64 {
        self.guest.mem.get_u64(self.task(t).addr + u64::from(self.guest.layouts.task.scx_slice))
    }

    #[inline]
    pub(crate) fn set_slice(&mut self, t: Tid, slice_ns: u64) {
        let at = self.task(t).addr + u64::from(self.guest.layouts.task.scx_slice);
        self.guest.mem.set_u64(at, slice_ns);
    }

    #[inline]
    pub(crate) fn vtime(&self, t: Tid) -> u64 {
        self.guest.mem.get_u64(self.task(t).addr + u64::from(self.guest.layouts.task.scx_dsq_vtime))
    }

    #[inline]
    pub(crate) fn set_vtime(&mut self, t: Tid, vtime: u64) {
        let at = self.task(t).addr + u64::from(self.guest.layouts.task.scx_dsq_vtime);
        self.guest.mem.set_u64(at, vtime);
    }

    /// `p->scx.flags`.
    #[inline]
    pub(crate) fn flags(&self, t: Tid) -> u32 {
        self.guest.mem.get_u32(self.task(t).addr + u64::from(self.guest.layouts.task.scx_flags))
    }

    #[inline]
    pub(crate) fn has_flag(&self, t: Tid, flag: u32) -> bool {
        self.flags(t) & flag != 0
    }

    #[inline]
    pub(crate) fn change_flags(&mut self, t: Tid, clear: u32, set: u32) {
        let at = self.task(t).addr + u64::from(self.guest.layouts.task.scx_flags);
        self.guest.mem.update_u32(at, |flags| flags & !clear | set);
    }

    #[inline]
    pub(crate) fn emit(&mut self, cpu: Option<u32>, kind: EventKind) {
        self.told.events.push(Event { time_ns: self.now_ns, cpu, kind });
    }

    /// `resched_curr()` of a CPU that may be another one, which learns of it by an interrupt.
    pub(crate) fn resched_cpu(&mut self, cpu: u32) {
        if self.is_offline(cpu) {
            return;
        }
        let here = self.running.this_cpu;
        if cpu == here {
            return self.cpus.resched_curr(cpu);
        }
        let ipi_ns = self.ipi_ns(cpu);
        // one that is asked already is not interrupted again
        if let Some(ipi) = self.ipi_costs().filter(|_| !self.rq(cpu).need_resched) {
            if !self.polls(cpu) {
                self.charge_overhead(here, ipi.send_ns);
            }
        }
        if ipi_ns == 0 {
            self.charge_interrupt(cpu);
            return self.cpus.resched_curr(cpu);
        }
        let rq = self.rq_mut(cpu);
        rq.need_resched = true;
        rq.ipis_in_flight += 1;
        self.queue.push(self.now_ns + ipi_ns, Due::Ipi(cpu));
    }

    /// `scheduler_ipi()`: unless the CPU has rescheduled meanwhile.
    pub(crate) fn ipi(&mut self, cpu: u32) {
        self.rq_mut(cpu).ipis_in_flight -= 1;
        self.charge_interrupt(cpu);
        if self.rq(cpu).need_resched {
            self.cpus.resched.insert(cpu);
        }
    }

    /// A CPU is interrupted, at the cost of the task that it runs.
    fn charge_interrupt(&mut self, cpu: u32) {
        if let Some(ipi) = self.ipi_costs() {
            self.update_curr(cpu);
            self.charge_overhead(cpu, ipi.receive_ns);
        }
    }

    /// Whether events of single callbacks and queue moves are wanted: those of sched_ext.
    #[inline]
    pub(crate) fn tells_detail(&self) -> bool {
        self.config.detail && !self.hosted.is_fair
    }

    /// `scx_bypassing()`.
    pub(crate) fn is_bypassing(&self) -> bool {
        self.hosted.bypassing
    }

    /// `SCX_HAS_OP()`.
    #[inline]
    pub(crate) fn has(&self, op: Op) -> bool {
        self.hosted.has(op)
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
        let outer = std::mem::replace(&mut self.running.ctx, inner);
        let (site, subject) = (self.running.site, std::mem::take(&mut self.running.subject));
        let result = o.call(self, op, args);
        self.running.ctx = outer;
        (self.running.site, self.running.subject) = (site, subject);
        match result {
            Ok(ret) => {
                self.told.counters.count_callback(op, ret.instructions);
                self.charge_program(|| op.name(), task, ret.instructions);
                ret.value
            }
            Err(fault) => self.callback_fault(op, task, fault),
        }
    }

    #[cold]
    fn callback_fault(&mut self, op: Op, task: Option<Tid>, fault: Fault) -> u64 {
        self.fault(&format!("ops.{}()", op.name()), task, fault);
        0
    }

    /// A program was stopped, after how many instructions is not known: its budget at most.
    pub(crate) fn fault(&mut self, program: &str, task: Option<Tid>, fault: Fault) {
        let is_first = self.hosted.exit.is_none();
        self.about(Subject { task, site: None }, |system| {
            system.error(ExitKind::Error, format!("{program}: {fault}"));
        });
        if let (true, Some(exit)) = (is_first, &mut self.hosted.exit) {
            exit.origin.callback = Some(program.to_owned());
            let Fault { function, insn, source, .. } = fault;
            exit.origin.place =
                (!function.is_empty()).then_some(CodePlace { function, insn, source });
        }
        self.count_executed(self.config.budget);
    }

    #[inline]
    pub(crate) fn charge_program(
        &mut self,
        name: impl FnOnce() -> &'static str,
        task: Option<Tid>,
        instructions: u64,
    ) {
        self.count_executed(instructions);
        // the kernel's own class takes no time but that of a switch
        if self.hosted.is_fair {
            return;
        }
        let cost_ns = instructions * self.config.costs.insn_ps / 1000;
        let rq = self.rq_mut(self.running.this_cpu);
        rq.insns_since_pick += instructions;
        rq.owe(cost_ns);
        if self.config.detail {
            self.tell_call(name(), task, instructions);
        }
    }

    #[inline(never)]
    fn tell_call(&mut self, name: &'static str, task: Option<Tid>, instructions: u64) {
        let pid = task.map_or(0, |t| self.task(t).pid);
        let cost = Cost::Instructions(instructions);
        let cpu = self.running.this_cpu;
        self.emit(Some(cpu), EventKind::OpCall { op: name.into(), pid, cost });
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

    /// The call that hosted code is making, if it runs.
    pub(crate) fn site(&self) -> Option<Site> {
        let ctx = &self.running.ctx;
        let runs = ctx.op.is_some() || ctx.tracing || self.timers.expiring;
        runs.then_some(Site { op: ctx.op, at: Some(self.running.site) })
    }

    /// Does what a scheduler asked for: errors are about this.
    pub(crate) fn about<R>(&mut self, subject: Subject, act: impl FnOnce(&mut Self) -> R) -> R {
        let outer = std::mem::replace(&mut self.running.subject, subject);
        let result = act(self);
        self.running.subject = outer;
        result
    }

    /// An error about a task.
    pub(crate) fn error_about(&mut self, t: Tid, text: String) {
        let site = self.running.subject.site;
        self.about(Subject { task: Some(t), site }, |system| system.error(ExitKind::Error, text));
    }

    /// An error about what a callback returned.
    pub(crate) fn error_of(&mut self, op: Op, task: Option<Tid>, text: String) {
        let site = Some(Site { op: Some(op), at: None });
        self.about(Subject { task, site }, |system| system.error(ExitKind::Error, text));
    }

    /// What an exit comes from.
    fn origin(&self, site: Option<Site>) -> Origin {
        let callback = site.and_then(|site| site.op).map(|op| format!("ops.{}()", op.name()));
        let task = self.running.subject.task.or(self.running.ctx.task).map(|t| self.task(t));
        let task = task.map(|task| ExitTask {
            name: comm(&task.name).to_owned(),
            pid: task.pid,
            cpus: task.cpus.iter().collect::<CpuList>().as_str().to_owned(),
            waits: None,
        });
        Origin { callback, place: None, task }
    }

    /// `scx_error()` and friends: the first one wins (`scx_claim_exit()`).
    pub(crate) fn error(&mut self, kind: ExitKind, message: String) {
        self.exit_with(kind, 0, message);
    }

    pub(crate) fn exit_with(&mut self, kind: ExitKind, code: i64, mut message: String) {
        if self.hosted.exit.is_some() {
            return;
        }
        let mut end = message.len().min(EXIT_MSG_LEN - 1);
        while !message.is_char_boundary(end) {
            end -= 1;
        }
        message.truncate(end);
        let site = self.site().or(self.running.subject.site);
        self.hosted.exit_site = site;
        self.hosted.exit = Some(ExitInfo {
            kind,
            code,
            message,
            cpu: Some(self.running.this_cpu),
            dump: String::new(),
            origin: self.origin(site),
        });
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
        let task = self.running.subject.task;
        self.error_of(op, task, format!("ops.{}() returned an invalid errno {err}", op.name()));
        -71 // -EPROTO
    }
}
