// SPDX-License-Identifier: MIT OR Apache-2.0
//! Dispatch queues: `struct scx_dispatch_q` with its FIFO list and its vtime tree.

use crate::list::{Links, List, NIL};
use crate::task::{Task, Tid};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// Index of a dispatch queue in the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct DsqIx(pub(crate) u32);

/// One dispatch queue.
#[derive(Debug)]
pub(crate) struct Dsq {
    ix: DsqIx,
    pub(crate) id: u64,
    /// CPU of a local or bypass queue.
    pub(crate) cpu: Option<u32>,
    /// Guest view, `struct scx_dispatch_q`.
    pub(crate) addr: u64,
    pub(crate) nr: u32,
    /// Counts insertions; iteration skips what was queued after it began.
    pub(crate) seq: u32,
    fifo: List,
    /// (ordering key, insertion, task), see [`Dsq::key`].
    priq: BTreeSet<(u64, u64, u32)>,
    /// Middle of the key space, so that a wrapping vtime orders by signed difference.
    base: u64,
    inserts: u64,
    head_pos: i64,
    tail_pos: i64,
}

/// Where an iteration stands.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cursor {
    /// Nothing visited.
    Start,
    /// In the FIFO list, at this position, which was this task's.
    Fifo(i64, Tid),
    /// In the tree, at this entry.
    Priq(u64, u64),
}

impl Dsq {
    pub(crate) fn new(ix: DsqIx, id: u64, cpu: Option<u32>, addr: u64) -> Self {
        Self {
            ix,
            id,
            cpu,
            addr,
            nr: 0,
            seq: 0,
            fifo: List::default(),
            priq: BTreeSet::new(),
            base: 0,
            inserts: 0,
            head_pos: 0,
            tail_pos: 0,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.nr == 0
    }

    pub(crate) fn has_priq(&self) -> bool {
        !self.priq.is_empty()
    }

    pub(crate) fn has_fifo(&self) -> bool {
        !self.fifo.is_empty()
    }

    /// `time_before64` compares by signed difference; within half the number range
    /// that is the order of the distance to a base far below every vtime queued.
    fn key(&mut self, vtime: u64) -> u64 {
        if self.priq.is_empty() {
            self.base = vtime.wrapping_sub(1 << 63);
        }
        vtime.wrapping_sub(self.base)
    }

    pub(crate) fn push_fifo(&mut self, links: &mut Links, tasks: &mut [Task], t: Tid, head: bool) {
        let task = &mut tasks[t.0 as usize];
        if head {
            self.head_pos -= 1;
            task.dsq_pos = self.head_pos;
            links.push_front(&mut self.fifo, t.0);
        } else {
            self.tail_pos += 1;
            task.dsq_pos = self.tail_pos;
            links.push_back(&mut self.fifo, t.0);
        }
        task.dsq_key = None;
        self.count_in();
    }

    pub(crate) fn push_priq(&mut self, tasks: &mut [Task], t: Tid, vtime: u64) {
        let key = self.key(vtime);
        self.inserts += 1;
        self.priq.insert((key, self.inserts, t.0));
        tasks[t.0 as usize].dsq_key = Some((key, self.inserts));
        self.count_in();
    }

    fn count_in(&mut self) {
        self.nr += 1;
        self.seq = self.seq.wrapping_add(1);
    }

    pub(crate) fn remove(&mut self, links: &mut Links, tasks: &mut [Task], t: Tid) {
        match tasks[t.0 as usize].dsq_key.take() {
            Some((key, insert)) => {
                self.priq.remove(&(key, insert, t.0));
            }
            None => links.remove(&mut self.fifo, t.0),
        }
        self.nr -= 1;
    }

    pub(crate) fn first(&self) -> Option<Tid> {
        match self.fifo.head {
            NIL => self.priq.first().map(|e| Tid(e.2)),
            head => Some(Tid(head)),
        }
    }

    /// The task after (or before, `rev`) the cursor in queue order. Robust against
    /// removal of the task that the cursor stands on, as the kernel's list node is.
    pub(crate) fn next(
        &self,
        links: &Links,
        tasks: &[Task],
        cursor: &mut Cursor,
        rev: bool,
    ) -> Option<Tid> {
        let found = if self.fifo.is_empty() {
            self.next_priq(*cursor, rev)
        } else {
            self.next_fifo(links, tasks, *cursor, rev)
        }?;
        *cursor = match tasks[found.0 as usize].dsq_key {
            Some((key, insert)) => Cursor::Priq(key, insert),
            None => Cursor::Fifo(tasks[found.0 as usize].dsq_pos, found),
        };
        Some(found)
    }

    fn next_priq(&self, cursor: Cursor, rev: bool) -> Option<Tid> {
        let entry = match (cursor, rev) {
            (Cursor::Priq(k, i), false) => self.priq.range((k, i + 1, 0)..).next(),
            (Cursor::Priq(k, i), true) => self.priq.range(..(k, i, 0)).next_back(),
            (_, false) => self.priq.first(),
            (_, true) => self.priq.last(),
        };
        entry.map(|e| Tid(e.2))
    }

    fn next_fifo(&self, links: &Links, tasks: &[Task], cursor: Cursor, rev: bool) -> Option<Tid> {
        let step = |at: u32| if rev { links.prev(at) } else { links.next(at) };
        let mut at = if rev { self.fifo.tail } else { self.fifo.head };
        if let Cursor::Fifo(pos, on) = cursor {
            let there = &tasks[on.0 as usize];
            if there.dsq == Some(self.ix) && there.dsq_key.is_none() && there.dsq_pos == pos {
                at = step(on.0);
            } else {
                // it left: search for where it stood
                let behind = |at: u32| {
                    let here = tasks[at as usize].dsq_pos;
                    if rev {
                        here >= pos
                    } else {
                        here <= pos
                    }
                };
                while at != NIL && behind(at) {
                    at = step(at);
                }
            }
        }
        (at != NIL).then_some(Tid(at))
    }

    /// Tasks in queue order.
    pub(crate) fn iter<'a>(&'a self, links: &'a Links) -> impl Iterator<Item = Tid> + 'a {
        links.iter(&self.fifo).map(Tid).chain(self.priq.iter().map(|e| Tid(e.2)))
    }
}

/// All dispatch queues.
#[derive(Debug, Default)]
pub(crate) struct Queues {
    pub(crate) all: Vec<Dsq>,
    /// Those that the scheduler made, by id.
    pub(crate) user: FxHashMap<u64, DsqIx>,
    /// By node.
    pub(crate) global: Vec<DsqIx>,
    /// Of tasks in a FIFO part.
    pub(crate) links: Links,
}

impl Queues {
    #[inline]
    pub(crate) fn get(&self, d: DsqIx) -> &Dsq {
        &self.all[d.0 as usize]
    }
}
