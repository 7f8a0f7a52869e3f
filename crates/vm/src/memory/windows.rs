// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which bytes of which regions may be accessed without asking: for compiled code.

use super::{Memory, Region, Rule, PAGE_SIZE};

/// A region as compiled code sees it. Whatever it says nothing of is [`Memory`]'s to decide.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// What added to an address of the guest gives that of the same byte in this process.
    pub shift: usize,
    /// Address of 64-bit words with a bit for each byte of a kernel object, or for each page of an arena:
    /// loads that begin at one without are counted, and stores to such a page are dropped. 0 if it is
    /// neither.
    pub filled: usize,
    /// Bytes that loads may be of.
    pub loadable: u32,
    /// Bytes that stores may be to.
    pub storable: u32,
    /// Bytes that loads may be of if the first is filled.
    pub kernel: u32,
    /// Bytes that loads may be of if the page of the first exists, and stores if that of the last does, too.
    pub arena: u32,
}

impl Memory {
    /// All regions, by number; the first is empty. They hold until something else than loads and stores
    /// is done with the memory.
    pub fn windows(&self) -> &[Window] {
        &self.windows
    }

    /// Has the window of a region say what the region is now.
    pub(super) fn renew_window(&mut self, id: usize) {
        if self.windows.len() < self.regions.len() {
            self.windows.resize(self.regions.len(), Window::default());
        }
        let Region { data, rule, .. } = &mut self.regions[id];
        let (size, bytes) = (data.len() as u32, data.as_mut_ptr().expose_provenance());
        let shift = bytes.wrapping_sub(((id as u64) << 32) as usize);
        self.windows[id] = match *rule {
            Rule::Plain => Window { shift, loadable: size, storable: size, ..Window::default() },
            Rule::ReadOnly => Window { shift, loadable: size, ..Window::default() },
            Rule::Kernel(shape) => {
                let filled = self.shapes[shape as usize].filled.0.as_ptr().expose_provenance();
                Window { shift, filled, kernel: size, ..Window::default() }
            }
            Rule::Arena(arena) => {
                let pages = &self.arenas[arena as usize].allocated.0;
                let known = (pages.len() * 64).min(size as usize / PAGE_SIZE as usize);
                let filled = pages.as_ptr().expose_provenance();
                Window { shift, filled, arena: known as u32 * PAGE_SIZE, ..Window::default() }
            }
            Rule::Shared(at) => {
                let bytes = self.shared[at as usize].bytes_mut();
                let (size, place) = (bytes.len() as u32, bytes.as_mut_ptr().expose_provenance());
                let shift = place.wrapping_sub(((id as u64) << 32) as usize);
                Window { shift, loadable: size, storable: size, ..Window::default() }
            }
        };
    }
}
