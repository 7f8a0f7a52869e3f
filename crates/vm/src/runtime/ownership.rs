// SPDX-License-Identifier: MIT OR Apache-2.0
//! What becomes of objects that nobody refers to any longer, and of what they own.

use super::Runtime;
use crate::graph::{list, rbtree};
use crate::host::Host;
use crate::maps::{FieldKind, Special};

impl<H: Host> Runtime<H> {
    /// Gives back one reference to an object. The last one frees it and, in turn, what it
    /// owns. A pointer to anything else (a task, a cgroup) is the host's to count.
    pub(crate) fn release_object(&mut self, host: &mut H, addr: u64) {
        let mut open = vec![addr];
        while let Some(addr) = open.pop() {
            if let Some(special) = self.objects.release(addr) {
                self.free_later(addr);
                owned(host, &special, addr, &mut open);
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
