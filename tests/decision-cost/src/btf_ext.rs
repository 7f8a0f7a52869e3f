// SPDX-License-Identifier: MIT OR Apache-2.0
//! `.BTF.ext`: function types, lines and CO-RE relocations by code section. When
//! sections of code become one, their records have to follow.
//!
//! Layout: a header with offset and length of three parts; each part is a record size
//! and then, per section, name, count and records, which begin with the byte offset of
//! their instruction.

use std::collections::BTreeMap;

const HEADER: usize = 32;
/// Where the header has the offsets of the parts; each is followed by its length.
const PARTS: [usize; 3] = [8, 16, 24];

fn word(bytes: &[u8], at: usize) -> Result<u32, String> {
    let field = bytes.get(at..at + 4).and_then(|b| b.try_into().ok());
    field.map(u32::from_le_bytes).ok_or_else(|| "its .BTF.ext ends early".to_string())
}

/// A section of code that was moved: the string offset of its name, and by how much.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moved {
    pub(crate) name: u32,
    pub(crate) by: u32,
}

/// Rewrites the records of moved sections as records of the section named `into`.
pub(crate) fn merge(ext: &[u8], moved: &[Moved], into: u32) -> Result<Vec<u8>, String> {
    let header_len = word(ext, 4)? as usize;
    if header_len < HEADER {
        return Err("its .BTF.ext has no CO-RE part: it needs clang 16 or later".into());
    }
    let mut out = ext.get(..header_len).ok_or("its .BTF.ext ends early")?.to_vec();
    for field in PARTS {
        let at = header_len + word(ext, field)? as usize;
        let len = word(ext, field + 4)? as usize;
        let part = ext.get(at..at + len).ok_or("its .BTF.ext ends early")?;
        let part = if len == 0 { Vec::new() } else { merge_part(part, moved, into)? };
        let offset = (out.len() - header_len) as u32;
        out[field..field + 4].copy_from_slice(&offset.to_le_bytes());
        out[field + 4..field + 8].copy_from_slice(&(part.len() as u32).to_le_bytes());
        out.extend(part);
    }
    Ok(out)
}

fn merge_part(part: &[u8], moved: &[Moved], into: u32) -> Result<Vec<u8>, String> {
    let size = word(part, 0)? as usize;
    let mut sections: BTreeMap<u32, Vec<(u32, Vec<u8>)>> = BTreeMap::new();
    let mut at = 4;
    while at < part.len() {
        let (name, count) = (word(part, at)?, word(part, at + 4)? as usize);
        at += 8;
        let target = moved.iter().find(|m| m.name == name);
        let records = sections.entry(target.map_or(name, |_| into)).or_default();
        for _ in 0..count {
            let mut record = part.get(at..at + size).ok_or("its .BTF.ext ends early")?.to_vec();
            let offset = word(&record, 0)? + target.map_or(0, |m| m.by);
            record[..4].copy_from_slice(&offset.to_le_bytes());
            records.push((offset, record));
            at += size;
        }
    }
    let mut out = part[..4].to_vec();
    for (name, mut records) in sections {
        records.sort_by_key(|r| r.0);
        out.extend(name.to_le_bytes());
        out.extend((records.len() as u32).to_le_bytes());
        records.into_iter().for_each(|(_, record)| out.extend(record));
    }
    Ok(out)
}

/// Offset of a string in a `.BTF` section; appended if it is not there.
pub(crate) fn string_offset(btf: &mut Vec<u8>, text: &str) -> Result<u32, String> {
    let header_len = word(btf, 4)? as usize;
    let (at, len) = (header_len + word(btf, 16)? as usize, word(btf, 20)? as usize);
    let strings = btf.get(at..at + len).ok_or("its .BTF ends early")?;
    let mut offset = 0;
    for string in strings.split(|b| *b == 0) {
        if string == text.as_bytes() {
            return Ok(offset);
        }
        offset += string.len() as u32 + 1;
    }
    btf.truncate(at + len);
    btf.extend(text.as_bytes());
    btf.push(0);
    let longer = (len + text.len() + 1) as u32;
    btf[20..24].copy_from_slice(&longer.to_le_bytes());
    Ok(len as u32)
}

#[cfg(test)]
mod tests {
    use super::{merge, string_offset, word, Moved, HEADER};

    /// One part only (lines): records of 8 bytes, `(section, [(offset, tag)])`.
    fn ext(sections: &[(u32, &[(u32, u32)])]) -> Vec<u8> {
        let mut part = 8u32.to_le_bytes().to_vec();
        for (name, records) in sections {
            part.extend(name.to_le_bytes());
            part.extend((records.len() as u32).to_le_bytes());
            for (offset, tag) in *records {
                part.extend(offset.to_le_bytes());
                part.extend(tag.to_le_bytes());
            }
        }
        let mut out = vec![0u8; HEADER];
        out[4..8].copy_from_slice(&(HEADER as u32).to_le_bytes());
        for field in [20, 24] {
            // the length of the lines is where the part after them begins
            out[field..field + 4].copy_from_slice(&(part.len() as u32).to_le_bytes());
        }
        out.extend(part);
        out
    }

    #[test]
    fn records_of_moved_sections_follow_their_code() {
        let before = ext(&[(7, &[(0, 1), (8, 2)]), (20, &[(0, 3)]), (30, &[(16, 4)])]);
        let moved = [Moved { name: 20, by: 64 }, Moved { name: 30, by: 32 }];
        let after = ext(&[(7, &[(0, 1), (8, 2), (48, 4), (64, 3)])]);
        assert_eq!(merge(&before, &moved, 7), Ok(after));
    }

    #[test]
    fn truncated_records_are_an_error() {
        let whole = ext(&[(7, &[(0, 1), (8, 2)])]);
        for len in 0..whole.len() {
            assert!(merge(&whole[..len], &[], 7).is_err(), "{len} of {} bytes", whole.len());
        }
    }

    #[test]
    fn a_string_is_found_or_appended() {
        let strings = b"\0int\0.text\0";
        let mut btf = vec![0u8; 24];
        btf[4..8].copy_from_slice(&24u32.to_le_bytes());
        btf[20..24].copy_from_slice(&(strings.len() as u32).to_le_bytes());
        btf.extend(strings);
        assert_eq!(string_offset(&mut btf, ".text"), Ok(5));
        assert_eq!(string_offset(&mut btf, "new"), Ok(11));
        assert_eq!(word(&btf, 20), Ok(15));
        assert_eq!(string_offset(&mut btf, "new"), Ok(11));
    }
}
