// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lines of the log, and what happened to each process last.

use std::collections::{HashMap, VecDeque};
use std::path::Path;

const SECOND_NS: u64 = 1_000_000_000;
/// Changes that are remembered of a process, and of how many processes.
const HISTORY: usize = 32;
const PROCESSES: usize = 512;

/// A line of the log.
#[derive(Clone, Debug)]
pub struct Change {
    /// On the monotonic clock.
    pub time_ns: u64,
    /// The thread.
    pub tid: u32,
    /// Its process.
    pub tgid: u32,
    /// Its name.
    pub name: String,
    /// What happened and why.
    pub what: String,
}

impl std::fmt::Display for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (seconds, ms) = (self.time_ns / SECOND_NS, self.time_ns / 1_000_000 % 1000);
        let Self { name, tgid, tid, what, .. } = self;
        write!(f, "{seconds}.{ms:03} {name}[{tgid}/{tid}] {what}")
    }
}

/// The last changes of processes.
#[derive(Debug, Default)]
pub(crate) struct History {
    lines: HashMap<u32, VecDeque<String>>,
}

impl History {
    /// Remembers a change, and forgets processes that ended if there are too many.
    pub(crate) fn remember(&mut self, change: &Change) {
        if self.lines.len() >= PROCESSES && !self.lines.contains_key(&change.tgid) {
            self.lines.retain(|pid, _| Path::new(&format!("/proc/{pid}")).exists());
            if self.lines.len() >= PROCESSES {
                self.lines.clear();
            }
        }
        let lines = self.lines.entry(change.tgid).or_default();
        if lines.len() == HISTORY {
            lines.pop_front();
        }
        lines.push_back(change.to_string());
    }

    /// Of a process, oldest first.
    pub(crate) fn of(&self, pid: u32) -> Vec<String> {
        self.lines.get(&pid).into_iter().flatten().cloned().collect()
    }
}
