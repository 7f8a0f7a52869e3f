// SPDX-License-Identifier: MIT OR Apache-2.0
//! Global variables of a loaded object: libbpf maps them into this process, so they can
//! be read and written while the policy runs.

use libbpf_rs::libbpf_sys::{bpf_map__initial_value, bpf_map__map_flags};
use libbpf_rs::{AsRawLibbpf, Map, MapCore, MapFlags, Object};
use rota_object::image::{Image, Variable};
use std::ffi::OsStr;
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, AtomicU8, Ordering};

/// Is this libbpf's map of a section of globals of the image? libbpf puts the object's name
/// before those of the standard sections.
pub(crate) fn is_section(libbpf: &OsStr, image: &str) -> bool {
    let libbpf = libbpf.to_string_lossy();
    libbpf == image
        || libbpf.split_once('.').is_some_and(|(before, section)| {
            !before.is_empty() && image.strip_prefix('.') == Some(section)
        })
}

/// Where a variable lies in memory that the kernel shares with this process.
struct Place {
    start: *mut u8,
    size: usize,
}

/// `BPF_F_MMAPABLE`: this process shares the memory of the map. Sections with locks and
/// hidden variables are not.
const BPF_F_MMAPABLE: u32 = 1 << 10;

/// The map of the section that a variable is in.
fn section<'a>(object: &'a Object, image: &Image, variable: &Variable) -> Option<Map<'a>> {
    let section = image.maps.get(variable.map.0 as usize)?;
    object.maps().find(|m| is_section(m.name(), &section.name))
}

/// Finds a variable in shared memory.
fn place(map: &Map<'_>, variable: &Variable) -> Option<Place> {
    let map = map.as_libbpf_object().as_ptr();
    let mut size = 0;
    // SAFETY: the map is alive, and the calls only read its fields.
    #[allow(unsafe_code)]
    let (start, flags) =
        unsafe { (bpf_map__initial_value(map, &mut size), bpf_map__map_flags(map)) };
    let (offset, len) = (variable.offset as usize, variable.size as usize);
    if start.is_null() || flags & BPF_F_MMAPABLE == 0 || offset + len > size as usize {
        return None;
    }
    Some(Place { start: start.cast::<u8>().wrapping_add(offset), size: len })
}

/// The present bytes of a variable. One of 1, 2, 4 or 8 bytes is read as a whole; in a
/// larger one, bytes may be of different moments.
pub(crate) fn read(object: &Object, image: &Image, variable: &Variable) -> Option<Vec<u8>> {
    let map = section(object, image, variable)?;
    let Some(place) = place(&map, variable) else {
        let whole = map.lookup(&0u32.to_le_bytes(), MapFlags::ANY).ok()??;
        let start = variable.offset as usize;
        return Some(whole.get(start..start + variable.size as usize)?.to_vec());
    };
    let mut bytes = vec![0; place.size];
    for (at, word) in words(place.start as usize, place.size) {
        let from = place.start.wrapping_add(at);
        // SAFETY: `words` covers the variable, which lies in memory that stays mapped while
        // the object lives, with aligned words. The kernel writes there, so loads are atomic.
        #[allow(unsafe_code)]
        let value = unsafe {
            match word {
                1 => AtomicU8::from_ptr(from).load(Ordering::Acquire).into(),
                2 => AtomicU16::from_ptr(from.cast()).load(Ordering::Acquire).into(),
                4 => AtomicU32::from_ptr(from.cast()).load(Ordering::Acquire).into(),
                _ => AtomicU64::from_ptr(from.cast()).load(Ordering::Acquire),
            }
        };
        bytes[at..at + word].copy_from_slice(&value.to_le_bytes()[..word]);
    }
    Some(bytes)
}

/// Overwrites a variable; one of 1, 2, 4 or 8 bytes as a whole. False if it cannot be
/// written: it is not there, has another size, or is read-only.
pub(crate) fn write(object: &Object, image: &Image, variable: &Variable, bytes: &[u8]) -> bool {
    let read_only = image.maps.get(variable.map.0 as usize).is_none_or(|m| m.read_only);
    let map = section(object, image, variable);
    let Some(place) = map.and_then(|map| place(&map, variable)) else { return false };
    if read_only || place.size != bytes.len() {
        return false;
    }
    for (at, word) in words(place.start as usize, place.size) {
        let to = place.start.wrapping_add(at);
        let mut value = [0; 8];
        value[..word].copy_from_slice(&bytes[at..at + word]);
        let value = u64::from_le_bytes(value);
        // SAFETY: as in `read`; sections that are not read-only are mapped writable.
        #[allow(unsafe_code)]
        unsafe {
            match word {
                1 => AtomicU8::from_ptr(to).store(value as u8, Ordering::Release),
                2 => AtomicU16::from_ptr(to.cast()).store(value as u16, Ordering::Release),
                4 => AtomicU32::from_ptr(to.cast()).store(value as u32, Ordering::Release),
                _ => AtomicU64::from_ptr(to.cast()).store(value, Ordering::Release),
            }
        }
    }
    true
}

/// Offsets and sizes of the largest aligned words that cover a variable.
fn words(start: usize, size: usize) -> impl Iterator<Item = (usize, usize)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let word = [8, 4, 2, 1].into_iter().find(|w| (start + at) % w == 0 && at + w <= size)?;
        at += word;
        Some((at - word, word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sections_are_recognised_by_both_names() {
        let same = |libbpf: &str, image: &str| is_section(OsStr::new(libbpf), image);
        assert!(same("wfq.rodata", ".rodata") && same(".data.uei_dump", ".data.uei_dump"));
        assert!(same("rota_shares", "rota_shares"));
        assert!(!same("wfq.data", ".rodata") && !same(".data.x", ".data") && !same("a", ".a"));
    }

    proptest! {
        #[test]
        fn words_cover_a_variable_once(start in 0usize..64, size in 0usize..100) {
            let mut next = 0;
            for (at, word) in words(start, size) {
                prop_assert_eq!(at, next);
                prop_assert_eq!((start + at) % word, 0);
                next = at + word;
            }
            prop_assert_eq!(next, size);
        }
    }

    #[test]
    fn an_aligned_word_is_one_access() {
        assert_eq!(words(64, 8).collect::<Vec<_>>(), [(0, 8)]);
        assert_eq!(words(68, 4).collect::<Vec<_>>(), [(0, 4)]);
    }
}
