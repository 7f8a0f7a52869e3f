// SPDX-License-Identifier: MIT OR Apache-2.0
//! CPUs: kicks, masks, current tasks, clock, performance levels.

use super::{allow, row};
use crate::consts::*;
use crate::exit::ExitKind;
use crate::system::System;
use rota_vm::engine::Simple;
use rota_vm::table::Kfunc;

pub(super) fn rows() -> Vec<Kfunc<System>> {
    vec![
        row("scx_bpf_kick_cpu", 2, allow::CPUS, 15, |system, _, a| {
            let cpu = i64::from(a[0] as i32);
            if system.cpu_valid(cpu, "") {
                system.kick_cpu(cpu as u32, a[1]);
            }
            Ok(0)
        }),
        Kfunc {
            simple: Some(Simple::Clock),
            ..row("scx_bpf_now", 0, allow::ANY, 2, |system, _, _| Ok(system.clock_ns()))
        },
        row("scx_bpf_nr_cpu_ids", 0, allow::ANY, 1, |system, _, _| Ok(u64::from(system.nr_cpus()))),
        row("scx_bpf_nr_node_ids", 0, allow::ANY, 1, |system, _, _| {
            Ok(u64::from(system.config.topology.nodes()))
        }),
        row("scx_bpf_get_possible_cpumask", 0, allow::CPUS, 1, |system, _, _| {
            Ok(system.guest.scratch.all_cpus)
        }),
        row("scx_bpf_get_online_cpumask", 0, allow::CPUS, 1, |system, _, _| {
            Ok(system.online_mask())
        }),
        row("scx_bpf_put_cpumask", 1, allow::CPUS, 1, |_, _, _| Ok(0)),
        row("scx_bpf_cpu_rq", 1, allow::CPUS, 2, |system, _, a| {
            let cpu = i64::from(a[0] as i32);
            Ok(if system.cpu_valid(cpu, "") { system.rq(cpu as u32).addr } else { 0 })
        }),
        row("scx_bpf_locked_rq", 0, allow::ANY, 2, |system, _, _| {
            match system.running.ctx.locked_rq {
                Some(cpu) => Ok(system.rq(cpu).addr),
                None => {
                    system.error(ExitKind::Error, "accessing rq without holding rq lock".into());
                    Ok(0)
                }
            }
        }),
        row("scx_bpf_cpu_curr", 1, allow::CPUS, 2, |system, _, a| {
            let cpu = i64::from(a[0] as i32);
            Ok(if system.cpu_valid(cpu, "") { system.curr_addr(cpu as u32) } else { 0 })
        }),
        row("scx_bpf_cpuperf_cap", 1, allow::CPUS, 2, |system, _, a| {
            Ok(system.cpuperf_cap(a[0] as i32))
        }),
        row("scx_bpf_cpuperf_cur", 1, allow::CPUS, 2, |system, _, a| {
            let cpu = i64::from(a[0] as i32);
            Ok(u64::from(if system.cpu_valid(cpu, "") {
                system.frequency_of(cpu as u32)
            } else {
                CPUPERF_ONE
            }))
        }),
        row("scx_bpf_cpuperf_set", 2, allow::CPUS, 10, |system, _, a| {
            Ok(system.cpuperf_set(a[0] as i32, a[1] as u32))
        }),
    ]
}

impl System {
    /// `cpu_rq(cpu)->curr`.
    pub(crate) fn curr_addr(&self, cpu: u32) -> u64 {
        let rq = self.rq(cpu);
        rq.curr.map_or(rq.idle_addr, |t| self.task(t).addr)
    }

    /// `scx_bpf_cpuperf_cap()`: a bad CPU ejects the scheduler, and still gets an answer.
    pub(crate) fn cpuperf_cap(&mut self, cpu: i32) -> u64 {
        u64::from(match self.cpu_valid(i64::from(cpu), "") {
            true => self.capacity_of(cpu as u32),
            false => CPUPERF_ONE,
        })
    }

    /// `scx_bpf_cpuperf_set()`. The level is remembered; CPUs that `schedutil` clocks heed it.
    pub(crate) fn cpuperf_set(&mut self, cpu: i32, perf: u32) -> u64 {
        if perf > CPUPERF_ONE {
            self.error(ExitKind::Error, format!("Invalid cpuperf target {perf} for CPU {cpu}"));
        } else if self.cpu_valid(i64::from(cpu), "") {
            self.rq_mut(cpu as u32).cpuperf_target = perf;
            self.want_performance(cpu as u32);
        }
        0
    }
}
