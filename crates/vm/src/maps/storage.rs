// SPDX-License-Identifier: MIT OR Apache-2.0
//! Task and cgroup storage: one value per kernel object, gone with it.

use crate::errno::{EEXIST, ENOENT};
use crate::maps::{EXIST, NOEXIST};
use crate::memory::{Memory, Perm};
use rustc_hash::FxHashMap;

/// Values by the guest address of the object that owns them.
#[derive(Debug)]
pub(crate) struct Storage {
    name: String,
    stride: u32,
    values: FxHashMap<u64, u64>,
}

impl Storage {
    /// Without any value.
    pub(crate) fn new(name: &str, stride: u32) -> Self {
        Self { name: name.to_owned(), stride, values: FxHashMap::default() }
    }

    /// Where the owner's value is.
    #[inline]
    pub(crate) fn find(&self, owner: u64) -> Option<u64> {
        self.values.get(&owner).copied()
    }

    /// Finds or makes the owner's value; a new one is zeroed.
    pub(crate) fn place(
        &mut self,
        memory: &mut Memory,
        owner: u64,
        flags: u64,
    ) -> Result<u64, i64> {
        match (self.find(owner), flags) {
            (Some(_), NOEXIST) => Err(EEXIST),
            (None, EXIST) => Err(ENOENT),
            (Some(value), _) => Ok(value),
            (None, _) => {
                let value = memory.alloc(&self.name, self.stride, Perm::ReadWrite);
                self.values.insert(owner, value);
                Ok(value)
            }
        }
    }

    /// Forgets the owner's value; returns its place, which is the caller's to free.
    pub(crate) fn remove(&mut self, owner: u64) -> Option<u64> {
        self.values.remove(&owner)
    }

    /// All owners, by address.
    pub(crate) fn owners(&self) -> Vec<u64> {
        let mut owners: Vec<_> = self.values.keys().copied().collect();
        owners.sort_unstable();
        owners
    }
}
