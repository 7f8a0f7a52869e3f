// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ring buffers the other way round: user space produces, guest code consumes
//! (`bpf_user_ringbuf_drain()` of `kernel/bpf/ringbuf.c`).

use crate::errno::{E2BIG, EINVAL};
use crate::memory::{Memory, Perm};

/// Bytes before each sample: its length and flags.
const HEADER: u64 = 8;
const BUSY: u32 = 1 << 31;
const DISCARD: u32 = 1 << 30;

/// A user ring buffer. The region is twice its size, so that a sample that wraps around the end is
/// in one piece.
#[derive(Debug)]
pub(crate) struct UserRing {
    base: u64,
    /// Where guest code finds the sample that it is called for: `struct bpf_dynptr`.
    pub(crate) dynptr: u64,
    size: u64,
    pub(crate) produced: u64,
    pub(crate) consumed: u64,
    /// A callback is running: nobody else may take samples.
    pub(crate) busy: bool,
}

/// What comes next in a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sample {
    /// Nothing that is finished.
    None,
    /// One that user space has given up; it is passed.
    Discarded,
    /// One of so many bytes, at this address.
    At(u64, u32),
}

impl UserRing {
    /// An empty ring of `size` bytes.
    pub(crate) fn new(memory: &mut Memory, name: &str, size: u32) -> Self {
        let base = memory.alloc(name, size * 2, Perm::ReadWrite);
        let dynptr = memory.alloc(name, 16, Perm::ReadOnly);
        Self { base, dynptr, size: size.into(), produced: 0, consumed: 0, busy: false }
    }

    /// Address of the bytes at a position.
    pub(crate) fn at(&self, position: u64) -> u64 {
        self.base + position % self.size
    }

    /// `__bpf_user_ringbuf_peek()`. What user space has written there may be anything.
    pub(crate) fn peek(&mut self, memory: &Memory) -> Result<Sample, i64> {
        if self.produced % HEADER != 0 {
            return Err(EINVAL);
        }
        if self.consumed >= self.produced {
            return Ok(Sample::None);
        }
        let header = memory.get_u32(self.at(self.consumed));
        let len = header & !(BUSY | DISCARD);
        let total = (u64::from(len) + HEADER).next_multiple_of(8);
        if total > self.produced - self.consumed {
            return Err(EINVAL);
        }
        if total > self.size {
            return Err(E2BIG);
        }
        if header & DISCARD != 0 {
            self.consumed += total;
            return Ok(Sample::Discarded);
        }
        if header & BUSY != 0 {
            return Ok(Sample::None);
        }
        Ok(Sample::At(self.at(self.consumed) + HEADER, len))
    }

    /// `__bpf_user_ringbuf_sample_release()`.
    pub(crate) fn release(&mut self, len: u32) {
        self.consumed += (u64::from(len) + HEADER).next_multiple_of(8);
    }
}
