// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cold caches: what a task's first passes through its working set cost after it has moved, or
//! after others had its core, and what comes along when a task on another CPU wakes it.
//!
//! Misses of uniform accesses die out as e^(-n/N): 63 % of the delay is in the first pass through
//! the set, the rest by the third. A task that leaves before has the rest to come.

use super::lru::Lru;
use super::pace::{work_of, Piece};
use super::parts::{ByDistance, Cache};
use super::{Hardware, FULL_SPEED};
use crate::system::System;
use crate::task::{Task, Tid};
use crate::topology::Topology;

/// The part of the delay that the first pass has: 1 - 1/e, in 1/1024.
const FIRST_PASS: u64 = 647;

/// The caches of a machine.
#[derive(Debug)]
pub(crate) struct Caches {
    /// Second-level, of the cores that share one.
    clusters: Vec<Lru>,
    /// Last-level.
    llcs: Vec<Lru>,
}

/// What is cold of a task's working set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Cold {
    lines: u64,
    /// What they cost.
    delay_ns: u64,
}

/// What a task has in caches.
#[derive(Debug, Default)]
pub(crate) struct Footprint {
    /// The node of its memory: where it first ran.
    pub(crate) home: Option<u32>,
    /// Of its set as it came onto its CPU, and later as it left.
    cold: Cold,
    /// Work of the first pass then.
    pass: u64,
    /// The CPU from which a task woke it since it last ran.
    pub(crate) woken_from: Option<u32>,
    /// That CPU while it has not taken the message yet for which it was woken.
    pub(super) handed_from: Option<u32>,
}

/// How far two CPUs are from each other, if they are two.
fn by_distance(of: &ByDistance, topology: &Topology, a: u32, b: u32) -> u64 {
    if topology.core_of(a) == topology.core_of(b) {
        of.sibling
    } else if topology.llc_of(a) == topology.llc_of(b) {
        of.llc
    } else if topology.node_of(a) == topology.node_of(b) {
        of.other_llc
    } else {
        of.node
    }
}

impl Caches {
    /// Those of a machine, empty.
    pub(crate) fn of(hardware: &Hardware, topology: &Topology) -> Option<Self> {
        let cache = hardware.cache.as_ref()?;
        let (mut clusters, mut llcs) = (Vec::new(), Vec::new());
        for cpu in 0..topology.cpus() {
            if topology.cluster_of(cpu) as usize == clusters.len() {
                clusters.push(Lru::new(cache.lines(hardware.core_type(cpu).l2_kib)));
            }
            if topology.llc_of(cpu) as usize == llcs.len() {
                llcs.push(Lru::new(cache.lines(cache.llc_kib)));
            }
        }
        Some(Self { clusters, llcs })
    }

    /// A cluster loses its own.
    pub(crate) fn flush(&mut self, cluster: u32) {
        self.clusters[cluster as usize].flush();
    }
}

impl Cache {
    fn lines(&self, kib: u32) -> u64 {
        u64::from(kib) * 1024 / u64::from(self.line_bytes.max(1))
    }

    /// Lines of a task's working set.
    fn set_of(&self, task: &Task) -> u64 {
        self.lines(task.settings.work.working_set_kib.unwrap_or(self.working_set_kib))
    }

    /// For what comes along with a wakeup or a message.
    fn handoff_ns(&self, topology: &Topology, from: u32, to: u32) -> u64 {
        self.handoff_lines.saturating_mul(by_distance(&self.c2c_ns, topology, from, to))
    }

    fn cold(&self, lines: u64, refill_ns: u64) -> Cold {
        let delay_ns = lines.saturating_mul(refill_ns) / u64::from(self.mlp.max(1));
        Cold { lines, delay_ns }
    }
}

impl Cold {
    fn and(self, more: Self) -> Self {
        Self {
            lines: self.lines + more.lines,
            delay_ns: self.delay_ns.saturating_add(more.delay_ns),
        }
    }

    /// This part of it.
    fn part(self, of: u128, whole: u128) -> Self {
        let part = |n: u64| (u128::from(n) * of / whole) as u64;
        Self { lines: part(self.lines), delay_ns: part(self.delay_ns) }
    }

    /// The work that the misses slow down, `pass` for the first piece and twice as much for the
    /// second.
    fn pieces(self, pass_ns: u64) -> [Piece; 2] {
        let first_ns = (u128::from(self.delay_ns) * u128::from(FIRST_PASS) / 1024) as u64;
        let piece = |work_ns: u64, delay_ns: u64| {
            let (work, full) = (u128::from(work_ns), u128::from(FULL_SPEED));
            let factor = (full * work / (work + u128::from(delay_ns)).max(1)) as u32;
            Piece { left: work_of(work_ns), factor: factor.max(1), speed: 0 }
        };
        [piece(pass_ns, first_ns), piece(2 * pass_ns, self.delay_ns - first_ns)]
    }

    /// What is left of it once so much is left of the pieces.
    fn left(self, pass: u64, pieces: &[Piece; 2]) -> Self {
        let share = |n: u64, of: u64| u128::from(n) * u128::from(of);
        // of 2 * 1024 passes
        let rest = 2 * share(FIRST_PASS, pieces[0].left) + share(1024 - FIRST_PASS, pieces[1].left);
        self.part(rest, u128::from(pass) * 2048)
    }
}

impl System {
    /// A task comes onto a CPU: what of its set is not there yet, and what else it has to wait for.
    pub(crate) fn warm_up(&mut self, cpu: u32, t: Tid, from: Option<u32>) {
        let topology = self.config.topology.clone();
        let Some(models) = self.models.as_deref_mut() else { return };
        let task = self.tasks.get_mut(t);
        let footprint = task.footprint.get_or_insert_default();
        footprint.home.get_or_insert(topology.node_of(cpu));
        let woken_from = footprint.woken_from.take().filter(|waker| *waker != cpu);
        footprint.handed_from = woken_from.or(footprint.handed_from);
        let before = std::mem::take(&mut footprint.cold);
        let (Some(cache), Some(caches)) = (&models.hardware.cache, &mut models.caches) else {
            return;
        };
        let set = cache.set_of(task);
        let cluster = &mut caches.clusters[topology.cluster_of(cpu) as usize];
        let llc = &mut caches.llcs[topology.llc_of(cpu) as usize];
        let refill = &cache.refill_ns;
        let (near, in_llc) = (set.min(cluster.lines()), set.min(llc.lines()));
        // what the last-level cache has lost to others comes from memory
        let lost = in_llc - llc.held(t, in_llc);
        let cold = match from {
            None => Cold::default(),
            Some(from) if topology.llc_of(from) == topology.llc_of(cpu) => {
                let stays = topology.cluster_of(from) == topology.cluster_of(cpu);
                let held = if stays { cluster.held(t, near) } else { 0 };
                let all = near - held;
                let far = all.min(lost);
                let new = cache.cold(all - far, refill.llc).and(cache.cold(far, refill.other_llc));
                // what it did not get to fetch the last time is as far as it was
                let old = if stays { before } else { Cold::default() };
                let all = old.and(new);
                if all.lines > near {
                    all.part(near.into(), all.lines.into())
                } else {
                    all
                }
            }
            Some(from) => cache.cold(in_llc, by_distance(refill, &topology, from, cpu)),
        };
        cluster.touch(t, near);
        llc.touch(t, in_llc);
        let pass_ns = set.saturating_mul(cache.reuse_ns);
        let handoff_ns = woken_from.map_or(0, |waker| cache.handoff_ns(&topology, waker, cpu));
        let footprint = task.footprint.get_or_insert_default();
        let rq = self.cpus.rq_mut(cpu);
        rq.owe(handoff_ns);
        if cold.delay_ns == 0 {
            return;
        }
        if pass_ns == 0 {
            rq.owe(cold.delay_ns);
            return;
        }
        (footprint.cold, footprint.pass) = (cold, work_of(pass_ns));
        rq.pace.cold = cold.pieces(pass_ns);
    }

    /// Nanoseconds for what comes along from another CPU; 0 without caches.
    pub(super) fn handoff_ns(&self, from: u32, to: u32) -> u64 {
        let cache = self.models.as_deref().and_then(|models| models.hardware.cache.as_ref());
        cache.map_or(0, |cache| cache.handoff_ns(&self.config.topology, from, to))
    }

    /// Whether caches are modelled, in place of fixed costs of a migration.
    pub(crate) fn has_caches(&self) -> bool {
        self.models.as_ref().is_some_and(|models| models.caches.is_some())
    }

    /// A task leaves its CPU: what is cold stays so.
    pub(super) fn cool_down(&mut self, cpu: u32, t: Tid) {
        let pieces = std::mem::take(&mut self.rq_mut(cpu).pace.cold);
        if let Some(footprint) = self.task_mut(t).footprint.as_deref_mut() {
            footprint.cold = match pieces[1].left {
                0 => Cold::default(),
                _ => footprint.cold.left(footprint.pass, &pieces),
            };
        }
    }

    /// A task is woken by the one that runs on the CPU `here`.
    pub(crate) fn note_waker(&mut self, t: Tid, here: u32, waker: u32) {
        if self.models.is_some() {
            let from = (waker != 0).then_some(here);
            let footprint = self.task_mut(t).footprint.get_or_insert_default();
            (footprint.woken_from, footprint.handed_from) = (from, None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hardware::pace::Pace;

    /// All of the pieces, at a speed.
    fn takes_ns(pieces: [Piece; 2], ns: u64) -> u64 {
        let speed = |piece: Piece| Piece { speed: piece.factor, ..piece };
        let pace = Pace::new(FULL_SPEED, FULL_SPEED, pieces.map(speed));
        pace.ns_for(0, work_of(ns))
    }

    #[test]
    fn the_first_pass_has_two_thirds_of_the_delay() {
        // 512 KiB: 8192 lines of 10 ns, 12 ns a line without overlap: 98.3 us more. After
        // one pass 63 %, after three all of it; each within 1/1024 of a speed of half.
        let cold = Cold { lines: 8192, delay_ns: 98_304 };
        let pass_ns = 81_920;
        let pieces = cold.pieces(pass_ns);
        let more = |passes: u64| takes_ns(pieces, passes * pass_ns) - passes * pass_ns;
        assert!((62_000..62_400).contains(&more(1)), "{}", more(1));
        assert!((98_000..98_700).contains(&more(3)), "{}", more(3));
        assert_eq!(more(3), more(5));
    }

    #[test]
    fn what_is_not_fetched_yet_stays_cold() {
        let cold = Cold { lines: 1024, delay_ns: 10_240 };
        let mut pieces = cold.pieces(1_000);
        let pass = work_of(1_000);
        assert_eq!(cold.left(pass, &pieces), cold);
        // half of the first pass: 647/2 of 1024 are there
        pieces[0].left /= 2;
        assert_eq!(cold.left(pass, &pieces), Cold { lines: 700, delay_ns: 7_005 });
        // and half of the second piece: 377/2 of 1024 are left
        (pieces[0].left, pieces[1].left) = (0, pieces[1].left / 2);
        assert_eq!(cold.left(pass, &pieces), Cold { lines: 188, delay_ns: 1_885 });
    }
}
