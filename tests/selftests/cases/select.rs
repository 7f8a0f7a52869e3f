// SPDX-License-Identifier: MIT OR Apache-2.0
//! Schedulers that choose a CPU for a task that wakes.

use super::{with_events, BACKGROUND};
use crate::host::{Ended, Host};
use anyhow::{ensure, Context, Result};
use rota_machine::outside::Happened;
use rota_sim::Policy;

const CHILDREN: u32 = 1028;

/// The driver forks these, and each sleeps for a second and exits.
fn children(host: Host, policy: &Policy, name: &str) -> Result<Ended> {
    let load = format!(
        r#"{{"tasks": {{"{name}": {{"instance": {CHILDREN}, "loop": 1, "delay": {{"dist": "uniform", "max": 100000}},
        "run": 50, "sleep": 1000000}}}}}}"#
    );
    let ended = host.run(policy, &load, 2)?;
    ended.all_exited(name, CHILDREN)?;
    Ok(ended)
}

fn flag(host: Host, object: &str, name: &str, global: &str) -> Result<bool> {
    let mut ended = children(host, &host.policy(object)?, name)?;
    ended.stayed()?;
    Ok(ended.number(global)? != 0)
}

pub(crate) fn select_cpu_dfl(host: Host) -> Result<()> {
    // The program looks at tasks whose names begin so; the driver's children are called
    // otherwise. Where there is one CPU, no task is dispatched to an idle one.
    let name = if host.cpus == 1 { "runner" } else { "select_cpu_dfl" };
    ensure!(!flag(host, "select_cpu_dfl", name, "saw_local")?, "enqueued for an idle CPU");
    Ok(())
}

pub(crate) fn select_cpu_dfl_nodispatch(host: Host) -> Result<()> {
    let found = flag(host, "select_cpu_dfl_nodispatch", "runner", "saw_local")?;
    ensure!(found, "no idle CPU was found");
    Ok(())
}

pub(crate) fn select_cpu_dispatch(host: Host) -> Result<()> {
    children(host, &host.policy("select_cpu_dispatch")?, "runner")?.stayed()
}

pub(crate) fn select_cpu_vtime(host: Host) -> Result<()> {
    let mut ended = host.run(&host.policy("select_cpu_vtime")?, BACKGROUND, 1)?;
    ended.stayed()?;
    ensure!(ended.number("consumed")? == 1, "nothing came from the queue");
    Ok(())
}

pub(crate) fn numa(host: Host) -> Result<()> {
    let mut policy = host.policy("numa")?;
    // enum scx_pick_idle_cpu_flags and scx_ops_flags of the kernel
    policy.set("__COMPAT_SCX_PICK_IDLE_IN_NODE", "2")?;
    policy.set_ops("flags", "64")?;
    host.run(&policy, BACKGROUND, 1)?.stayed()
}

/// The first task of a machine.
const DRIVER: u32 = 1001;
const EBUSY: i32 = 16;

/// A program of user space's looks for an idle CPU for the driver, as soon as the scheduler is
/// there, and again later: on eight CPUs some are idle then.
fn from_user(host: Host, object: &str) -> Result<()> {
    let event = |at| {
        format!(
            r#"{{"at": "{at}", "program": "select_cpu_from_user", "cpu": 0, "ctx": {{"pid": {DRIVER}}}}}"#
        )
    };
    let events = [event("50us"), event("500ms")].join(", ");
    let mut ended = host.run(&host.policy(object)?, &with_events(BACKGROUND, &events), 1)?;
    ended.stayed()?;
    ensure!(ended.is_pid_of(DRIVER, "runner"), "the driver has another pid");
    let returned = |happened: &Happened| {
        let value = happened.result.strip_prefix("returned ").context(happened.result.clone())?;
        Ok::<i32, anyhow::Error>(value.parse()?)
    };
    let returned: Vec<_> = ended.outcome.outside.iter().map(returned).collect::<Result<_>>()?;
    let found = |cpu: &i32| (0..host.cpus as i32).contains(cpu);
    let fits = returned.len() == 2 && returned.iter().all(|r| *r == -EBUSY || found(r));
    ensure!(fits, "returned {returned:?}");
    ensure!(host.cpus < 8 || found(&returned[1]), "no idle CPU was found");
    Ok(())
}

pub(crate) fn allowed_cpus(host: Host) -> Result<()> {
    from_user(host, "allowed_cpus")
}

pub(crate) fn enq_select_cpu(host: Host) -> Result<()> {
    from_user(host, "enq_select_cpu")
}
