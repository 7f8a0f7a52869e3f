// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernel objects that hosted code can reach, written into guest memory.

use crate::class::{normal_prio, reserved_by};
use crate::consts::*;
use crate::cpuset::{CpuSet, MAX_CPUS};
use crate::current::Threads;
use crate::guest::Guest;
use crate::layout::{KernelType, Layouts, TaskLayout, ABSENT};
use crate::system::System;
use crate::task::{comm, Task, Tid};
use rota_vm::memory::{Memory, Perm};
use rota_workload::Policy;
use rustc_hash::FxHashMap;

/// Kernel variables that hosted code may refer to.
pub(crate) const KSYMS: &[&str] =
    &["runqueues", "sd_llc_id", "sd_llc_size", "kernel_cpustat", "kernel_stat", "cpufreq_cpu_data"];
/// Bytes of a per-CPU number.
const PLAIN_KSYM_SIZE: u32 = 8;

/// Pid of the first CPU's stopper.
const STOPPER_PID: u32 = 16;

/// Argument structs, filled before each callback that takes one.
#[derive(Debug)]
pub(crate) struct Scratch {
    pub(crate) init_task_args: u64,
    pub(crate) exit_task_args: u64,
    pub(crate) cpu_release_args: u64,
    pub(crate) cgroup_init_args: u64,
    pub(crate) exit_info: u64,
    pub(crate) dump_ctx: u64,
    pub(crate) text: u64,
    pub(crate) all_cpus: u64,
    pub(crate) no_cpus: u64,
    /// The process that starts the workload, parent of its tasks.
    pub(crate) loader: u64,
    /// Threads of the kernel that were seen.
    pub(crate) threads: Threads,
    /// Per-CPU kernel variables: first CPU's address to all addresses.
    pub(crate) per_cpu: FxHashMap<u64, Vec<u64>>,
    pub(crate) ksyms: FxHashMap<String, u64>,
}

impl Scratch {
    pub(crate) fn new(mem: &mut Memory, layouts: &Layouts, cpus: u32) -> Self {
        let mask_size = layouts.cpumask_size;
        let mut alloc = |name: &str, size: u32| mem.alloc(name, size.max(8), Perm::ReadOnly);
        let scratch = Self {
            init_task_args: alloc("scx_init_task_args", layouts.init_task_args.size()),
            exit_task_args: alloc("scx_exit_task_args", layouts.exit_task_args.size()),
            cpu_release_args: alloc("scx_cpu_release_args", layouts.cpu_release_args.size()),
            cgroup_init_args: alloc("scx_cgroup_init_args", layouts.cgroup_init_args.size()),
            exit_info: alloc("scx_exit_info", layouts.exit_info.size()),
            dump_ctx: alloc("scx_dump_ctx", layouts.dump_ctx.size()),
            text: alloc("exit message", 4 * EXIT_MSG_LEN as u32),
            all_cpus: alloc("cpu_possible_mask", mask_size),
            no_cpus: alloc("cpu_none_mask", mask_size),
            loader: mem.alloc_kernel(layouts.task_shape),
            threads: Threads::new(),
            per_cpu: FxHashMap::default(),
            ksyms: FxHashMap::default(),
        };
        for (word, bits) in
            CpuSet::first_n(cpus).words().iter().enumerate().take(mask_size as usize / 8)
        {
            mem.set_u64(scratch.all_cpus + 8 * word as u64, *bits);
        }
        scratch
    }
}

impl System {
    /// Writes a `struct cpumask`.
    pub(crate) fn write_cpumask(&mut self, addr: u64, set: &CpuSet) {
        let words = (self.nr_cpus().div_ceil(64)).min(self.guest.layouts.cpumask_size / 8);
        for (at, bits) in set.words().iter().enumerate().take(words as usize) {
            self.guest.mem.set_u64(addr + 8 * at as u64, *bits);
        }
    }

    /// Reads a `struct cpumask` that guest code passed; CPUs the machine lacks are dropped.
    pub(crate) fn read_cpumask(&self, addr: u64) -> Result<CpuSet, rota_vm::error::Fault> {
        let words = MAX_CPUS.min(8 * self.guest.layouts.cpumask_size) / 64;
        self.guest.mem.check(addr, words * 8)?;
        let own_words = self.nr_cpus().div_ceil(64).min(words);
        let bytes = self.guest.mem.bytes(addr, own_words * 8)?;
        let set = CpuSet::from_words(bytes.chunks_exact(8).map(|w| {
            let mut word = [0; 8];
            word.copy_from_slice(w);
            u64::from_le_bytes(word)
        }));
        Ok(set.and(&CpuSet::first_n(self.nr_cpus())))
    }

    /// Registers a task and builds its `task_struct`.
    pub(crate) fn add_task(&mut self, task: Task, parent: Option<Tid>) -> Tid {
        let runnable_at_jiffies = self.jiffies();
        let addr = self.guest.mem.alloc_kernel(self.guest.layouts.task_shape);
        self.above.reserved += reserved_by(&task.settings);
        let t = self.tasks.add(Task { addr, parent, runnable_at_jiffies, ..task });
        self.queues.links.grow();
        self.cpus.links.grow();
        self.fill_task(t);
        t
    }

    fn fill_task(&mut self, t: Tid) {
        let layout = self.guest.layouts.task.clone();
        let task = self.task(t);
        let (addr, pid, tgid, name, cpu) =
            (task.addr, task.pid, task.tgid, task.name.clone(), task.cpu);
        let (parent, identity) = (task.parent, task.identity);
        let parent = self.parent_addr(t, parent);
        let leader = self.tasks.with_pid(tgid).map_or(addr, |l| self.task(l).addr);
        let now_ns = self.clock_ns();
        self.guest.put_u32(addr, layout.pid, pid);
        self.guest.put_u32(addr, layout.tgid, tgid);
        if layout.comm != ABSENT {
            self.guest.write_text(addr + u64::from(layout.comm), comm(&name), 16);
        }
        self.guest.put_u64(addr, layout.real_parent, parent);
        self.guest.put_u64(addr, layout.parent, parent);
        self.guest.put_u64(addr, layout.group_leader, leader);
        self.guest.put_u64(addr, layout.start_time, now_ns);
        self.guest.put_u64(addr, layout.start_boottime, now_ns);
        self.guest.put_u64(addr, layout.cpus_ptr, addr + u64::from(layout.cpus_mask));
        self.guest.put_u32(addr, layout.on_cpu, 0);
        for field in [layout.scx_sticky_cpu, layout.scx_holding_cpu] {
            self.guest.put_u32(addr, field, u32::MAX);
        }
        self.guest.put_u64(addr, layout.scx_ddsp_dsq_id, DSQ_INVALID);
        self.guest.put_u64(addr, layout.scx_tid, u64::from(t.0) + 1);
        self.guest.put_u64(addr, layout.scx_slice, SLICE_DFL_NS);
        self.guest.put_u32(addr, layout.cpu, cpu);
        self.guest.put_u32(addr, layout.wake_cpu, cpu);
        self.guest.put_u32(addr, layout.recent_used_cpu, cpu);
        if identity.kthread {
            let bound = if identity.bound { PF_NO_SETAFFINITY } else { 0 };
            self.guest.put_u32(addr, layout.flags, PF_KTHREAD | bound);
        } else {
            self.guest.fill_mm(addr, leader);
        }
        self.guest.fill_identity(addr, leader, identity);
        self.publish_affinity(t);
        self.publish_priority(t);
        self.set_clamps(t);
        self.publish_cgroup(t);
    }

    /// Takes a dead task's objects away.
    pub(crate) fn free_task(&mut self, t: Tid) {
        let task = self.task(t);
        let addr = task.addr;
        self.above.reserved -= reserved_by(&task.settings);
        let at = self.guest.layouts.task.mm;
        let last = self.tasks.remove(t);
        if at != ABSENT && last {
            let mm = self.guest.mem.get_u64(addr + u64::from(at));
            // kernel threads have none
            if mm != 0 {
                self.guest.mem.free(mm);
            }
        }
        if last {
            self.guest.free_identity(addr);
        }
        self.guest.mem.free(addr);
        self.task_mut(t).addr = 0;
    }

    pub(crate) fn publish_affinity(&mut self, t: Tid) {
        let layout = self.guest.layouts.task.clone();
        let (addr, cpus) = (self.task(t).addr, self.task(t).cpus);
        let count = cpus.len();
        self.task_mut(t).nr_cpus_allowed = count;
        self.guest.put_u32(addr, layout.nr_cpus_allowed, count);
        if layout.cpus_mask != ABSENT {
            self.write_cpumask(addr + u64::from(layout.cpus_mask), &cpus);
        }
    }

    /// `prio`, `static_prio` and `policy`. The nice value of a task above sched_ext is 0.
    pub(crate) fn publish_priority(&mut self, t: Tid) {
        let layout = self.guest.layouts.task.clone();
        let (addr, settings) = (self.task(t).addr, self.task(t).settings.clone());
        let nice = if settings.policy.is_real_time() { 0 } else { settings.priority };
        let static_prio = 120 + nice.clamp(-20, 19);
        let prio = self.tasks.effective_prio(t);
        self.task_mut(t).prio = prio;
        self.guest.put_u32(addr, layout.static_prio, static_prio as u32);
        self.guest.put_u32(addr, layout.normal_prio, normal_prio(&settings) as u32);
        self.guest.put_u32(addr, layout.prio, prio as u32);
        let (policy, rt_priority) = match settings.policy {
            Policy::Other => (0, 0),
            Policy::Ext if self.task(t).rejected => (0, 0),
            Policy::Ext => (7, 0),
            Policy::Fifo => (1, settings.priority as u32),
            Policy::Rr => (2, settings.priority as u32),
            Policy::Batch => (3, 0),
            Policy::Idle => (5, 0),
            Policy::Deadline => (6, 0),
        };
        self.guest.put_u32(addr, layout.policy, policy);
        self.guest.put_u32(addr, layout.rt_priority, rt_priority);
        self.publish_slice(t);
    }

    /// The slice a task asks for by `sched_setattr()` (`__setparam_fair()`), which a scheduler
    /// may heed; 0.7 ms scaled by the number of CPUs where it asks for none.
    fn publish_slice(&mut self, t: Tid) {
        let TaskLayout { se_slice, custom_slice, .. } = self.guest.layouts.task;
        let (addr, asked) = (self.task(t).addr, self.task(t).settings.slice_ns);
        let scale = 1 + u64::from(self.nr_cpus().min(8).ilog2());
        let slice_ns = asked.map_or(700_000 * scale, |ns| ns.clamp(100_000, 100_000_000));
        self.guest.put_u64(addr, se_slice, slice_ns);
        if custom_slice != ABSENT {
            self.guest.mem.set_u8(addr + u64::from(custom_slice), asked.is_some().into());
        }
    }

    /// `set_task_cpu()`.
    pub(crate) fn set_task_cpu(&mut self, t: Tid, cpu: u32) {
        let old = std::mem::replace(&mut self.task_mut(t).cpu, cpu);
        let addr = self.task(t).addr;
        self.guest.put_u32(addr, self.guest.layouts.task.recent_used_cpu, old);
        self.guest.put_u32(addr, self.guest.layouts.task.cpu, cpu);
        self.guest.put_u32(addr, self.guest.layouts.task.wake_cpu, cpu);
    }

    /// What a dump calls the task or cgroup at an address.
    pub fn owner_name(&self, addr: u64) -> String {
        match (self.tasks.at(addr), self.cgroups.at_addr(addr)) {
            (Some(t), _) => self.task(t).label(),
            (None, Some(at)) => self.cgroups.get(at).path.clone(),
            (None, None) => format!("{addr:#x}"),
        }
    }

    /// Address of a kernel variable, `None` if this machine does not have it.
    pub(crate) fn ksym_address(&mut self, name: &str) -> Option<u64> {
        if let Some(addr) = self.guest.scratch.ksyms.get(name) {
            return Some(*addr);
        }
        KSYMS.contains(&name).then_some(())?;
        let mut copies = Vec::new();
        for cpu in 0..self.nr_cpus() {
            if name == "runqueues" {
                copies.push(self.rq(cpu).addr);
                continue;
            }
            let mem = &mut self.guest.mem;
            let addr = match name {
                "kernel_cpustat" => mem.alloc_kernel(self.guest.layouts.cpustat_shape),
                "kernel_stat" => mem.alloc_kernel(self.guest.layouts.kernel_stat_shape),
                // null pointers: no driver changes frequencies
                _ => mem.alloc(name, PLAIN_KSYM_SIZE, Perm::ReadOnly),
            };
            let llc = self.config.topology.llc_cpus(cpu);
            match name {
                "sd_llc_id" => self.guest.mem.set_u32(addr, llc.first().unwrap_or(0)),
                "sd_llc_size" => self.guest.mem.set_u32(addr, llc.len()),
                _ => {}
            }
            copies.push(addr);
        }
        let first = *copies.first()?;
        self.guest.scratch.per_cpu.insert(first, copies);
        self.guest.scratch.ksyms.insert(name.to_string(), first);
        Some(first)
    }
}

impl Guest {
    /// Of the task at an address: threads of a process share their leader's `mm_struct`.
    fn fill_mm(&mut self, addr: u64, leader: u64) {
        let at = self.layouts.task.mm;
        if at == ABSENT {
            return;
        }
        let mut mm = self.mem.get_u64(leader + u64::from(at));
        if mm == 0 {
            mm = self.mem.alloc_kernel(self.layouts.mm_shape);
            self.put_u64(mm, self.layouts.mm.owner, leader);
        }
        self.put_u64(addr, at, mm);
    }

    /// A CPU's stopper thread, `migration/N`: real-time above all others, and asleep but for an
    /// instant.
    pub(crate) fn new_stopper(&mut self, cpu: u32) -> u64 {
        let task = self.mem.alloc_kernel(self.layouts.task_shape);
        let layout = self.layouts.task.clone();
        self.put_u32(task, layout.pid, STOPPER_PID + cpu);
        self.put_u32(task, layout.tgid, STOPPER_PID + cpu);
        self.put_u32(task, layout.flags, PF_KTHREAD | PF_NO_SETAFFINITY);
        self.put_u32(task, layout.state, 1); // TASK_INTERRUPTIBLE
        self.put_u32(task, layout.cpu, cpu);
        self.put_u32(task, layout.policy, 1); // SCHED_FIFO
        self.put_u32(task, layout.nr_cpus_allowed, 1);
        if layout.comm != ABSENT {
            self.write_text(task + u64::from(layout.comm), &format!("migration/{cpu}"), 16);
        }
        task
    }

    /// The guest's `struct rq` of a CPU and its idle task.
    pub(crate) fn new_rq_objects(&mut self, cpu: u32) -> (u64, u64) {
        let rq = self.mem.alloc_kernel(self.layouts.rq_shape);
        let idle = self.mem.alloc_kernel(self.layouts.task_shape);
        let layout = self.layouts.task.clone();
        self.put_u32(idle, layout.flags, PF_IDLE | PF_KTHREAD);
        self.put_u32(idle, layout.cpu, cpu);
        self.put_u32(idle, layout.prio, 140);
        if layout.comm != ABSENT {
            self.write_text(idle + u64::from(layout.comm), &format!("swapper/{cpu}"), 16);
        }
        self.put_u32(rq, self.layouts.rq.cpu, cpu);
        self.put_u64(rq, self.layouts.rq.idle, idle);
        self.put_u64(rq, self.layouts.rq.curr, idle);
        self.put_u64(rq, self.layouts.rq.local_id, DSQ_LOCAL);
        (rq, idle)
    }
}
