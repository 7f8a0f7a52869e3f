// SPDX-License-Identifier: MIT OR Apache-2.0
//! Longest-prefix maps (`kernel/bpf/lpm_trie.c`). A key is the length of a prefix in bits, then the
//! data, the first bit the highest of the first byte.

use super::{Hash, Update};
use crate::errno::{EINVAL, ENOENT};
use crate::memory::Memory;

/// Bytes of the length in a key.
pub(crate) const LENGTH: usize = 4;

/// A map that finds the longest prefix of a key. Entries are by their prefix, with zeroes after it.
#[derive(Debug)]
pub(crate) struct Trie(Hash);

impl Trie {
    pub(crate) fn new(entries: Hash) -> Self {
        Self(entries)
    }

    /// Address of the value of the longest prefix that is in the map.
    pub(crate) fn find(&self, key: &[u8]) -> Option<u64> {
        let longest = length(key).ok()?;
        (0..=longest).rev().find_map(|bits| {
            let slot = self.0.find(&prefix(key, bits))?;
            self.0.value(slot, 0)
        })
    }

    /// Finds or makes the entry of exactly this prefix.
    pub(crate) fn place(
        &mut self,
        memory: &mut Memory,
        key: &[u8],
        flags: u64,
    ) -> Result<Update, i64> {
        let bits = length(key)?;
        // `trie_update_elem()`: a full map is out of space, not too big
        let full = |errno| if errno == crate::errno::E2BIG { crate::errno::ENOSPC } else { errno };
        self.0.place(memory, &prefix(key, bits), 0, flags).map_err(full)
    }

    /// Drops exactly this prefix; returns where its value was.
    pub(crate) fn delete(&mut self, key: &[u8]) -> Result<u64, i64> {
        let bits = length(key)?;
        self.0.delete(&prefix(key, bits)).ok_or(ENOENT)
    }

    /// The slot after that of exactly this prefix.
    pub(crate) fn after(&self, key: &[u8]) -> Option<u32> {
        let slot = self.0.find(&prefix(key, length(key).ok()?))?;
        Some(slot + 1)
    }

    /// The first slot in use at or after one, with its key and value.
    pub(crate) fn next(&self, cursor: &mut u32) -> Option<(Vec<u8>, u64)> {
        let slot = self.0.next(*cursor)?;
        *cursor = slot + 1;
        Some((self.0.key(slot).to_vec(), self.0.value(slot, 0)?))
    }
}

/// Bits of the prefix that a key names.
fn length(key: &[u8]) -> Result<u32, i64> {
    let bits = key.first_chunk().map(|bytes| u32::from_le_bytes(*bytes)).ok_or(EINVAL)?;
    match (bits as usize) <= (key.len() - LENGTH) * 8 {
        true => Ok(bits),
        false => Err(EINVAL),
    }
}

/// The key of so many bits of `key`.
fn prefix(key: &[u8], bits: u32) -> Vec<u8> {
    let mut prefix = key.to_vec();
    prefix[..LENGTH].copy_from_slice(&bits.to_le_bytes());
    for (at, byte) in prefix[LENGTH..].iter_mut().enumerate() {
        let kept = (bits as usize).saturating_sub(at * 8).min(8) as u32;
        *byte &= !0xff_u8.checked_shr(kept).unwrap_or(0);
    }
    prefix
}
