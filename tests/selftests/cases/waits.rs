// SPDX-License-Identifier: MIT OR Apache-2.0
//! CPUs that wait for each other, other classes, ticks.

use crate::host::Host;
use anyhow::{bail, ensure, Result};
use rota_machine::exit::ExitKind;

/// Three CPUs that kick each other in a circle and wait for it: they go on.
pub(crate) fn cyclic_kick_wait(host: Host) -> Result<()> {
    let mut policy = host.policy("cyclic_kick_wait")?;
    for (cpu, name) in ["test_cpu_a", "test_cpu_b", "test_cpu_c"].iter().enumerate() {
        policy.set(name, &cpu.to_string())?;
    }
    // 5 s of yields on each of the CPUs, which the driver then ends
    let workers = |cpu| {
        format!(
            r#""worker{cpu}": {{"instance": 4, "cpus": [{cpu}], "loop": 12000, "run": 100, "yield": ""}}"#
        )
    };
    let all: Vec<_> = (0..3).map(workers).collect();
    let load = format!(r#"{{"tasks": {{{}}}}}"#, all.join(", "));
    let mut ended = host.run(&policy, &load, 7)?;
    ended.stayed()?;
    (0..3).try_for_each(|cpu| ended.all_exited(&format!("worker{cpu}"), 4))?;
    ensure!(ended.number("nr_wait_kicks")? > 0, "no CPU waited for another one");
    Ok(())
}

/// Seconds that the tasks of a round run.
const RUN_S: u64 = 5;

/// A real-time task cannot keep a CPU from another one, without a scheduler and with one, in turn:
/// 4 % are left at least.
pub(crate) fn rt_stall(host: Host) -> Result<()> {
    let (mut tasks, mut events) = (Vec::new(), Vec::new());
    for round in 0..4 {
        let at_us = round * (RUN_S * 1_000_000 + 200_000);
        let (starts, kills) = (at_us + 50_000, at_us + 50_000 + RUN_S * 1_000_000);
        tasks.push(format!(
            r#""normal{round}": {{"cpus": [0], "delay": {starts}, "run": 10000000}},
            "rt{round}": {{"cpus": [0], "delay": {starts}, "policy": "SCHED_FIFO", "priority": 50,
                "run": 10000000}}"#
        ));
        for task in ["normal", "rt"] {
            events.push(format!(
                r#"{{"at": {kills}, "task": "{task}{round}", "signal": "SIGKILL"}}"#
            ));
        }
        if round % 2 == 1 {
            events.push(format!(r#"{{"at": {at_us}, "scheduler": "load"}}"#));
            events.push(format!(r#"{{"at": {}, "scheduler": "unload"}}"#, kills + 100_000));
        }
    }
    let load =
        format!(r#"{{"tasks": {{{}}}, "events": [{}]}}"#, tasks.join(", "), events.join(",\n"));
    let mut ended = host.run_with_fair(&host.policy("rt_stall")?, &load, 4 * (RUN_S + 1))?;
    ended.stayed()?;
    let left = &ended.outcome.exits;
    ensure!(left.len() == 2 && left.iter().all(|e| e.exit.kind == ExitKind::Unreg), "{left:?}");
    for round in 0..4 {
        for task in ["normal", "rt"] {
            ended.all_exited(&format!("{task}{round}"), 1)?;
        }
        let normal = ended.cpu_ns(&format!("normal{round}"))?;
        let rt = ended.cpu_ns(&format!("rt{round}"))?;
        ensure!(
            normal * 100 >= 4 * (normal + rt),
            "round {round}: the normal task got {normal} ns, the other {rt} ns"
        );
    }
    Ok(())
}

pub(crate) fn nohz_tick(_: Host) -> Result<()> {
    bail!("there are no CPUs whose tick stops")
}

pub(crate) fn total_bw(_: Host) -> Result<()> {
    bail!("the deadline servers' bandwidth cannot be read")
}
