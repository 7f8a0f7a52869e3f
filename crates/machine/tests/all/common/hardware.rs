// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random hardware for a random [`Plan`], and the books of work that hold on all of it.

use super::plan::{Act, Plan};
use super::Tape;
use proptest::prelude::*;
use rota_machine::hardware::parts::{
    ByDistance, Cache, Clock, CoreType, Governor, IdleState, Ipi, SmtSpeed,
};
use rota_machine::hardware::Hardware;
use rota_trace::{EventKind, OffCpu};
use rota_workload::WorkClass;
use std::collections::BTreeMap;

const MS: u64 = 1_000_000;

fn smt() -> impl Strategy<Value = SmtSpeed> {
    let list = || prop::collection::vec(1..=1024u32, 0..3);
    (list(), list(), list()).prop_map(|(compute, mixed, memory)| SmtSpeed {
        compute,
        mixed,
        memory,
    })
}

fn governor() -> impl Strategy<Value = Governor> {
    prop_oneof![
        Just(Governor::Performance),
        (0..20 * MS, 0..9 * MS)
            .prop_map(|(ramp_ns, cool_ns)| Governor::Hardware { ramp_ns, cool_ns }),
        (0..2 * MS).prop_map(|transition_ns| Governor::Schedutil { transition_ns }),
    ]
}

fn clock() -> impl Strategy<Value = Clock> {
    let turbo = prop::collection::vec((1..5u32, 0..6000u32), 0..3);
    (0..3000u32, 0..6000u32, turbo, 0..3u32, governor()).prop_map(
        |(idle_mhz, max_mhz, turbo, domain_cores, governor)| Clock {
            idle_mhz,
            base_mhz: max_mhz / 2,
            max_mhz,
            turbo,
            opps_mhz: Vec::new(),
            domain_cores,
            governor,
            power_uw: Vec::new(),
        },
    )
}

fn idle() -> impl Strategy<Value = IdleState> {
    (0..400_000u64, 0..2 * MS, any::<bool>()).prop_map(|(exit_ns, residency_ns, flush)| IdleState {
        name: "C".into(),
        exit_ns,
        residency_ns,
        flush,
    })
}

fn core() -> impl Strategy<Value = CoreType> {
    let idle = prop::collection::vec(idle(), 0..3);
    let poll_ns = prop_oneof![Just(0), 0..50_000u64];
    (1..=1024u32, prop::option::of(smt()), prop::option::of(clock()), idle, poll_ns).prop_map(
        |(speed, smt, clock, idle, poll_ns)| CoreType {
            poll_ns,
            smt,
            clock,
            idle,
            name: "c".into(),
            speed,
            capacity: speed,
            rank: 0,
            l2_kib: 1024,
        },
    )
}

fn by_distance() -> impl Strategy<Value = ByDistance> {
    let ns = || 0..500u64;
    (ns(), ns(), ns(), ns()).prop_map(|(sibling, llc, other_llc, node)| ByDistance {
        sibling,
        llc,
        other_llc,
        node,
    })
}

fn cache() -> impl Strategy<Value = Cache> {
    let sizes = (0..40_000u32, 0..2000u32);
    (sizes, 1..9u32, by_distance(), by_distance(), 0..30u64, 0..40u64).prop_map(
        |((llc_kib, working_set_kib), mlp, refill_ns, c2c_ns, reuse_ns, handoff_lines)| Cache {
            llc_kib,
            mlp,
            line_bytes: 64,
            refill_ns,
            c2c_ns,
            reuse_ns,
            handoff_lines,
            working_set_kib,
        },
    )
}

fn ipi() -> impl Strategy<Value = Ipi> {
    (0..5_000u64, 0..9_000u64, 0..9_000u64, 0..9_000u64).prop_map(
        |(llc_ns, other_llc_ns, send_ns, receive_ns)| Ipi {
            llc_ns,
            other_llc_ns,
            send_ns,
            receive_ns,
        },
    )
}

/// Two kinds of cores, by turns or as it comes, with caches or without.
pub(crate) fn hardware() -> impl Strategy<Value = Hardware> {
    let types = prop::collection::vec(core(), 2);
    let kinds = prop::collection::vec(0..2usize, 4);
    let cache = prop::option::of(cache());
    let ipi = prop::option::of(ipi());
    (types, kinds, cache, 0..=1024u32, ipi, 0..90_000u64).prop_map(
        |(core_types, type_of_cpu, cache, dram_share, ipi, timer_slack_ns)| {
            let work = (WorkClass::Mixed, dram_share);
            Hardware { core_types, type_of_cpu, cache, work, ipi, timer_slack_ns }
        },
    )
}

/// The hardware of a plan's machine: a core is of one kind.
pub(crate) fn of(plan: &Plan, mut hardware: Hardware) -> Hardware {
    let topology = plan.config(1).topology;
    let first = |cpu| topology.siblings(cpu).first().unwrap() as usize;
    hardware.type_of_cpu = (0..plan.cpus).map(|cpu| hardware.type_of_cpu[first(cpu)]).collect();
    hardware
}

/// The work of a plan's task from its start to its end, in ns at full speed; `None`: it has none
/// that is known.
fn whole_ns(plan: &Plan, instance_of: &str) -> Option<u64> {
    let at: usize = instance_of.strip_prefix('t')?.parse().ok()?;
    let task = &plan.tasks[at];
    let forks = at == 0 && task.forks;
    let [_, fork_ns, exit_ns] = plan.delays_ns;
    let loops = if forks { task.loops.or(Some(5)) } else { task.loops };
    let mut each_ns = 0;
    for phase in &task.phases {
        each_ns += u64::from(phase.run) * 1000 + if forks { fork_ns } else { 0 };
        for act in &phase.acts {
            match act {
                Act::Run(us) => each_ns += u64::from(*us) * 1000,
                Act::Runtime(_) => return None,
                _ => {}
            }
        }
    }
    Some(u64::from(loops?) * each_ns + exit_ns)
}

/// Of each task that ended: its work, as done and as the plan has it. No task was faster than the
/// fastest CPU.
pub(crate) fn worked(
    plan: &Plan,
    hardware: &Hardware,
    tape: &Tape,
) -> Result<Vec<(u64, u64)>, String> {
    let speed = |kind: &usize| u64::from(hardware.core_types[*kind].speed);
    let fastest = hardware.type_of_cpu.iter().map(speed).max().unwrap_or_default();
    let (mut names, mut since, mut work) =
        (BTreeMap::new(), BTreeMap::new(), BTreeMap::<u32, u64>::new());
    let mut ended = Vec::new();
    for event in &tape.0 {
        match &event.kind {
            EventKind::Task { pid, instance_of: Some(name), .. } => {
                names.insert(*pid, name.to_string());
            }
            EventKind::SwitchIn { pid } => {
                since.insert(*pid, event.time_ns);
            }
            EventKind::Work { pid, done, .. } => {
                let ns = event.time_ns - since[pid];
                if *done > ns * fastest {
                    return Err(format!("{pid} did {done} in {ns} ns at {fastest} at most"));
                }
                *work.entry(*pid).or_default() += done;
            }
            EventKind::Exit { pid } => ended.push(*pid),
            _ => {}
        }
    }
    let pair = |pid: u32| {
        let expected = whole_ns(plan, names.get(&pid)?)?;
        Some((work.get(&pid).copied().unwrap_or(0), expected * 1024))
    };
    // the last switch of one that ends at the end of the run may be missing
    let left = |pid: &u32| {
        tape.0.iter().any(|e| {
            matches!(&e.kind,
        EventKind::SwitchOut { pid: p, why: OffCpu::Exit } if p == pid)
        })
    };
    Ok(ended.into_iter().filter(left).filter_map(pair).collect())
}

/// Whether a CPU can be idle while it is on its way to a task that waits.
pub(crate) fn wakes_late(hardware: &Hardware) -> bool {
    hardware.ipi.is_some() || hardware.core_types.iter().any(|kind| !kind.idle.is_empty())
}
