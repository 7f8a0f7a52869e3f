// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a run tells: events, counters, and lines that the scheduler printed.

use crate::cgroup::Bandwidth;
use crate::run::SchedulerExit;
use crate::stats::Counters;
use crate::system::System;
use crate::task::Tid;
use rota_trace::{Event, EventKind};

/// Lines of `bpf_printk` kept.
const PRINTED_MAX: usize = 10_000;

/// What is told so far.
pub(crate) struct Told {
    /// Since the sink had them last.
    pub(crate) events: Vec<Event>,
    pub(crate) counters: Counters,
    pub(crate) printed: Vec<String>,
    /// Of schedulers that are gone, where the machine went on.
    pub(crate) exits: Vec<SchedulerExit>,
}

impl Default for Told {
    fn default() -> Self {
        Self {
            events: Vec::new(),
            counters: Counters::new(),
            printed: Vec::new(),
            exits: Vec::new(),
        }
    }
}

impl System {
    /// Lines that the scheduler printed so far.
    pub fn printed(&self) -> &[String] {
        &self.told.printed
    }

    /// Reports which group a task is in.
    pub(crate) fn tell_cgroup(&mut self, t: Tid) {
        let (pid, at) = (self.task(t).pid, self.task(t).cgroup);
        let path = self.cgroups.get(at).path.as_str().into();
        self.emit(None, EventKind::Cgroup { pid, path });
    }

    /// Reports weight and limit of a group; one with `cpu.idle` has the least weight.
    pub(crate) fn tell_cgroup_set(&mut self, at: u32) {
        let cgroup = self.cgroups.get(at);
        let Bandwidth { period_us, quota_us, .. } = cgroup.bandwidth;
        let is_limited = quota_us != u64::MAX;
        let limit_ns = is_limited.then(|| (quota_us.saturating_mul(1000), period_us * 1000));
        let weight = if cgroup.idle { 1 } else { cgroup.weight };
        let path = cgroup.path.as_str().into();
        self.emit(None, EventKind::CgroupSet { path, weight, limit_ns, idle: false });
    }
}

impl Told {
    /// `bpf_printk`: too many lines are dropped.
    pub(crate) fn print(&mut self, text: &str) {
        if self.printed.len() < PRINTED_MAX {
            self.printed.push(text.trim_end_matches('\n').to_string());
        }
    }
}
