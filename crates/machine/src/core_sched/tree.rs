// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tasks of a CPU that have a cookie, by cookie and then as they would run (`rq->core_tree`).
//!
//! The kernel's tree compares tasks as they are when one is added. Where they have changed since
//! then, its order depends on its form; here the new one comes in by halving.

use crate::ops::Ops;
use crate::system::System;
use crate::task::Tid;
use std::collections::BTreeMap;

/// `rq->core_tree`.
#[derive(Debug, Default)]
pub(super) struct CoreTree(BTreeMap<u64, Vec<Tid>>);

impl CoreTree {
    /// Those with a cookie, the first one first (`sched_core_find()`, `sched_core_next()`).
    pub(super) fn with_cookie(&self, cookie: u64) -> &[Tid] {
        self.0.get(&cookie).map_or(&[], Vec::as_slice)
    }

    fn remove(&mut self, cookie: u64, t: Tid) {
        if let Some(tasks) = self.0.get_mut(&cookie) {
            tasks.retain(|other| *other != t);
            if tasks.is_empty() {
                self.0.remove(&cookie);
            }
        }
    }
}

impl System {
    /// `enqueue_task()`: a task has become runnable on a CPU.
    #[inline]
    pub(crate) fn core_enqueued(&mut self, o: &mut dyn Ops, cpu: u32, t: Tid) {
        if self.core_sched.enabled {
            self.core_enqueue(o, cpu, t);
        }
    }

    /// `dequeue_task()`: a task leaves a CPU's runqueue, for a moment only if `saved`.
    #[inline]
    pub(crate) fn core_dequeued(&mut self, cpu: u32, t: Tid, saved: bool) {
        if self.core_sched.enabled {
            self.core_dequeue(cpu, t, saved);
        }
    }

    /// `sched_core_enqueue()`.
    #[cold]
    pub(super) fn core_enqueue(&mut self, o: &mut dyn Ops, cpu: u32, t: Tid) {
        self.core_of_mut(cpu).task_seq += 1;
        let cookie = self.task(t).core_cookie;
        if cookie == 0 {
            return;
        }
        let before = self.core_sched.rq(cpu).tree.with_cookie(cookie).to_vec();
        if before.contains(&t) {
            return;
        }
        let (mut from, mut to) = (0, before.len());
        while from < to {
            let middle = (from + to) / 2;
            if self.prio_less(o, Some(before[middle]), Some(t)) {
                to = middle;
            } else {
                from = middle + 1;
            }
        }
        // ops.core_sched_before() moves no tasks
        self.core_sched.rq_mut(cpu).tree.0.entry(cookie).or_default().insert(from, t);
    }

    /// `sched_core_dequeue()`.
    #[cold]
    pub(super) fn core_dequeue(&mut self, cpu: u32, t: Tid, saved: bool) {
        self.core_of_mut(cpu).task_seq += 1;
        let cookie = self.task(t).core_cookie;
        if cookie != 0 {
            self.core_sched.rq_mut(cpu).tree.remove(cookie, t);
        }
        // the last one leaves a CPU that idles because of it
        let is_last = !saved && self.nr_running(cpu) == 1;
        if is_last && self.core_of(cpu).forceidle_count > 0 && self.rq(cpu).curr.is_none() {
            self.resched_cpu(cpu);
        }
    }
}
