// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arenas: pages come and go.

use super::sparse::{Page, Sparse};
use super::{Memory, Region, Rule, PAGE_SIZE};

/// An arena's backing never grows beyond this: a hostile program must not take
/// the whole machine's memory.
const ARENA_LIMIT: u32 = 1 << 30;

impl Memory {
    /// An empty arena of at most `max_pages` pages.
    pub fn alloc_arena(&mut self, name: &str, max_pages: u32) -> u64 {
        let name = self.name_id(name);
        self.arenas.push(Sparse::new(max_pages));
        let rule = Rule::Arena(self.arenas.len() as u32 - 1);
        self.insert(Region::new(Box::default(), rule, name))
    }

    /// The same in the region of this number; `None` if that is taken, or far from all others.
    pub fn alloc_arena_at(&mut self, name: &str, region: u32, max_pages: u32) -> Option<u64> {
        const FARTHEST: usize = 1 << 16;
        let id = region as usize;
        if id == 0 || id > FARTHEST {
            return None;
        }
        let unused = self.name_id("no region");
        while self.regions.len() <= id {
            self.regions.push(Region::new(Box::default(), Rule::Plain, unused));
        }
        if self.regions[id].name != unused {
            return None;
        }
        let name = self.name_id(name);
        self.arenas.push(Sparse::new(max_pages));
        let rule = Rule::Arena(self.arenas.len() as u32 - 1);
        self.regions[id] = Region::new(Box::default(), rule, name);
        self.renew_window(id);
        Some(u64::from(region) << 32)
    }

    /// Ends the life of an arena; another can be in its place.
    pub(crate) fn free_arena(&mut self, addr: u64) {
        let unused = self.name_id("no region");
        let Some(region) = self.regions.get_mut((addr >> 32) as usize) else { return };
        if let Rule::Arena(index) = region.rule {
            *region = Region::new(Box::default(), Rule::Plain, unused);
            self.arenas[index as usize] = Sparse::new(0);
            self.renew_window((addr >> 32) as usize);
        }
    }

    /// Pages of an arena that exist: numbers from the first on.
    pub fn arena_pages(&self, arena: u64) -> Vec<u32> {
        match self.region(arena).map(|region| region.rule) {
            Some(Rule::Arena(index)) => self.arenas[index as usize].allocated().collect(),
            _ => Vec::new(),
        }
    }

    /// The last pages of an arena, zeroed, for its globals: where libbpf has them.
    pub fn arena_tail(&mut self, arena: u64, count: u32) -> Option<u64> {
        let Rule::Arena(index) = self.regions.get((arena >> 32) as usize)?.rule else {
            return None;
        };
        let first = self.arenas[index as usize].take_tail(count)?;
        self.renew_window((arena >> 32) as usize);
        Some((arena >> 32 << 32) + u64::from(first * PAGE_SIZE))
    }

    /// Bytes from an address on in its region; of a kernel object's own bytes, those up to their end,
    /// which is zero.
    pub(crate) fn rest_of(&self, addr: u64) -> u32 {
        let rest = self.region_size(addr).saturating_sub(addr as u32);
        match self.region(addr).map(|region| region.rule) {
            Some(Rule::Kernel(_)) if (addr as u32) < self.own_bytes(addr) => {
                self.own_bytes(addr) - addr as u32
            }
            Some(Rule::Arena(arena)) if rest == 0 => {
                let arena = &self.arenas[arena as usize];
                let at = arena.in_tail(addr as u32 as usize);
                at.map_or(0, |at| arena.tail.len().saturating_sub(at) as u32)
            }
            _ => rest,
        }
    }

    /// Adds `count` zeroed pages to an arena, at `at` (an address in it) or at the
    /// lowest free place. Returns their address; `None` if there is no room.
    pub fn arena_alloc(&mut self, arena: u64, at: Option<u64>, count: u32) -> Option<u64> {
        let id = (arena >> 32) as usize;
        let Rule::Arena(index) = self.regions.get(id)?.rule else { return None };
        let pages = &mut self.arenas[index as usize];
        let first = pages.find(at.map(|addr| addr as u32 / PAGE_SIZE), count)?;
        let end = (first + count).checked_mul(PAGE_SIZE).filter(|&end| end <= ARENA_LIMIT)?;
        pages.set(first, count, Page::Allocated);
        let data = &mut self.regions[id].data;
        if data.len() < end as usize {
            let most = pages.tail_page() as usize * PAGE_SIZE as usize;
            let size = (end.next_power_of_two() as usize).min(most);
            let mut grown = vec![0; size].into_boxed_slice();
            grown[..data.len()].copy_from_slice(data);
            *data = grown;
        }
        self.renew_window(id);
        Some((arena >> 32 << 32) + u64::from(first * PAGE_SIZE))
    }

    /// Keeps free pages of an arena from being allocated; false if one is taken.
    pub fn arena_reserve(&mut self, addr: u64, count: u32) -> bool {
        let region = self.regions.get((addr >> 32) as usize);
        let Some(Rule::Arena(index)) = region.map(|region| region.rule) else { return false };
        let pages = &mut self.arenas[index as usize];
        let is_free = pages.reserve(addr as u32 / PAGE_SIZE, count);
        self.renew_window((addr >> 32) as usize);
        is_free
    }

    /// Takes pages out of an arena; their content is gone.
    pub fn arena_free(&mut self, addr: u64, count: u32) {
        let id = (addr >> 32) as usize;
        let Some(Rule::Arena(index)) = self.regions.get(id).map(|region| region.rule) else {
            return;
        };
        let first = addr as u32 / PAGE_SIZE;
        // its globals stay: no allocation may take a part of them
        let last = first.saturating_add(count).min(self.arenas[index as usize].tail_page());
        self.arenas[index as usize].set(first, last.saturating_sub(first), Page::Free);
        let data = &mut self.regions[id].data;
        let end = (last as usize * PAGE_SIZE as usize).min(data.len());
        let start = (first as usize * PAGE_SIZE as usize).min(end);
        data[start..end].fill(0);
        self.renew_window(id);
    }
}

impl Sparse {
    pub(super) fn tail_bytes(&self, offset: usize, len: usize) -> Option<&[u8]> {
        let at = self.in_tail(offset)?;
        self.tail.get(at..at + len)
    }

    pub(super) fn tail_bytes_mut(&mut self, offset: usize, len: usize) -> Option<&mut [u8]> {
        let at = self.in_tail(offset)?;
        self.tail.get_mut(at..at + len)
    }
}
