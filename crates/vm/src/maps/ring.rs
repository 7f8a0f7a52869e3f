// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ring buffers: guest code produces, the host consumes.

use crate::memory::{Memory, Perm};
use std::collections::VecDeque;

/// Each record takes this much more room, as in the kernel.
const HEADER: u64 = 8;
/// `BPF_RINGBUF_BUSY_BIT`, `BPF_RINGBUF_DISCARD_BIT` of a record's length.
const BUSY: u32 = 1 << 31;
const DISCARD: u32 = 1 << 30;

/// Bytes that a record takes.
fn room(len: u32) -> u64 {
    (u64::from(len) + HEADER).next_multiple_of(8)
}

/// A record as user space sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RingBytes {
    /// Bytes from the beginning of all time.
    pub position: u64,
    /// Header and data.
    pub bytes: Vec<u8>,
}

/// A record that is not yet consumed.
#[derive(Debug)]
struct Record {
    addr: u64,
    len: u32,
    state: State,
}

#[derive(Debug, PartialEq, Eq)]
enum State {
    Reserved,
    Submitted,
    Discarded,
}

/// A ring buffer. The region is twice its size, so that a record that wraps around
/// the end is still in one piece.
#[derive(Debug)]
pub(crate) struct Ring {
    base: u64,
    size: u64,
    produced: u64,
    consumed: u64,
    records: VecDeque<Record>,
}

impl Ring {
    /// An empty ring of `size` bytes.
    pub(crate) fn new(memory: &mut Memory, name: &str, size: u32) -> Self {
        let base = memory.alloc(name, size * 2, Perm::ReadWrite);
        Self { base, size: size.into(), produced: 0, consumed: 0, records: VecDeque::new() }
    }

    /// Room for a record of `len` bytes, or `None` if the ring is full.
    pub(crate) fn reserve(&mut self, len: u64) -> Option<u64> {
        let total = (len.checked_add(HEADER)?.checked_add(7)?) & !7;
        if len >= 1 << 30 || self.produced + total - self.consumed > self.size - 1 {
            return None;
        }
        let addr = self.base + self.produced % self.size + HEADER;
        self.records.push_back(Record { addr, len: len as u32, state: State::Reserved });
        self.produced += total;
        Some(addr)
    }

    /// Ends the reservation of a record; false if there is none.
    pub(crate) fn finish(&mut self, addr: u64, discard: bool) -> bool {
        let reserved = |r: &&mut Record| r.addr == addr && r.state == State::Reserved;
        let Some(record) = self.records.iter_mut().rev().find(reserved) else { return false };
        record.state = if discard { State::Discarded } else { State::Submitted };
        true
    }

    /// Takes out all records before the first that is still reserved.
    pub(crate) fn drain(&mut self, memory: &Memory) -> Vec<Vec<u8>> {
        let mut out = Vec::new();
        while self.records.front().is_some_and(|record| record.state != State::Reserved) {
            let Some(record) = self.records.pop_front() else { break };
            self.consumed += room(record.len);
            if record.state == State::Submitted {
                out.push(memory.bytes(record.addr, record.len).unwrap_or(&[]).to_vec());
            }
        }
        out
    }

    /// Positions up to which records are consumed and produced.
    pub(crate) fn positions(&self) -> (u64, u64) {
        (self.consumed, self.produced)
    }

    /// Records that are not consumed, as user space sees them.
    pub(crate) fn unread(&self, memory: &Memory) -> Vec<RingBytes> {
        let mut position = self.consumed;
        let bytes = |record: &Record| {
            let flag = match record.state {
                State::Reserved => BUSY,
                State::Discarded => DISCARD,
                State::Submitted => 0,
            };
            let mut bytes = u64::from(record.len | flag).to_le_bytes().to_vec();
            bytes.extend(memory.bytes(record.addr, record.len).unwrap_or(&[]));
            let of = RingBytes { position, bytes };
            position += room(record.len);
            of
        };
        self.records.iter().map(bytes).collect()
    }

    /// Forgets the records before a position, up to the first that is still reserved.
    pub(crate) fn consume(&mut self, position: u64) {
        while let Some(record) = self.records.front() {
            let end = self.consumed + room(record.len);
            if record.state == State::Reserved || end > position {
                break;
            }
            self.consumed = end;
            self.records.pop_front();
        }
    }

    /// `bpf_ringbuf_query`.
    pub(crate) fn query(&self, what: u64) -> u64 {
        match what {
            0 => self.produced - self.consumed,
            1 => self.size,
            2 => self.consumed,
            3 => self.produced,
            _ => 0,
        }
    }

    /// Whether a record may be at this address.
    pub(crate) fn holds(&self, addr: u64) -> bool {
        addr >> 32 == self.base >> 32
    }
}
