// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tasks above sched_ext that wait for a CPU, in the order in which they would run
//! (`struct rt_prio_array`, `dl_rq->root`). The one that runs is not among them.

use super::{Class, Rank};
use crate::core::Core;
use crate::task::Tid;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Rank, then the order of arrival; who is put back at the head comes before all equals.
pub(crate) type Place = (Reverse<Rank>, i64);

#[derive(Debug, Default)]
pub(crate) struct Waiting {
    tasks: BTreeMap<Place, Tid>,
    arrivals: i64,
}

impl Waiting {
    pub(crate) fn first(&self) -> Option<(Rank, Tid)> {
        self.tasks.first_key_value().map(|((Reverse(rank), _), t)| (*rank, *t))
    }

    /// In the order in which they would run.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Rank, Tid)> + '_ {
        self.tasks.iter().map(|((Reverse(rank), _), t)| (*rank, *t))
    }

    fn insert(&mut self, t: Tid, rank: Rank, head: bool) -> Place {
        self.arrivals += 1;
        let place = (Reverse(rank), if head { -self.arrivals } else { self.arrivals });
        self.tasks.insert(place, t);
        place
    }
}

impl Core {
    pub(crate) fn rank(&self, t: Tid) -> Rank {
        let task = self.task(t);
        match task.class {
            Class::Ext => Rank::EXT,
            Class::Realtime { priority } => Rank(1, u64::from(priority)),
            Class::Deadline(_) => Rank::deadline(task.entity.deadline_at_ns),
        }
    }

    /// Rank of what a CPU runs.
    pub(crate) fn rank_of_curr(&self, cpu: u32) -> Rank {
        self.rq(cpu).curr.map_or(Rank::EXT, |t| self.rank(t))
    }

    pub(crate) fn add_waiting(&mut self, cpu: u32, t: Tid, head: bool) {
        let rank = self.rank(t);
        let place = self.rq_mut(cpu).waiting.insert(t, rank, head);
        self.task_mut(t).entity.place = Some(place);
        self.nr_waiting += 1;
    }

    pub(crate) fn remove_waiting(&mut self, t: Tid) {
        let cpu = self.task(t).cpu;
        if let Some(place) = self.task_mut(t).entity.place.take() {
            self.rq_mut(cpu).waiting.tasks.remove(&place);
            self.nr_waiting -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_go_first_then_arrival_and_the_head_before_its_equals_only() {
        let mut waiting = Waiting::default();
        waiting.insert(Tid(1), Rank(1, 5), false);
        waiting.insert(Tid(2), Rank(1, 9), false);
        waiting.insert(Tid(3), Rank(1, 5), false);
        waiting.insert(Tid(4), Rank(1, 5), true);
        // deadlines at 70 and 60 ns
        waiting.insert(Tid(5), Rank::deadline(70), false);
        waiting.insert(Tid(6), Rank::deadline(60), false);
        let order: Vec<u32> = waiting.iter().map(|(_, t)| t.0).collect();
        assert_eq!(order, [6, 5, 2, 4, 1, 3]);
        assert_eq!(waiting.first(), Some((Rank::deadline(60), Tid(6))));
    }
}
