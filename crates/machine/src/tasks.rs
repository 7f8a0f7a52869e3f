// SPDX-License-Identifier: MIT OR Apache-2.0
//! All tasks, and the ways to find them.

use crate::class::Takes;
use crate::task::{Task, Tid};
use rustc_hash::FxHashMap;

/// First process id of the workload.
const FIRST_PID: u32 = LOADER_PID + 1;

/// The process that starts the workload.
pub(crate) const LOADER_PID: u32 = 1000;

/// All tasks, also those that have ended.
pub(crate) struct Tasks {
    pub(crate) all: Vec<Task>,
    /// Task of a guest memory region, by region number.
    of_region: Vec<Option<Tid>>,
    of_pid: FxHashMap<u32, Tid>,
    /// Live threads of each process, by tgid.
    threads_of: FxHashMap<u32, u32>,
    next_pid: u32,
    /// Which of them sched_ext has.
    pub(crate) takes: Takes,
}

impl Default for Tasks {
    fn default() -> Self {
        Self {
            all: Vec::new(),
            of_region: Vec::new(),
            of_pid: FxHashMap::default(),
            threads_of: FxHashMap::default(),
            next_pid: FIRST_PID,
            takes: Takes::default(),
        }
    }
}

impl Tasks {
    #[inline]
    pub(crate) fn get(&self, t: Tid) -> &Task {
        &self.all[t.0 as usize]
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, t: Tid) -> &mut Task {
        &mut self.all[t.0 as usize]
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = Tid> {
        (0..self.all.len() as u32).map(Tid)
    }

    pub(crate) fn new_pid(&mut self) -> u32 {
        self.next_pid += 1;
        self.next_pid - 1
    }

    /// Registers a live task, which has its guest address already.
    pub(crate) fn add(&mut self, task: Task) -> Tid {
        let t = Tid(self.all.len() as u32);
        let region = (task.addr >> 32) as usize;
        if self.of_region.len() <= region {
            self.of_region.resize(region + 1, None);
        }
        self.of_region[region] = Some(t);
        self.of_pid.insert(task.pid, t);
        *self.threads_of.entry(task.tgid).or_default() += 1;
        self.all.push(task);
        t
    }

    /// A task is gone; whether it was the last thread of its process.
    pub(crate) fn remove(&mut self, t: Tid) -> bool {
        let Task { addr, pid, tgid, .. } = *self.get(t);
        self.of_region[(addr >> 32) as usize] = None;
        self.of_pid.remove(&pid);
        let threads = self.threads_of.entry(tgid).or_default();
        *threads = threads.saturating_sub(1);
        let last = *threads == 0;
        if last {
            self.threads_of.remove(&tgid);
        }
        last
    }

    /// The live task whose `task_struct` is at this guest address.
    pub(crate) fn at(&self, addr: u64) -> Option<Tid> {
        if addr as u32 != 0 {
            return None;
        }
        self.of_region.get((addr >> 32) as usize).copied().flatten()
    }

    /// The live task with this pid.
    pub(crate) fn with_pid(&self, pid: u32) -> Option<Tid> {
        self.of_pid.get(&pid).copied()
    }
}
