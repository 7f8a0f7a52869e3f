// SPDX-License-Identifier: MIT OR Apache-2.0
//! Regions that compiled code counts on.

use super::Memory;

/// For how long a region has its size, and may be accessed as it may now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stays {
    /// Until it is freed.
    Free,
    /// Until [`Memory::end`]. Its bytes may become somebody else's.
    Kept,
    /// As long as the address space, where it is.
    Lasts,
}

impl Memory {
    /// From now on a region is there until [`Memory::end`], with the same size and rights.
    pub(crate) fn keep(&mut self, addr: u64) {
        if let Some(region) = self.regions.get_mut((addr >> 32) as usize) {
            region.stays = Stays::Kept;
        }
    }

    /// Frees a region that was kept: no code runs any more that counts on it.
    pub(crate) fn end(&mut self, addr: u64) {
        if let Some(region) = self.regions.get_mut((addr >> 32) as usize) {
            if region.stays == Stays::Kept {
                region.stays = Stays::Free;
            }
        }
        self.free(addr);
    }
}
