// SPDX-License-Identifier: MIT OR Apache-2.0
//! Objects that guest code allocates and owns by reference: `bpf_obj_new`, cpumasks.

use super::Runtime;
use crate::host::Host;
use crate::kfuncs::{list, rbtree};
use crate::maps::{FieldKind, Special};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// A live object.
#[derive(Clone, Debug)]
pub(crate) struct Object {
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

    /// Gives back one reference; the object, if it was the last.
    fn release(&mut self, addr: u64) -> Option<Object> {
        let object = self.live.get_mut(&addr)?;
        object.refs -= 1;
        if object.refs > 0 {
            return None;
        }
        self.live.remove(&addr)
    }

    /// Whether an object starts at `addr`.
    pub(crate) fn contains(&self, addr: u64) -> bool {
        self.live.contains_key(&addr)
    }
}

impl<H: Host> Runtime<H> {
    /// Gives back one reference to an object. The last one frees it and, in turn, what it
    /// owns. A pointer to anything else (a task, a cgroup) is the host's to count.
    pub(crate) fn release_object(&mut self, host: &mut H, addr: u64) {
        let mut open = vec![addr];
        while let Some(addr) = open.pop() {
            if let Some(object) = self.objects.release(addr) {
                self.free_later(addr);
                owned(host, &object.special, addr, &mut open);
            }
        }
    }

    /// Gives up what the special fields of a value own.
    pub(crate) fn dispose_fields(&mut self, host: &mut H, special: &Special, value: u64) {
        let mut open = Vec::new();
        owned(host, special, value, &mut open);
        for addr in open {
            self.release_object(host, addr);
        }
    }
}

/// Moves the objects that a value's fields own to `out`.
fn owned<H: Host>(host: &mut H, special: &Special, value: u64, out: &mut Vec<u64>) {
    let memory = host.memory();
    for field in &special.0 {
        let addr = value + u64::from(field.offset);
        match field.kind {
            FieldKind::Kptr => {
                out.push(memory.get_u64(addr));
                memory.set_u64(addr, 0);
            }
            FieldKind::TreeRoot => {
                while let Some(node) = rbtree::pop_first(memory, addr) {
                    out.push(node >> 32 << 32);
                }
            }
            FieldKind::ListHead => {
                while let Some(node) = list::pop_front(memory, addr) {
                    out.push(node >> 32 << 32);
                }
            }
            FieldKind::Lock | FieldKind::Timer | FieldKind::Opaque => {}
        }
    }
}
