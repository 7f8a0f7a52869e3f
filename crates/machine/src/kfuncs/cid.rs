// SPDX-License-Identifier: MIT OR Apache-2.0
//! Topological CPU ids. CPUs of the simulated machine are numbered topologically, so a
//! cid is its CPU's number.

use super::{allow, row};
use crate::consts::*;
use crate::exit::ExitKind;
use crate::system::System;
use rota_object::image::{map_type, MapId};
use rota_vm::error::Fault;
use rota_vm::runtime::Runtime;
use rota_vm::table::Kfunc;

pub(super) fn rows() -> Vec<Kfunc<System>> {
    vec![
        row("scx_bpf_nr_cids", 0, allow::ANY, 1, |system, _, _| Ok(u64::from(system.nr_cpus()))),
        row("scx_bpf_nr_online_cids", 0, allow::ANY, 1, |system, _, _| {
            Ok(u64::from(system.online_cpus().len()))
        }),
        row("scx_bpf_this_cid", 0, allow::ANY, 1, |system, _, _| {
            Ok(u64::from(system.running.this_cpu))
        }),
        row("scx_bpf_task_cid", 1, allow::ANY, 1, |system, _, a| {
            let t = system.task_arg(a[0], "scx_bpf_task_cid")?;
            Ok(u64::from(system.task(t).cpu))
        }),
        row("scx_bpf_cid_to_cpu", 1, allow::ANY, 1, |system, _, a| Ok(system.same_number(a[0]))),
        row("scx_bpf_cpu_to_cid", 1, allow::ANY, 1, |system, _, a| Ok(system.same_number(a[0]))),
        row("scx_bpf_cid_curr", 1, allow::ANY, 2, |system, _, a| {
            let cid = system.same_number(a[0]) as i64;
            Ok(if cid < 0 { 0 } else { system.curr_addr(cid as u32) })
        }),
        row("scx_bpf_kick_cid", 2, allow::ANY, 15, |system, _, a| {
            let cid = system.same_number(a[0]) as i64;
            if cid >= 0 {
                system.kick_cpu(cid as u32, a[1]);
            }
            Ok(0)
        }),
        row("scx_bpf_cidperf_cap", 1, allow::ANY, 2, |_, _, _| Ok(u64::from(CPUPERF_ONE))),
        row("scx_bpf_cidperf_cur", 1, allow::ANY, 2, |system, _, a| {
            let cid = system.same_number(a[0]) as i64;
            Ok(u64::from(if cid < 0 { CPUPERF_ONE } else { system.rq(cid as u32).cpuperf_target }))
        }),
        row("scx_bpf_cidperf_set", 2, allow::ANY, 10, |system, _, a| {
            Ok(system.cpuperf_set(a[0] as i32, a[1] as u32))
        }),
        row("scx_bpf_cid_topo", 3, allow::ANY, 10, |system, _, a| {
            system.cid_topo(a[0], a[1], a[2] as u32)
        }),
        row("scx_bpf_cid_override", 2, allow::INIT | allow::SLEEPS, 50, |system, _, a| {
            system.cid_override(a[0], a[1] as u32)
        }),
    ]
}

impl System {
    fn same_number(&mut self, number: u64) -> u64 {
        let number = i64::from(number as i32);
        if self.cpu_valid(number, "") {
            number as u64
        } else {
            -EINVAL as u64
        }
    }

    /// `scx_bpf_cid_topo()`: first cid and index of core, cache and node.
    fn cid_topo(&mut self, cid: u64, out: u64, size: u32) -> Result<u64, Fault> {
        // what is not known reads as -1
        for at in (0..u64::from(size)).step_by(4) {
            self.guest.mem.write(out + at, 4, u64::from(u32::MAX))?;
        }
        if !self.hosted.is_root || (self.same_number(cid) as i64) < 0 {
            return Ok(0);
        }
        let cpu = cid as u32;
        let topology = &self.config.topology;
        let first = |set: crate::cpuset::CpuSet| set.first().unwrap_or(cpu);
        let fields = [
            first(topology.siblings(cpu)),
            topology.core_of(cpu),
            first(topology.llc_cpus(cpu)),
            topology.llc_of(cpu),
            first(topology.node_cpus(cpu)),
            topology.node_of(cpu),
        ];
        for (at, field) in fields.iter().enumerate().take(size as usize / 4) {
            self.guest.mem.write(out + 4 * at as u64, 4, u64::from(*field))?;
        }
        Ok(0)
    }

    /// `scx_bpf_cid_override()`: this machine accepts only the mapping it has.
    fn cid_override(&mut self, table: u64, size: u32) -> Result<u64, Fault> {
        let cpus = self.nr_cpus();
        if size != 4 * cpus {
            self.error(
                ExitKind::Error,
                format!("cpu_to_cid array is {size} bytes, expected {}", 4 * cpus),
            );
            return Ok(0);
        }
        for cpu in 0..cpus {
            let cid = self.guest.mem.read(table + 4 * u64::from(cpu), 4)? as u32;
            if cid != cpu {
                let text =
                    format!("cid {cid} for CPU {cpu}: the simulated machine numbers cids as CPUs");
                self.error(ExitKind::Error, text);
                return Ok(0);
            }
        }
        Ok(0)
    }
}

/// `struct scx_cmask` of a cpumask, in the object's arena, where callbacks of a
/// `sched_ext_ops_cid` scheduler expect it.
pub(crate) fn cmask_for(
    system: &mut System,
    rt: &mut Runtime<System>,
    mask: u64,
) -> Result<u64, Fault> {
    let cpus = system.nr_cpus();
    let words = cpus.div_ceil(64);
    if system.guest.cmask == 0 {
        let arena = rt.image().maps.iter().position(|m| m.kind == map_type::ARENA);
        let base = arena.and_then(|at| rt.map_base(MapId(at as u32)));
        let base = base.ok_or_else(|| {
            Fault::denied("ops.set_cmask() needs an arena, and the object has none")
        })?;
        let page = system.guest.mem.arena_alloc(base >> 32 << 32, None, 1);
        system.guest.cmask =
            page.ok_or_else(|| Fault::denied("the arena has no page left for ops.set_cmask()"))?;
    }
    let at = system.guest.cmask;
    let set = system.read_cpumask(mask)?;
    // base, nr_cids, alloc_words, padding, bits[]
    for (offset, value) in [(0, 0), (4, cpus), (8, words)] {
        system.guest.mem.set_u32(at + offset, value);
    }
    for (word, bits) in set.words().iter().enumerate().take(words as usize) {
        system.guest.mem.set_u64(at + 16 + 8 * word as u64, *bits);
    }
    Ok(at)
}
