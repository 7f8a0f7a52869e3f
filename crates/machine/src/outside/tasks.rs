// SPDX-License-Identifier: MIT OR Apache-2.0
//! Settings of tasks that are changed from outside.

use crate::ops::Ops;
use crate::run::Machine;
use crate::setup::check_task;
use crate::system::System;
use crate::task::{State, Tid};
use rota_workload::events::{OutsideEvent, TaskSetting, Tasks};
use rota_workload::Settings;
use std::sync::Arc;

impl Machine {
    /// The tasks of an event that live now, in the order in which they came.
    pub(crate) fn named_now(&self, tasks: &Tasks) -> Vec<Tid> {
        let named = |t: &Tid| {
            let task = self.system.task(*t);
            let fits = match tasks.one {
                Some(one) => task.ix == one,
                None => task.instance_of == tasks.name,
            };
            fits && !matches!(task.state, State::Dead | State::Exiting)
        };
        self.system.tasks.ids().filter(named).collect()
    }

    /// `sched_setaffinity()`, `setpriority()` and the like for each of the tasks.
    pub(crate) fn set_tasks(
        &mut self,
        o: &mut dyn Ops,
        event: &OutsideEvent,
        tasks: &Tasks,
        setting: &TaskSetting,
    ) {
        let named = self.named_now(tasks);
        if named.is_empty() {
            self.happened(event, format!("no task {:?} lives then", &*tasks.name));
        }
        for t in named {
            let set = |system: &mut System| system.set_from_outside(o, t, setting);
            if let Err(what) = self.system.as_outsider(set) {
                let label = self.system.task(t).label();
                self.happened(event, format!("{label}: {what}"));
            }
            self.system.drain_deferred(o);
        }
    }
}

impl System {
    fn set_from_outside(
        &mut self,
        o: &mut dyn Ops,
        t: Tid,
        setting: &TaskSetting,
    ) -> Result<(), String> {
        let mut new = self.task(t).settings.clone();
        let policy = new.policy;
        match setting {
            // __sched_setaffinity(), cgroup_procs_write_start()
            TaskSetting::Cpus(_) if self.task(t).identity.bound => {
                return Err("a kernel thread that is bound to its CPU (EINVAL)".into());
            }
            TaskSetting::Cgroup(_) if self.task(t).identity.bound => {
                return Err("a kernel thread that is bound to its CPU (EINVAL)".into());
            }
            TaskSetting::Cpus(cpus) => new.cpus = Some(cpus.clone()),
            TaskSetting::Nice(_) if policy.is_real_time() => {
                return Err(format!("a nice value has no effect under {policy}"));
            }
            TaskSetting::Nice(_) if new.weight.is_some() => {
                return Err("its weight overrides the nice value".into());
            }
            TaskSetting::Nice(nice) => new.priority = *nice,
            TaskSetting::Weight(_) if policy.is_real_time() => {
                return Err(format!("a weight has no effect under {policy}"));
            }
            TaskSetting::Weight(weight) => new.weight = Some(*weight),
            TaskSetting::CoreCookie(name) => new.core_cookie = Some(Arc::clone(name)),
            TaskSetting::Cgroup(Some(_)) if policy.is_real_time() => {
                return Err(format!("{policy} cannot be in a task group"));
            }
            TaskSetting::Cgroup(path) => new.group.clone_from(path),
        }
        let name = self.task(t).name.clone();
        check_task(self, Some(t), &name, &new).map_err(|error| error.to_string())?;
        self.keep_own_settings(t);
        let group = self.task(t).settings.group.clone();
        self.change_settings(o, t, &new);
        if let TaskSetting::Cgroup(path) = setting {
            let to = path.as_deref().unwrap_or("/");
            if self.cgroups.get(self.task(t).cgroup).path != to {
                self.task_mut(t).settings.group = group;
                return Err("ops.cgroup_prep_move() refused the move".into());
            }
        }
        Ok(())
    }

    /// Before the first change from outside: what the task itself has asked for.
    fn keep_own_settings(&mut self, t: Tid) {
        let task = self.task_mut(t);
        if task.own_settings.is_none() {
            task.own_settings = Some(Box::new(task.settings.clone()));
        }
    }

    /// What the settings of a task's next phase make of those in force: what the phase leaves as
    /// it was stays as it was set from outside.
    pub(crate) fn settings_of_phase(&mut self, t: Tid, phase: Settings) -> Settings {
        let task = self.task_mut(t);
        let Some(own) = &mut task.own_settings else { return phase };
        let was = std::mem::replace(&mut **own, phase.clone());
        let mut new = phase;
        let now = &task.settings;
        // one value for both: of another policy it means something else
        if (was.policy, was.priority) == (new.policy, new.priority) {
            new.priority = now.priority;
        }
        if was.weight == new.weight {
            new.weight = now.weight;
        }
        if was.core_cookie == new.core_cookie {
            new.core_cookie.clone_from(&now.core_cookie);
        }
        if was.cpus == new.cpus {
            new.cpus.clone_from(&now.cpus);
        }
        if was.group == new.group {
            new.group.clone_from(&now.group);
        }
        new
    }
}
