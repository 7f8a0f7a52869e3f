// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loads and stores: the guest's checked view and the host's plain one.

use super::{Memory, Region, Rule, NULL_PAGE};
use crate::error::Fault;

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
        if let Some(bytes) = self.foreign(addr, N) {
            self.note_read(region, addr as u32 as usize);
            return bytes.first_chunk::<N>().map(from_le);
        }
        if let Rule::Kernel(_) = region.rule {
            let copy = self.copy(addr, N as u32).ok()?;
            self.note_read(region, addr as u32 as usize);
            return copy.first_chunk::<N>().map(from_le);
        }
        if let Rule::Arena(_) = region.rule {
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
        let id = (addr >> 32) as usize;
        let range = offset..offset + N;
        let bytes = match self.regions[id].data.get(range.clone()).is_some() {
            true => &mut self.regions[id].data[range],
            false => self.foreign_mut(addr, N)?,
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
            Rule::Plain | Rule::Shared(_) => Some(true),
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

    /// A copy of bytes of guest memory.
    pub fn copy(&self, addr: u64, len: u32) -> Result<Vec<u8>, Fault> {
        let Some(Region { data, rule: Rule::Kernel(_), .. }) = self.region(addr) else {
            return self.bytes(addr, len).map(<[u8]>::to_vec);
        };
        let start = addr as u32;
        let own = (data.len() as u32).saturating_sub(start).min(len);
        let mut copy = self.bytes(addr, own)?.to_vec();
        if own < len {
            let behind = self.bytes(addr + u64::from(own), len - own);
            copy.extend_from_slice(behind.map_err(|_| self.bad_address(addr, len, false))?);
        }
        Ok(copy)
    }

    /// Whether so many bytes are there to be read.
    pub fn check(&self, addr: u64, len: u32) -> Result<(), Fault> {
        let end = u64::from(addr as u32) + u64::from(len);
        match self.region(addr).map(|region| region.rule) {
            Some(Rule::Kernel(shape)) if end <= self.shapes[shape as usize].size.into() => Ok(()),
            _ => self.bytes(addr, len).map(drop),
        }
    }

    /// Bytes of guest memory, for the host. Of a kernel object they are its own, or lie behind these:
    /// [`Memory::copy`] has both.
    pub fn bytes(&self, addr: u64, len: u32) -> Result<&[u8], Fault> {
        let start = addr as u32 as usize;
        self.region(addr)
            .and_then(|region| region.data.get(start..start + len as usize))
            .or_else(|| self.foreign(addr, len as usize))
            .ok_or_else(|| self.bad_address(addr, len, false))
    }

    /// Bytes of guest memory, for the host to change: no permission applies.
    pub fn bytes_mut(&mut self, addr: u64, len: u32) -> Result<&mut [u8], Fault> {
        let start = addr as u32 as usize;
        let range = start..start + len as usize;
        if self.region(addr).is_some_and(|region| region.data.get(range.clone()).is_some()) {
            return Ok(&mut self.regions[(addr >> 32) as usize].data[range]);
        }
        if self.bytes(addr, len).is_err() || self.foreign_mut(addr, len as usize).is_none() {
            return Err(self.bad_address(addr, len, true));
        }
        Ok(self.foreign_mut(addr, len as usize).unwrap_or_default())
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
        bytes.map_or_else(|| self.get_foreign::<N>(addr), from_le)
    }

    #[cold]
    fn get_foreign<const N: usize>(&self, addr: u64) -> u64 {
        let bytes = self.foreign(addr, N).and_then(|bytes| bytes.first_chunk::<N>());
        debug_assert!(bytes.is_some(), "host read of {N} bytes at {addr:#x}");
        bytes.map_or(0, from_le)
    }

    #[inline]
    fn set<const N: usize>(&mut self, addr: u64, value: u64) {
        let region = self.regions.get_mut((addr >> 32) as usize);
        let bytes =
            region.and_then(|r| r.data.get_mut(addr as u32 as usize..)?.first_chunk_mut::<N>());
        match bytes {
            Some(bytes) => bytes.copy_from_slice(&value.to_le_bytes()[..N]),
            None => self.set_foreign::<N>(addr, value),
        }
    }

    #[cold]
    fn set_foreign<const N: usize>(&mut self, addr: u64, value: u64) {
        let bytes = self.foreign_mut(addr, N);
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

    /// Host store of eight bytes each, one after the other.
    #[inline]
    pub fn set_all_u64(&mut self, addr: u64, values: &[u64]) {
        let region = self.regions.get_mut((addr >> 32) as usize);
        let bytes = region.and_then(|region| region.data.get_mut(addr as u32 as usize..));
        let place = bytes.and_then(|bytes| bytes.get_mut(..8 * values.len()));
        // of the few that there usually are without a call
        match (place, values) {
            (Some(place), &[one]) => return place.copy_from_slice(&one.to_le_bytes()),
            (Some(place), &[one, two]) => {
                let (first, second) = place.split_at_mut(8);
                first.copy_from_slice(&one.to_le_bytes());
                return second.copy_from_slice(&two.to_le_bytes());
            }
            _ => {}
        }
        for (at, value) in (0u64..).zip(values) {
            self.set_u64(addr + 8 * at, *value);
        }
    }

    /// Host change of four bytes.
    #[inline]
    pub fn update_u32(&mut self, addr: u64, change: impl FnOnce(u32) -> u32) {
        let region = self.regions.get_mut((addr >> 32) as usize);
        let bytes =
            region.and_then(|r| r.data.get_mut(addr as u32 as usize..)?.first_chunk_mut::<4>());
        match bytes {
            Some(bytes) => *bytes = change(u32::from_le_bytes(*bytes)).to_le_bytes(),
            None => {
                let value = change(self.get_foreign::<4>(addr) as u32);
                self.set_foreign::<4>(addr, value.into());
            }
        }
    }
}

/// Little-endian bytes to a number.
#[inline(always)]
fn from_le<const N: usize>(bytes: &[u8; N]) -> u64 {
    let mut wide = [0; 8];
    wide[..N].copy_from_slice(bytes);
    u64::from_le_bytes(wide)
}
