// SPDX-License-Identifier: MIT OR Apache-2.0
//! What kernel functions do, for schedulers written in Rust: tests of the machine and
//! the baseline of its benchmarks. Tasks are named by guest address, as callbacks get them.

use crate::core::Core;
use crate::ops::Ops;
use rota_bpf::error::Fault;

impl Core {
    /// `scx_bpf_create_dsq()`: 0 or a negative errno.
    pub fn native_create_dsq(&mut self, id: u64) -> Result<i64, Fault> {
        self.create_dsq(id, -1).map(|ret| ret as i64)
    }

    /// `scx_bpf_dsq_insert()`.
    pub fn native_insert(
        &mut self,
        p: u64,
        dsq: u64,
        slice_ns: u64,
        enq_flags: u64,
    ) -> Result<(), Fault> {
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
        self.dsq_insert_vtime(p, dsq, slice_ns, vtime, enq_flags).map(|_| ())
    }

    /// `scx_bpf_dsq_move_to_local()`.
    pub fn native_move_to_local(&mut self, o: &mut dyn Ops, dsq: u64) -> Result<bool, Fault> {
        self.dsq_move_to_local(o, dsq, 0).map(|moved| moved != 0)
    }

    /// `scx_bpf_select_cpu_dfl()`: the CPU and whether it is idle and claimed.
    pub fn native_select_cpu(
        &mut self,
        p: u64,
        prev_cpu: u32,
        wake_flags: u64,
    ) -> Result<(u32, bool), Fault> {
        let t = self.task_arg(p, "select_cpu")?;
        let found = self.select_cpu_dfl(t, prev_cpu, wake_flags, None, 0);
        Ok((found.unwrap_or(prev_cpu), found.is_some()))
    }

    /// `scx_bpf_error()`.
    pub fn native_error(&mut self, text: &str) {
        self.error(crate::exit::ExitKind::ErrorBpf, text.to_string());
    }

    /// `p->scx.slice`.
    pub fn native_slice(&self, p: u64) -> u64 {
        self.task_at(p).map_or(0, |t| self.slice(t))
    }

    /// `p->scx.dsq_vtime`.
    pub fn native_vtime(&self, p: u64) -> u64 {
        self.task_at(p).map_or(0, |t| self.vtime(t))
    }

    /// `scx_bpf_task_set_dsq_vtime()`.
    pub fn native_set_vtime(&mut self, p: u64, vtime: u64) {
        if let Some(t) = self.task_at(p) {
            self.set_vtime(t, vtime);
        }
    }

    /// `p->scx.weight`.
    pub fn native_weight(&self, p: u64) -> u32 {
        self.task_at(p).map_or(1, |t| self.task(t).weight)
    }

    /// `p->pid`.
    pub fn native_pid(&self, p: u64) -> u32 {
        self.task_at(p).map_or(0, |t| self.task(t).pid)
    }
}
