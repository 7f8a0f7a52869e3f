// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tasks above sched_ext that wait for a CPU, in the order in which they would run
//! (`struct rt_prio_array`, `dl_rq->root`). The one that runs is not among them.

use super::{Class, Rank};
use crate::cpuset::CpuSet;
use crate::system::System;
use crate::task::Tid;
use crate::tasks::Tasks;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Rank, then the order of arrival; who is put back at the head comes before all equals.
pub(crate) type Place = (Reverse<Rank>, i64);

#[derive(Debug, Default)]
pub(crate) struct Waiting {
    tasks: BTreeMap<Place, Tid>,
    /// Those that could move to another CPU (`pushable_tasks`), by the CPUs that they may use.
    movable: BTreeMap<CpuSet, BTreeMap<Place, Tid>>,
    arrivals: i64,
}

impl Waiting {
    pub(crate) fn first(&self) -> Option<(Rank, Tid)> {
        self.tasks.first_key_value().map(|((Reverse(rank), _), t)| (*rank, *t))
    }

    /// All of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Tid> + '_ {
        self.tasks.values().copied()
    }

    /// Whether a task of this rank waits.
    pub(crate) fn has(&self, rank: Rank) -> bool {
        let from = self.tasks.range((Reverse(rank), i64::MIN)..);
        from.map(|((Reverse(other), _), _)| *other).next() == Some(rank)
    }

    /// The first that could move.
    pub(crate) fn first_movable(&self) -> Option<(Rank, Tid)> {
        let firsts = self.movable.values().filter_map(BTreeMap::first_key_value);
        firsts.min().map(|((Reverse(rank), _), t)| (*rank, *t))
    }

    /// The first that could move to a CPU, of those up to this rank.
    pub(crate) fn first_for(&self, cpu: u32, most: Rank) -> Option<(Rank, Tid)> {
        let may = self.movable.iter().filter(|(cpus, _)| cpus.contains(cpu));
        let firsts = may.filter_map(|(_, tasks)| tasks.range((Reverse(most), i64::MIN)..).next());
        firsts.min().map(|((Reverse(rank), _), t)| (*rank, *t))
    }

    /// How many could move, for the audit.
    pub(crate) fn movable(&self) -> usize {
        self.movable.values().map(BTreeMap::len).sum()
    }

    fn insert(&mut self, t: Tid, rank: Rank, head: bool, cpus: CpuSet) -> Place {
        self.arrivals += 1;
        let place = (Reverse(rank), if head { -self.arrivals } else { self.arrivals });
        self.put(place, t, cpus);
        place
    }

    fn put(&mut self, place: Place, t: Tid, cpus: CpuSet) {
        self.tasks.insert(place, t);
        if cpus.len() > 1 {
            self.movable.entry(cpus).or_default().insert(place, t);
        }
    }

    fn remove(&mut self, place: Place, cpus: CpuSet) {
        self.tasks.remove(&place);
        if let Some(movable) = self.movable.get_mut(&cpus) {
            movable.remove(&place);
            if movable.is_empty() {
                self.movable.remove(&cpus);
            }
        }
    }
}

impl System {
    /// Rank of what a CPU runs.
    pub(crate) fn rank_of_curr(&self, cpu: u32) -> Rank {
        self.rq(cpu).curr.map_or(Rank::EXT, |t| self.tasks.rank(t))
    }

    pub(crate) fn add_waiting(&mut self, cpu: u32, t: Tid, head: bool) {
        let (rank, cpus) = (self.tasks.rank(t), self.task(t).cpus_ptr());
        let place = self.rq_mut(cpu).waiting.insert(t, rank, head, cpus);
        self.task_mut(t).entity.place = Some(place);
        self.above.nr_waiting += 1;
    }

    /// What changes leaves a task where it waits, if it does.
    pub(crate) fn keeping_place(&mut self, t: Tid, change: impl FnOnce(&mut Self)) {
        let (cpu, place) = (self.task(t).cpu, self.task(t).entity.place);
        if let Some(place) = place {
            let cpus = self.task(t).cpus;
            self.rq_mut(cpu).waiting.remove(place, cpus);
        }
        change(self);
        if let Some(place) = place {
            let cpus = self.task(t).cpus;
            self.rq_mut(cpu).waiting.put(place, t, cpus);
        }
    }

    pub(crate) fn remove_waiting(&mut self, t: Tid) {
        let (cpu, cpus) = (self.task(t).cpu, self.task(t).cpus_ptr());
        if let Some(place) = self.task_mut(t).entity.place.take() {
            self.rq_mut(cpu).waiting.remove(place, cpus);
            self.above.nr_waiting -= 1;
        }
    }
}

impl Tasks {
    pub(crate) fn rank(&self, t: Tid) -> Rank {
        let task = self.get(t);
        match task.class {
            Class::Ext => Rank::EXT,
            Class::Fair => Rank::FAIR,
            Class::Realtime { priority } => Rank::realtime(priority),
            Class::Deadline(_) => Rank::deadline(task.entity.deadline_at_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn order(waiting: &Waiting) -> Vec<u32> {
        waiting.tasks.values().map(|t| t.0).collect()
    }

    #[test]
    fn ranks_go_first_then_arrival_and_the_head_before_its_equals_only() {
        let (mut waiting, cpus) = (Waiting::default(), CpuSet::first_n(2));
        waiting.insert(Tid(1), Rank(1, 5), false, cpus);
        waiting.insert(Tid(2), Rank(1, 9), false, cpus);
        waiting.insert(Tid(3), Rank(1, 5), false, cpus);
        waiting.insert(Tid(4), Rank(1, 5), true, cpus);
        // deadlines at 70 and 60 ns
        waiting.insert(Tid(5), Rank::deadline(70), false, cpus);
        waiting.insert(Tid(6), Rank::deadline(60), false, cpus);
        assert_eq!(order(&waiting), [6, 5, 2, 4, 1, 3]);
        assert_eq!(waiting.first(), Some((Rank::deadline(60), Tid(6))));
    }

    proptest! {
        /// What a look at one task after the other finds.
        #[test]
        fn whoever_could_move_is_found_as_by_a_walk(
            acts in prop::collection::vec((0..3_u64, any::<bool>(), 1..16_u64, any::<bool>()), 0..60),
            (cpu, most) in (0..4_u32, 0..3_u64),
        ) {
            let mut waiting = Waiting::default();
            let mut all: Vec<(Place, Tid, CpuSet)> = Vec::new();
            for (number, (rank, head, cpus, leaves)) in (0_u32..).zip(acts) {
                if leaves && !all.is_empty() {
                    let (place, _, cpus) = all.swap_remove(rank as usize % all.len());
                    waiting.remove(place, cpus);
                    continue;
                }
                let cpus = CpuSet::from_words([cpus].into_iter());
                let place = waiting.insert(Tid(number), Rank(1, rank), head, cpus);
                all.push((place, Tid(number), cpus));
            }
            all.sort_by_key(|(place, ..)| *place);
            let found = |(place, t, _): &(Place, Tid, CpuSet)| (place.0 .0, *t);
            let movable = || all.iter().filter(|(.., cpus)| cpus.len() > 1);
            prop_assert_eq!(waiting.first(), all.first().map(found));
            prop_assert_eq!(waiting.movable(), movable().count());
            prop_assert_eq!(waiting.first_movable(), movable().next().map(found));
            let most = Rank(1, most);
            let mut may = movable().filter(|(place, _, cpus)| place.0.0 <= most && cpus.contains(cpu));
            prop_assert_eq!(waiting.first_for(cpu, most), may.next().map(found));
            prop_assert_eq!(waiting.has(most), all.iter().any(|(place, ..)| place.0.0 == most));
        }
    }
}
