// SPDX-License-Identifier: MIT OR Apache-2.0
//! How the settings a phase names change those in force.

use std::sync::Arc;

use crate::model::{Change, Policy, Settings};
use crate::work::WorkKind;

impl Change {
    /// Puts the change in force and says whether anything is different now.
    ///
    /// A phase without `cpus` goes back to those of the task; everything else stays until
    /// changed. A policy without a priority brings its default priority.
    pub(crate) fn apply(&self, settings: &mut Settings, task_cpus: &Option<Arc<[u32]>>) -> bool {
        if self.leaves(settings, task_cpus) {
            return false;
        }
        let before = settings.clone();
        settings.cpus = self.cpus.as_ref().or(task_cpus.as_ref()).cloned();
        if let Some(policy) = self.policy {
            settings.policy = policy;
            settings.priority = policy.default_priority();
        }
        if let Some(priority) = self.priority {
            settings.priority = priority;
        }
        settings.weight = self.weight.or(settings.weight);
        settings.share = self.share.or(settings.share);
        settings.slice_ns = self.slice_ns.or(settings.slice_ns).filter(|ns| *ns > 0);
        settings.dl_period_ns = self.dl_period_ns.or(settings.dl_period_ns);
        settings.dl_deadline_ns = self.dl_deadline_ns.or(settings.dl_deadline_ns);
        settings.migrate_disable = self.migrate_disable.unwrap_or(settings.migrate_disable);
        settings.util_min = self.util_min.unwrap_or(settings.util_min);
        settings.util_max = self.util_max.unwrap_or(settings.util_max);
        settings.work = settings.work.with(self.work);
        if let Some(cookie) = &self.core_cookie {
            settings.core_cookie = Some(Arc::clone(cookie));
        }
        if let Some(nodes) = &self.mem_nodes {
            settings.mem_nodes = Some(Arc::clone(nodes)).filter(|nodes| !nodes.is_empty());
        }
        if let Some(group) = &self.group {
            settings.group.clone_from(group);
        }
        *settings != before
    }

    /// Whether it names nothing that could be different from the settings in force.
    pub(crate) fn leaves(&self, settings: &Settings, task_cpus: &Option<Arc<[u32]>>) -> bool {
        let cpus = self.cpus.as_ref().or(task_cpus.as_ref());
        settings.cpus.as_ref() == cpus && self.is_empty()
    }

    /// Whether it names nothing but CPUs. Asked at each turn of each phase, so without a comparison
    /// of all that a change can hold.
    fn is_empty(&self) -> bool {
        let Change {
            policy,
            priority,
            weight,
            share,
            cpus: _,
            group,
            migrate_disable,
            core_cookie,
            mem_nodes,
            slice_ns,
            dl_period_ns,
            dl_deadline_ns,
            util_min,
            util_max,
            work: WorkKind { class, working_set_kib, dram_share },
        } = self;
        let times = [slice_ns, dl_period_ns, dl_deadline_ns, share];
        policy.is_none()
            && priority.is_none()
            && weight.is_none()
            && group.is_none()
            && migrate_disable.is_none()
            && core_cookie.is_none()
            && mem_nodes.is_none()
            && util_min.is_none()
            && util_max.is_none()
            && class.is_none()
            && working_set_kib.is_none()
            && dram_share.is_none()
            && times.iter().all(|time| time.is_none())
    }
}

impl Policy {
    /// Priority where the file names none: 10 for real-time policies, else 0.
    pub(crate) fn default_priority(self) -> i32 {
        match self {
            Policy::Rr | Policy::Fifo => 10,
            Policy::Other | Policy::Batch | Policy::Idle | Policy::Ext | Policy::Deadline => 0,
        }
    }
}
