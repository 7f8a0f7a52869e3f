// SPDX-License-Identifier: MIT OR Apache-2.0
//! How the settings a phase names change those in force.

use std::sync::Arc;

use crate::model::{Change, Policy, Settings};

impl Change {
    /// Puts the change in force and says whether anything is different now.
    ///
    /// A phase without `cpus` goes back to those of the task; everything else stays until
    /// changed. A policy without a priority brings its default priority.
    pub(crate) fn apply(&self, settings: &mut Settings, task_cpus: &Option<Arc<[u32]>>) -> bool {
        let cpus = self.cpus.as_ref().or(task_cpus.as_ref());
        if settings.cpus.as_ref() == cpus && self.is_empty() {
            return false;
        }
        let before = settings.clone();
        settings.cpus = cpus.cloned();
        if let Some(policy) = self.policy {
            settings.policy = policy;
            settings.priority = policy.default_priority();
        }
        if let Some(priority) = self.priority {
            settings.priority = priority;
        }
        settings.weight = self.weight.or(settings.weight);
        settings.share = self.share.or(settings.share);
        settings.slice_ns = self.slice_ns.or(settings.slice_ns);
        settings.dl_period_ns = self.dl_period_ns.or(settings.dl_period_ns);
        settings.dl_deadline_ns = self.dl_deadline_ns.or(settings.dl_deadline_ns);
        settings.migrate_disable = self.migrate_disable.unwrap_or(settings.migrate_disable);
        settings.work = settings.work.with(self.work);
        if let Some(cookie) = &self.core_cookie {
            settings.core_cookie = Some(Arc::clone(cookie));
        }
        if let Some(group) = &self.group {
            settings.group.clone_from(group);
        }
        *settings != before
    }

    fn is_empty(&self) -> bool {
        // Whatever is named, but for the CPUs.
        *self == Change { cpus: self.cpus.clone(), ..Change::default() }
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
