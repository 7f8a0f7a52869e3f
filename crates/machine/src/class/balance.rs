// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which CPU a task above sched_ext runs on: as many of the highest as there are CPUs run, as far
//! as their affinity lets them (`select_task_rq_rt()`, `push_rt_task()`, `pull_rt_task()` and the
//! same of `deadline.c`). Pulls happen at every pick here, in the kernel when a pick gives up a
//! task of the class; and of equally low CPUs the kernel takes turns, where here the first is taken.

use super::Rank;
use crate::ops::Ops;
use crate::system::System;
use crate::task::Tid;

impl System {
    /// What a CPU is busy with, as a task of this rank sees it: `cpupri` and `cpudl`. Deadline
    /// tasks tell CPUs without any of their own apart from none.
    fn level(&self, cpu: u32, seen_by: Rank) -> Rank {
        let waiting = self.rq(cpu).waiting.first().map_or(Rank::EXT, |(rank, _)| rank);
        let level = self.rank_of_curr(cpu).max(waiting);
        // CPUPRI_NORMAL
        if level <= Rank::FAIR || seen_by.is_deadline() && !level.is_deadline() {
            return Rank::EXT;
        }
        level
    }

    /// `find_lowest_rq()`, `find_later_rq()`: a CPU that is busy with less. The task's own CPU
    /// first, then the one that asks, then the others, each time those of the task's cache first.
    fn lowest_cpu(&self, t: Tid) -> Option<u32> {
        let (rank, task) = (self.tasks.rank(t), self.task(t));
        if task.nr_cpus_allowed < 2 || task.migration_disabled {
            return None;
        }
        let there = task.cpus.minus(&self.hotplug.inactive);
        let lowest = there.iter().map(|cpu| self.level(cpu, rank)).min()?;
        if lowest >= rank {
            return None;
        }
        let topology = &self.config.topology;
        let llc = topology.llc_of(task.cpu);
        let order = |cpu: &u32| {
            let far = topology.llc_of(*cpu) != llc;
            (*cpu != task.cpu, far, *cpu != self.running.this_cpu, *cpu)
        };
        there.iter().filter(|cpu| self.level(*cpu, rank) == lowest).min_by_key(order)
    }

    /// `select_task_rq()`: the CPU, and whether the class chose it.
    #[inline]
    pub(crate) fn select_any(&mut self, o: &mut dyn Ops, t: Tid, wake_flags: u64) -> (u32, bool) {
        let class = self.task(t).class;
        if class.is_hosted() {
            return self.hosting(o, class, |system, o| system.select_task_rq(o, t, wake_flags));
        }
        // is_cpu_allowed()
        if let Some(cpu) = self.task(t).pinned.filter(|cpu| !self.is_offline(*cpu)) {
            return (cpu, false);
        }
        let cpu = self.select_higher(t);
        if self.hotplug.is_active(cpu) {
            return (cpu, true);
        }
        (self.select_fallback(o, t, cpu), true)
    }

    /// `select_task_rq_rt()`, `select_task_rq_dl()`: a task stays where it was, whatever of
    /// sched_ext runs there, unless one that it cannot preempt does.
    fn select_higher(&self, t: Tid) -> u32 {
        let task = self.task(t);
        let prev = task.cpu;
        if !task.cpus.contains(prev) {
            return self.lowest_cpu(t).or_else(|| task.cpus.first()).unwrap_or(prev);
        }
        let Some(curr) = self.rq(prev).curr else { return prev };
        let (rank, there) = (self.tasks.rank(t), self.tasks.rank(curr));
        let counts = if rank.is_deadline() { there.is_deadline() } else { there > Rank::FAIR };
        if counts && (self.task(curr).nr_cpus_allowed < 2 || there >= rank) {
            return self.lowest_cpu(t).unwrap_or(prev);
        }
        prev
    }

    /// `push_rt_tasks()`, `push_dl_tasks()`: who waits behind a greater one goes where it is not.
    #[inline]
    pub(crate) fn push_waiting(&mut self, o: &mut dyn Ops, cpu: u32) {
        if self.above.nr_waiting > 0 {
            self.push_all_waiting(o, cpu);
        }
    }

    #[inline(never)]
    fn push_all_waiting(&mut self, o: &mut dyn Ops, cpu: u32) {
        while let Some((t, target)) = self.to_push(cpu) {
            self.move_waiting(o, t, target);
            self.check_preempt(target, t);
        }
    }

    fn to_push(&self, cpu: u32) -> Option<(Tid, u32)> {
        let here = self.rank_of_curr(cpu);
        // a greater one than runs here is about to
        let (_, t) = self.rq(cpu).waiting.first_movable().filter(|(rank, _)| *rank <= here)?;
        let target = self.lowest_cpu(t).filter(|target| *target != cpu)?;
        Some((t, target))
    }

    /// `pull_rt_task()`, `pull_dl_task()`: a CPU takes over who waits elsewhere and is greater
    /// than all it has itself.
    pub(crate) fn pull_waiting(&mut self, o: &mut dyn Ops, cpu: u32, own: Rank) {
        if self.above.nr_waiting == 0 || !self.hotplug.is_active(cpu) {
            return;
        }
        let here = self.rq(cpu).waiting.first().map_or(own, |(rank, _)| rank.max(own));
        // one that is about to preempt there stays
        let of = |src: u32| self.rq(src).waiting.first_for(cpu, self.rank_of_curr(src));
        let others = (0..self.nr_cpus()).filter(|src| *src != cpu).filter_map(of);
        let best =
            others.filter(|(rank, _)| *rank > here).reduce(|a, b| if b.0 > a.0 { b } else { a });
        if let Some((_, t)) = best {
            self.move_waiting(o, t, cpu);
        }
    }

    fn move_waiting(&mut self, o: &mut dyn Ops, t: Tid, target: u32) {
        let src = self.task(t).cpu;
        self.core_dequeued(src, t, false);
        self.drop_clamps(src, t);
        self.remove_waiting(t);
        self.count_higher(src, -1);
        self.want_performance(src);
        self.migrate_to_cpu(o, t, target);
        self.hold_clamps(target, t);
        self.count_higher(target, 1);
        self.want_performance(target);
        self.add_waiting(target, t, false);
        self.core_enqueued(o, target, t);
    }
}
