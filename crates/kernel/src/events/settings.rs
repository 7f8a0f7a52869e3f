// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a recorded task is set to be scheduled.

use super::cpus;
use super::groups::Groups;
use super::raw::Properties;
use rota_trace::{EventKind, FairKind, Policy, Setting};
use std::sync::Arc;

/// What events tell, where it is not what holds if nothing is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// The process; 0: it leads one itself.
    process: u32,
    /// The session that it shares with; 0: none.
    session: u32,
    policy: Policy,
    /// CPUs that it may use; `None`: all.
    cpus: Option<Vec<u32>>,
    /// Path of its cgroup.
    pub(crate) group: Arc<str>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            process: 0,
            session: 0,
            policy: Policy::Fair { kind: FairKind::Other, nice: 0, slice_ns: None },
            cpus: None,
            group: "/".into(),
        }
    }
}

impl Settings {
    /// On a machine with so many CPUs.
    pub(crate) fn of(properties: &Properties, cpus: u32, groups: &mut Groups) -> Self {
        let Properties { pid, process, session, group, policy, .. } = *properties;
        Self {
            process: if process == pid { 0 } else { process },
            // In a cgroup it shares with that, and kernel threads are in no session.
            session: if group == 0 { session } else { 0 },
            policy,
            cpus: cpus::of_mask(properties.cpus, properties.nr_cpus_allowed, cpus),
            group: match group {
                0 => "/".into(),
                id => groups.path(id),
            },
        }
    }

    /// What is to be told where `told` was.
    pub(crate) fn since(&self, told: &Self, pid: u32, cpus: u32) -> Vec<EventKind> {
        let mut kinds = Vec::new();
        let setting = |setting| EventKind::Setting(setting);
        if self.process != told.process {
            let process = if self.process == 0 { pid } else { self.process };
            kinds.push(setting(Setting::Process { pid, process }));
        }
        if self.session != told.session {
            kinds.push(setting(Setting::Session { pid, session: self.session }));
        }
        if self.policy != told.policy {
            kinds.push(setting(Setting::Policy { pid, policy: self.policy }));
        }
        if self.cpus != told.cpus {
            let cpus = match &self.cpus {
                Some(cpus) => cpus.iter().copied().collect(),
                None => (0..cpus).collect(),
            };
            kinds.push(EventKind::Affinity { pid, cpus });
        }
        if self.group != told.group {
            kinds.push(EventKind::Cgroup { pid, path: Arc::clone(&self.group) });
        }
        kinds
    }
}
