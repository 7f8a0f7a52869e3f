// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the program asks for its own task: CPUs, nice value, class. While the machine runs it takes
//! effect before the program's next step, as such a call does before it returns.

use crate::system::System;
use rota_workload::{Policy, Settings};
use std::sync::Arc;

/// `SCHED_*` of the classes that sched_ext can have.
const NORMAL: u32 = 0;
const BATCH: u32 = 3;
const IDLE: u32 = 5;
const EXT: u32 = 7;

impl System {
    /// `sched_setaffinity()`: false if it may use none of them (`EINVAL`).
    pub fn bind_program(&mut self, cpus: &[u32]) -> bool {
        let allowed = self.affinity(Some(cpus)).and(&self.active_cpus());
        let Some(first) = allowed.first() else { return false };
        let cpus: Arc<[u32]> = self.affinity(Some(cpus)).iter().collect();
        if self.program_has_started() {
            self.ask(|settings| settings.cpus = Some(cpus));
            return true;
        }
        if !allowed.contains(self.running.this_cpu) {
            self.running.this_cpu = first;
        }
        let Some(t) = self.program_task() else { return false };
        if !allowed.contains(self.task(t).cpu) {
            self.set_task_cpu(t, first);
        }
        let all = self.affinity(Some(&cpus));
        let task = self.task_mut(t);
        (task.user_cpus, task.cpus, task.settings.cpus) = (Some(all), all, Some(cpus));
        self.publish_affinity(t);
        self.tell_affinity(t);
        true
    }

    /// `setpriority()`.
    pub fn renice_program(&mut self, nice: i32) {
        self.ask(|settings| settings.priority = nice.clamp(-20, 19));
    }

    /// `sched_setscheduler()`, by the number of the policy: false for a class that no task of this
    /// machine can go over to while it runs (`EPERM`).
    pub fn set_program_policy(&mut self, policy: u32) -> bool {
        let policy = match policy {
            NORMAL => Policy::Other,
            BATCH => Policy::Batch,
            IDLE => Policy::Idle,
            EXT => Policy::Ext,
            _ => return false,
        };
        self.ask(|settings| settings.policy = policy);
        true
    }

    fn ask(&mut self, change: impl FnOnce(&mut Settings)) {
        let Some(t) = self.program_task() else { return };
        if !self.program_has_started() {
            // nobody schedules it yet
            change(&mut self.task_mut(t).settings);
            self.publish_priority(t);
            return self.introduce(t);
        }
        let own = self.task(t).settings.clone();
        if let Some(program) = self.program.as_deref_mut() {
            change(program.asks.get_or_insert(own));
        }
    }
}
