// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a task is set to be scheduled at one time, as keys of a workload file.

use rota_trace::{FairKind, Policy};
use serde_json::{json, Value};
use std::sync::Arc;

/// What holds from some point of a task's work on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// As sched_ext counts it; a policy says it better.
    pub(crate) weight: u32,
    /// `None`: not known, so an ordinary one.
    pub(crate) policy: Option<Policy>,
    /// CPUs that it may use; `None`: all.
    pub(crate) cpus: Option<Arc<[u32]>>,
    /// Its cgroup; `None`: the root.
    pub(crate) group: Option<Arc<str>>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { weight: 100, policy: None, cpus: None, group: None }
    }
}

/// Keys and their values, as they stand in the file.
pub(crate) type Keys = Vec<(&'static str, Value)>;

impl Settings {
    /// The group that counts: Linux schedules real-time and deadline tasks in none.
    pub(crate) fn group(&self) -> Option<&Arc<str>> {
        let above = matches!(self.policy, Some(Policy::Realtime { .. } | Policy::Deadline { .. }));
        self.group.as_ref().filter(|_| !above)
    }

    /// Policy, priority, weight and slice, as far as they differ from those before.
    pub(crate) fn keys_after(&self, before: &Self) -> Keys {
        let mut keys = Keys::new();
        let (now, past) = (self.effective(), before.effective());
        if now != past {
            let renamed = now.name() != past.name();
            if renamed {
                keys.push(("policy", json!(now.name())));
            }
            match now {
                Policy::Fair { nice, slice_ns, .. } => {
                    let (past_nice, past_ns) = match past {
                        Policy::Fair { nice, slice_ns, .. } => (nice, slice_ns),
                        Policy::Realtime { .. } => (0, None),
                        Policy::Deadline { runtime_ns, .. } => (0, Some(runtime_ns)),
                    };
                    // A new policy brings its default priority.
                    if nice != if renamed { 0 } else { past_nice } {
                        keys.push(("priority", json!(nice)));
                    }
                    if slice_ns != past_ns {
                        keys.push(("dl-runtime", json!(slice_ns.map_or(0, us))));
                    }
                }
                Policy::Realtime { priority, .. } => keys.push(("priority", json!(priority))),
                Policy::Deadline { runtime_ns, deadline_ns, period_ns } => keys.extend([
                    ("dl-runtime", json!(us(runtime_ns))),
                    ("dl-deadline", json!(us(deadline_ns))),
                    ("dl-period", json!(us(period_ns))),
                ]),
            }
        }
        // A weight is for ever: so only where there is no nice value.
        if self.policy.is_none() && self.weight != before.weight {
            keys.push(("weight", json!(self.weight)));
        }
        keys
    }

    fn effective(&self) -> Policy {
        const ORDINARY: Policy = Policy::Fair { kind: FairKind::Other, nice: 0, slice_ns: None };
        self.policy.unwrap_or(ORDINARY)
    }
}

/// Microseconds, at least one.
fn us(ns: u64) -> u64 {
    (ns / 1000).max(1)
}
