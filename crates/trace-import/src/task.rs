// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is known of a task while records are converted.

use crate::record::Comm;
use crate::weight;
use rota_trace::{EventKind, Policy, Setting};

#[derive(Debug)]
pub(crate) struct Task {
    pub(crate) comm: Comm,
    pub(crate) name: String,
    pub(crate) weight: u32,
    /// By its priority; `None`: it was never but an ordinary one of nice 0, as far as is known.
    pub(crate) policy: Option<Policy>,
    /// The process that it is of; 0: not known.
    pub(crate) process: u32,
    /// What the stream says of these.
    pub(crate) told: (Option<Policy>, u32),
    /// Named in the stream, with its present name and weight.
    pub(crate) introduced: bool,
    pub(crate) named: bool,
    pub(crate) kernel_thread: Option<bool>,
    pub(crate) exited: bool,
    pub(crate) state: State,
    pub(crate) last_cpu: Option<u32>,
    /// Woken while it runs: when, where and by what task.
    pub(crate) woken: Option<(u64, u32, u32)>,
}

impl Default for Task {
    fn default() -> Self {
        Self {
            comm: [0; 16],
            name: String::new(),
            weight: 100,
            policy: None,
            process: 0,
            told: (None, 0),
            introduced: false,
            named: false,
            kernel_thread: None,
            exited: false,
            state: State::Unknown,
            last_cpu: None,
            woken: None,
        }
    }
}

impl Task {
    /// It has this `task_struct.prio`; returns whether that is a new policy.
    pub(crate) fn has_prio(&mut self, prio: i32) -> bool {
        let policy = weight::policy_of(prio);
        if policy.is_none() || policy == self.policy.or(Some(weight::ORDINARY)) {
            return false;
        }
        self.policy = policy;
        true
    }

    /// What is to be told of how it is set.
    pub(crate) fn settings(&mut self, pid: u32) -> Vec<EventKind> {
        let process = self.process;
        let (told_policy, told_process) = std::mem::replace(&mut self.told, (self.policy, process));
        let mut settings = Vec::new();
        // One that leads its process needs no word.
        if process != told_process && (process != pid || told_process != 0) {
            settings.push(Setting::Process { pid, process });
        }
        if let Some(policy) = self.policy.filter(|_| self.policy != told_policy) {
            settings.push(Setting::Policy { pid, policy });
        }
        settings.into_iter().map(EventKind::Setting).collect()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Nothing was seen of it yet.
    Unknown,
    Runnable,
    Running(u32),
    Sleeping,
}
