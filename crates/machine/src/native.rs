// SPDX-License-Identifier: MIT OR Apache-2.0
//! What kernel functions do, for schedulers written in Rust: tests of the machine and
//! the baseline of its benchmarks. Tasks are named by guest address, as callbacks get them.

use crate::cpuset::CpuSet;
use crate::exit::ExitKind;
use crate::kfuncs::allow;
use crate::ops::Ops;
use crate::system::System;
use rota_vm::error::Fault;

/// Where a native DSQ iteration lives: addresses of iterators that no guest has.
const NATIVE_ITER: u64 = u64::MAX;

impl System {
    /// `scx_bpf_create_dsq()`: 0 or a negative errno.
    pub fn native_create_dsq(&mut self, id: u64) -> Result<i64, Fault> {
        self.running.allow(allow::UNLOCKED, "scx_bpf_create_dsq")?;
        self.create_dsq(id, -1).map(|ret| ret as i64)
    }

    /// `scx_bpf_destroy_dsq()`.
    pub fn native_destroy_dsq(&mut self, id: u64) {
        self.destroy_dsq(id);
    }

    /// `scx_bpf_dsq_nr_queued()`: a count or a negative errno.
    pub fn native_nr_queued(&mut self, id: u64) -> i64 {
        self.dsq_nr_queued(id)
    }

    /// `scx_bpf_dsq_peek()`: a task or 0.
    pub fn native_peek(&mut self, id: u64) -> u64 {
        self.dsq_peek(id)
    }

    /// `scx_bpf_dsq_insert()`.
    pub fn native_insert(
        &mut self,
        p: u64,
        dsq: u64,
        slice_ns: u64,
        enq_flags: u64,
    ) -> Result<(), Fault> {
        self.running.allow(allow::INSERT, "scx_bpf_dsq_insert")?;
        self.dsq_insert(p, dsq, slice_ns, enq_flags).map(|_| ())
    }

    /// `scx_bpf_dsq_insert_vtime()`.
    pub fn native_insert_vtime(
        &mut self,
        p: u64,
        dsq: u64,
        slice_ns: u64,
        vtime: u64,
        enq_flags: u64,
    ) -> Result<(), Fault> {
        self.running.allow(allow::INSERT, "scx_bpf_dsq_insert_vtime")?;
        self.dsq_insert_vtime(p, dsq, slice_ns, vtime, enq_flags).map(|_| ())
    }

    /// `scx_bpf_dsq_move_to_local()`.
    pub fn native_move_to_local(&mut self, o: &mut dyn Ops, dsq: u64) -> Result<bool, Fault> {
        self.native_move_to_local_flags(o, dsq, 0)
    }

    /// `scx_bpf_dsq_move_to_local___v2()`.
    pub fn native_move_to_local_flags(
        &mut self,
        o: &mut dyn Ops,
        dsq: u64,
        enq_flags: u64,
    ) -> Result<bool, Fault> {
        self.running.allow(allow::DISPATCH, "scx_bpf_dsq_move_to_local")?;
        self.dsq_move_to_local(o, dsq, enq_flags).map(|moved| moved != 0)
    }

    /// `scx_bpf_sub_dispatch()`.
    pub fn native_sub_dispatch(&mut self, cgroup_id: u64) -> Result<bool, Fault> {
        self.running.allow(allow::DISPATCH, "scx_bpf_sub_dispatch")?;
        Ok(self.sub_dispatch(cgroup_id))
    }

    /// What `ops.sub_attach()` and `ops.sub_detach()` get: the id of the cgroup.
    pub fn native_sub_cgroup(&self, args: u64) -> u64 {
        let (args_at, ops_at) = (&self.guest.layouts.sub_args, &self.guest.layouts.sub_ops);
        let ops = self.guest.mem.get_u64(args + u64::from(args_at.ops));
        self.guest.mem.get_u64(ops + u64::from(ops_at.sub_cgroup_id))
    }

    /// `scx_bpf_dispatch_nr_slots()`.
    pub fn native_nr_slots(&self) -> Result<u64, Fault> {
        self.running.allow(allow::DISPATCH, "scx_bpf_dispatch_nr_slots")?;
        self.dispatch_nr_slots()
    }

    /// `scx_bpf_dispatch_cancel()`.
    pub fn native_cancel(&mut self) -> Result<(), Fault> {
        self.running.allow(allow::DISPATCH, "scx_bpf_dispatch_cancel")?;
        self.dispatch_cancel().map(|_| ())
    }

    /// `scx_bpf_dsq_reenq()`.
    pub fn native_reenq(&mut self, dsq: u64, reenq_flags: u64) {
        self.dsq_reenq(dsq, reenq_flags);
    }

    /// `bpf_iter_scx_dsq_new()` of the iteration number `it`: 0 or a negative errno.
    pub fn native_iter_new(&mut self, it: u64, dsq: u64, flags: u64) -> i64 {
        self.dsq_iter_new(NATIVE_ITER - it, dsq, flags)
    }

    /// `bpf_iter_scx_dsq_next()`: a task or 0.
    pub fn native_iter_next(&mut self, it: u64) -> u64 {
        self.dsq_iter_next(NATIVE_ITER - it)
    }

    /// `bpf_iter_scx_dsq_destroy()`.
    pub fn native_iter_destroy(&mut self, it: u64) {
        self.running.iters.remove(&(NATIVE_ITER - it));
    }

    /// `scx_bpf_dsq_move()`; `scx_bpf_dsq_move_vtime()` if `enq_flags` has
    /// [`crate::consts::ENQ_DSQ_PRIQ`].
    pub fn native_move(
        &mut self,
        o: &mut dyn Ops,
        it: u64,
        p: u64,
        dsq: u64,
        enq_flags: u64,
    ) -> Result<bool, Fault> {
        self.running.allow(allow::MOVE, "scx_bpf_dsq_move")?;
        self.dsq_move(o, NATIVE_ITER - it, p, dsq, enq_flags).map(|moved| moved != 0)
    }

    /// `scx_bpf_select_cpu_dfl()`: the CPU and whether it is idle and claimed.
    pub fn native_select_cpu(
        &mut self,
        p: u64,
        prev_cpu: u32,
        wake_flags: u64,
    ) -> Result<(u32, bool), Fault> {
        self.running.allow(allow::SELECT, "scx_bpf_select_cpu_dfl")?;
        let cpu = self.select_cpu_from_kfunc(p, prev_cpu as i32, wake_flags, None, 0)?;
        Ok(if cpu >= 0 { (cpu as u32, true) } else { (prev_cpu, false) })
    }

    /// `scx_bpf_select_cpu_and()`: an idle CPU or a negative errno.
    pub fn native_select_cpu_and(
        &mut self,
        p: u64,
        prev_cpu: i32,
        wake_flags: u64,
        allowed: &CpuSet,
        flags: u64,
    ) -> Result<i64, Fault> {
        self.running.allow(allow::SELECT, "scx_bpf_select_cpu_and")?;
        let mask = self.guest.mem.alloc(
            "cpumask",
            self.guest.layouts.cpumask_size,
            rota_vm::memory::Perm::ReadWrite,
        );
        self.write_cpumask(mask, allowed);
        let cpu = self.select_cpu_from_kfunc(p, prev_cpu, wake_flags, Some(mask), flags);
        self.guest.mem.free(mask);
        cpu
    }

    /// `scx_bpf_pick_idle_cpu()` for a task's own CPUs: an idle CPU or a negative errno.
    pub fn native_pick_idle(&mut self, p: u64, flags: u64) -> Result<i64, Fault> {
        let t = self.task_arg(p, "scx_bpf_pick_idle_cpu")?;
        let mask = self.task(t).addr + u64::from(self.guest.layouts.task.cpus_mask);
        self.pick_kfunc(mask, None, flags, false)
    }

    /// `scx_bpf_test_and_clear_cpu_idle()`.
    pub fn native_test_and_clear_idle(&mut self, cpu: i32) -> bool {
        let usable = self.check_builtin_idle() && self.cpu_valid(i64::from(cpu), "");
        usable && self.idle_test_and_clear(cpu as u32)
    }

    /// `scx_bpf_get_idle_cpumask()` and `scx_bpf_get_idle_smtmask()`.
    pub fn native_idle_masks(&self) -> (CpuSet, CpuSet) {
        let masks = &self.idle.masks[self.idle.masks.len() - 1];
        (masks.cpu, masks.smt)
    }

    /// `scx_bpf_kick_cpu()`.
    pub fn native_kick(&mut self, cpu: i32, flags: u64) {
        if self.cpu_valid(i64::from(cpu), "") {
            self.kick_cpu(cpu as u32, flags);
        }
    }

    /// `scx_bpf_cpuperf_cap()`.
    pub fn native_cpuperf_cap(&mut self, cpu: i32) -> u64 {
        self.cpuperf_cap(cpu)
    }

    /// `scx_bpf_cpuperf_set()`.
    pub fn native_cpuperf_set(&mut self, cpu: i32, perf: u32) {
        self.cpuperf_set(cpu, perf);
    }

    /// `scx_bpf_error()`.
    pub fn native_error(&mut self, text: &str) {
        self.error(ExitKind::ErrorBpf, text.to_string());
    }

    /// `scx_bpf_exit()`.
    pub fn native_exit(&mut self, code: i64, text: &str) {
        self.exit_with(ExitKind::UnregBpf, code, text.to_string());
    }

    /// Nanoseconds since the run began.
    pub fn native_now(&self) -> u64 {
        self.now_ns
    }

    /// `scx_bpf_cpu_curr()`.
    pub fn native_curr(&self, cpu: u32) -> u64 {
        self.curr_addr(cpu)
    }

    /// `scx_bpf_task_cpu()`.
    pub fn native_task_cpu(&self, p: u64) -> u32 {
        self.tasks.at(p).map_or(0, |t| self.task(t).cpu)
    }

    /// `bpf_cpumask_test_cpu(cpu, p->cpus_ptr)`.
    pub fn native_may_use(&self, p: u64, cpu: u32) -> bool {
        self.tasks.at(p).is_some_and(|t| self.task(t).cpus_ptr().contains(cpu))
    }

    /// `p->scx.slice`.
    pub fn native_slice(&self, p: u64) -> u64 {
        self.tasks.at(p).map_or(0, |t| self.slice(t))
    }

    /// `scx_bpf_task_set_slice()`.
    pub fn native_set_slice(&mut self, p: u64, slice_ns: u64) {
        if let Some(t) = self.tasks.at(p) {
            self.set_slice(t, slice_ns);
        }
    }

    /// `p->scx.dsq_vtime`.
    pub fn native_vtime(&self, p: u64) -> u64 {
        self.tasks.at(p).map_or(0, |t| self.vtime(t))
    }

    /// `scx_bpf_task_set_dsq_vtime()`.
    pub fn native_set_vtime(&mut self, p: u64, vtime: u64) {
        if let Some(t) = self.tasks.at(p) {
            self.set_vtime(t, vtime);
        }
    }

    /// `p->scx.weight`.
    pub fn native_weight(&self, p: u64) -> u32 {
        self.tasks.at(p).map_or(1, |t| self.task(t).weight)
    }

    /// `p->pid`.
    pub fn native_pid(&self, p: u64) -> u32 {
        self.tasks.at(p).map_or(0, |t| self.task(t).pid)
    }

    /// `p->scx.disallow = true`.
    pub fn native_disallow(&mut self, p: u64) {
        let at = self.guest.layouts.task.scx_disallow;
        if let (Some(_), true) = (self.tasks.at(p), at != crate::layout::ABSENT) {
            self.guest.mem.set_u8(p + u64::from(at), 1);
        }
    }

    /// `p->scx.flags`.
    pub fn native_flags(&self, p: u64) -> u32 {
        self.tasks.at(p).map_or(0, |t| self.flags(t))
    }

    /// Path of the cgroup behind a `struct cgroup` argument.
    pub fn native_cgroup(&self, cgroup: u64) -> Option<&str> {
        self.cgroups.at_addr(cgroup).map(|at| self.cgroups.get(at).path.as_str())
    }
}
