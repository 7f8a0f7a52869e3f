// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loads and stores: the guest's checked view and the host's plain one.

use super::sparse::{Page, Sparse};
use super::{Memory, Region, Rule, NULL_PAGE, PAGE_SIZE};
use crate::error::Fault;

/// An arena's backing never grows beyond this: a hostile program must not take
/// the whole machine's memory.
const ARENA_LIMIT: u32 = 1 << 30;

impl Memory {
    /// Guest load of `size` bytes (1, 2, 4 or 8), zero-extended.
    #[inline]
    pub fn read(&self, addr: u64, size: u32) -> Result<u64, Fault> {
        match size {
            1 => self.load::<1>(addr),
            2 => self.load::<2>(addr),
            4 => self.load::<4>(addr),
            8 => self.load::<8>(addr),
            _ => None,
        }
        .ok_or_else(|| self.bad_address(addr, size, false))
    }

    /// Guest store of the low `size` bytes (1, 2, 4 or 8) of `value`.
    #[inline]
    pub fn write(&mut self, addr: u64, size: u32, value: u64) -> Result<(), Fault> {
        match size {
            1 => self.store::<1>(addr, value),
            2 => self.store::<2>(addr, value),
            4 => self.store::<4>(addr, value),
            8 => self.store::<8>(addr, value),
            _ => None,
        }
        .ok_or_else(|| self.bad_address(addr, size, true))
    }

    /// Guest load of `N` bytes; `None` is a bad address.
    #[inline(always)]
    pub(crate) fn load<const N: usize>(&self, addr: u64) -> Option<u64> {
        let region = self.region(addr)?;
        let offset = addr as u32 as usize;
        let Some(bytes) = region.data.get(offset..).and_then(|rest| rest.first_chunk::<N>()) else {
            return self.load_outside::<N>(addr, region);
        };
        if let Rule::Kernel(_) | Rule::Arena(_) = region.rule {
            self.note_read(region, offset);
        }
        Some(from_le(bytes))
    }

    /// Guest store of `N` bytes; `None` is a bad address.
    #[inline(always)]
    pub(crate) fn store<const N: usize>(&mut self, addr: u64, value: u64) -> Option<()> {
        let offset = addr as u32 as usize;
        let region = self.regions.get_mut((addr >> 32) as usize)?;
        if region.rule != Rule::Plain {
            return self.store_checked::<N>(addr, value);
        }
        let Some(bytes) =
            region.data.get_mut(offset..).and_then(|rest| rest.first_chunk_mut::<N>())
        else {
            return self.store_outside(addr);
        };
        bytes.copy_from_slice(&value.to_le_bytes()[..N]);
        Some(())
    }

    /// A load that no region's bytes answer: NULL and arena holes read 0.
    #[cold]
    fn load_outside<const N: usize>(&self, addr: u64, region: &Region) -> Option<u64> {
        if let Rule::Arena(arena) = region.rule {
            if let Some(bytes) = self.arenas[arena as usize].tail_bytes(addr, N) {
                self.note_read(region, addr as u32 as usize);
                return bytes.first_chunk::<N>().map(from_le);
            }
            self.note_arena_miss();
            return Some(0);
        }
        if addr < NULL_PAGE {
            *self.null_reads.borrow_mut().entry(addr as u32).or_insert(0) += 1;
            return Some(0);
        }
        self.store_outside(addr).map(|()| 0)
    }

    /// A NULL arena pointer is one to a page that never exists: nothing happens. The
    /// verifier lets no program without an arena get here.
    #[cold]
    fn store_outside(&self, addr: u64) -> Option<()> {
        let null_of_arena = addr >> 32 == 0 && !self.arenas.is_empty();
        null_of_arena.then(|| self.note_arena_miss())
    }

    fn note_arena_miss(&self) {
        self.arena_misses.set(self.arena_misses.get() + 1);
    }

    fn note_read(&self, region: &Region, offset: usize) {
        match region.rule {
            Rule::Kernel(shape) => {
                let shape = &self.shapes[shape as usize];
                if !shape.filled.get(offset) {
                    let count = &shape.unfilled_reads[offset];
                    count.set(count.get() + 1);
                }
            }
            Rule::Arena(arena) if !self.arenas[arena as usize].has(offset) => {
                self.note_arena_miss();
            }
            _ => {}
        }
    }

    fn store_checked<const N: usize>(&mut self, addr: u64, value: u64) -> Option<()> {
        let offset = addr as u32 as usize;
        if !self.may_store(addr, N)? {
            self.note_arena_miss();
            return Some(());
        }
        let region = &mut self.regions[(addr >> 32) as usize];
        let bytes = match (region.data.get_mut(offset..offset + N), region.rule) {
            (Some(bytes), _) => bytes,
            (None, Rule::Arena(arena)) => self.arenas[arena as usize].tail_bytes_mut(addr, N)?,
            _ => return None,
        };
        bytes.copy_from_slice(&value.to_le_bytes()[..N]);
        Some(())
    }

    /// `None`: the store faults; `Some(false)`: it is dropped, as an arena hole does.
    fn may_store(&self, addr: u64, len: usize) -> Option<bool> {
        let region = self.region(addr)?;
        let offset = addr as u32 as usize;
        let last = offset + len.max(1) - 1;
        match region.rule {
            Rule::Plain => Some(true),
            Rule::ReadOnly => None,
            Rule::Kernel(shape) => {
                let writable = &self.shapes[shape as usize].writable;
                (writable.get(offset) && writable.get(last)).then_some(true)
            }
            Rule::Arena(arena) => {
                let pages = &self.arenas[arena as usize];
                Some(pages.has(offset) && pages.has(last))
            }
        }
    }

    /// Bytes of guest memory, for the host.
    pub fn bytes(&self, addr: u64, len: u32) -> Result<&[u8], Fault> {
        let start = addr as u32 as usize;
        self.region(addr)
            .and_then(|region| match (region.data.get(start..start + len as usize), region.rule) {
                (None, Rule::Arena(arena)) => {
                    self.arenas[arena as usize].tail_bytes(addr, len as usize)
                }
                (bytes, _) => bytes,
            })
            .ok_or_else(|| self.bad_address(addr, len, false))
    }

    /// Bytes of guest memory, for the host to change: no permission applies.
    pub fn bytes_mut(&mut self, addr: u64, len: u32) -> Result<&mut [u8], Fault> {
        let start = addr as u32 as usize;
        let range = start..start + len as usize;
        if self.region(addr).is_some_and(|region| region.data.get(range.clone()).is_some()) {
            return Ok(&mut self.regions[(addr >> 32) as usize].data[range]);
        }
        if self.bytes(addr, len).is_err() {
            return Err(self.bad_address(addr, len, true));
        }
        let tail = match self.region(addr).map(|region| region.rule) {
            Some(Rule::Arena(arena)) => {
                self.arenas[arena as usize].tail_bytes_mut(addr, len as usize)
            }
            _ => None,
        };
        Ok(tail.unwrap_or_default())
    }

    /// Bytes of guest memory that a helper fills on behalf of guest code, which
    /// must be allowed to store there itself.
    pub fn guest_bytes_mut(&mut self, addr: u64, len: u32) -> Result<&mut [u8], Fault> {
        if len > 0 && self.may_store(addr, len as usize) != Some(true) {
            return Err(self.bad_address(addr, len, true));
        }
        self.bytes_mut(addr, len)
    }

    /// The NUL-terminated text at `addr`, cut at `max` bytes.
    pub fn c_string(&self, addr: u64, max: u32) -> Result<String, Fault> {
        let rest = self.rest_of(addr);
        let bytes = self.bytes(addr, max.min(rest).max(1))?;
        let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
        Ok(String::from_utf8_lossy(&bytes[..end]).into_owned())
    }

    #[inline]
    fn get<const N: usize>(&self, addr: u64) -> u64 {
        let bytes =
            self.region(addr).and_then(|r| r.data.get(addr as u32 as usize..)?.first_chunk::<N>());
        debug_assert!(bytes.is_some(), "host read of {N} bytes at {addr:#x}");
        bytes.map_or(0, from_le)
    }

    #[inline]
    fn set<const N: usize>(&mut self, addr: u64, value: u64) {
        let region = self.regions.get_mut((addr >> 32) as usize);
        let bytes =
            region.and_then(|r| r.data.get_mut(addr as u32 as usize..)?.first_chunk_mut::<N>());
        debug_assert!(bytes.is_some(), "host write of {N} bytes at {addr:#x}");
        if let Some(bytes) = bytes {
            bytes.copy_from_slice(&value.to_le_bytes()[..N]);
        }
    }

    /// Host load of one byte.
    #[inline]
    pub fn get_u8(&self, addr: u64) -> u8 {
        self.get::<1>(addr) as u8
    }

    /// Host load of two bytes.
    #[inline]
    pub fn get_u16(&self, addr: u64) -> u16 {
        self.get::<2>(addr) as u16
    }

    /// Host load of four bytes.
    #[inline]
    pub fn get_u32(&self, addr: u64) -> u32 {
        self.get::<4>(addr) as u32
    }

    /// Host load of eight bytes.
    #[inline]
    pub fn get_u64(&self, addr: u64) -> u64 {
        self.get::<8>(addr)
    }

    /// Host store of one byte.
    #[inline]
    pub fn set_u8(&mut self, addr: u64, value: u8) {
        self.set::<1>(addr, value.into());
    }

    /// Host store of two bytes.
    #[inline]
    pub fn set_u16(&mut self, addr: u64, value: u16) {
        self.set::<2>(addr, value.into());
    }

    /// Host store of four bytes.
    #[inline]
    pub fn set_u32(&mut self, addr: u64, value: u32) {
        self.set::<4>(addr, value.into());
    }

    /// Host store of eight bytes.
    #[inline]
    pub fn set_u64(&mut self, addr: u64, value: u64) {
        self.set::<8>(addr, value);
    }

    /// Host change of four bytes.
    #[inline]
    pub fn update_u32(&mut self, addr: u64, change: impl FnOnce(u32) -> u32) {
        let region = self.regions.get_mut((addr >> 32) as usize);
        let bytes =
            region.and_then(|r| r.data.get_mut(addr as u32 as usize..)?.first_chunk_mut::<4>());
        debug_assert!(bytes.is_some(), "host write of 4 bytes at {addr:#x}");
        if let Some(bytes) = bytes {
            *bytes = change(u32::from_le_bytes(*bytes)).to_le_bytes();
        }
    }

    /// An empty arena of at most `max_pages` pages.
    pub fn alloc_arena(&mut self, name: &str, max_pages: u32) -> u64 {
        let name = self.name_id(name);
        self.arenas.push(Sparse::new(max_pages));
        let rule = Rule::Arena(self.arenas.len() as u32 - 1);
        self.insert(Region { data: Box::default(), rule, name })
    }

    /// The last pages of an arena, zeroed, for its globals: where libbpf has them.
    pub fn arena_tail(&mut self, arena: u64, count: u32) -> Option<u64> {
        let Rule::Arena(index) = self.regions.get((arena >> 32) as usize)?.rule else {
            return None;
        };
        let first = self.arenas[index as usize].take_tail(count)?;
        Some((arena >> 32 << 32) + u64::from(first * PAGE_SIZE))
    }

    /// Bytes from an address on in its region.
    pub(crate) fn rest_of(&self, addr: u64) -> u32 {
        let rest = self.region_size(addr).saturating_sub(addr as u32);
        match self.region(addr).map(|region| region.rule) {
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
        Some((arena >> 32 << 32) + u64::from(first * PAGE_SIZE))
    }

    /// Keeps free pages of an arena from being allocated; false if one is taken.
    pub fn arena_reserve(&mut self, addr: u64, count: u32) -> bool {
        let region = self.regions.get((addr >> 32) as usize);
        let Some(Rule::Arena(index)) = region.map(|region| region.rule) else { return false };
        let pages = &mut self.arenas[index as usize];
        pages.reserve(addr as u32 / PAGE_SIZE, count)
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
    }
}

impl Sparse {
    fn tail_bytes(&self, addr: u64, len: usize) -> Option<&[u8]> {
        let at = self.in_tail(addr as u32 as usize)?;
        self.tail.get(at..at + len)
    }

    fn tail_bytes_mut(&mut self, addr: u64, len: usize) -> Option<&mut [u8]> {
        let at = self.in_tail(addr as u32 as usize)?;
        self.tail.get_mut(at..at + len)
    }
}

/// Little-endian bytes to a number.
#[inline(always)]
fn from_le<const N: usize>(bytes: &[u8; N]) -> u64 {
    let mut wide = [0; 8];
    wide[..N].copy_from_slice(bytes);
    u64::from_le_bytes(wide)
}
