// SPDX-License-Identifier: MIT OR Apache-2.0
//! From all that happened on a machine to what its workload saw.
//!
//! Kept are the events of the workload's tasks, from their common start to the end. When something
//! else (a kernel thread, the loader of the policy) ran on a CPU becomes a list of interruptions,
//! which are given to the simulated machine; but a scheduler's own program has its part in that, too.

use crate::crossing;
use crate::played::{Played, PlayedTask};
use rota_trace::{Event, EventKind, OffCpu, Sink};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A time at which a CPU ran something else than the workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interruption {
    /// Which one.
    pub cpu: u32,
    /// From when on, since the start.
    pub at_ns: u64,
    /// For how long.
    pub for_ns: u64,
}

/// Gathers what a recorder gives.
#[derive(Debug, Default)]
pub struct Tape(pub Vec<Event>);

impl Sink for Tape {
    fn event(&mut self, event: &Event) {
        self.0.push(event.clone());
    }
}

/// The events of a workload, with times from its start, and what else ran meanwhile.
#[derive(Debug, Default)]
pub struct Filtered {
    /// As the simulator would give them.
    pub events: Vec<Event>,
    /// When others ran, CPU by CPU in order of time.
    pub interruptions: Vec<Interruption>,
    /// How long after a tick a CPU that ends a slice there switches, as a rule.
    pub tick_ns: u64,
    /// When the first CPU ran a task first, if within a tick.
    pub start_ns: u64,
    /// How long a wakeup takes to another CPU that is idle, on average, if there were any.
    pub crossing_ns: Option<u64>,
    /// CPU time of the scheduler's own program.
    pub program_ns: u64,
}

impl Filtered {
    /// `origin_ns` is what the times of the events count from, on the player's clock. The threads of
    /// `program` are those of a scheduler's own program: they are nobody's interruption.
    pub fn new(
        played: &Played,
        origin_ns: u64,
        events: &[Event],
        program: &BTreeSet<u32>,
    ) -> Filtered {
        let names: HashMap<u32, &PlayedTask> =
            played.tasks.iter().map(|task| (task.tid, task)).collect();
        let mut filtered = Filtered::default();
        filtered.introduce(played, origin_ns, events);
        filtered.interruptions = others(played, origin_ns, events, &names, program);
        filtered.program_ns = time_of(program, played, origin_ns, events);
        filtered.tick_ns = length_of_tick(played, origin_ns, events);
        filtered.crossing_ns = crossing::mean_ns(events, |pid| names.contains_key(&pid));
        filtered.start_ns = first_run(played, origin_ns, events, &names);
        let window = played.start_ns..played.start_ns + played.duration_ns;
        for event in events {
            let at_ns = event.time_ns + origin_ns;
            if !window.contains(&at_ns)
                || !subject(&event.kind).is_some_and(|pid| names.contains_key(&pid))
            {
                continue;
            }
            let mut event = Event { time_ns: at_ns - played.start_ns, ..event.clone() };
            if let EventKind::Task { pid, name, instance_of, .. } = &mut event.kind {
                names[pid].name.clone_into(name);
                *instance_of = Some(names[pid].instance_of.as_str().into());
            }
            filtered.events.push(event);
        }
        filtered
    }

    /// Tasks that were there before the start: their names and weights.
    fn introduce(&mut self, played: &Played, origin_ns: u64, events: &[Event]) {
        let mut weights: HashMap<u32, u32> = HashMap::new();
        for event in events.iter().take_while(|e| e.time_ns + origin_ns < played.start_ns) {
            if let EventKind::Task { pid, weight, .. } = event.kind {
                weights.insert(pid, weight);
            }
        }
        for task in &played.tasks {
            let Some(weight) = weights.get(&task.tid).copied() else { continue };
            let (pid, name) = (task.tid, task.name.clone());
            let instance_of = Some(task.instance_of.as_str().into());
            let at_start = |kind| Event { time_ns: 0, cpu: None, kind };
            self.events.push(at_start(EventKind::Task { pid, name, weight, instance_of }));
            self.events.push(at_start(EventKind::Fork { pid, parent: 0 }));
        }
    }
}

/// The end of a slice at a tick is a switch so soon after it. Emulated CPUs take turns.
const TICK_WITHIN_NS: u64 = 100_000;

/// When tasks that are not the workload's were on each CPU. One after the other is one time.
///
/// If the first decision after a tick is for one of them, it took the CPU at the tick: an interrupt
/// woke it, and what the tick had to say about the slice was heeded at the same time.
fn others(
    played: &Played,
    origin_ns: u64,
    events: &[Event],
    names: &HashMap<u32, &PlayedTask>,
    program: &BTreeSet<u32>,
) -> Vec<Interruption> {
    let mut cpus: BTreeMap<u32, Others> = BTreeMap::new();
    for event in events {
        let Some(cpu) = event.cpu else { continue };
        let at_ns = (event.time_ns + origin_ns).saturating_sub(played.start_ns);
        let at_ns = at_ns.min(played.duration_ns);
        let others = cpus.entry(cpu).or_default();
        match event.kind {
            EventKind::SwitchIn { pid } if names.contains_key(&pid) || program.contains(&pid) => {
                others.end(at_ns);
                others.decided_ns = at_ns;
            }
            EventKind::Pick { pid, .. } if names.contains_key(&pid) => others.decided_ns = at_ns,
            EventKind::SwitchIn { .. } => others.begin(at_ns, played.period_ns),
            // What takes its place is not recorded, unless there is another event, as for an idle CPU.
            EventKind::SwitchOut { pid, why: OffCpu::Runnable } if names.contains_key(&pid) => {
                others.begin(at_ns, played.period_ns);
            }
            EventKind::SwitchOut { .. } | EventKind::Idle => others.end(at_ns),
            _ => {}
        }
    }
    let mut all = Vec::new();
    for (cpu, mut others) in cpus {
        others.end(played.duration_ns);
        let times = others.times.into_iter().filter(|(_, for_ns)| *for_ns > 0);
        all.extend(times.map(|(at_ns, for_ns)| Interruption { cpu, at_ns, for_ns }));
    }
    all
}

/// How long these threads ran, from the start to the end.
fn time_of(threads: &BTreeSet<u32>, played: &Played, origin_ns: u64, events: &[Event]) -> u64 {
    let mut since: BTreeMap<u32, u64> = BTreeMap::new();
    let mut total_ns = 0;
    let end_ns = played.start_ns + played.duration_ns;
    for event in events {
        let at_ns = (event.time_ns + origin_ns).clamp(played.start_ns, end_ns);
        match event.kind {
            EventKind::SwitchIn { pid } if threads.contains(&pid) => {
                since.insert(pid, at_ns);
            }
            EventKind::SwitchOut { pid, .. } => {
                total_ns += since.remove(&pid).map_or(0, |since_ns| at_ns - since_ns);
            }
            _ => {}
        }
    }
    total_ns + since.values().map(|since_ns| end_ns - since_ns).sum::<u64>()
}

/// The others on a CPU.
#[derive(Default)]
struct Others {
    /// Begin and length.
    times: Vec<(u64, u64)>,
    /// When the one that runs began.
    since_ns: Option<u64>,
    /// When the last one ended.
    ended_ns: Option<u64>,
    /// When the CPU last switched to anybody, or began a slice.
    decided_ns: u64,
}

impl Others {
    fn begin(&mut self, at_ns: u64, period_ns: u64) {
        if self.since_ns == Some(at_ns) {
            return;
        }
        let tick_ns = at_ns / period_ns * period_ns;
        let at_tick = self.decided_ns < tick_ns && at_ns < tick_ns + TICK_WITHIN_NS;
        if self.ended_ns != Some(at_ns) {
            self.times.push((if at_tick { tick_ns } else { at_ns }, 0));
        }
        (self.since_ns, self.decided_ns) = (Some(at_ns), at_ns);
    }

    fn end(&mut self, at_ns: u64) {
        if let (Some(since_ns), Some((_, for_ns))) = (self.since_ns.take(), self.times.last_mut()) {
            *for_ns += at_ns - since_ns;
            self.ended_ns = Some(at_ns);
        }
    }
}

/// The median.
fn length_of_tick(played: &Played, origin_ns: u64, events: &[Event]) -> u64 {
    let at_ns = |event: &Event| (event.time_ns + origin_ns).checked_sub(played.start_ns);
    let leaves =
        |event: &&Event| matches!(event.kind, EventKind::SwitchOut { why: OffCpu::Runnable, .. });
    let after_tick = |event: &Event| at_ns(event).map(|at_ns| at_ns % played.period_ns);
    let after_ticks = events.iter().filter(leaves).filter_map(after_tick);
    let mut soon: Vec<u64> = after_ticks.filter(|ns| *ns < TICK_WITHIN_NS).collect();
    soon.sort_unstable();
    soon.get(soon.len() / 2).copied().unwrap_or(0)
}

/// When the CPU of the timers for the start ran one of the tasks; 0: not within a tick.
fn first_run(
    played: &Played,
    origin_ns: u64,
    events: &[Event],
    names: &HashMap<u32, &PlayedTask>,
) -> u64 {
    let at_ns = |event: &Event| (event.time_ns + origin_ns).checked_sub(played.start_ns);
    let enters = |event: &&Event| {
        let known = |pid: u32| names.contains_key(&pid);
        event.cpu == Some(0)
            && at_ns(event).is_some()
            && matches!(event.kind, EventKind::SwitchIn { pid } if known(pid))
    };
    events.iter().find(enters).and_then(at_ns).filter(|ns| *ns < played.period_ns).unwrap_or(0)
}

/// The task that an event is about, if it is one that tells of the scheduler's work.
fn subject(kind: &EventKind) -> Option<u32> {
    match *kind {
        EventKind::Task { pid, .. }
        | EventKind::SchedClass { pid, .. }
        | EventKind::Share { pid, .. }
        | EventKind::Affinity { pid, .. }
        | EventKind::Fork { pid, .. }
        | EventKind::Exit { pid }
        | EventKind::Wakeup { pid, .. }
        | EventKind::Pick { pid, .. }
        | EventKind::SwitchIn { pid }
        | EventKind::SwitchOut { pid, .. }
        | EventKind::Migrate { pid, .. } => Some(pid),
        _ => None,
    }
}

#[cfg(test)]
#[path = "filter_tests.rs"]
mod tests;
