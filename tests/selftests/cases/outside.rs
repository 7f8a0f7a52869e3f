// SPDX-License-Identifier: MIT OR Apache-2.0
//! What happens from outside: programs that are run, CPUs that come and go, schedulers that are
//! loaded again.

use super::{with_events, BACKGROUND};
use crate::host::{Ended, Host};
use anyhow::{ensure, Context, Result};
use rota_machine::exit::ExitKind;

/// A program of user space's leaves with a code of its own.
pub(crate) fn prog_run(host: Host) -> Result<()> {
    let event = r#"{"at": "100ms", "program": "prog_run_syscall", "cpu": 0}"#;
    let mut ended = host.run(&host.policy("prog_run")?, &with_events(BACKGROUND, event), 1)?;
    ended.left_by(ExitKind::UnregBpf)?;
    let code = ended.number("uei.exit_code")?;
    ensure!(code == 0xdead_beef, "exit code {code:#x}");
    Ok(())
}

/// `SCX_ECODE_ACT_RESTART`, `SCX_ECODE_RSN_HOTPLUG`, and what the programs add.
const RESTART: i128 = 1 << 48;
const HOTPLUG: i128 = 1 << 32;
const OF_PROGRAM: i128 = 1;
const ONLINING: i128 = 2;

/// CPU 1 comes or goes under a scheduler with callbacks for that or without.
pub(crate) fn hotplug(host: Host) -> Result<()> {
    for (onlining, callbacks) in [(true, true), (false, true), (true, false), (false, false)] {
        let (ops, kind, code) = match callbacks {
            true if onlining => ("cb", ExitKind::UnregBpf, RESTART | OF_PROGRAM | ONLINING),
            true => ("cb", ExitKind::UnregBpf, RESTART | OF_PROGRAM),
            false => ("nocb", ExitKind::UnregKern, RESTART | HOTPLUG),
        };
        let before = if onlining { r#"{"at": "10ms", "cpu": 1, "online": false},"# } else { "" };
        let after = if onlining { "" } else { r#", {"at": "60ms", "cpu": 1, "online": true}"# };
        let events = format!(
            r#"{before} {{"at": "20ms", "scheduler": "load"}},
            {{"at": "40ms", "cpu": 1, "online": {onlining}}} {after}"#
        );
        let mut policy = host.policy("hotplug")?;
        policy.choose(&format!("hotplug_{ops}_ops"))?;
        let mut ended = host.run_with_fair(&policy, &with_events(BACKGROUND, &events), 1)?;
        left(&mut ended, kind, code)
            .with_context(|| format!("onlining: {onlining}, callbacks: {callbacks}"))?;
    }
    hotplug_attach(host).context("attach")
}

fn left(ended: &mut Ended, kind: ExitKind, code: i128) -> Result<()> {
    ended.left_by(kind)?;
    let told = ended.number("uei.exit_code")?;
    ensure!(told == code, "exit code {told:#x}, expected {code:#x}");
    Ok(())
}

/// A CPU goes offline after the loader has looked at the CPUs, which have changed twice before.
fn hotplug_attach(host: Host) -> Result<()> {
    let mut policy = host.policy("hotplug")?;
    policy.choose("hotplug_nocb_ops")?;
    policy.set_ops("hotplug_seq", "2")?;
    let events = r#"{"at": "10ms", "cpu": 1, "online": false},
        {"at": "20ms", "cpu": 1, "online": true}, {"at": "30ms", "cpu": 1, "online": false},
        {"at": "40ms", "scheduler": "load"}, {"at": "50ms", "cpu": 1, "online": true}"#;
    let mut ended = host.run_with_fair(&policy, &with_events(BACKGROUND, events), 1)?;
    left(&mut ended, ExitKind::UnregKern, RESTART | HOTPLUG)
}

const BEFORE: i128 = 1024;
const CHILDREN: i128 = 5;

/// How often tasks are introduced, taken over and let go.
pub(crate) fn init_enable_count(host: Host) -> Result<()> {
    for global in [true, false] {
        counts(host, global).with_context(|| format!("all tasks: {global}"))?;
    }
    Ok(())
}

/// The driver attaches the same program twice. Here each attach is of another instance, so what
/// both have counted is added.
fn counts(host: Host, global: bool) -> Result<()> {
    let mut policy = host.policy("init_enable_count")?;
    if !global {
        policy.make_partial()?;
    }
    let load = format!(
        r#"{{"tasks": {{"before": {{"instance": {BEFORE}, "loop": 1, "sleep": 120000, "run": 5}}}}}}"#
    );
    let events = r#"{"at": "100ms", "scheduler": "load"}, {"at": "800ms", "scheduler": "unload"}"#;
    let mut first = host.run_with_fair(&policy, &with_events(&load, events), 1)?;
    first.stayed()?;
    first.all_exited("before", BEFORE as u32)?;
    for name in ["init_task_cnt", "exit_task_cnt"] {
        let counted = first.number(name)?;
        ensure!(counted >= BEFORE, "{name} is {counted}");
    }

    // of the tasks of SCHED_EXT every other one goes back to SCHED_OTHER
    let ext = |n: i128| {
        let back = if n % 2 == 0 { r#", "b": {"policy": "SCHED_OTHER", "run": 20}"# } else { "" };
        format!(
            r#""ext{n}": {{"loop": 1, "delay": 200000, "phases": {{
                "own": {{"run": 20}}, "a": {{"policy": "SCHED_EXT", "run": 20}}{back}}}}}"#
        )
    };
    let children: Vec<_> = (0..CHILDREN).map(ext).collect();
    let load = format!(
        r#"{{"tasks": {{
            "runner": {{"loop": 1, "sleep": 900000}}, {},
            "other": {{"instance": {CHILDREN}, "loop": 1, "delay": 400000, "run": 20}}}}}}"#,
        children.join(", ")
    );
    let events = r#"{"at": "100ms", "scheduler": "load"}, {"at": "800ms", "scheduler": "unload"}"#;
    let mut second = host.run_with_fair(&policy, &with_events(&load, events), 1)?;
    second.stayed()?;
    (0..CHILDREN).try_for_each(|n| second.all_exited(&format!("ext{n}"), 1))?;
    second.all_exited("other", CHILDREN as u32)?;
    for name in ["init_task_cnt", "exit_task_cnt", "init_fork_cnt"] {
        let of_second = second.number(name)?;
        ensure!(of_second >= 2 * CHILDREN, "{name} is {of_second}");
    }
    for name in ["enable_cnt", "disable_cnt"] {
        let (of_first, of_second) = (first.number(name)?, second.number(name)?);
        let fits = match global {
            true => of_first + of_second >= 2 * CHILDREN,
            false => of_first + of_second == CHILDREN,
        };
        ensure!(fits, "{name} is {of_first} + {of_second}");
    }
    let mut both = |name| Ok::<_, anyhow::Error>(first.number(name)? + second.number(name)?);
    let (taken_over, forked) = (both("init_transition_cnt")?, both("init_fork_cnt")?);
    ensure!(taken_over > forked, "{taken_over} taken over, {forked} forked");
    Ok(())
}

const RELOADS: usize = 1024;

/// Two threads attach and take away as fast as they can; what comes while one is there is refused.
pub(crate) fn reload_loop(host: Host) -> Result<()> {
    let one = |n| {
        let at = 100 * n;
        format!(
            r#"{{"at": {at}, "scheduler": "load"}}, {{"at": {}, "scheduler": "load"}},
            {{"at": {}, "scheduler": "unload"}}"#,
            at + 25,
            at + 50
        )
    };
    let events: Vec<_> = (1..=RELOADS).map(one).collect();
    let load = with_events(BACKGROUND, &events.join(",\n"));
    let mut ended = host.run_with_fair(&host.policy("maximal")?, &load, 1)?;
    ended.left_by(ExitKind::Unreg)?;
    let left = &ended.outcome.exits;
    ensure!(left.len() == RELOADS, "left {} times", left.len());
    ensure!(left.iter().all(|e| e.exit.kind == ExitKind::Unreg), "{left:?}");
    let refused = &ended.outcome.outside;
    ensure!(refused.len() == RELOADS, "refused {} times: {refused:?}", refused.len());
    Ok(())
}
