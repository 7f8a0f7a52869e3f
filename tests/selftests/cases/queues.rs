// SPDX-License-Identifier: MIT OR Apache-2.0
//! What happens in queues.

use super::BACKGROUND;
use crate::host::Host;
use anyhow::{ensure, Context, Result};

pub(crate) fn dsp_local_on(host: Host) -> Result<()> {
    let mut policy = host.policy("dsp_local_on")?;
    policy.set("nr_cpus", &host.cpus.to_string())?;
    host.run(&policy, BACKGROUND, 1)?.stayed()
}

const WORKERS: u32 = 8;
/// How long the affinity of the workers is changed all the time, and how long a change takes.
const HAMMER_US: u32 = 500_000;
const CHANGE_US: u32 = 100;

/// Work and sleep, a thousand times; the sleeps of worker n are 100 us × n longer. Meanwhile each
/// in turn is bound to CPU 0, then to CPU 1 and so on, as far as there are CPUs.
fn workers(cpus: u32) -> String {
    let worker = |n| {
        let sleep = 1000 + 100 * n;
        format!(r#""worker{n}": {{"loop": 1000, "run": 20, "sleep": {sleep}}}"#)
    };
    let change = |n| {
        let (at, worker, cpu) = (CHANGE_US * (n + 1), n % WORKERS, n / WORKERS % 4);
        format!(r#"{{"at": {at}, "task": "worker{worker}", "cpus": [{cpu}]}}"#)
    };
    let there = |n: &u32| n / WORKERS % 4 < cpus; // sched_setaffinity() fails for others
    let changes: Vec<_> = (0..HAMMER_US / CHANGE_US).filter(there).map(change).collect();
    let all: Vec<_> = (0..WORKERS).map(worker).collect();
    let (all, changes) = (all.join(", "), changes.join(",\n"));
    format!(r#"{{"tasks": {{{all}}}, "events": [{changes}]}}"#)
}

/// What the program counts, how often for each scenario.
pub(crate) fn dequeue(host: Host) -> Result<()> {
    let load = workers(host.cpus);
    let mut changed_all = 0;
    for scenario in 0..=6 {
        let mut policy = host.policy("dequeue")?;
        policy.set("test_scenario", &scenario.to_string())?;
        let mut ended = host.run(&policy, &load, 4)?;
        for n in 0..WORKERS {
            ended.all_exited(&format!("worker{n}"), 1)?;
        }
        ended.stayed().with_context(|| format!("scenario {scenario}"))?;
        let counted = |ended: &mut crate::host::Ended, name| {
            ended.number(name).with_context(|| format!("scenario {scenario}"))
        };
        let enqueued = counted(&mut ended, "enqueue_cnt")?;
        let dequeued = counted(&mut ended, "dequeue_cnt")?;
        if matches!(scenario, 0 | 1 | 3 | 4) {
            let dispatched = counted(&mut ended, "dispatch_dequeue_cnt")?;
            let changed = counted(&mut ended, "change_dequeue_cnt")?;
            let all = [enqueued, dequeued, dispatched, changed];
            ensure!(all == [0; 4], "scenario {scenario}: {all:?}, expected none");
        } else {
            ensure!(enqueued > 0, "scenario {scenario}: nothing was enqueued");
            ensure!(enqueued == dequeued, "scenario {scenario}: {enqueued} != {dequeued}");
            changed_all += counted(&mut ended, "change_dequeue_cnt")?;
        }
    }
    // what the driver does not ask: that its hammer hit at all
    ensure!(changed_all > 0, "no affinity changed while the scheduler had the task");
    Ok(())
}

/// `scx_bpf_dsq_peek()` finds nothing before an insertion and the task after it.
pub(crate) fn peek_dsq(host: Host) -> Result<()> {
    // ops.enqueue() is only called where no CPU is idle: the others of a kernel's machine
    let load = format!(
        r#"{{"tasks": {{
            "runner": {{"loop": 1, "sleep": 3000000}},
            "worker": {{"instance": 4, "sleep": 1000, "yield": "", "run": 2}},
            "other": {{"instance": {}, "run": {{"dist": "exp", "mean": 900}}, "sleep": {{"dist": "exp", "mean": 500}}}}
        }}}}"#,
        2 * host.cpus
    );
    let mut ended = host.run(&host.policy("peek_dsq")?, &load, 3)?;
    ended.stayed()?;
    ensure!(ended.number("enqueue_count")? > 0, "nothing was enqueued");
    ensure!(ended.number("insert_test_cpu")? != -1, "no task was inserted");
    ensure!(ended.number("dsq_peek_result1")? == 0, "a task in an empty queue");
    let (found, inserted) =
        (ended.number("dsq_peek_result2")?, ended.number("dsq_peek_result2_expected")?);
    ensure!(found == inserted, "found {found:#x}, inserted {inserted:#x}");
    ensure!(ended.number("debug_ksym_exists")? == 1, "the kernel has no scx_bpf_dsq_peek()");

    let samples = ended.number("max_samples")? as u32;
    let rota_sim::Loaded { machine, ops, .. } = &mut ended.loaded;
    let map = ops.runtime().map("peek_results").context("no map of results")?;
    let mut pids = 0;
    for sample in 0..samples {
        let value = ops.runtime().map_get(&mut machine.system, map, &sample.to_le_bytes());
        let value = value.context("a slot")?;
        let pid = i64::from_le_bytes(value[..8].try_into()?);
        pids += u32::from(pid > 0);
    }
    ensure!(pids > 0, "no task was seen in the queues");
    Ok(())
}
