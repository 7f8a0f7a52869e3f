// SPDX-License-Identifier: MIT OR Apache-2.0
//! Inserting into and moving between dispatch queues.

use super::{allow, row};
use crate::consts::*;
use crate::exit::ExitKind;
use crate::policy::reenter;
use crate::rq::{Asked, Direct, DspEntry};
use crate::system::System;
use crate::task::{OpsState, Tid};
use rota_vm::error::Fault;
use rota_vm::table::Kfunc;

pub(super) fn rows() -> Vec<Kfunc<System>> {
    vec![
        row("scx_bpf_dsq_insert", 4, allow::INSERT, 15, |system, _, a| {
            system.dsq_insert(a[0], a[1], a[2], a[3])
        }),
        row("scx_bpf_dsq_insert___v2", 4, allow::INSERT, 15, |system, _, a| {
            system.dsq_insert(a[0], a[1], a[2], a[3])
        }),
        row("__scx_bpf_dsq_insert_vtime", 2, allow::INSERT, 25, |system, _, a| {
            let arg = |at: u64| system.guest.mem.read(a[1] + 8 * at, 8);
            let (dsq_id, slice_ns, vtime, flags) = (arg(0)?, arg(1)?, arg(2)?, arg(3)?);
            system.dsq_insert_vtime(a[0], dsq_id, slice_ns, vtime, flags)
        }),
        row("scx_bpf_dsq_insert_vtime", 5, allow::INSERT, 25, |system, _, a| {
            system.dsq_insert_vtime(a[0], a[1], a[2], a[3], a[4])
        }),
        row("scx_bpf_dispatch_nr_slots", 0, allow::DISPATCH, 1, |system, _, _| {
            system.dispatch_nr_slots()
        }),
        row("scx_bpf_dispatch_cancel", 0, allow::DISPATCH, 1, |system, _, _| {
            system.dispatch_cancel()
        }),
        row("scx_bpf_dsq_move_to_local", 1, allow::DISPATCH, 25, |system, rt, a| {
            reenter(system, rt, |system, o| system.dsq_move_to_local(o, a[0], 0))?
        }),
        row("scx_bpf_dsq_move_to_local___v2", 2, allow::DISPATCH, 25, |system, rt, a| {
            reenter(system, rt, |system, o| system.dsq_move_to_local(o, a[0], a[1]))?
        }),
        row("scx_bpf_sub_dispatch", 1, allow::DISPATCH, 15, |system, _, a| {
            Ok(u64::from(system.sub_dispatch(a[0])))
        }),
        row("scx_bpf_create_dsq", 2, allow::UNLOCKED | allow::SLEEPS, 50, |system, _, a| {
            system.create_dsq(a[0], a[1] as i32)
        }),
        row("scx_bpf_destroy_dsq", 1, allow::ANY, 50, |system, _, a| Ok(system.destroy_dsq(a[0]))),
        row("scx_bpf_dsq_nr_queued", 1, allow::ANY, 2, |system, _, a| {
            Ok(system.dsq_nr_queued(a[0]) as u64)
        }),
        row("scx_bpf_dsq_peek", 1, allow::ANY, 2, |system, _, a| Ok(system.dsq_peek(a[0]))),
        row(
            "scx_bpf_dsq_reenq",
            2,
            allow::ANY,
            20,
            |system, _, a| Ok(system.dsq_reenq(a[0], a[1])),
        ),
        row("scx_bpf_reenqueue_local", 0, allow::CPU_RELEASE, 20, |system, rt, _| {
            let cpu = system.running.this_cpu;
            reenter(system, rt, |system, o| u64::from(system.reenq_local(o, cpu, REENQ_ANY)))
        }),
        row("scx_bpf_reenqueue_local___v2", 0, allow::ANY, 20, |system, _, _| {
            Ok(system.dsq_reenq(DSQ_LOCAL, 0))
        }),
    ]
}

impl System {
    /// `scx_vet_enq_flags()`.
    pub(crate) fn vet_enq_flags(&mut self, dsq_id: u64, enq_flags: u64) -> Option<u64> {
        if !self.config.rules.enq_immed {
            return Some(enq_flags & !ENQ_IMMED);
        }
        let local = dsq_id == DSQ_LOCAL || dsq_id & DSQ_LOCAL_ON == DSQ_LOCAL_ON;
        if enq_flags & ENQ_IMMED != 0 && !local {
            self.error(ExitKind::Error, format!("SCX_ENQ_IMMED on a non-local DSQ {dsq_id:#x}"));
            return None;
        }
        let immed = local && self.hosted.flags & OPS_ALWAYS_ENQ_IMMED != 0;
        Some(enq_flags | if immed { ENQ_IMMED } else { 0 })
    }

    /// `scx_dsq_insert_preamble()`.
    fn insert_preamble(
        &mut self,
        name: &str,
        p: u64,
        dsq_id: u64,
        enq_flags: u64,
    ) -> Result<Option<(Tid, u64)>, Fault> {
        if p == 0 {
            self.error(ExitKind::Error, "called with NULL task".into());
            return Ok(None);
        }
        let t = self.task_arg(p, name)?;
        if enq_flags & ENQ_INTERNAL_MASK != 0 {
            self.error(ExitKind::Error, format!("invalid enq_flags {enq_flags:#x}"));
            return Ok(None);
        }
        Ok(self.vet_enq_flags(dsq_id, enq_flags).map(|flags| (t, flags)))
    }

    /// `scx_bpf_dsq_insert()`.
    pub(crate) fn dsq_insert(
        &mut self,
        p: u64,
        dsq_id: u64,
        slice_ns: u64,
        enq_flags: u64,
    ) -> Result<u64, Fault> {
        let found = self.insert_preamble("scx_bpf_dsq_insert", p, dsq_id, enq_flags)?;
        let Some((t, flags)) = found else { return Ok(0) };
        self.insert_commit(t, dsq_id, flags, Asked { slice_ns, ..Asked::default() });
        Ok(1)
    }

    /// `scx_bpf_dsq_insert_vtime()`.
    pub(crate) fn dsq_insert_vtime(
        &mut self,
        p: u64,
        dsq_id: u64,
        slice_ns: u64,
        vtime: u64,
        enq_flags: u64,
    ) -> Result<u64, Fault> {
        let found = self.insert_preamble("scx_bpf_dsq_insert_vtime", p, dsq_id, enq_flags)?;
        let Some((t, flags)) = found else { return Ok(0) };
        self.insert_commit(
            t,
            dsq_id,
            flags | ENQ_DSQ_PRIQ,
            Asked { slice_ns, vtime, ..Asked::default() },
        );
        Ok(1)
    }

    /// `apply_slice_vtime()`.
    fn apply(&mut self, t: Tid, asked: Asked, enq_flags: u64) {
        let slice_ns = if asked.slice_ns == 0 { self.slice(t).max(1) } else { asked.slice_ns };
        self.set_slice(t, slice_ns);
        if enq_flags & ENQ_DSQ_PRIQ != 0 {
            self.set_vtime(t, asked.vtime);
        }
    }

    /// An insertion is carried out.
    pub(crate) fn apply_late(&mut self, t: Tid, asked: Asked, enq_flags: u64) {
        if self.config.rules.insert_sets_late {
            self.apply(t, asked, enq_flags);
        }
    }

    /// `scx_dsq_insert_commit()`.
    fn insert_commit(&mut self, t: Tid, dsq_id: u64, enq_flags: u64, asked: Asked) {
        let cpu = self.running.this_cpu;
        let site = self.site();
        let asked = Asked { site, ..asked };
        self.task_mut(t).inserted_from = site;
        if !self.config.rules.insert_sets_late {
            self.apply(t, asked, enq_flags);
        }
        if self.rq(cpu).direct != Direct::No {
            return self.mark_direct_dispatch(t, dsq_id, enq_flags, asked);
        }
        if self.rq(cpu).dsp_buf.len() as u32 >= self.hosted.dsp_max_batch {
            return self.error(ExitKind::Error, "dispatch buffer overflow".into());
        }
        let qseq = match self.task(t).ops_state {
            OpsState::Queued(qseq) if self.is_of_side(t) => qseq,
            _ => 0,
        };
        self.rq_mut(cpu).dsp_buf.push(DspEntry { task: t, qseq, dsq_id, enq_flags, asked });
    }

    /// `scx_bpf_dispatch_nr_slots()`.
    pub(crate) fn dispatch_nr_slots(&self) -> Result<u64, Fault> {
        let used = self.rq(self.running.this_cpu).dsp_buf.len() as u32;
        Ok(u64::from(self.hosted.dsp_max_batch - used))
    }

    /// `scx_bpf_dispatch_cancel()`.
    pub(crate) fn dispatch_cancel(&mut self) -> Result<u64, Fault> {
        let cpu = self.running.this_cpu;
        if self.rq_mut(cpu).dsp_buf.pop().is_none() {
            self.error(ExitKind::Error, "dispatch buffer underflow".into());
        }
        Ok(0)
    }

    /// `scx_bpf_dsq_move_to_local()`.
    pub(crate) fn dsq_move_to_local(
        &mut self,
        o: &mut dyn crate::ops::Ops,
        dsq_id: u64,
        enq_flags: u64,
    ) -> Result<u64, Fault> {
        let Some(flags) = self.vet_enq_flags(DSQ_LOCAL, enq_flags) else { return Ok(0) };
        let here = self.running.this_cpu;
        let cpu = self.running.ctx.locked_rq.unwrap_or(here);
        self.flush_dispatch_buf(o, cpu);
        let Some(dsq) = self.queues.find_user_dsq(dsq_id) else {
            self.error(ExitKind::Error, format!("invalid DSQ ID {dsq_id:#018x}"));
            return Ok(0);
        };
        if !self.consume_dispatch_q(o, cpu, dsq, flags) {
            return Ok(0);
        }
        self.rq_mut(here).dsp_nr_tasks += 1;
        Ok(1)
    }

    /// `scx_bpf_create_dsq()`.
    pub(crate) fn create_dsq(&mut self, id: u64, node: i32) -> Result<u64, Fault> {
        let nodes = self.config.topology.nodes() as i32;
        if node >= nodes || node < -1 || id & DSQ_FLAG_BUILTIN != 0 {
            return Ok(-EINVAL as u64);
        }
        if !self.hosted.is_root {
            return Ok(-ENODEV as u64);
        }
        if self.queues.user.contains_key(&id) {
            return Ok(-EEXIST as u64);
        }
        let addr = self.guest.mem.alloc_kernel(self.guest.layouts.dsq_shape);
        let dsq = self.new_dsq(id, None, addr);
        self.queues.user.insert(id, dsq);
        Ok(0)
    }

    /// `destroy_dsq()`.
    pub(crate) fn destroy_dsq(&mut self, id: u64) -> u64 {
        let Some(dsq) = self.queues.find_user_dsq(id) else { return 0 };
        let nr = self.dsq(dsq).nr;
        if nr > 0 {
            self.error(
                ExitKind::Error,
                format!("attempting to destroy in-use dsq {id:#018x} (nr={nr})"),
            );
            return 0;
        }
        self.queues.user.remove(&id);
        0
    }

    /// `scx_bpf_dsq_nr_queued()`.
    pub(crate) fn dsq_nr_queued(&mut self, id: u64) -> i64 {
        if id == DSQ_LOCAL {
            let cpu = self.running.ctx.locked_rq.unwrap_or(self.running.this_cpu);
            return i64::from(self.dsq(self.rq(cpu).local).nr);
        }
        if id & DSQ_LOCAL_ON == DSQ_LOCAL_ON {
            let cpu = i64::from(self.cpu_ret((id & DSQ_LOCAL_CPU_MASK) as i32));
            if self.cpu_valid(cpu, "") {
                return i64::from(self.dsq(self.rq(cpu as u32).local).nr);
            }
        } else if let Some(dsq) = self.queues.find_user_dsq(id) {
            return i64::from(self.dsq(dsq).nr);
        }
        -ENOENT
    }

    /// `scx_bpf_dsq_peek()`.
    pub(crate) fn dsq_peek(&mut self, id: u64) -> u64 {
        if id & DSQ_FLAG_BUILTIN != 0 {
            self.error(ExitKind::Error, format!("peek disallowed on builtin DSQ {id:#x}"));
            return 0;
        }
        let Some(dsq) = self.queues.find_user_dsq(id) else {
            self.error(ExitKind::Error, format!("peek on non-existent DSQ {id:#x}"));
            return 0;
        };
        self.dsq(dsq).first().map_or(0, |t| self.task(t).addr)
    }

    /// `scx_bpf_dsq_reenq()`.
    pub(crate) fn dsq_reenq(&mut self, id: u64, reenq_flags: u64) -> u64 {
        if reenq_flags & !REENQ_ANY != 0 {
            self.error(ExitKind::Error, format!("invalid SCX_REENQ flags {reenq_flags:#x}"));
            return 0;
        }
        let cpu = self.running.ctx.locked_rq.unwrap_or(self.running.this_cpu);
        let dsq = self.find_dsq_for_dispatch(cpu, id, cpu);
        self.schedule_dsq_reenq(dsq, reenq_flags | REENQ_ANY);
        0
    }
}
