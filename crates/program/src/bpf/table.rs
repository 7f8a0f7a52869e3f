// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a map holds while there is no machine yet, and of maps that no program uses.

use super::objects::ObjectId;
use super::uapi::elem;
use crate::Errno;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Contents of a map. Values are as `bpf(2)` has them: of a per-CPU map those of all CPUs.
#[derive(Debug)]
pub(super) enum Table {
    /// Values of so many bytes, one after the other.
    Array { values: Vec<u8>, size: usize },
    /// The bytes are those of the caller's mapping.
    Pages,
    /// By key.
    Hash(Entries),
    /// By the longest prefix of a key.
    Trie(Entries),
    /// Maps or programs by index.
    Objects { slots: BTreeMap<u32, ObjectId>, max: u32 },
    /// Maps by key.
    ObjectsByKey(Entries),
    /// A queue or stack.
    Queue(Queue),
    /// A filter.
    Bloom(BTreeSet<Vec<u8>>),
    /// A table of callbacks, once it has a value.
    StructOps(Option<Callbacks>),
    /// Nothing that commands could read or write.
    None,
}

/// The value of a table of callbacks.
#[derive(Clone, Debug)]
pub(super) struct Callbacks {
    pub(super) value: Vec<u8>,
    /// Its members that are not 0, by name.
    pub(super) members: Vec<(String, Member)>,
}

impl Callbacks {
    pub(super) fn programs(&self) -> impl Iterator<Item = ObjectId> + '_ {
        self.members.iter().filter_map(|(_, member)| match member {
            Member::Program(id) => Some(*id),
            _ => None,
        })
    }
}

/// A member of such a table.
#[derive(Clone, Debug)]
pub(super) enum Member {
    Program(ObjectId),
    Int(u64),
    Text(String),
}

/// Entries in the order in which they came.
#[derive(Debug)]
pub(super) struct Entries {
    by_key: BTreeMap<Vec<u8>, u64>,
    by_age: BTreeMap<u64, (Vec<u8>, Vec<u8>)>,
    last: u64,
    max: u32,
    /// The oldest makes room.
    lru: bool,
}

/// Values that are taken out in an order.
#[derive(Debug)]
pub(super) struct Queue {
    values: VecDeque<Vec<u8>>,
    max: u32,
    last_in_first_out: bool,
}

impl Entries {
    pub(super) fn new(max: u32, lru: bool) -> Self {
        Self { by_key: BTreeMap::new(), by_age: BTreeMap::new(), last: 0, max, lru }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.by_age.values().map(|(key, value)| (key.as_slice(), value.as_slice()))
    }

    fn get(&self, key: &[u8]) -> Option<&[u8]> {
        let age = self.by_key.get(key)?;
        self.by_age.get(age).map(|(_, value)| value.as_slice())
    }

    fn put(&mut self, key: &[u8], value: &[u8], flags: u64) -> Result<(), Errno> {
        if let Some(age) = self.by_key.get(key) {
            if flags == elem::NOEXIST {
                return Err(Errno::EEXIST);
            }
            if let Some((_, old)) = self.by_age.get_mut(age) {
                *old = value.to_vec();
            }
            return Ok(());
        }
        if flags == elem::EXIST {
            return Err(Errno::ENOENT);
        }
        if self.by_key.len() >= self.max as usize {
            if !self.lru {
                return Err(Errno::E2BIG);
            }
            if let Some((_, (oldest, _))) = self.by_age.pop_first() {
                self.by_key.remove(&oldest);
            }
        }
        self.last += 1;
        self.by_key.insert(key.to_vec(), self.last);
        self.by_age.insert(self.last, (key.to_vec(), value.to_vec()));
        Ok(())
    }

    fn remove(&mut self, key: &[u8]) -> Result<(), Errno> {
        let age = self.by_key.remove(key).ok_or(Errno::ENOENT)?;
        self.by_age.remove(&age);
        Ok(())
    }

    /// After this key, or the first if it is not there.
    fn next(&self, key: Option<&[u8]>) -> Option<&[u8]> {
        let age = key.and_then(|key| self.by_key.get(key)).copied().unwrap_or(0);
        self.by_age.range(age + 1..).next().map(|(_, (key, _))| key.as_slice())
    }

    /// Of the prefixes in the map that a key has, the longest.
    fn longest(&self, key: &[u8]) -> Option<&[u8]> {
        let fits = |prefix: &[u8]| {
            let (bits, asked) = (prefix_len(prefix), prefix_len(key));
            bits <= asked && (0..bits).all(|bit| bit_of(prefix, bit) == bit_of(key, bit))
        };
        let fitting = self.iter().filter(|(prefix, _)| fits(prefix));
        fitting.max_by_key(|(prefix, _)| prefix_len(prefix)).map(|(_, value)| value)
    }
}

/// Bits of a prefix: the first word of its key.
fn prefix_len(key: &[u8]) -> u32 {
    super::attr::word(key, 0)
}

fn bit_of(key: &[u8], bit: u32) -> bool {
    key.get(4 + bit as usize / 8).is_some_and(|byte| byte >> (7 - bit % 8) & 1 == 1)
}

impl Queue {
    pub(super) fn new(max: u32, last_in_first_out: bool) -> Self {
        Self { values: VecDeque::new(), max, last_in_first_out }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.values.iter().map(Vec::as_slice)
    }

    /// `BPF_EXIST` makes room.
    fn push(&mut self, value: &[u8], flags: u64) -> Result<(), Errno> {
        if flags != elem::ANY && flags != elem::EXIST {
            return Err(Errno::EINVAL);
        }
        if self.values.len() >= self.max as usize {
            if flags != elem::EXIST {
                return Err(Errno::E2BIG);
            }
            self.values.pop_front();
        }
        self.values.push_back(value.to_vec());
        Ok(())
    }

    fn peek(&self) -> Option<&Vec<u8>> {
        if self.last_in_first_out {
            self.values.back()
        } else {
            self.values.front()
        }
    }

    fn pop(&mut self) -> Option<Vec<u8>> {
        if self.last_in_first_out {
            self.values.pop_back()
        } else {
            self.values.pop_front()
        }
    }
}

/// An array's index.
pub(super) fn index(key: &[u8]) -> u32 {
    super::attr::word(key, 0)
}

impl Table {
    /// The value at a key, of a queue the next one. Objects are 4-byte ids.
    pub(super) fn get(&self, key: &[u8]) -> Result<Vec<u8>, Errno> {
        let found = match self {
            Table::Array { values, size } => {
                let start = index(key) as usize * size;
                values.get(start..start + size).map(<[u8]>::to_vec)
            }
            Table::Hash(entries) | Table::ObjectsByKey(entries) => {
                entries.get(key).map(<[u8]>::to_vec)
            }
            Table::Trie(entries) => entries.longest(key).map(<[u8]>::to_vec),
            Table::Objects { slots, .. } => {
                slots.get(&index(key)).map(|id| id.0.to_le_bytes().to_vec())
            }
            Table::Queue(queue) => queue.peek().cloned(),
            Table::StructOps(table) => {
                table.as_ref().filter(|_| index(key) == 0).map(|table| table.value.clone())
            }
            Table::Pages | Table::Bloom(_) | Table::None => return Err(Errno::EOPNOTSUPP),
        };
        found.ok_or(Errno::ENOENT)
    }

    /// Stores a value. Objects are 4-byte ids.
    pub(super) fn put(&mut self, key: &[u8], value: &[u8], flags: u64) -> Result<(), Errno> {
        let flags = flags & !elem::LOCK;
        if flags > elem::EXIST {
            return Err(Errno::EINVAL);
        }
        match self {
            Table::Array { values, size } => {
                let start = index(key) as usize * *size;
                let place = values.get_mut(start..start + *size).ok_or(Errno::E2BIG)?;
                if flags == elem::NOEXIST {
                    return Err(Errno::EEXIST);
                }
                place.copy_from_slice(value);
                Ok(())
            }
            Table::Hash(entries) | Table::ObjectsByKey(entries) => entries.put(key, value, flags),
            Table::Trie(entries) => entries.put(key, value, flags).map_err(|error| match error {
                // trie_update_elem(): a full map is out of space, not too big
                Errno::E2BIG => Errno::ENOSPC,
                other => other,
            }),
            Table::Objects { slots, max } => {
                if flags != elem::ANY {
                    return Err(Errno::EINVAL);
                }
                if index(key) >= *max {
                    return Err(Errno::E2BIG);
                }
                slots.insert(index(key), ObjectId(super::attr::word(value, 0)));
                Ok(())
            }
            Table::Queue(queue) => queue.push(value, flags),
            Table::Bloom(values) => {
                if flags != elem::ANY {
                    return Err(Errno::EINVAL);
                }
                values.insert(value.to_vec());
                Ok(())
            }
            Table::Pages | Table::StructOps(_) | Table::None => Err(Errno::EOPNOTSUPP),
        }
    }

    pub(super) fn remove(&mut self, key: &[u8]) -> Result<(), Errno> {
        match self {
            Table::Hash(entries) | Table::Trie(entries) | Table::ObjectsByKey(entries) => {
                entries.remove(key)
            }
            Table::Objects { slots, max } => {
                if index(key) >= *max {
                    return Err(Errno::E2BIG);
                }
                slots.remove(&index(key)).map(|_| ()).ok_or(Errno::ENOENT)
            }
            Table::Array { .. } | Table::Pages => Err(Errno::EINVAL),
            _ => Err(Errno::EOPNOTSUPP),
        }
    }

    /// The key after this one, of `max` entries.
    pub(super) fn next(&self, key: Option<&[u8]>, max: u32) -> Result<Vec<u8>, Errno> {
        match self {
            Table::Hash(entries) | Table::Trie(entries) | Table::ObjectsByKey(entries) => {
                entries.next(key).map(<[u8]>::to_vec).ok_or(Errno::ENOENT)
            }
            Table::Array { .. } | Table::Pages | Table::Objects { .. } => next_index(key, max),
            Table::StructOps(_) => next_index(key, 1),
            _ => Err(Errno::EOPNOTSUPP),
        }
    }

    pub(super) fn pop(&mut self) -> Result<Vec<u8>, Errno> {
        match self {
            Table::Queue(queue) => queue.pop().ok_or(Errno::ENOENT),
            _ => Err(Errno::EOPNOTSUPP),
        }
    }
}

/// `bpf_array_get_next_key()`.
fn next_index(key: Option<&[u8]>, max: u32) -> Result<Vec<u8>, Errno> {
    let next = key.map(index).filter(|at| *at < max).map_or(0, |at| at + 1);
    (next < max).then(|| next.to_le_bytes().to_vec()).ok_or(Errno::ENOENT)
}
