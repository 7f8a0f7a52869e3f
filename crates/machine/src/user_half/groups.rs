// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cgroups as the program finds them below `/sys/fs/cgroup`, before the machine is there and later.

use crate::cgroup::{prefixes, Cgroups, FIRST_ID, UNLIMITED, WEIGHT_DFL};
use crate::cpuset::CpuSet;
use crate::system::System;
use crate::task::State;
use crate::user_half::PROGRAM_PID;
use rota_workload::events::CgroupAction;
use rota_workload::Group;

/// What the files of a cgroup say (`cpu_files` of `kernel/sched/core.c`, `dfl_files` of
/// `kernel/cgroup/cpuset.c`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupFiles {
    /// Where it is below the root, `/web/front`; `/` is the root.
    pub path: String,
    /// `cgrp->kn->id`, which is its folder's inode number.
    pub id: u64,
    /// `cpu.weight`, 1 to 10000.
    pub weight: u32,
    /// `cpu.idle`.
    pub idle: bool,
    /// The first number of `cpu.max`, in microseconds; `None` is `max`.
    pub quota_us: Option<u64>,
    /// The second number of `cpu.max`, in microseconds.
    pub period_us: u64,
    /// `cpu.max.burst`, in microseconds.
    pub burst_us: u64,
    /// `cpuset.cpus`, if it was written.
    pub cpus: Option<CpuSet>,
    /// `cpuset.cpus.effective`.
    pub effective: CpuSet,
}

impl GroupFiles {
    fn new(path: String, id: u64, effective: CpuSet) -> Self {
        Self {
            path,
            id,
            weight: WEIGHT_DFL,
            idle: false,
            quota_us: None,
            period_us: UNLIMITED.period_us,
            burst_us: UNLIMITED.burst_us,
            cpus: None,
            effective,
        }
    }

    fn read(&mut self, group: &Group) {
        self.weight = group.cpu_weight.clamp(1, 10_000);
        for file in &group.files {
            match file {
                CgroupAction::Max { quota_us, period_us } => {
                    self.quota_us = *quota_us;
                    self.period_us = period_us.unwrap_or(self.period_us);
                }
                CgroupAction::Burst(us) => self.burst_us = *us,
                CgroupAction::Idle(idle) => self.idle = *idle,
                CgroupAction::Cpus(cpus) => self.cpus = Some(cpus.iter().copied().collect()),
                CgroupAction::Weight(_)
                | CgroupAction::Create
                | CgroupAction::Destroy
                | CgroupAction::Scheduler(_) => {}
            }
        }
    }
}

/// The groups of a workload as a machine with these CPUs has them before anything happened, the root
/// first, in the order of their ids.
pub fn at_start(groups: &[Group], cpus: &CpuSet) -> Vec<GroupFiles> {
    let mut all = vec![GroupFiles::new("/".into(), FIRST_ID, *cpus)];
    for group in groups {
        for path in prefixes(&group.path) {
            if all.iter().all(|known| known.path != path) {
                all.push(GroupFiles::new(path, FIRST_ID + all.len() as u64, *cpus));
            }
        }
        if let Some(own) = all.iter_mut().find(|known| known.path == group.path) {
            own.read(group);
        }
    }
    for at in 0..all.len() {
        let above = all[at].path.rsplit_once('/').map_or("", |(above, _)| above);
        let parent = all[..at].iter().find(|other| other.path == above);
        let parent = parent.map_or(*cpus, |parent| parent.effective);
        let both = all[at].cpus.map(|own| own.and(&parent)).filter(|both| !both.is_empty());
        all[at].effective = both.unwrap_or(parent);
    }
    all
}

impl System {
    /// The cgroups that are there, the root first, in the order of their ids.
    pub fn groups(&self) -> Vec<GroupFiles> {
        let there = (0..self.cgroups.len()).filter(|at| self.cgroups.is_there(*at));
        there.map(|at| self.group_files(at)).collect()
    }

    fn group_files(&self, at: u32) -> GroupFiles {
        let group = self.cgroups.get(at);
        let bandwidth = group.bandwidth;
        GroupFiles {
            path: group.path.clone(),
            id: self.cgroups.id(at),
            weight: group.weight,
            idle: group.idle,
            quota_us: Some(bandwidth.quota_us).filter(|us| *us != u64::MAX),
            period_us: bandwidth.period_us,
            burst_us: bandwidth.burst_us,
            cpus: group.cpus,
            effective: self.effective_of(at),
        }
    }

    /// Grows with every change of a cgroup or its files.
    pub fn group_changes(&self) -> u64 {
        self.cgroups.changes()
    }

    /// `cgroup.threads` of a cgroup; with `processes` its `cgroup.procs`: those of which the first
    /// thread is in it. `None` if there is no such cgroup.
    pub fn group_members(&self, path: &str, processes: bool) -> Option<Vec<u32>> {
        let at = self.cgroups.find(path)?;
        let tasks = self.tasks.ids().map(|t| self.task(t));
        let lives = tasks.filter(|task| task.state != State::Dead && task.addr != 0);
        let inside = lives.filter(|task| task.cgroup == at);
        let named = inside.filter(|task| !processes || task.pid == task.tgid);
        Some(named.map(|task| task.pid).collect())
    }

    /// `inotify_add_watch()` of a cgroup: the program is woken when one is made, changed or removed.
    pub fn watch_groups(&mut self) {
        if let Some(program) = self.program.as_deref_mut() {
            program.watches_groups = true;
        }
    }

    /// Whether it has asked for that.
    pub fn watches_groups(&self) -> bool {
        self.program.as_deref().is_some_and(|program| program.watches_groups)
    }

    /// `kernfs_notify()` and its like.
    pub(crate) fn notify_of_groups(&mut self) {
        if self.watches_groups() {
            self.wake_program();
        }
    }
}

/// `cgroup.procs` of the root while nothing but the program is there.
pub fn members_at_start(path: &str) -> Vec<u32> {
    match path {
        "/" => vec![PROGRAM_PID],
        _ => Vec::new(),
    }
}

impl Cgroups {
    fn is_there(&self, at: u32) -> bool {
        self.by_id(self.id(at)).is_some()
    }
}
