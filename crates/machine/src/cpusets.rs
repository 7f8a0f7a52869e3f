// SPDX-License-Identifier: MIT OR Apache-2.0
//! The cpuset controller (`kernel/cgroup/cpuset.c` in a v2 hierarchy): CPUs that the tasks of a
//! cgroup may use. Groups whose `cpuset.cpus` was never written have that of the group above.

use crate::cgroup::Cgroups;
use crate::cpuset::CpuSet;
use crate::ops::Ops;
use crate::run::RunError;
use crate::system::System;
use crate::task::{State, Tid};
use rota_workload::events::CgroupAction;
use rota_workload::Group;

const ROOT: u32 = 0;

impl Cgroups {
    /// `task_cs()`: the group that says which CPUs the tasks of this one may use.
    fn cpuset_of(&self, mut at: u32) -> u32 {
        while self.get(at).cpus.is_none() {
            match self.get(at).parent {
                Some(parent) => at = parent,
                None => break,
            }
        }
        at
    }

    /// `parent_cs()`.
    fn parent_cpuset(&self, at: u32) -> Option<u32> {
        self.get(at).parent.map(|parent| self.cpuset_of(parent))
    }

    /// Some group has CPUs of its own.
    fn has_cpusets(&self) -> bool {
        self.nr_cpusets > 0
    }
}

impl System {
    /// `cpuset.cpus.effective` of a group.
    pub(crate) fn effective_of(&self, at: u32) -> CpuSet {
        self.effective_cpus(self.cgroups.cpuset_of(at))
    }

    /// `cs->effective_cpus`: of the root the CPUs that are there.
    fn effective_cpus(&self, cs: u32) -> CpuSet {
        if cs == ROOT {
            return self.active_cpus();
        }
        self.cgroups.get(cs).effective
    }

    /// `guarantee_active_cpus()`.
    fn guarantee_active_cpus(&self, cs: u32) -> CpuSet {
        let active = self.active_cpus();
        let mut at = Some(cs);
        while let Some(cs) = at {
            let usable = self.effective_cpus(cs).and(&active);
            if !usable.is_empty() {
                return usable;
            }
            at = self.cgroups.parent_cpuset(cs);
        }
        active
    }

    /// `cpuset_cpus_allowed()` of a task in a cgroup: CPUs that `sched_setaffinity()` can choose
    /// from. Of the root those that are offline, too.
    pub(crate) fn cpuset_cpus_allowed(&self, cgroup: u32) -> CpuSet {
        if self.cgroups.has_cpusets() {
            let cs = self.cgroups.cpuset_of(cgroup);
            if cs != ROOT {
                return self.guarantee_active_cpus(cs);
            }
        }
        CpuSet::first_n(self.nr_cpus())
    }

    /// `cpuset_cpus_allowed_fallback()`: what a task gets that can use no CPU that is there.
    pub(crate) fn cpuset_fallback(&self, cgroup: u32) -> CpuSet {
        let own = self.cgroups.get(self.cgroups.cpuset_of(cgroup)).cpus;
        own.unwrap_or_else(|| CpuSet::first_n(self.nr_cpus()))
    }

    /// `compute_effective_cpumask()`: without a CPU of its own a group has those of its parent.
    fn compute_effective(&self, at: u32, own: CpuSet) -> CpuSet {
        let parent = self
            .cgroups
            .parent_cpuset(at)
            .map_or(self.active_cpus(), |parent| self.effective_cpus(parent));
        let both = own.and(&parent);
        if both.is_empty() {
            parent
        } else {
            both
        }
    }

    /// Cpusets of a workload's groups, before there are tasks.
    pub(crate) fn build_cpusets(&mut self, groups: &[Group]) -> Result<(), RunError> {
        let cpus = self.nr_cpus();
        for group in groups {
            let Some(at) = self.cgroups.find(&group.path) else { continue };
            for file in &group.files {
                let CgroupAction::Cpus(own) = file else { continue };
                if let Some(cpu) = own.iter().find(|cpu| **cpu >= cpus) {
                    return Err(RunError::Kernel(format!(
                        "cpuset.cpus of task group {:?} names CPU {cpu}, but the machine has CPUs \
                         0 to {}",
                        group.path,
                        cpus - 1
                    )));
                }
                let own = own.iter().copied().collect();
                self.cgroups.set_cpus(at, own);
                // parents come first
                self.cgroups.get_mut(at).effective = self.compute_effective(at, own);
            }
        }
        Ok(())
    }

    /// A write to `cpuset.cpus` (`update_cpumask()`).
    pub(crate) fn group_set_cpus(&mut self, o: &mut dyn Ops, at: u32, cpus: CpuSet) {
        let is_first = self.cgroups.get(at).cpus.is_none();
        self.cgroups.set_cpus(at, cpus);
        if is_first {
            // its tasks come from the group above, as in cpuset_attach()
            let effective = self.cgroups.parent_cpuset(at).map(|cs| self.effective_cpus(cs));
            self.cgroups.get_mut(at).effective = effective.unwrap_or_default();
        }
        self.update_cpumasks(o, at);
    }

    /// `cpuset_handle_hotplug()`, with the change of CPUs (`cpuset_update_active_cpus()`).
    pub(crate) fn cpuset_handle_hotplug(&mut self, o: &mut dyn Ops) {
        if self.cgroups.has_cpusets() {
            self.update_cpumasks(o, ROOT);
        }
    }

    /// `update_cpumasks_hier()`: a group and what is below it, parents first.
    fn update_cpumasks(&mut self, o: &mut dyn Ops, from: u32) {
        let mut order = Vec::new();
        self.descend(from, false, &mut order);
        for at in order {
            let Some(own) = self.cgroups.get(at).cpus else { continue };
            let effective = self.compute_effective(at, own);
            if std::mem::replace(&mut self.cgroups.get_mut(at).effective, effective) != effective {
                self.update_tasks_cpumask(o, at);
            }
        }
    }

    /// `cpuset_update_tasks_cpumask()`.
    fn update_tasks_cpumask(&mut self, o: &mut dyn Ops, cs: u32) {
        let lives = |t: &Tid| self.task(*t).state != State::Dead && self.task(*t).addr != 0;
        let of_it = |t: &Tid| self.cgroups.cpuset_of(self.task(*t).cgroup) == cs;
        let tasks: Vec<Tid> = self.tasks.ids().filter(lives).filter(of_it).collect();
        let effective = self.effective_cpus(cs);
        for t in tasks {
            self.set_cpus_allowed(o, t, effective);
        }
    }

    /// `cpuset_attach()` of a task that comes from another cgroup.
    pub(crate) fn cpuset_attach(&mut self, o: &mut dyn Ops, t: Tid, from: u32, to: u32) {
        if !self.cgroups.has_cpusets() {
            return;
        }
        let (old, new) = (self.cgroups.cpuset_of(from), self.cgroups.cpuset_of(to));
        if self.effective_cpus(old) == self.effective_cpus(new) {
            return;
        }
        let cpus = match new {
            ROOT => CpuSet::first_n(self.nr_cpus()),
            cs => self.guarantee_active_cpus(cs),
        };
        self.set_cpus_allowed(o, t, cpus);
    }

    /// `set_cpus_allowed_ptr()`: of these CPUs those that the task has asked for itself, if there
    /// are any among them.
    fn set_cpus_allowed(&mut self, o: &mut dyn Ops, t: Tid, cpus: CpuSet) {
        let asked = self.task(t).user_cpus.map(|user| user.and(&cpus));
        let cpus = asked.filter(|both| !both.is_empty()).unwrap_or(cpus);
        if cpus == self.task(t).cpus || cpus.and(&self.active_cpus()).is_empty() {
            return;
        }
        self.do_set_affinity(o, t, cpus);
        self.leave_forbidden_cpu(o, t);
    }
}
