// SPDX-License-Identifier: MIT OR Apache-2.0
//! Puts records of several CPUs into one order.

use crate::error::Fault;
use crate::record::Record;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Gives the records of one CPU, the earliest first.
pub(crate) trait CpuRecords {
    fn next(&mut self) -> Result<Option<Record>, Fault>;
}

/// Merges CPUs. Of records at the same time, the lower CPU's comes first.
pub(crate) struct Merge<C> {
    cpus: Vec<C>,
    /// Time and CPU of the first record of each that has one.
    heads: BinaryHeap<Reverse<(u64, usize)>>,
    first: Vec<Option<Record>>,
    begun: bool,
}

impl<C: CpuRecords> Merge<C> {
    pub(crate) fn new(cpus: Vec<C>) -> Self {
        let first = vec![None; cpus.len()];
        Self { cpus, heads: BinaryHeap::new(), first, begun: false }
    }

    fn advance(&mut self, index: usize) -> Result<(), Fault> {
        self.first[index] = self.cpus[index].next()?;
        if let Some(record) = &self.first[index] {
            self.heads.push(Reverse((record.time_ns, index)));
        }
        Ok(())
    }

    pub(crate) fn next(&mut self) -> Result<Option<Record>, Fault> {
        if !std::mem::replace(&mut self.begun, true) {
            for index in 0..self.cpus.len() {
                self.advance(index)?;
            }
        }
        let Some(Reverse((_, index))) = self.heads.pop() else { return Ok(None) };
        let record = self.first[index].take();
        self.advance(index)?;
        Ok(record)
    }
}

/// Most records that are held back: 400 MB of them.
const MOST_HELD: usize = 1 << 22;

/// Sorts records that come in rounds: none of a round is earlier than the latest but one round's
/// last record (`PERF_RECORD_FINISHED_ROUND`, tools/perf/util/ordered-events.c).
#[derive(Default)]
pub(crate) struct Rounds {
    held: BinaryHeap<Reverse<Held>>,
    number: u64,
    /// Latest time so far, and at the end of the round before.
    latest_ns: u64,
    settled_ns: u64,
}

struct Held {
    key: (u64, u64),
    record: Record,
}

impl PartialEq for Held {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Held {}

impl PartialOrd for Held {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Held {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}

impl Rounds {
    pub(crate) fn push(&mut self, record: Record) {
        self.latest_ns = self.latest_ns.max(record.time_ns);
        self.number += 1;
        self.held.push(Reverse(Held { key: (record.time_ns, self.number), record }));
    }

    /// A round ends: all up to the end of the one before can go.
    pub(crate) fn finish_round(&mut self) -> u64 {
        std::mem::replace(&mut self.settled_ns, self.latest_ns)
    }

    /// The earliest record, if it is no later than `until_ns` or too many are held.
    pub(crate) fn pop(&mut self, until_ns: u64) -> Option<Record> {
        let Reverse(first) = self.held.peek()?;
        if first.record.time_ns > until_ns && self.held.len() <= MOST_HELD {
            return None;
        }
        self.held.pop().map(|Reverse(held)| held.record)
    }
}
