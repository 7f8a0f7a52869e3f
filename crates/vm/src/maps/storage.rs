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
    /// By the region that the owner begins, that of the value; 0 if there is none. Kernel objects and
    /// values have regions of their own.
    by_region: Vec<u32>,
    /// Of owners that are not the beginning of a region, which no verifier lets through.
    others: FxHashMap<u64, u64>,
}

/// The region that begins at an address.
#[inline]
fn region(addr: u64) -> Option<usize> {
    (addr as u32 == 0).then_some((addr >> 32) as usize)
}

impl Storage {
    /// Without any value.
    pub(crate) fn new(name: &str, stride: u32) -> Self {
        let (by_region, others) = (Vec::new(), FxHashMap::default());
        Self { name: name.to_owned(), stride, by_region, others }
    }

    /// Where the owner's value is.
    #[inline]
    pub(crate) fn find(&self, owner: u64) -> Option<u64> {
        let value = region(owner).and_then(|region| self.by_region.get(region));
        match value {
            Some(&value) if value != 0 => Some(u64::from(value) << 32),
            _ if self.others.is_empty() => None,
            _ => self.others.get(&owner).copied(),
        }
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
                self.insert(owner, value, memory.windows().len());
                Ok(value)
            }
        }
    }

    fn insert(&mut self, owner: u64, value: u64, regions: usize) {
        match region(owner).filter(|region| (1..regions).contains(region)) {
            Some(region) => {
                let count = self.by_region.len().max(region + 1);
                self.by_region.resize(count, 0);
                self.by_region[region] = (value >> 32) as u32;
            }
            None => {
                self.others.insert(owner, value);
            }
        }
    }

    /// Forgets the owner's value; returns its place, which is the caller's to free.
    pub(crate) fn remove(&mut self, owner: u64) -> Option<u64> {
        let value = region(owner).and_then(|region| self.by_region.get_mut(region));
        match value.map(std::mem::take) {
            Some(value) if value != 0 => Some(u64::from(value) << 32),
            _ => self.others.remove(&owner),
        }
    }

    /// All owners, by address.
    pub(crate) fn owners(&self) -> Vec<u64> {
        let regions = (0u64..).zip(&self.by_region).filter(|(_, value)| **value != 0);
        let mut owners: Vec<_> = regions.map(|(region, _)| region << 32).collect();
        owners.extend(self.others.keys());
        owners.sort_unstable();
        owners
    }

    /// By the number of an owner's region, that of its value. It holds until a value comes or goes.
    pub(crate) fn by_region(&self) -> &[u32] {
        &self.by_region
    }
}
