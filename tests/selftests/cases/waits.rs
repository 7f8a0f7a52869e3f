// SPDX-License-Identifier: MIT OR Apache-2.0
//! CPUs that wait for each other, other classes, ticks.

use crate::host::Host;
use anyhow::{bail, ensure, Result};
use rota_machine::consts::OPS_ENQ_LAST;
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

/// A CPU whose tick an infinite slice has stopped, and that was idle, ticks for tasks with finite
/// slices: three times each at least.
pub(crate) fn nohz_tick(host: Host) -> Result<()> {
    let mut policy = host.policy("nohz_tick")?;
    policy.set("test_cpu", "1")?;
    policy.set_ops("flags", &OPS_ENQ_LAST.to_string())?;
    policy.make_partial()?;
    let worker = |name, delay_ms| {
        format!(
            r#""{name}": {{"policy": "SCHED_EXT", "cpus": [1], "delay": {delay_ms}000,
                "run": 10000000}}"#
        )
    };
    let [inf, fin, again] = [worker("inf", 10), worker("fin", 300), worker("again", 700)];
    // The driver gives each step up to a second. What it waits for is there much sooner.
    let events = r#"{"at": "100ms", "task": "inf", "signal": "SIGSTOP"},
        {"at": "200ms", "variable": "finite_phase", "value": true},
        {"at": "600ms", "task": "fin", "signal": "SIGKILL"}"#;
    let mut ticks = 0;
    for tasks in [format!("{inf}, {fin}"), format!("{inf}, {fin}, {again}")] {
        let load = format!(r#"{{"tasks": {{{tasks}}}, "events": [{events}]}}"#);
        let mut ended = host.run_tickless(1, &policy, &load, 1)?;
        ended.stayed()?;
        for name in ["nr_inf_running", "nr_finite_running"] {
            ensure!(ended.number(name)? >= 1, "{name} is 0");
        }
        let now = ended.number("nr_finite_ticks")?;
        ensure!(now >= ticks + 3, "{now} ticks with {tasks}, {ticks} without the last task");
        ticks = now;
    }
    Ok(())
}

/// What each CPU's servers and tasks reserve together, without a scheduler, with one and after
/// it, each after all CPUs were busy; then again with twice the time for the fair class.
pub(crate) fn total_bw(host: Host) -> Result<()> {
    const ROUND_US: u64 = 200_000;
    let mut events = Vec::new();
    for round in 0..6 {
        let at_us = round * ROUND_US;
        match round {
            1 | 4 => events.push(format!(r#"{{"at": {at_us}, "scheduler": "load"}}"#)),
            2 | 5 => events.push(format!(r#"{{"at": {at_us}, "scheduler": "unload"}}"#)),
            3 => events.extend((0..host.cpus).map(|cpu| {
                format!(r#"{{"at": {at_us}, "cpu": {cpu}, "fair_server.runtime": "100ms"}}"#)
            })),
            _ => {}
        }
        let reads_us = at_us + ROUND_US - 1000;
        events.extend(
            (0..host.cpus)
                .map(|cpu| format!(r#"{{"at": {reads_us}, "cpu": {cpu}, "read": "total_bw"}}"#)),
        );
    }
    let cpus = host.cpus;
    let load = format!(
        r#"{{"tasks": {{"stress": {{"instance": {cpus}, "run": 1200000}}}}, "events": [{}]}}"#,
        events.join(",\n")
    );
    let mut ended = host.run_with_fair(&host.policy("minimal")?, &load, 2)?;
    ended.left_by(ExitKind::Unreg)?;
    let notes = &ended.outcome.outside;
    let read = |text: &str| text.strip_prefix("is ").and_then(|n| n.parse::<u64>().ok());
    let values: Vec<u64> = notes.iter().filter_map(|note| read(&note.result)).collect();
    ensure!(values.len() == notes.len() && notes.len() == 6 * cpus as usize, "{notes:?}");
    let mut of_rounds = Vec::new();
    for round in values.chunks(cpus as usize) {
        ensure!(round.iter().all(|value| *value == round[0]), "CPUs differ: {round:?}");
        of_rounds.push(round[0]);
    }
    let [before, loaded, after, doubled, loaded_again, after_again] = of_rounds[..] else {
        bail!("{of_rounds:?}");
    };
    // 50 ms of 1 s, in 2^-20: 52428.8, which to_ratio() truncates
    ensure!(before == u64::from(cpus) * 52_428, "{of_rounds:?}");
    ensure!(loaded == before && after == before, "{of_rounds:?}");
    ensure!(doubled > before, "{of_rounds:?}");
    ensure!(loaded_again == before && after_again == doubled, "{of_rounds:?}");
    Ok(())
}
