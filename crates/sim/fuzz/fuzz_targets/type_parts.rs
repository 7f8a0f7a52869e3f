// SPDX-License-Identifier: MIT OR Apache-2.0
//! The numbers in BTF that can change without another number of bytes following: sizes, types,
//! offsets and values. (`Documentation/bpf/btf.rst` has the format.)

use std::ops::Range;

const COMMON: usize = 12;

/// 4 bytes each.
pub fn parts(bytes: &[u8]) -> Option<Vec<Range<usize>>> {
    let word = |at: usize| {
        let bytes = bytes.get(at..at.checked_add(4)?)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?) as usize)
    };
    let mut at = word(4)?.checked_add(word(8)?)?;
    let end = at.checked_add(word(12)?)?;
    let mut parts = Vec::new();
    let mut push = |at: usize| parts.push(at..at + 4);
    while at < end {
        let info = word(at + 4)?;
        let (kind, count) = (info >> 24 & 0x1f, info & 0xffff);
        // Bytes of an entry, and where its numbers begin: the name comes first in most.
        let (entries, size, first) = match kind {
            1 | 14 | 17 => (1, 4, 0),
            3 => (1, 12, 0),
            4 | 5 => (count, 12, 4),
            6 | 13 => (count, 8, 4),
            15 => (count, 12, 0),
            19 => (count, 12, 4),
            _ => (0, 0, 0),
        };
        push(at + 8);
        for entry in 0..entries {
            (first..size).step_by(4).for_each(|word| push(at + COMMON + entry * size + word));
        }
        at += COMMON + entries * size;
    }
    Some(parts)
}
