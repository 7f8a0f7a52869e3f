// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random scripts of events from outside, for a random [`Plan`], and what holds whatever they do.

use super::plan::Plan;
use proptest::prelude::*;
use rota_machine::run::RunError;
use rota_trace::{Event, EventKind};
use std::collections::{BTreeMap, BTreeSet};

/// Something that may or may not fit the plan.
#[derive(Clone, Debug)]
pub(crate) struct Scripted {
    at_us: u64,
    /// After the event before it, not at a time.
    follows: bool,
    task: usize,
    act: Act,
}

#[derive(Clone, Debug)]
enum Act {
    Cpus(u32),
    Nice(i32),
    Weight(u32),
    Move(usize),
    Signal(usize),
    Cgroup(usize, &'static str),
    Cpuset(usize, u32),
    Cpu(u32, bool),
    Cookie(&'static str),
}

fn act() -> impl Strategy<Value = Act> {
    let texts = [
        r#""cpu.weight": 7"#,
        r#""cpu.weight": 700"#,
        r#""cpu.max": "20000 100000""#,
        r#""cpu.max": "max""#,
        r#""cpu.max.burst": 1000"#,
        r#""cpu.idle": 1"#,
        r#""create": true"#,
        r#""destroy": true"#,
    ];
    prop_oneof![
        3 => any::<u32>().prop_map(Act::Cpus),
        2 => (-20..20).prop_map(Act::Nice),
        1 => (1..10_000u32).prop_map(Act::Weight),
        2 => (0..4usize).prop_map(Act::Move),
        4 => prop::sample::select(vec![0usize, 1, 1, 2, 2, 2]).prop_map(Act::Signal),
        2 => (0..3usize, prop::sample::select(texts.to_vec())).prop_map(|(g, t)| Act::Cgroup(g, t)),
        2 => (0..3usize, any::<u32>()).prop_map(|(g, mask)| Act::Cpuset(g, mask)),
        4 => (0..4u32, any::<bool>()).prop_map(|(cpu, online)| Act::Cpu(cpu, online)),
        2 => prop::sample::select(vec!["", "X", "Y"]).prop_map(Act::Cookie),
    ]
}

/// Up to thirty events in the first `us` microseconds.
pub(crate) fn script(us: u64) -> impl Strategy<Value = Vec<Scripted>> {
    // those that follow others must not come after the end
    let event = (0..us.saturating_sub(100), any::<bool>(), 0..6usize, act());
    let event =
        event.prop_map(|(at_us, follows, task, act)| Scripted { at_us, follows, task, act });
    prop::collection::vec(event, 0..30)
}

/// The same without CPUs that go and come.
pub(crate) fn without_hotplug(script: &[Scripted]) -> Vec<Scripted> {
    script.iter().filter(|e| !matches!(e.act, Act::Cpu(..))).cloned().collect()
}

const GROUPS: [&str; 3] = ["/s1", "/s1/x", "/s2"];

/// CPUs of the plan's machine, at least one.
fn cpus(plan: &Plan, mask: u32) -> Vec<u32> {
    let cpus: Vec<u32> = (0..plan.cpus).filter(|cpu| mask >> cpu & 1 == 1).collect();
    if cpus.is_empty() {
        return vec![mask % plan.cpus];
    }
    cpus
}

/// Whether a task disables migration from its first step on: some of those that ask for no CPUs.
fn pins(plan: &Plan, task: usize) -> bool {
    let asks = plan.tasks[task].phases.iter().any(|phase| phase.cpus.is_some());
    !asks && plan.seed >> (task % 64) & 3 == 1
}

/// The workload of a plan with a script.
pub(crate) fn scripted(plan: &Plan, script: &[Scripted]) -> String {
    let group = |at: usize| GROUPS.get(at).copied().unwrap_or("/");
    let event = |(at, e): (usize, &Scripted)| {
        let when = match e.follows && at > 0 {
            true => format!(r#""after": "e{}", "delay": {}"#, at - 1, e.at_us % 3),
            false => format!(r#""at": {}"#, e.at_us),
        };
        let task = format!(r#""task": "t{}""#, e.task % plan.tasks.len());
        let act = match &e.act {
            Act::Cpus(mask) => format!(r#"{task}, "cpus": {:?}"#, cpus(plan, *mask)),
            Act::Nice(nice) => format!(r#"{task}, "nice": {nice}"#),
            Act::Weight(weight) => format!(r#"{task}, "weight": {weight}"#),
            Act::Move(to) => format!(r#"{task}, "move": "{}""#, group(*to)),
            Act::Signal(at) => {
                format!(r#"{task}, "signal": "{}""#, ["SIGKILL", "SIGSTOP", "SIGCONT"][*at])
            }
            Act::Cpuset(at, mask) => {
                let cpus = cpus(plan, *mask);
                format!(r#""cgroup": "{}", "cpuset.cpus": {cpus:?}"#, GROUPS[*at])
            }
            Act::Cgroup(at, text) => format!(r#""cgroup": "{}", {text}"#, group(*at)),
            // a machine without cores refuses it
            Act::Cookie(name) if plan.has_siblings() => {
                format!(r#"{task}, "core_cookie": "{name}""#)
            }
            Act::Cookie(_) => format!(r#"{task}, "nice": 0"#),
            Act::Cpu(cpu, online) => format!(r#""cpu": {}, "online": {online}"#, cpu % plan.cpus),
        };
        format!(r#"{{"name": "e{at}", {when}, {act}}}"#)
    };
    let events: Vec<String> = script.iter().enumerate().map(event).collect();
    let mut load = plan.workload();
    for task in (0..plan.tasks.len()).filter(|task| pins(plan, *task)) {
        let key = format!(r#""t{task}": {{"#);
        load = load.replacen(&key, &format!(r#"{key}"migrate_disable": true, "#), 1);
    }
    let body = load.strip_suffix('}').unwrap_or(&load);
    // so that the groups are known to the file
    let made = GROUPS.map(|path| format!(r#"{{"at": 0, "cgroup": "{path}", "create": true}}"#));
    format!("{body}, \"events\": [{},\n{}]}}", made.join(", "), events.join(",\n"))
}

/// Whether tasks run on one CPU at a time, which they may use and which is there; and no CPU time
/// comes from nowhere.
pub(crate) fn lawful(plan: &Plan, events: &[Event], end_ns: u64) -> Result<(), String> {
    let cpus = plan.cpus;
    let mut runs: Vec<Option<u32>> = vec![None; cpus as usize];
    // they stay where they are, allowed or not
    let mut pinned: BTreeSet<u32> = BTreeSet::new();
    let mut came: Vec<u64> = vec![0; cpus as usize];
    // since when a CPU is
    let mut away: Vec<Option<u64>> = vec![None; cpus as usize];
    let mut allowed: BTreeMap<u32, String> = BTreeMap::new();
    for event in events {
        let wrong = |what: String| Err(format!("{what}: {event:?}"));
        match (&event.kind, event.cpu) {
            (EventKind::Task { pid, instance_of: Some(name), .. }, _) => {
                let task = name.strip_prefix('t').and_then(|number| number.parse().ok());
                if task.is_some_and(|task: usize| pins(plan, task)) {
                    pinned.insert(*pid);
                }
            }
            (EventKind::SwitchIn { pid }, Some(cpu)) => {
                if let Some(other) = runs[cpu as usize] {
                    return wrong(format!("CPU {cpu} runs {other} already"));
                }
                if runs.contains(&Some(*pid)) {
                    return wrong("runs twice".into());
                }
                runs[cpu as usize] = Some(*pid);
                came[cpu as usize] = event.time_ns;
                let may = allowed.get(pid).is_none_or(|list| {
                    list.split(',').any(|part| {
                        let (from, to) = part.split_once('-').unwrap_or((part, part));
                        let number = |text: &str| text.parse::<u32>().unwrap_or(u32::MAX);
                        (number(from)..=number(to)).contains(&cpu)
                    })
                });
                // a CPU that goes switches to its tasks once more, to push them away
                if !may && away[cpu as usize].is_none() {
                    return wrong(format!("may use {:?} only", allowed.get(pid)));
                }
            }
            (EventKind::SwitchOut { pid, .. }, Some(cpu)) => {
                let ran = runs[cpu as usize].take();
                if ran != Some(*pid) {
                    return wrong("did not run there".into());
                }
            }
            (EventKind::Affinity { pid, cpus }, _) => {
                allowed.insert(*pid, cpus.as_str().to_owned());
            }
            (EventKind::Outside { what }, _) => {
                let words: Vec<&str> = what.split(' ').collect();
                if let ["cpu", cpu, state] = words[..] {
                    let cpu: usize = cpu.parse().map_err(|_| what.clone())?;
                    // the last one stays
                    let others =
                        (0..away.len()).filter(|c| *c != cpu && away[*c].is_none()).count();
                    away[cpu] = match (state, away[cpu]) {
                        ("offline", None) if others > 0 => Some(event.time_ns),
                        ("offline", since) => since,
                        _ => None,
                    };
                }
            }
            _ => {}
        }
        if event.time_ns > end_ns {
            return wrong("after the end".into());
        }
        // one that goes pushes each task away that it switches to, before time moves on
        let late = |cpu: &usize| {
            let others = runs[*cpu].is_some_and(|pid| !pinned.contains(&pid));
            let since = away[*cpu].map(|at| at.max(came[*cpu]));
            others && since.is_some_and(|at| at < event.time_ns)
        };
        if let Some(cpu) = (0..away.len()).find(late) {
            return wrong(format!("CPU {cpu} is offline and runs {:?}", runs[cpu]));
        }
    }
    Ok(())
}

/// Whether a machine refuses to go on, as `sched_setaffinity()` would: a phase or a new task has
/// only CPUs that are offline then, or not in its cpuset.
pub(crate) fn is_refusal(error: &RunError) -> bool {
    matches!(error, RunError::Task { what, .. } if what.contains("then (EINVAL)"))
}
