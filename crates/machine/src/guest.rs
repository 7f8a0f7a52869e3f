// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's memory as hosted code sees it: where objects and their fields are.

use crate::identity::Identities;
use crate::kernel_objects::Scratch;
use crate::layout::{Layouts, ABSENT};
use rota_vm::memory::Memory;

/// Guest memory and what the machine keeps there.
pub(crate) struct Guest {
    pub(crate) mem: Memory,
    pub(crate) layouts: Layouts,
    pub(crate) scratch: Scratch,
    pub(crate) identities: Identities,
    /// `struct scx_cmask` for `ops.set_cmask()`, 0 until first used.
    pub(crate) cmask: u64,
}

impl Guest {
    /// With the objects that any machine with so many CPUs has.
    pub(crate) fn new(mut mem: Memory, layouts: Layouts, cpus: u32) -> Self {
        layouts.back(cpus, &mut mem);
        let scratch = Scratch::new(&mut mem, &layouts, cpus);
        let identities = Identities::default();
        let mut guest = Self { mem, layouts, scratch, identities, cmask: 0 };
        guest.fill_loader();
        guest
    }

    /// Writes a field of a kernel object if this kernel has it.
    #[inline]
    pub(crate) fn put_u32(&mut self, base: u64, offset: u32, value: u32) {
        if offset != ABSENT {
            self.mem.set_u32(base + u64::from(offset), value);
        }
    }

    /// As [`Guest::put_u32`], two bytes.
    pub(crate) fn put_u16(&mut self, base: u64, offset: u32, value: u16) {
        if offset != ABSENT {
            self.mem.set_u16(base + u64::from(offset), value);
        }
    }

    /// As [`Guest::put_u32`], eight bytes.
    #[inline]
    pub(crate) fn put_u64(&mut self, base: u64, offset: u32, value: u64) {
        if offset != ABSENT {
            self.mem.set_u64(base + u64::from(offset), value);
        }
    }

    pub(crate) fn write_text(&mut self, addr: u64, text: &str, size: usize) {
        let len = text.len().min(size - 1);
        for at in 0..size {
            let byte = if at < len { text.as_bytes()[at] } else { 0 };
            self.mem.set_u8(addr + at as u64, byte);
        }
    }
}
