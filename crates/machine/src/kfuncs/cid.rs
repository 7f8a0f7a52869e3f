// SPDX-License-Identifier: MIT OR Apache-2.0
//! Topological CPU ids: `kernel/sched/ext_cid.c`.

use super::{allow, row};
use crate::consts::*;
use crate::cpuset::CpuSet;
use crate::exit::ExitKind;
use crate::system::System;
use crate::topology::Topology;
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
            Ok(system.cid(system.running.this_cpu))
        }),
        row("scx_bpf_task_cid", 1, allow::ANY, 1, |system, _, a| {
            let t = system.task_arg(a[0], "scx_bpf_task_cid")?;
            Ok(system.cid(system.task(t).cpu))
        }),
        row("scx_bpf_cid_to_cpu", 1, allow::ANY, 1, |system, _, a| {
            Ok(system.cid_to_cpu(a[0]).map_or(-EINVAL as u64, u64::from))
        }),
        row("scx_bpf_cpu_to_cid", 1, allow::ANY, 1, |system, _, a| {
            let cpu = i64::from(a[0] as i32);
            Ok(if system.cpu_valid(cpu, "") { system.cid(cpu as u32) } else { -EINVAL as u64 })
        }),
        row("scx_bpf_cid_curr", 1, allow::ANY, 2, |system, _, a| {
            Ok(system.cid_to_cpu(a[0]).map_or(0, |cpu| system.curr_addr(cpu)))
        }),
        row("scx_bpf_kick_cid", 2, allow::ANY, 15, |system, _, a| {
            if let Some(cpu) = system.cid_to_cpu(a[0]) {
                system.kick_cpu(cpu, a[1]);
            }
            Ok(0)
        }),
        row("scx_bpf_cidperf_cap", 1, allow::ANY, 2, |system, _, a| {
            let cpu = system.cid_to_cpu(a[0]);
            Ok(u64::from(cpu.map_or(CPUPERF_ONE, |cpu| system.capacity_of(cpu))))
        }),
        row("scx_bpf_cidperf_cur", 1, allow::ANY, 2, |system, _, a| {
            let cpu = system.cid_to_cpu(a[0]);
            Ok(u64::from(cpu.map_or(CPUPERF_ONE, |cpu| system.frequency_of(cpu))))
        }),
        row("scx_bpf_cidperf_set", 2, allow::ANY, 10, |system, _, a| {
            let cpu = system.config.topology.cid_to_cpu(a[0] as u32);
            Ok(system.cpuperf_set(cpu.map_or(a[0] as i32, |cpu| cpu as i32), a[1] as u32))
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
    /// `__scx_cpu_to_cid()`.
    fn cid(&self, cpu: u32) -> u64 {
        u64::from(self.config.topology.cpu_to_cid(cpu).unwrap_or(cpu))
    }

    /// `scx_cpu_arg()`: a CPU as the hosted scheduler's callbacks know it.
    pub(crate) fn cpu_arg(&self, cpu: u32) -> u64 {
        if self.hosted.is_cid {
            self.cid(cpu)
        } else {
            u64::from(cpu)
        }
    }

    /// `scx_cpu_ret()`: the CPU that the hosted scheduler means. One that does not exist is for the
    /// caller to refuse.
    pub(crate) fn cpu_ret(&self, cpu: i32) -> i32 {
        let is_cid = self.hosted.is_cid;
        let found = u32::try_from(cpu).ok().filter(|_| is_cid);
        let found = found.and_then(|cid| self.config.topology.cid_to_cpu(cid));
        found.map_or(cpu, |cpu| cpu as i32)
    }

    /// `scx_cid_to_cpu()`.
    fn cid_to_cpu(&mut self, cid: u64) -> Option<u32> {
        let cid = i64::from(cid as i32);
        if !self.cpu_valid(cid, "") {
            return None;
        }
        self.config.topology.cid_to_cpu(cid as u32)
    }

    /// `scx_bpf_cid_topo()`: first cid and index of core, cache and node.
    fn cid_topo(&mut self, cid: u64, out: u64, size: u32) -> Result<u64, Fault> {
        // what is not known reads as -1
        for at in (0..u64::from(size)).step_by(4) {
            self.guest.mem.write(out + at, 4, u64::from(u32::MAX))?;
        }
        if !self.hosted.is_root {
            return Ok(0);
        }
        let Some(cpu) = self.cid_to_cpu(cid) else { return Ok(0) };
        let topology = &self.config.topology;
        let (core, llc, node) =
            (topology.siblings(cpu), topology.llc_cpus(cpu), topology.node_cpus(cpu));
        let first = |set: &CpuSet| set.iter().filter_map(|cpu| topology.cpu_to_cid(cpu)).min();
        // Cores and caches count on from node to node in the order of the walk, not of first CPUs.
        let index = |kind: fn(&Topology, u32) -> u32| {
            let walked = (0..cid as u32 + 1).filter_map(|cid| topology.cid_to_cpu(cid));
            let mut kinds: Vec<u32> = walked.map(|cpu| kind(topology, cpu)).collect();
            kinds.dedup();
            kinds.len() as u32 - 1
        };
        let fields = [
            first(core),
            Some(index(Topology::core_of)),
            first(llc),
            Some(index(Topology::llc_of)),
            first(node),
            Some(index(Topology::node_of)),
        ];
        for (at, field) in fields.into_iter().flatten().enumerate().take(size as usize / 4) {
            self.guest.mem.write(out + 4 * at as u64, 4, u64::from(field))?;
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
            let own = self.cid(cpu);
            if u64::from(cid) != own {
                let text = format!(
                    "cid {cid} for CPU {cpu}: the simulated machine keeps the kernel's own, {own}"
                );
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
    let topology = &system.config.topology;
    let set: CpuSet = set.iter().filter_map(|cpu| topology.cpu_to_cid(cpu)).collect();
    for (word, bits) in set.words().iter().enumerate().take(words as usize) {
        system.guest.mem.set_u64(at + 16 + 8 * word as u64, *bits);
    }
    Ok(at)
}
