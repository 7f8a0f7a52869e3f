// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tasks: finding them and setting what belongs to the scheduler.

use super::{allow, row};
use crate::consts::*;
use crate::exit::ExitKind;
use crate::layout::KernelType;
use crate::system::System;
use crate::task::Tid;
use rota_vm::table::Kfunc;

pub(super) fn rows() -> Vec<Kfunc<System>> {
    vec![
        row("scx_bpf_task_running", 1, allow::ANY, 2, |system, _, a| {
            let t = system.task_arg(a[0], "scx_bpf_task_running")?;
            Ok(u64::from(system.rq(system.task(t).cpu).curr == Some(t)))
        }),
        row("scx_bpf_task_cpu", 1, allow::CPUS, 1, |system, _, a| match system.tasks.at(a[0]) {
            Some(t) => Ok(u64::from(system.task(t).cpu)),
            None => system.idle_task_cpu(a[0]),
        }),
        row("scx_bpf_task_set_slice", 2, allow::ANY, 2, |system, _, a| {
            let t = system.task_arg(a[0], "scx_bpf_task_set_slice")?;
            Ok(u64::from(system.is_task_own(t, |system| system.set_slice(t, a[1]))))
        }),
        row("scx_bpf_task_set_dsq_vtime", 2, allow::ANY, 2, |system, _, a| {
            let t = system.task_arg(a[0], "scx_bpf_task_set_dsq_vtime")?;
            Ok(u64::from(system.is_task_own(t, |system| system.set_vtime(t, a[1]))))
        }),
        row("bpf_task_from_pid", 1, allow::ANY, 20, |system, _, a| {
            Ok(system.task_from_pid(a[0] as u32))
        }),
        row("bpf_task_from_vpid", 1, allow::ANY, 20, |system, _, a| {
            Ok(system.task_from_pid(a[0] as u32))
        }),
        row("scx_bpf_tid_to_task", 1, allow::ANY, 10, |system, _, a| {
            if system.hosted_of(None).flags & OPS_TID_TO_TASK == 0 {
                system.error(
                    ExitKind::Error,
                    "scx_bpf_tid_to_task() called without SCX_OPS_TID_TO_TASK".into(),
                );
                return Ok(0);
            }
            let index = a[0].wrapping_sub(1);
            let known = (index as usize) < system.tasks.all.len();
            Ok(if known { system.task(Tid(index as u32)).addr } else { 0 })
        }),
        row("scx_bpf_events", 2, allow::ANY, 20, |system, _, a| {
            system.write_events(a[0], a[1] as u32)?;
            Ok(0)
        }),
    ]
}

impl System {
    fn task_from_pid(&self, pid: u32) -> u64 {
        self.tasks.with_pid(pid).map_or(0, |t| self.task(t).addr)
    }

    /// The CPU of an idle task.
    fn idle_task_cpu(&self, addr: u64) -> Result<u64, rota_vm::error::Fault> {
        let found = self.cpus.rqs.iter().position(|rq| rq.idle_addr == addr);
        match found {
            Some(cpu) => Ok(cpu as u64),
            None => self.task_arg(addr, "scx_bpf_task_cpu").map(|_| 0),
        }
    }

    /// `scx_bpf_events()`.
    fn write_events(&mut self, addr: u64, size: u32) -> Result<(), rota_vm::error::Fault> {
        let (c, at) = (&self.told.counters, self.guest.layouts.event_stats.clone());
        let values = [
            (at.select_cpu_fallback, c.select_cpu_fallback),
            (at.dispatch_local_dsq_offline, c.dispatch_local_dsq_offline),
            (at.dispatch_keep_last, c.dispatch_keep_last),
            (at.enq_skip_exiting, c.enq_skip_exiting),
            (at.enq_skip_migration_disabled, c.enq_skip_migration_disabled),
            (at.reenq_immed, c.reenq_immed),
            (at.reenq_local_repeat, c.reenq_local_repeat),
            (at.refill_slice_dfl, c.refill_slice_dfl),
            (at.bypass_dispatch, c.bypass_dispatch),
        ];
        // The rest never happens here.
        for offset in (0..at.size().min(size) / 8 * 8).step_by(8) {
            let value = values.iter().find(|(field, _)| *field == offset);
            self.guest.mem.write(
                addr + u64::from(offset),
                8,
                value.map_or(0, |(_, count)| *count),
            )?;
        }
        Ok(())
    }
}
