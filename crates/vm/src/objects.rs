// SPDX-License-Identifier: MIT OR Apache-2.0
//! Objects that guest code allocates and owns by reference: `bpf_obj_new`, cpumasks.

use crate::maps::Special;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// A live object.
#[derive(Clone, Debug)]
struct Object {
    refs: u32,
    /// What it owns in turn.
    special: Arc<Special>,
    /// Bytes from one CPU's copy to the next's, if each CPU has one.
    per_cpu: Option<u32>,
}

/// Live objects by the address of their region.
#[derive(Debug, Default)]
pub(crate) struct Objects {
    live: FxHashMap<u64, Object>,
    /// Special fields by local BTF type, found once.
    pub(crate) types: FxHashMap<u32, Arc<Special>>,
}

impl Objects {
    /// Notes a new object with one reference.
    pub(crate) fn add(&mut self, addr: u64, special: Arc<Special>) {
        self.live.insert(addr, Object { refs: 1, special, per_cpu: None });
    }

    /// Notes a new object of which each CPU has a copy.
    pub(crate) fn add_per_cpu(&mut self, addr: u64, special: Arc<Special>, stride: u32) {
        self.live.insert(addr, Object { refs: 1, special, per_cpu: Some(stride) });
    }

    /// Bytes between the copies of a per-CPU object.
    pub(crate) fn per_cpu_stride(&self, addr: u64) -> Option<u32> {
        self.live.get(&addr)?.per_cpu
    }

    /// Takes one more reference; false if `addr` is no object.
    pub(crate) fn acquire(&mut self, addr: u64) -> bool {
        match self.live.get_mut(&addr) {
            Some(object) => {
                object.refs += 1;
                true
            }
            None => false,
        }
    }

    /// Gives back one reference; if it was the last, what the object owns.
    pub(crate) fn release(&mut self, addr: u64) -> Option<Arc<Special>> {
        let object = self.live.get_mut(&addr)?;
        object.refs -= 1;
        if object.refs > 0 {
            return None;
        }
        self.live.remove(&addr).map(|object| object.special)
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.live.is_empty()
    }

    /// Whether an object starts at `addr`.
    pub(crate) fn contains(&self, addr: u64) -> bool {
        self.live.contains_key(&addr)
    }
}
