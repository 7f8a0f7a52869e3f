// SPDX-License-Identifier: MIT OR Apache-2.0
//! Choosing and claiming idle CPUs.

use super::{allow, row};
use crate::consts::*;
use crate::exit::ExitKind;
use crate::system::System;
use rota_vm::error::Fault;
use rota_vm::table::Kfunc;

pub(super) fn rows() -> Vec<Kfunc<System>> {
    vec![
        row("scx_bpf_select_cpu_dfl", 4, allow::SELECT, 40, |system, _, a| {
            let cpu = system.select_cpu_from_kfunc(a[0], a[1] as i32, a[2], None, 0)?;
            system.guest.mem.write(a[3], 1, u64::from(cpu >= 0))?;
            Ok(if cpu >= 0 { cpu as u64 } else { a[1] })
        }),
        row("__scx_bpf_select_cpu_and", 3, allow::SELECT, 45, |system, _, a| {
            let prev = system.guest.mem.read(a[2], 4)? as i32;
            let (wake_flags, flags) =
                (system.guest.mem.read(a[2] + 8, 8)?, system.guest.mem.read(a[2] + 16, 8)?);
            Ok(system.select_cpu_from_kfunc(a[0], prev, wake_flags, Some(a[1]), flags)? as u64)
        }),
        row("scx_bpf_select_cpu_and", 5, allow::SELECT, 45, |system, _, a| {
            Ok(system.select_cpu_from_kfunc(a[0], a[1] as i32, a[2], Some(a[3]), a[4])? as u64)
        }),
        row("scx_bpf_cpu_node", 1, allow::CPUS, 2, |system, _, a| {
            let cpu = i64::from(a[0] as i32);
            Ok(if system.cpu_valid(cpu, "") {
                u64::from(system.config.topology.node_of(cpu as u32))
            } else {
                -1i64 as u64
            })
        }),
        row("scx_bpf_get_idle_cpumask", 0, allow::CPUS, 2, |system, _, _| {
            Ok(system.idle_mask(false))
        }),
        row("scx_bpf_get_idle_smtmask", 0, allow::CPUS, 2, |system, _, _| {
            Ok(system.idle_mask(true))
        }),
        row("scx_bpf_get_idle_cpumask_node", 1, allow::CPUS, 2, |system, _, a| {
            Ok(system.idle_mask_node(a[0] as i32, false))
        }),
        row("scx_bpf_get_idle_smtmask_node", 1, allow::CPUS, 2, |system, _, a| {
            Ok(system.idle_mask_node(a[0] as i32, true))
        }),
        row("scx_bpf_put_idle_cpumask", 1, allow::CPUS, 1, |_, _, _| Ok(0)),
        row("scx_bpf_test_and_clear_cpu_idle", 1, allow::CPUS, 5, |system, _, a| {
            let cpu = i64::from(a[0] as i32);
            let usable = system.check_builtin_idle() && system.cpu_valid(cpu, "");
            Ok(u64::from(usable && system.idle_test_and_clear(cpu as u32)))
        }),
        row("scx_bpf_pick_idle_cpu", 2, allow::CPUS, 20, |system, _, a| {
            Ok(system.pick_kfunc(a[0], None, a[1], false)? as u64)
        }),
        row("scx_bpf_pick_any_cpu", 2, allow::CPUS, 20, |system, _, a| {
            Ok(system.pick_kfunc(a[0], None, a[1], true)? as u64)
        }),
        row("scx_bpf_pick_idle_cpu_node", 3, allow::CPUS, 20, |system, _, a| {
            Ok(system.pick_kfunc(a[0], Some(a[1] as i32), a[2], false)? as u64)
        }),
        row("scx_bpf_pick_any_cpu_node", 3, allow::CPUS, 20, |system, _, a| {
            Ok(system.pick_kfunc(a[0], Some(a[1] as i32), a[2], true)? as u64)
        }),
    ]
}

impl System {
    /// `check_builtin_idle_enabled()`.
    pub(crate) fn check_builtin_idle(&mut self) -> bool {
        if !self.idle.enabled {
            self.error(ExitKind::Error, "built-in idle tracking is disabled".into());
        }
        self.idle.enabled
    }

    /// `validate_node()`.
    fn check_node(&mut self, node: i32) -> Result<u32, i64> {
        if !self.idle.per_node {
            self.error(ExitKind::Error, "per-node idle tracking is disabled".into());
            return Err(-EOPNOTSUPP);
        }
        if node == -1 {
            return Err(-ENOENT);
        }
        if node < 0 || node >= self.config.topology.nodes() as i32 {
            self.error(ExitKind::Error, format!("invalid node {node}"));
            return Err(-EINVAL);
        }
        Ok(node as u32)
    }

    /// `select_cpu_from_kfunc()`.
    pub(crate) fn select_cpu_from_kfunc(
        &mut self,
        p: u64,
        prev: i32,
        wake_flags: u64,
        mask: Option<u64>,
        flags: u64,
    ) -> Result<i64, Fault> {
        let name = mask.map_or("scx_bpf_select_cpu_dfl", |_| "scx_bpf_select_cpu_and");
        let t = self.task_arg(p, name)?;
        if !self.cpu_valid(i64::from(prev), "") {
            return Ok(-EINVAL);
        }
        if !self.check_builtin_idle() {
            return Ok(-EBUSY);
        }
        let foreign = match self.running.ctx.locked_rq {
            Some(cpu) => self.task(t).cpu != cpu,
            None => self.running.ctx.task.is_some_and(|about| about != t),
        };
        if foreign {
            let label = self.task(t).label();
            self.error(ExitKind::Error, format!("select_cpu kfunc called cross-task on {label}"));
            return Ok(-EINVAL);
        }
        let prev = prev as u32;
        let allowed = match mask {
            Some(addr) => Some(self.read_cpumask(addr)?),
            None => None,
        };
        // is_bpf_migration_disabled()
        let task = self.task(t);
        let cpu = if task.nr_cpus_allowed == 1 || task.migration_disabled {
            let ok = allowed.unwrap_or(task.cpus_ptr()).contains(prev);
            (ok && self.idle_test_and_clear(prev)).then_some(prev)
        } else {
            self.select_cpu_dfl(t, prev, wake_flags, allowed.as_ref(), flags)
        };
        Ok(cpu.map_or(-EBUSY, i64::from))
    }

    fn idle_mask(&mut self, smt: bool) -> u64 {
        if !self.hosted.is_root {
            return self.guest.scratch.no_cpus;
        }
        if self.idle.per_node {
            self.error(ExitKind::Error, "SCX_OPS_BUILTIN_IDLE_PER_NODE enabled".into());
            return self.guest.scratch.no_cpus;
        }
        if !self.check_builtin_idle() {
            return self.guest.scratch.no_cpus;
        }
        let masks = &self.idle.masks[self.idle.masks.len() - 1];
        if smt && self.config.topology.has_smt() {
            masks.smt_addr
        } else {
            masks.cpu_addr
        }
    }

    fn idle_mask_node(&mut self, node: i32, smt: bool) -> u64 {
        if !self.hosted.is_root {
            return self.guest.scratch.no_cpus;
        }
        let Ok(node) = self.check_node(node) else { return self.guest.scratch.no_cpus };
        let masks = &self.idle.masks[node as usize];
        if smt && self.config.topology.has_smt() {
            masks.smt_addr
        } else {
            masks.cpu_addr
        }
    }

    /// `scx_bpf_pick_idle_cpu()`, `scx_bpf_pick_any_cpu()` and their node variants.
    pub(crate) fn pick_kfunc(
        &mut self,
        mask: u64,
        node: Option<i32>,
        flags: u64,
        any: bool,
    ) -> Result<i64, Fault> {
        let allowed = self.read_cpumask(mask)?;
        let node = match node.map(|n| self.check_node(n)) {
            Some(Err(errno)) => return Ok(errno),
            Some(Ok(node)) => Some(node),
            None if self.idle.per_node => {
                self.error(ExitKind::Error, "per-node idle tracking is enabled".into());
                return Ok(-EBUSY);
            }
            None => None,
        };
        if !any && !self.check_builtin_idle() {
            return Ok(-EBUSY);
        }
        if self.idle.enabled {
            if let Some(cpu) = self.pick_idle_cpu(&allowed, node, flags) {
                return Ok(i64::from(cpu));
            }
        }
        if !any {
            return Ok(-EBUSY);
        }
        let mut pool = allowed;
        if let (Some(node), true) = (node, flags & PICK_IDLE_IN_NODE != 0) {
            let first =
                (0..self.nr_cpus()).find(|c| self.config.topology.node_of(*c) == node).unwrap_or(0);
            pool = pool.and(self.config.topology.node_cpus(first));
        }
        Ok(self.any_distribute(&pool).map_or(-EBUSY, i64::from))
    }
}
