// SPDX-License-Identifier: MIT OR Apache-2.0
//! From all that happened on a machine to what its workload saw.
//!
//! Kept are the events of the workload's tasks, from their common start to the end. Where
//! something else (a kernel thread, the loader of the policy) took the CPU from a task in the
//! middle of its slice, and the task then went on with that slice on the same CPU, the two
//! switches are left out: the policy was not asked, and the simulator has nobody who could
//! interrupt. So a task is picked when the policy gives it a slice, and at no other time.

use crate::played::Played;
use rota_trace::{Event, EventKind, OffCpu, Sink};
use std::collections::HashMap;

/// Gathers what a recorder gives.
#[derive(Debug, Default)]
pub struct Tape(pub Vec<Event>);

impl Sink for Tape {
    fn event(&mut self, event: &Event) {
        self.0.push(event.clone());
    }
}

/// The events of a workload, with times from its start, and what was left out.
#[derive(Debug, Default)]
pub struct Filtered {
    /// As the simulator would give them.
    pub events: Vec<Event>,
    /// Interruptions of a slice.
    pub interruptions: u64,
    /// Their length.
    pub interrupted_ns: u64,
}

impl Filtered {
    /// `origin_ns` is what the times of the events count from, on the player's clock.
    pub fn new(played: &Played, origin_ns: u64, events: &[Event]) -> Filtered {
        let names: HashMap<u32, &str> =
            played.tasks.iter().map(|task| (task.tid, task.name.as_str())).collect();
        let mut filtered = Filtered::default();
        filtered.introduce(played, origin_ns, events);
        let window = played.start_ns..played.start_ns + played.duration_ns;
        for event in events {
            let at_ns = event.time_ns + origin_ns;
            if !window.contains(&at_ns)
                || !subject(&event.kind).is_some_and(|pid| names.contains_key(&pid))
            {
                continue;
            }
            let mut event = Event { time_ns: at_ns - played.start_ns, ..event.clone() };
            if let EventKind::Task { pid, name, .. } = &mut event.kind {
                names[pid].clone_into(name);
            }
            filtered.events.push(event);
        }
        filtered.leave_out_interruptions();
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
            let at_start = |kind| Event { time_ns: 0, cpu: None, kind };
            self.events.push(at_start(EventKind::Task { pid, name, weight }));
            self.events.push(at_start(EventKind::Fork { pid, parent: 0 }));
        }
    }

    fn leave_out_interruptions(&mut self) {
        // Where a task left each CPU with work to do.
        let mut left: HashMap<u32, (usize, u32)> = HashMap::new();
        let mut dropped = vec![false; self.events.len()];
        for i in 0..self.events.len() {
            let Event { time_ns, cpu: Some(cpu), ref kind } = self.events[i] else { continue };
            match *kind {
                EventKind::SwitchOut { pid, why: OffCpu::Runnable } => {
                    left.insert(cpu, (i, pid));
                }
                EventKind::SwitchIn { pid } => {
                    let Some((out, who)) = left.remove(&cpu) else { continue };
                    let begins = |e: &Event| {
                        e.time_ns == time_ns
                            && matches!(e.kind, EventKind::Pick { pid: picked, .. } if picked == pid)
                    };
                    if who == pid && !self.events.get(i + 1).is_some_and(begins) {
                        self.interruptions += 1;
                        self.interrupted_ns += time_ns - self.events[out].time_ns;
                        (dropped[out], dropped[i]) = (true, true);
                    }
                }
                EventKind::SwitchOut { .. } => {
                    left.remove(&cpu);
                }
                _ => {}
            }
        }
        let mut dropped = dropped.into_iter();
        self.events.retain(|_| !dropped.next().unwrap_or(false));
    }
}

/// The task that an event is about, if it is one that tells of the scheduler's work.
fn subject(kind: &EventKind) -> Option<u32> {
    match *kind {
        EventKind::Task { pid, .. }
        | EventKind::Share { pid, .. }
        | EventKind::Fork { pid, .. }
        | EventKind::Exit { pid }
        | EventKind::Wakeup { pid, .. }
        | EventKind::Pick { pid, .. }
        | EventKind::SwitchIn { pid }
        | EventKind::SwitchOut { pid, .. }
        | EventKind::Migrate { pid, .. } => Some(pid),
        EventKind::Enqueue { .. }
        | EventKind::Dispatch { .. }
        | EventKind::OpCall { .. }
        | EventKind::PolicyExit { .. } => None,
    }
}

#[cfg(test)]
#[path = "filter_tests.rs"]
mod tests;
