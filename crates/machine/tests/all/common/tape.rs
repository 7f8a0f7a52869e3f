// SPDX-License-Identifier: MIT OR Apache-2.0
//! A run's events, kept, and questions to them.

use rota_trace::{Event, EventKind, Sink};

/// Keeps every event.
#[derive(Default)]
pub(crate) struct Tape(pub(crate) Vec<Event>);

impl Sink for Tape {
    fn event(&mut self, event: &Event) {
        self.0.push(event.clone());
    }
}

impl Tape {
    /// Pids in the order in which they started slices on a CPU.
    pub(crate) fn picks(&self, cpu: u32) -> Vec<u32> {
        self.timed_picks(cpu).into_iter().map(|(_, pid)| pid).collect()
    }

    /// When who started a slice on a CPU.
    pub(crate) fn timed_picks(&self, cpu: u32) -> Vec<(u64, u32)> {
        let pick = |e: &Event| match e.kind {
            EventKind::Pick { pid, .. } if e.cpu == Some(cpu) => Some((e.time_ns, pid)),
            _ => None,
        };
        self.0.iter().filter_map(pick).collect()
    }

    /// When a task came onto which CPU.
    pub(crate) fn starts(&self, pid: u32) -> Vec<(u64, u32)> {
        let start = |e: &Event| match (e.cpu, &e.kind) {
            (Some(cpu), EventKind::SwitchIn { pid: p }) if *p == pid => Some((e.time_ns, cpu)),
            _ => None,
        };
        self.0.iter().filter_map(start).collect()
    }

    /// The pid of a task; tasks that start later have higher ones.
    pub(crate) fn pid(&self, name: &str) -> u32 {
        let known = |e: &Event| match &e.kind {
            EventKind::Task { pid, name: n, .. } if n == name => Some(*pid),
            _ => None,
        };
        self.0.iter().find_map(known).unwrap_or_else(|| panic!("no task {name}"))
    }

    /// When a task was on a CPU, in microseconds; times that touch are one.
    pub(crate) fn spans(&self, name: &str) -> Vec<(u64, u64)> {
        let pid = self.pid(name);
        let (mut spans, mut since) = (Vec::<(u64, u64)>::new(), 0);
        for event in &self.0 {
            match event.kind {
                EventKind::SwitchIn { pid: p } if p == pid => since = event.time_ns / 1000,
                EventKind::SwitchOut { pid: p, .. } if p == pid => {
                    let end = event.time_ns / 1000;
                    match spans.last_mut() {
                        Some(last) if last.1 == since => last.1 = end,
                        _ if end > since => spans.push((since, end)),
                        _ => {}
                    }
                }
                _ => {}
            }
        }
        spans
    }

    /// CPU time of a task from its switches, up to `end_ns`.
    pub(crate) fn cpu_ns(&self, pid: u32, end_ns: u64) -> u64 {
        let (mut total, mut since) = (0, None);
        for e in self.0.iter().take_while(|e| e.time_ns <= end_ns) {
            match e.kind {
                EventKind::SwitchIn { pid: p } if p == pid => since = Some(e.time_ns),
                EventKind::SwitchOut { pid: p, .. } if p == pid => {
                    total += e.time_ns - since.take().unwrap()
                }
                _ => {}
            }
        }
        total + since.map_or(0, |s| end_ns - s)
    }
}
