// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which tasks come into the workload, what forks them, and which processes they are of.

use crate::life::{Birth, Life, LifeIx, Step};
use crate::load::Facts;
use std::collections::BTreeMap;

/// A kernel thread that works less than this part of the time, and wakes nobody, is left out.
const LEAST_PART: u64 = 100;

/// The workload's tasks.
#[derive(Debug)]
pub(crate) struct Chosen {
    pub(crate) kept: Vec<bool>,
    /// They belong to the kernel: they fork nothing.
    pub(crate) kernels: Vec<bool>,
    /// The task that forks it; `None`: it starts by itself.
    pub(crate) parents: Vec<Option<LifeIx>>,
    /// The task that leads its process; `None`: it leads one itself.
    pub(crate) leaders: Vec<Option<LifeIx>>,
    /// Threads whose process none of the tasks leads.
    pub(crate) alone: u64,
}

impl Chosen {
    /// Of these lives those that are `kept`.
    pub(crate) fn new(lives: &[Life], kept: Vec<bool>, facts: &Facts) -> Self {
        let kernels: Vec<bool> =
            lives.iter().map(|life| facts.kernel_threads.contains(&life.pid)).collect();
        let parent = |life: &Life| match life.birth {
            Birth::By(parent) if kept[parent] && !kernels[parent] => Some(parent),
            _ => None,
        };
        let parents = lives.iter().map(parent).collect();
        let mut chosen =
            Self { kept, kernels, parents, leaders: vec![None; lives.len()], alone: 0 };
        chosen.lead(lives);
        chosen
    }

    /// Finds what leads each process. A thread that a task of its process forks belongs to that
    /// task's; one that starts by itself can only be of a process that does, too.
    fn lead(&mut self, lives: &[Life]) {
        let process = |at: LifeIx| match lives[at].process {
            0 => lives[at].pid,
            process => process,
        };
        let chosen: Vec<LifeIx> =
            (0..lives.len()).filter(|at| self.kept[*at] && !self.kernels[*at]).collect();
        let mut first: BTreeMap<u32, LifeIx> = BTreeMap::new();
        let rank = |at: LifeIx| {
            let life = &lives[at];
            // Its threads start when it does, at the earliest.
            (life.start_ns.unwrap_or(0), life.pid != process(at), at)
        };
        for at in chosen.iter().copied().filter(|at| self.parents[*at].is_none()) {
            let leads = first.entry(process(at)).or_insert(at);
            if rank(at) < rank(*leads) {
                *leads = at;
            }
        }
        let mut led: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for at in chosen {
            let mut root = at;
            // Who forks was there before, so this ends.
            while let Some(parent) = self.parents[root].filter(|p| process(*p) == process(at)) {
                root = parent;
            }
            if self.parents[root].is_none() {
                root = first.get(&process(at)).copied().unwrap_or(root);
            }
            self.leaders[at] = (root != at).then_some(root);
            if root == at {
                led.entry(process(at)).or_default().push(lives[at].pid);
            }
        }
        for (process, pids) in led {
            let threads = pids.iter().filter(|pid| **pid != process).count();
            self.alone += threads.min(pids.len() - 1) as u64;
        }
    }
}

/// All that belong to users and did anything; of the kernel's threads those that wake one of them,
/// directly or not, and those that take time from them.
pub(crate) fn kept(lives: &[Life], facts: &Facts, end_ns: u64) -> Vec<bool> {
    let is_kernels = |life: &Life| facts.kernel_threads.contains(&life.pid);
    let mut kept: Vec<bool> = lives
        .iter()
        .map(|life| match is_kernels(life) {
            true => life.work_ns > end_ns / LEAST_PART,
            false => life.work_ns > 0,
        })
        .collect();
    let mut wakers: Vec<Vec<LifeIx>> = vec![Vec::new(); lives.len()];
    for (at, life) in lives.iter().enumerate() {
        for step in &life.steps {
            match step {
                // A workload's kernel threads fork nothing: what they made starts by itself.
                Step::Fork(_) | Step::Vfork(_) if is_kernels(life) => {}
                Step::Post { to, .. }
                | Step::Exit { to, .. }
                | Step::Fork(to)
                | Step::Vfork(to)
                    if wakers[*to].last() != Some(&at) =>
                {
                    wakers[*to].push(at);
                }
                _ => {}
            }
        }
    }
    let mut open: Vec<LifeIx> = (0..lives.len()).filter(|at| kept[*at]).collect();
    while let Some(at) = open.pop() {
        for waker in wakers[at].drain(..) {
            if !std::mem::replace(&mut kept[waker], true) {
                open.push(waker);
            }
        }
    }
    kept
}
