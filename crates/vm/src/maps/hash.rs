// SPDX-License-Identifier: MIT OR Apache-2.0
//! Hash maps, plain, LRU and per-CPU.
//!
//! An entry has a slot number for life; its value's place follows from that. Slots are
//! given out in order and used again first in, first out, so a pointer to a value that
//! was just deleted still reads the old value, as it does in the kernel under RCU.

use crate::errno::{E2BIG, EEXIST, EINVAL, ENOENT};
use crate::maps::{Update, EXIST, NOEXIST};
use crate::memory::{Memory, Perm};
use hashbrown::HashTable;
use rustc_hash::FxHasher;
use std::collections::VecDeque;
use std::hash::Hasher;

/// Values share regions of about this size, made as the map fills.
const CHUNK_BYTES: u32 = 64 << 10;

/// No slot.
const NONE: u32 = u32::MAX;

/// A hash map.
#[derive(Debug)]
pub(crate) struct Hash {
    name: String,
    key_size: usize,
    max_entries: u32,
    /// Bytes of a value on one CPU.
    stride: u32,
    cpus: u32,
    table: HashTable<u32>,
    keys: Vec<u8>,
    live: Vec<bool>,
    free: VecDeque<u32>,
    chunks: Vec<u64>,
    /// Values in a chunk, as a power of two.
    chunk_bits: u32,
    recent: Option<Recent>,
}

/// Slots from least to most recently used.
#[derive(Debug, Default)]
struct Recent {
    /// `(previous, next)` of each slot.
    links: Vec<(u32, u32)>,
    first: u32,
    last: u32,
}

#[inline]
fn hash_of(key: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    // Numbers, the usual keys, hash faster as such.
    if let Ok(bytes) = <[u8; 4]>::try_from(key) {
        hasher.write_u32(u32::from_le_bytes(bytes));
    } else if let Ok(bytes) = <[u8; 8]>::try_from(key) {
        hasher.write_u64(u64::from_le_bytes(bytes));
    } else {
        hasher.write(key);
    }
    hasher.finish()
}

impl Hash {
    /// An empty map; `lru` makes room by dropping the least recently used entry.
    pub(crate) fn new(
        name: &str,
        key_size: u32,
        stride: u32,
        max_entries: u32,
        cpus: u32,
        lru: bool,
    ) -> Self {
        let slot_bytes = stride.saturating_mul(cpus).max(1);
        let recent = Recent { links: Vec::new(), first: NONE, last: NONE };
        Self {
            name: name.to_owned(),
            key_size: key_size as usize,
            max_entries,
            stride,
            cpus,
            table: HashTable::new(),
            keys: Vec::new(),
            live: Vec::new(),
            free: VecDeque::new(),
            chunks: Vec::new(),
            chunk_bits: (CHUNK_BYTES / slot_bytes).clamp(1, max_entries.max(1)).ilog2(),
            recent: lru.then_some(recent),
        }
    }

    /// The slot of a key.
    #[inline]
    pub(crate) fn find(&self, key: &[u8]) -> Option<u32> {
        if key.len() != self.key_size {
            return None;
        }
        self.table.find(hash_of(key), |&slot| self.key(slot) == key).copied()
    }

    /// The key in a slot.
    pub(crate) fn key(&self, slot: u32) -> &[u8] {
        let start = slot as usize * self.key_size;
        self.keys.get(start..start + self.key_size).unwrap_or(&[])
    }

    /// Address of a slot's value.
    #[inline]
    pub(crate) fn value(&self, slot: u32, cpu: u32) -> Option<u64> {
        let chunk = *self.chunks.get((slot >> self.chunk_bits) as usize)?;
        let row = if self.cpus > 1 { cpu.min(self.cpus - 1) } else { 0 };
        let within = slot & ((1 << self.chunk_bits) - 1);
        let number = u64::from(within) * u64::from(self.cpus) + u64::from(row);
        Some(chunk + number * u64::from(self.stride))
    }

    /// Notes a use of a slot.
    #[inline]
    pub(crate) fn touch(&mut self, slot: u32) {
        if let Some(recent) = &mut self.recent {
            recent.unlink(slot);
            recent.append(slot);
        }
    }

    /// The first slot in use at or after one.
    pub(crate) fn next(&self, from: u32) -> Option<u32> {
        let live = self.live.get(from as usize..)?;
        live.iter().position(|&used| used).map(|at| from + at as u32)
    }

    /// The slot whose value holds `addr`, and where that value starts.
    pub(crate) fn holding(&self, addr: u64) -> Option<(u32, u64)> {
        let chunk = self.chunks.iter().position(|base| base >> 32 == addr >> 32)? as u32;
        let offset = (addr as u32) / self.stride;
        let slot = (chunk << self.chunk_bits) + offset / self.cpus;
        let start = self.chunks[chunk as usize] + u64::from(offset) * u64::from(self.stride);
        (self.live.get(slot as usize) == Some(&true)).then_some((slot, start))
    }

    /// Finds or makes the entry of a key. A new one's values are zeroed.
    pub(crate) fn place(
        &mut self,
        memory: &mut Memory,
        key: &[u8],
        cpu: u32,
        flags: u64,
    ) -> Result<Update, i64> {
        if key.len() != self.key_size {
            return Err(EINVAL);
        }
        if let Some(slot) = self.find(key) {
            if flags == NOEXIST {
                return Err(EEXIST);
            }
            self.touch(slot);
            return self.value(slot, cpu).map(Update::At).ok_or(ENOENT);
        }
        if flags == EXIST {
            return Err(ENOENT);
        }
        let evicted = if self.table.len() as u32 >= self.max_entries {
            let oldest = self.recent.as_ref().map(|recent| recent.first).ok_or(E2BIG)?;
            Some(self.remove(oldest).ok_or(E2BIG)?)
        } else {
            None
        };
        let slot = self.take_slot(memory);
        let start = slot as usize * self.key_size;
        self.keys[start..start + self.key_size].copy_from_slice(key);
        self.live[slot as usize] = true;
        let (keys, size) = (&self.keys, self.key_size);
        let rehash = |&slot: &u32| hash_of(&keys[slot as usize * size..][..size]);
        self.table.insert_unique(hash_of(key), slot, rehash);
        if let Some(recent) = &mut self.recent {
            recent.append(slot);
        }
        let first = self.value(slot, 0).ok_or(ENOENT)?;
        let whole = memory.bytes_mut(first, self.stride * self.cpus).map_err(|_| ENOENT)?;
        whole.fill(0);
        let value = self.value(slot, cpu).ok_or(ENOENT)?;
        Ok(evicted.map_or(Update::At(value), |old| Update::Evicted(value, old)))
    }

    /// Drops a key; returns where its value was.
    pub(crate) fn delete(&mut self, key: &[u8]) -> Option<u64> {
        let slot = self.find(key)?;
        self.remove(slot)
    }

    /// Bytes from one CPU's value to the next's.
    pub(crate) fn cpu_stride(&self) -> u64 {
        if self.cpus > 1 {
            u64::from(self.stride)
        } else {
            0
        }
    }

    fn remove(&mut self, slot: u32) -> Option<u64> {
        let value = self.value(slot, 0)?;
        let hash = hash_of(self.key(slot));
        self.table.find_entry(hash, |&other| other == slot).ok()?.remove();
        self.live[slot as usize] = false;
        self.free.push_back(slot);
        if let Some(recent) = &mut self.recent {
            recent.unlink(slot);
        }
        Some(value)
    }

    fn take_slot(&mut self, memory: &mut Memory) -> u32 {
        // Unused slots first: a deleted value stays readable as long as possible.
        if self.live.len() as u32 >= self.max_entries {
            if let Some(slot) = self.free.pop_front() {
                return slot;
            }
        }
        let slot = self.live.len() as u32;
        self.live.push(false);
        self.keys.resize(self.keys.len() + self.key_size, 0);
        if let Some(recent) = &mut self.recent {
            recent.links.push((NONE, NONE));
        }
        if slot >> self.chunk_bits >= self.chunks.len() as u32 {
            let bytes = (self.cpus * self.stride) << self.chunk_bits;
            self.chunks.push(memory.alloc(&self.name, bytes, Perm::ReadWrite));
        }
        slot
    }
}

impl Recent {
    fn unlink(&mut self, slot: u32) {
        let (previous, next) = self.links[slot as usize];
        match previous {
            NONE => self.first = if self.first == slot { next } else { self.first },
            _ => self.links[previous as usize].1 = next,
        }
        match next {
            NONE => self.last = if self.last == slot { previous } else { self.last },
            _ => self.links[next as usize].0 = previous,
        }
        self.links[slot as usize] = (NONE, NONE);
    }

    fn append(&mut self, slot: u32) {
        self.links[slot as usize] = (self.last, NONE);
        match self.last {
            NONE => self.first = slot,
            last => self.links[last as usize].1 = slot,
        }
        self.last = slot;
    }
}
