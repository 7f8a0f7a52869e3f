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

/// A real-time task cannot keep a CPU from sched_ext: 4 % are left at least.
pub(crate) fn rt_stall(host: Host) -> Result<()> {
    let load = r#"{"tasks": {
        "ext": {"cpus": [0], "run": 1000000},
        "rt": {"cpus": [0], "policy": "SCHED_FIFO", "priority": 50, "run": 1000000}
    }}"#;
    let mut ended = host.run(&host.policy("rt_stall")?, load, 5)?;
    ended.left_by(ExitKind::Unreg)?;
    let (ext, rt) = (ended.cpu_ns("ext")?, ended.cpu_ns("rt")?);
    ensure!(ext * 100 >= 4 * (ext + rt), "the task of sched_ext got {ext} ns, the other {rt} ns");
    bail!("the fair class has no server: there is no run without a scheduler")
}

pub(crate) fn nohz_tick(_: Host) -> Result<()> {
    bail!("there are no CPUs whose tick stops")
}

pub(crate) fn total_bw(_: Host) -> Result<()> {
    bail!("the deadline servers' bandwidth cannot be read")
}
