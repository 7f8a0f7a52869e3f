// SPDX-License-Identifier: MIT OR Apache-2.0
//! Maps. Values that guest code may point at live in guest memory; keys and order
//! are the host's. Iteration order never depends on hashing.

mod array;
mod create;
mod hash;
mod queue;
mod ring;
mod special;
mod storage;
mod trie;
mod user_ring;
mod view;

pub(crate) use array::{Array, ArrayPlace};
pub(crate) use create::{create, Created};
pub(crate) use hash::Hash;
pub(crate) use queue::Queue;
pub(crate) use ring::Ring;
pub use ring::RingBytes;
pub(crate) use special::{FieldKind, Special};
pub(crate) use storage::Storage;
pub(crate) use trie::Trie;
pub(crate) use user_ring::{Sample, UserRing};
pub use view::MapView;

use crate::errno::{EEXIST, EINVAL, ENOENT, EOPNOTSUPP};
use crate::memory::{handle, Memory};
use rota_object::image::FuncId;
use std::collections::BTreeSet;

/// Create or change.
pub(crate) const ANY: u64 = 0;
/// Create only.
pub(crate) const NOEXIST: u64 = 1;
/// Change only.
pub(crate) const EXIST: u64 = 2;
/// The value's lock is to be taken: nothing to do where callbacks take turns.
pub(crate) const LOCK: u64 = 4;

/// A map of a running instance.
#[derive(Debug)]
pub(crate) struct Map {
    pub(crate) name: String,
    pub(crate) key_size: u32,
    pub(crate) value_size: u32,
    /// Fields of the value that are not plain data.
    pub(crate) special: Special,
    pub(crate) body: Body,
}

/// What a map is.
#[derive(Debug)]
pub(crate) enum Body {
    Array(Array),
    Hash(Hash),
    Queue(Queue),
    Storage(Storage),
    Ring(Ring),
    /// A ring that user space writes.
    UserRing(UserRing),
    Arena,
    Programs(Vec<Option<FuncId>>),
    /// Map numbers by index.
    Maps(Vec<Option<u32>>),
    /// Map numbers by key: the values are 4-byte numbers.
    MapsByKey(Hash),
    /// By the longest prefix of a key.
    Trie(Trie),
    /// Values that were pushed: a filter that is never wrong.
    Bloom(BTreeSet<Vec<u8>>),
    /// What user space would put there (performance counters, cgroups), and stacks: empty.
    Outside,
    /// Only the loader reads it.
    StructOps,
}

/// What an update did to the map.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Update {
    /// The value is at this address.
    At(u64),
    /// As before, after removing the value at the second address to make room.
    Evicted(u64, u64),
}

impl Map {
    /// Address of the value at a key, or the handle of the map there; `cpu` picks the
    /// copy of per-CPU maps. Counts as a use for LRU maps.
    #[inline]
    pub(crate) fn lookup(&mut self, memory: &Memory, key: &[u8], cpu: u32) -> Option<u64> {
        if let Body::Hash(hash) = &mut self.body {
            let slot = hash.find(key)?;
            hash.touch(slot);
            return hash.value(slot, cpu);
        }
        self.peek(memory, key, cpu)
    }

    /// [`Map::lookup`] that no LRU map notices.
    #[inline]
    pub(crate) fn peek(&self, memory: &Memory, key: &[u8], cpu: u32) -> Option<u64> {
        match &self.body {
            Body::Array(array) => array.at(index(key)?, cpu),
            Body::Hash(hash) => hash.value(hash.find(key)?, cpu),
            Body::Storage(storage) => storage.find(owner(key)?),
            Body::Maps(maps) => maps.get(index(key)? as usize).copied().flatten().map(handle::map),
            Body::MapsByKey(hash) => {
                let number = hash.value(hash.find(key)?, 0)?;
                Some(handle::map(memory.get_u32(number)))
            }
            Body::Trie(trie) => trie.find(key),
            _ => None,
        }
    }

    /// Makes room for the value at a key, under the rules of `flags`; the caller stores
    /// it. `Err` is an error number.
    pub(crate) fn place(
        &mut self,
        memory: &mut Memory,
        key: &[u8],
        cpu: u32,
        flags: u64,
    ) -> Result<Update, i64> {
        let flags = flags & !LOCK;
        if flags > EXIST {
            return Err(EINVAL);
        }
        match &mut self.body {
            Body::Array(array) => {
                let index = index(key).ok_or(EINVAL)?;
                let value = array.at(index, cpu).ok_or(crate::errno::E2BIG)?;
                if flags == NOEXIST {
                    return Err(EEXIST);
                }
                Ok(Update::At(value))
            }
            Body::Hash(hash) | Body::MapsByKey(hash) => hash.place(memory, key, cpu, flags),
            Body::Storage(storage) => {
                let owner = owner(key).ok_or(EINVAL)?;
                storage.place(memory, owner, flags).map(Update::At)
            }
            Body::Trie(trie) => trie.place(memory, key, flags),
            _ => Err(EOPNOTSUPP),
        }
    }

    /// Removes the entry at a key; `Ok` is where its value was.
    pub(crate) fn delete(&mut self, key: &[u8]) -> Result<u64, i64> {
        match &mut self.body {
            Body::Array(_) => Err(EINVAL),
            Body::Hash(hash) | Body::MapsByKey(hash) => hash.delete(key).ok_or(ENOENT),
            Body::Storage(storage) => storage.remove(owner(key).ok_or(EINVAL)?).ok_or(ENOENT),
            Body::Trie(trie) => trie.delete(key),
            _ => Err(EOPNOTSUPP),
        }
    }

    /// The entry at or after `cursor`, which moves behind it: key and value address.
    pub(crate) fn next(&self, cursor: &mut u32, cpu: u32) -> Option<(Vec<u8>, u64)> {
        match &self.body {
            Body::Array(array) => {
                let index = *cursor;
                let value = array.at(index, cpu)?;
                *cursor += 1;
                Some((index.to_le_bytes().to_vec(), value))
            }
            Body::Hash(hash) | Body::MapsByKey(hash) => {
                let slot = hash.next(*cursor)?;
                *cursor = slot + 1;
                Some((hash.key(slot).to_vec(), hash.value(slot, cpu)?))
            }
            Body::Trie(trie) => trie.next(cursor),
            _ => None,
        }
    }

    /// The cursor behind the entry at a key, `None` if there is no such entry.
    pub(crate) fn after(&self, key: &[u8]) -> Option<u32> {
        match &self.body {
            Body::Array(array) => {
                index(key).filter(|at| array.at(*at, 0).is_some()).map(|at| at + 1)
            }
            Body::Hash(hash) | Body::MapsByKey(hash) => hash.find(key).map(|slot| slot + 1),
            Body::Trie(trie) => trie.after(key),
            _ => None,
        }
    }

    /// The entry whose value holds `addr`: its key and where the value starts.
    pub(crate) fn holding(&self, addr: u64) -> Option<(Vec<u8>, u64)> {
        match &self.body {
            Body::Array(array) => {
                let (index, value) = array.holding(addr)?;
                Some((index.to_le_bytes().to_vec(), value))
            }
            Body::Hash(hash) => {
                let (slot, value) = hash.holding(addr)?;
                Some((hash.key(slot).to_vec(), value))
            }
            _ => None,
        }
    }

    /// Bytes from one CPU's value to the next's; 0 if all CPUs share it.
    pub(crate) fn cpu_stride(&self) -> u64 {
        match &self.body {
            Body::Array(array) => array.cpu_stride(),
            Body::Hash(hash) => hash.cpu_stride(),
            _ => 0,
        }
    }
}

/// An array index.
#[inline]
fn index(key: &[u8]) -> Option<u32> {
    key.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}

/// A task or cgroup address.
fn owner(key: &[u8]) -> Option<u64> {
    key.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}
