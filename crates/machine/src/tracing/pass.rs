// SPDX-License-Identifier: MIT OR Apache-2.0
//! Passing places: `__bpf_trace_run()`, `__bpf_prog_enter()`, `kprobe_perf_func()`.

use super::places::Place;
use super::programs::{Attached, Moment};
use crate::layout::ABSENT;
use crate::ops::Ops;
use crate::running::Context;
use crate::system::System;
use crate::task::{State, Tid};
use rota_vm::error::Fault;
use rota_vm::memory::Perm;
use rota_vm::runtime::Runtime;

/// `TASK_NORMAL`: what sleeping tasks are woken from.
const TASK_NORMAL: u64 = 3;
/// Of glibc's `fork()` and `pthread_create()`, without the signal.
const FORK_FLAGS: u64 = 0x0120_0000;
const THREAD_FLAGS: u64 = 0x003d_0f00;
/// Of `kernel_thread()`: `CLONE_VM`, `CLONE_FS`, `CLONE_FILES`, `CLONE_UNTRACED`.
const KTHREAD_FLAGS: u64 = 0x0080_0700;
/// Bytes of a path, `PATH_MAX`.
const PATH_MAX: u32 = 4096;

/// A program at a place was stopped.
#[derive(Debug)]
pub struct Stopped {
    /// Its section.
    pub section: String,
    /// Why.
    pub fault: Fault,
}

/// Runs an object's programs at a place; the instructions that they took.
pub(crate) fn run(
    system: &mut System,
    rt: &mut Runtime<System>,
    programs: &[Attached],
    (at, moment): (Place, Moment),
    args: &[u64],
) -> Result<u64, Stopped> {
    let mut instructions = 0;
    for program in programs.iter().filter(|p| p.at == at && p.moment == moment) {
        if !system.may_execute(instructions) {
            break;
        }
        let ctx = system.trace_context(at, moment, program.form, args);
        match rt.call(system, program.func, &[ctx]) {
            Ok(ret) => instructions += ret.instructions,
            Err(fault) => {
                let function = &rt.image().functions[program.func.0 as usize];
                return Err(Stopped { section: function.section.clone(), fault });
            }
        }
    }
    Ok(instructions)
}

impl System {
    /// Whether the scheduler has a program at a place.
    #[inline]
    pub(crate) fn watches(&self, at: Place) -> bool {
        self.hosted.watched.has(at)
    }

    /// Runs the programs at a tracepoint, or before a function.
    #[inline]
    pub(crate) fn pass(&mut self, o: &mut dyn Ops, at: Place, args: &[u64]) {
        if self.watches(at) {
            self.run_programs(o, at, Moment::Entry, args);
        }
    }

    /// Runs the programs after a function, of which the last of `args` is the result, or 0.
    #[inline]
    pub(crate) fn leave(&mut self, o: &mut dyn Ops, at: Place, args: &[u64]) {
        if self.watches(at) {
            self.run_programs(o, at, Moment::Return, args);
        }
    }

    #[cold]
    fn run_programs(&mut self, o: &mut dyn Ops, at: Place, moment: Moment, args: &[u64]) {
        if !self.may_execute(0) {
            return;
        }
        let inner = Context { tracing: true, ..Context::default() };
        let outer = std::mem::replace(&mut self.running.ctx, inner);
        let result = o.pass(self, (at, moment), args);
        self.running.ctx = outer;
        match result {
            // none of this moment
            Ok(0) => {}
            Ok(instructions) => {
                self.told.counters.count_place(at, instructions);
                self.charge_program(|| at.name(), None, instructions);
            }
            Err(Stopped { section, fault }) => self.fault(&section, None, fault),
        }
    }

    /// As [`System::pass`], while `current` is another task than `rq->curr`.
    fn pass_as(&mut self, o: &mut dyn Ops, current: u64, at: Place, args: &[u64]) {
        self.with_current(current, |system| system.pass(o, at, args));
    }

    /// `trace_sched_switch()`: `rq->curr` is the next task already, `current` still the previous
    /// one. Tasks are preempted on their way to user space, which is no preemption to the kernel.
    pub(crate) fn pass_switch(&mut self, o: &mut dyn Ops, cpu: u32, prev: u64, next: u64) {
        if !self.watches(Place::SchedSwitch) {
            return;
        }
        let this_cpu = std::mem::replace(&mut self.running.this_cpu, cpu);
        let state = self.guest.layouts.task.state;
        let prev_state = match state {
            ABSENT => 0,
            at => self.guest.mem.get_u32(prev + u64::from(at)),
        };
        let args = [0, prev, next, u64::from(prev_state)];
        self.pass_as(o, prev, Place::SchedSwitch, &args);
        self.running.this_cpu = this_cpu;
    }

    /// The task of a CPU: a task of the workload, its stopper, or idle.
    pub(crate) fn on_cpu_addr(&mut self, cpu: u32, task: Option<Tid>, stopper: bool) -> u64 {
        match task {
            Some(t) => self.task(t).addr,
            None if stopper => self.stopper_addr(cpu),
            None => self.rq(cpu).idle_addr,
        }
    }

    /// `migration/N`, as a program sees it.
    pub(crate) fn stopper_addr(&mut self, cpu: u32) -> u64 {
        if self.rq(cpu).stopper_addr == 0 {
            self.rq_mut(cpu).stopper_addr = self.guest.new_stopper(cpu);
        }
        self.rq(cpu).stopper_addr
    }

    /// The beginning of `try_to_wake_up()`, on the CPU `here`: the task's state is still what it
    /// slept in.
    pub(crate) fn pass_waking(&mut self, o: &mut dyn Ops, t: Tid, here: u32, flags: u64) {
        let (p, this_cpu) = (self.task(t).addr, self.running.this_cpu);
        self.running.this_cpu = here;
        self.pass(o, Place::TryToWakeUp, &[p, TASK_NORMAL, flags]);
        self.pass(o, Place::SchedWaking, &[p]);
        self.running.this_cpu = this_cpu;
    }

    /// The end of `try_to_wake_up()` of a task that was not yet asleep: `ttwu_runnable()`.
    pub(crate) fn pass_woken_awake(&mut self, o: &mut dyn Ops, t: Tid, here: u32, flags: u64) {
        let (p, this_cpu) = (self.task(t).addr, self.running.this_cpu);
        self.running.this_cpu = here;
        self.pass(o, Place::SchedWakeup, &[p]);
        self.leave(o, Place::TryToWakeUp, &[p, TASK_NORMAL, flags, 1]);
        self.running.this_cpu = this_cpu;
    }

    /// The end of `try_to_wake_up()`.
    pub(crate) fn leave_wake_up(&mut self, o: &mut dyn Ops, t: Tid, flags: u64) {
        let p = self.task(t).addr;
        self.leave(o, Place::TryToWakeUp, &[p, TASK_NORMAL, flags, 1]);
    }

    /// `set_task_cpu()`.
    pub(crate) fn migrate_to_cpu(&mut self, o: &mut dyn Ops, t: Tid, cpu: u32) {
        let args = [self.task(t).addr, u64::from(cpu), 0];
        self.pass(o, Place::SetTaskCpu, &args[..2]);
        self.pass(o, Place::SchedMigrateTask, &args[..2]);
        self.set_task_cpu(t, cpu);
        self.leave(o, Place::SetTaskCpu, &args);
    }

    /// The end of `copy_process()` and what `kernel_clone()` does before it wakes the child. A
    /// task that starts by itself is forked by the process that starts the workload.
    pub(crate) fn pass_forked(&mut self, o: &mut dyn Ops, t: Tid, parent: Option<Tid>) {
        if self.hosted.watched.is_empty() {
            return;
        }
        let task = self.task(t);
        let flags = match task.pid == task.tgid {
            _ if task.identity.kthread => KTHREAD_FLAGS,
            true => FORK_FLAGS,
            false => THREAD_FLAGS,
        };
        let p = task.addr;
        let current = self.parent_addr(t, parent);
        self.pass_as(o, current, Place::TaskNewtask, &[p, flags]);
        self.pass_as(o, current, Place::SchedProcessFork, &[current, p]);
    }

    /// `do_exit()`, by the task itself.
    pub(crate) fn pass_exit(&mut self, o: &mut dyn Ops, t: Tid) {
        if self.hosted.watched.is_empty() {
            return;
        }
        let (p, tgid) = (self.task(t).addr, self.task(t).tgid);
        let lives = |other: &Tid| {
            let task = self.task(*other);
            task.tgid == tgid && !matches!(task.state, State::Exiting | State::Dead)
        };
        let group_dead = self.tasks.ids().filter(|other| *other != t).all(|other| !lives(&other));
        self.pass(o, Place::SchedProcessExit, &[p, u64::from(group_dead)]);
    }

    /// `TRACE_CGROUP_PATH()`, of a new group or of one that a task enters.
    pub(crate) fn pass_cgroup(
        &mut self,
        o: &mut dyn Ops,
        at: Place,
        group: u32,
        task: Option<Tid>,
    ) {
        if !self.watches(at) {
            return;
        }
        if self.running.path == 0 {
            self.running.path = self.guest.mem.alloc("cgroup path", PATH_MAX, Perm::ReadOnly);
        }
        let (path, cgroup) = (self.running.path, self.cgroups.get(group).clone());
        self.guest.write_text(path, &cgroup.path, PATH_MAX as usize);
        match task {
            // as by a write to cgroup.threads: the task, not its whole process
            Some(t) => {
                let p = self.task(t).addr;
                self.pass(o, at, &[cgroup.addr, path, p, 0]);
            }
            None => self.pass(o, at, &[cgroup.addr, path]),
        }
    }

    /// The end of `cgroup_mkdir()`.
    pub(crate) fn pass_made_cgroup(&mut self, o: &mut dyn Ops, group: u32) {
        self.pass_cgroup(o, Place::CgroupMkdir, group, None);
        self.notify_of_groups();
    }

    /// `cpuset_write_resmask()`, a write to `cpuset.cpus`: programs get the bytes that are written.
    /// The open file is not modelled, and a read of it faults.
    pub(crate) fn passing_cpuset_write(
        &mut self,
        o: &mut dyn Ops,
        text: &str,
        write: impl FnOnce(&mut Self, &mut dyn Ops),
    ) {
        let at = Place::CpusetWriteResmask;
        if !self.watches(at) {
            return write(self, o);
        }
        let unknown = self.guest.mem.alloc("open file of a cgroup", 8, Perm::ReadOnly);
        self.guest.mem.free(unknown);
        let size = text.len() as u32 + 1;
        let buf = self.guest.mem.alloc("bytes written to a cgroup", size, Perm::ReadOnly);
        self.guest.write_text(buf, text, size as usize);
        let args = [unknown, buf, text.len() as u64, 0];
        self.pass(o, at, &args);
        write(self, o);
        let [of, buf, bytes, offset] = args;
        self.leave(o, at, &[of, buf, bytes, offset, bytes]);
        self.guest.mem.free(buf);
    }

    /// `bpf_struct_ops_link_create()`: what it hands over is not modelled, and a read of it faults.
    pub(crate) fn pass_reg(&mut self, o: &mut dyn Ops) {
        let at = if o.cid_form() { Place::BpfScxRegCid } else { Place::BpfScxReg };
        // loaders point programs that ask for the one at the other (SCX_OPS_CID_OPEN)
        for at in [Place::BpfScxReg, at].into_iter().take(1 + usize::from(o.cid_form())) {
            if self.watches(at) {
                let name = "sched_ext_ops as registered";
                let unknown = self.guest.mem.alloc(name, 8, Perm::ReadOnly);
                self.guest.mem.free(unknown);
                self.pass(o, at, &[unknown, unknown]);
                self.leave(o, at, &[unknown, unknown, 0]);
            }
        }
    }
}
