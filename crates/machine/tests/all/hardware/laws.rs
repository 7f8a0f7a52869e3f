// SPDX-License-Identifier: MIT OR Apache-2.0
//! What holds for every scheduler on every hardware: work is done once, and no faster than by the
//! fastest CPU. The machine audits the speeds themselves at each instant (`Config::audit`).

use super::{cores, MS};
use crate::common::plan::{cases, plan, Act, Plan};
use crate::common::replay::obeys;
use crate::common::wild::Wild;
use crate::common::{run, shared_fifo, Tape};
use proptest::prelude::*;
use rota_machine::exit::ExitKind;
use rota_machine::hardware::parts::{ByDistance, Cache, CoreType, SmtSpeed};
use rota_machine::hardware::Hardware;
use rota_trace::EventKind;
use rota_workload::WorkClass;
use std::collections::BTreeMap;
use std::sync::Arc;

const RUN_NS: u64 = 150 * MS;

fn core() -> impl Strategy<Value = CoreType> {
    let list = || prop::collection::vec(1..=1024u32, 0..3);
    let smt = (list(), list(), list());
    (1..=1024u32, prop::option::of(smt)).prop_map(|(speed, smt)| CoreType {
        smt: smt.map(|(compute, mixed, memory)| SmtSpeed { compute, mixed, memory }),
        ..super::core_type(speed)
    })
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

/// Two kinds of cores, by turns or as it comes, with caches or without.
fn hardware() -> impl Strategy<Value = Hardware> {
    let types = prop::collection::vec(core(), 2);
    let kinds = prop::collection::vec(0..2usize, 4);
    let cache = prop::option::of(cache());
    (types, kinds, cache, 0..=1024u32).prop_map(|(core_types, type_of_cpu, cache, dram_share)| {
        let work = (WorkClass::Mixed, dram_share);
        Hardware { core_types, type_of_cpu, cache, work, ..cores(&[]) }
    })
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

/// Of each task that ended: its work, as done and as the plan has it. Nobody was too fast.
fn worked(plan: &Plan, tape: &Tape) -> Result<Vec<(u64, u64)>, String> {
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
            EventKind::Work { pid, done } => {
                let ns = event.time_ns - since[pid];
                if *done > ns * 1024 {
                    return Err(format!("{pid} did {done} in {ns} ns"));
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
        EventKind::SwitchOut { pid: p, why: rota_trace::OffCpu::Exit } if p == pid)
        })
    };
    Ok(ended.into_iter().filter(left).filter_map(pair).collect())
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn work_is_done_once_at_whatever_speeds(plan in plan(), hardware in hardware()) {
        let mut hardware = hardware;
        hardware.type_of_cpu.truncate(plan.cpus as usize);
        let load = plan.workload();
        let mut config = plan.config(RUN_NS);
        config.hardware = Some(Arc::new(hardware));
        let (outcome, tape) = run(config, &load, &mut shared_fifo());
        prop_assert_eq!(outcome.exit.kind, ExitKind::Unreg, "{}\n{}", outcome.exit, load);
        prop_assert_eq!(obeys(&plan, &tape.0, RUN_NS), Ok(()), "{}", load);
        for (done, expected) in worked(&plan, &tape).map_err(TestCaseError::fail)? {
            prop_assert_eq!(done, expected, "{}", load);
        }
    }

    #[test]
    fn work_is_done_once_under_a_scheduler_without_a_plan(
        plan in plan(),
        hardware in hardware(),
        seed in any::<u64>(),
    ) {
        let mut hardware = hardware;
        hardware.type_of_cpu.truncate(plan.cpus as usize);
        let mut config = plan.config(RUN_NS);
        config.hardware = Some(Arc::new(hardware));
        let (_, tape) = run(config, &plan.workload(), &mut Wild::new(seed, 0, plan.cpus));
        for (done, expected) in worked(&plan, &tape).map_err(TestCaseError::fail)? {
            prop_assert_eq!(done, expected);
        }
    }

    #[test]
    fn cpus_of_full_speed_are_a_flat_machine(plan in plan()) {
        let mut config = plan.config(RUN_NS);
        let (_, flat) = run(config.clone(), &plan.workload(), &mut shared_fifo());
        config.hardware = Some(Arc::new(cores(&vec![1024; plan.cpus as usize])));
        let (_, tape) = run(config, &plan.workload(), &mut shared_fifo());
        let without_work = tape.0.iter().filter(|e| !matches!(e.kind, EventKind::Work { .. }));
        prop_assert!(flat.0.iter().eq(without_work), "{}", plan.workload());
    }
}
