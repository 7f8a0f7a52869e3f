// SPDX-License-Identifier: MIT OR Apache-2.0
//! The program's memory, read and written from outside through `/proc/PID/mem`, and what of it there
//! is, from `/proc/PID/pagemap` (`Documentation/admin-guide/mm/pagemap.rst`).

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;

/// Longest path that a call may name (`PATH_MAX`).
const MAX_PATH: usize = 4096;

const PAGE: u64 = 4096;
/// Of an entry of the page map: the page is there, or in swap.
const PRESENT: u64 = 0b11 << 62;

/// Memory of the program.
pub(crate) struct Remote {
    file: File,
    page_map: File,
}

impl Remote {
    /// That of a process, which has executed its program.
    pub(crate) fn open(pid: u32) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(format!("/proc/{pid}/mem"))?;
        let page_map = File::open(format!("/proc/{pid}/pagemap"))?;
        Ok(Self { file, page_map })
    }

    /// Whether it is the memory that the process has now: after it has executed another program it is
    /// not.
    pub(crate) fn is_of(&self, pid: u32) -> bool {
        let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
        let first = maps.split('-').next().and_then(|start| u64::from_str_radix(start, 16).ok());
        // memory that is gone has no bytes anywhere
        first.is_some_and(|start| self.read(start, &mut [0]).is_ok())
    }

    /// Fills `to` from an address, or says that not all of it is there.
    pub(crate) fn read(&self, addr: u64, to: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(to, addr)
    }

    /// Writes bytes to an address.
    pub(crate) fn write(&self, addr: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, addr)
    }

    /// Which of so many pages from an address on are in its page tables.
    pub(crate) fn present(&self, addr: u64, pages: u32) -> io::Result<Vec<bool>> {
        let mut entries = vec![0; 8 * pages as usize];
        self.page_map.read_exact_at(&mut entries, 8 * (addr / PAGE))?;
        let word =
            |entry: &[u8]| entry.iter().rev().fold(0u64, |word, byte| word << 8 | u64::from(*byte));
        Ok(entries.chunks_exact(8).map(|entry| word(entry) & PRESENT != 0).collect())
    }

    pub(crate) fn u32(&self, addr: u64) -> io::Result<u32> {
        let mut bytes = [0; 4];
        self.read(addr, &mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    pub(crate) fn u64(&self, addr: u64) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.read(addr, &mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// A `struct timespec` in nanoseconds; `None` if it is no time.
    pub(crate) fn timespec(&self, addr: u64) -> io::Result<Option<u64>> {
        let (seconds, ns) = (self.u64(addr)? as i64, self.u64(addr + 8)? as i64);
        let (Ok(seconds), Ok(ns)) = (u64::try_from(seconds), u64::try_from(ns)) else {
            return Ok(None);
        };
        let whole = seconds.saturating_mul(1_000_000_000);
        Ok((ns < 1_000_000_000).then(|| whole.saturating_add(ns)))
    }

    /// A path: bytes up to a NUL. Read in pieces, as the page after it may not be there.
    pub(crate) fn path(&self, addr: u64) -> io::Result<Option<Vec<u8>>> {
        let mut path = Vec::new();
        while path.len() < MAX_PATH {
            let at = addr + path.len() as u64;
            let mut piece = vec![0; (256 - at % 256) as usize];
            self.read(at, &mut piece)?;
            if let Some(end) = piece.iter().position(|byte| *byte == 0) {
                path.extend_from_slice(&piece[..end]);
                return Ok(Some(path));
            }
            path.extend(piece);
        }
        Ok(None)
    }
}
