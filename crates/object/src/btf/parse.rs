// SPDX-License-Identifier: MIT OR Apache-2.0
//! One pass over encoded BTF: finds where each type starts and checks that all
//! bytes are there and all references point at types that exist.

use super::derived::Derived;
use super::types::{word, HEADER};
use super::{Btf, Kind, TypeId};
use std::sync::OnceLock;
use thiserror::Error;

/// Damaged BTF.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("BTF: {0}")]
#[non_exhaustive]
pub struct BtfError(pub String);

pub(super) fn fail<T>(what: String) -> Result<T, BtfError> {
    Err(BtfError(what))
}

/// Magic number of BTF and of `.BTF.ext`, as a little-endian file has it.
pub(super) const MAGIC: u16 = 0xeb9f;

/// Highest id that anything referred to, and who did.
#[derive(Default)]
struct Furthest {
    id: u32,
    by: u32,
}

impl Furthest {
    fn see(&mut self, id: u32, by: u32) {
        if id > self.id {
            *self = Furthest { id, by };
        }
    }
}

impl Btf {
    /// BTF without any type.
    pub fn empty() -> Btf {
        Btf::new(Vec::new(), vec![0], "\0".to_string())
    }

    pub(super) fn new(types: Vec<u8>, starts: Vec<u32>, strings: String) -> Btf {
        Btf {
            types,
            starts,
            strings,
            names: OnceLock::new(),
            enumerators: OnceLock::new(),
            tags: OnceLock::new(),
            derived: Derived::default(),
            reduced: false,
        }
    }

    /// Reads a little-endian `.BTF` section, or `/sys/kernel/btf/vmlinux`.
    pub fn parse(bytes: &[u8]) -> Result<Btf, BtfError> {
        let (types, strings) = sections(bytes)?;
        let strings = match std::str::from_utf8(strings) {
            Ok(s) => s,
            Err(e) => {
                return fail(format!("string table is not UTF-8 at byte {}", e.valid_up_to()))
            }
        };
        let closed = strings.starts_with('\0') && strings.ends_with('\0');
        if !closed && !strings.is_empty() {
            return fail("string table does not begin and end with a NUL".into());
        }
        let starts = scan(types, strings.len())?;
        Ok(Btf::new(types.to_vec(), starts, strings.to_string()))
    }

    /// Sets offset and size of the `nth` variable of a data section: clang leaves
    /// both to the loader, which knows the symbols.
    pub(crate) fn place_variable(&mut self, sec: TypeId, nth: usize, offset: u32, size: u32) {
        let Some(start) = self.starts.get(sec.0 as usize) else { return };
        let at = *start as usize + HEADER + nth * 12 + 4;
        if let Some(place) = self.types.get_mut(at..at + 8) {
            place[..4].copy_from_slice(&offset.to_le_bytes());
            place[4..].copy_from_slice(&size.to_le_bytes());
        }
    }

    /// Sets the size of a data section.
    pub(crate) fn set_section_size(&mut self, sec: TypeId, size: u32) {
        let Some(start) = self.starts.get(sec.0 as usize) else { return };
        let at = *start as usize + 8;
        if let Some(place) = self.types.get_mut(at..at + 4) {
            place.copy_from_slice(&size.to_le_bytes());
        }
    }
}

/// Cuts the file into types and strings.
fn sections(bytes: &[u8]) -> Result<(&[u8], &[u8]), BtfError> {
    if bytes.len() < 24 {
        return fail(format!("{} bytes are too few for a header of 24", bytes.len()));
    }
    let magic = u16::from_le_bytes([bytes[0], bytes[1]]);
    if magic == MAGIC.swap_bytes() {
        return fail("is big-endian, expected little-endian".into());
    }
    if magic != MAGIC {
        return fail(format!("magic number is {magic:#06x}, expected {MAGIC:#06x}"));
    }
    if bytes[2] != 1 {
        return fail(format!("version is {}, expected 1", bytes[2]));
    }
    let header = word(bytes, 4) as usize;
    if header < 24 {
        return fail(format!("header length is {header}, expected at least 24"));
    }
    let part = |what: &str, offset: u32, len: u32| {
        let start = header.checked_add(offset as usize);
        let end = start.and_then(|s| s.checked_add(len as usize));
        match start.zip(end).and_then(|(s, e)| bytes.get(s..e)) {
            Some(part) => Ok(part),
            None => fail(format!("{what} section (offset {offset}, length {len}) is truncated")),
        }
    };
    let types = part("type", word(bytes, 8), word(bytes, 12))?;
    let strings = part("string", word(bytes, 16), word(bytes, 20))?;
    if types.len() % 4 != 0 {
        return fail(format!("type section has {} bytes, not a multiple of 4", types.len()));
    }
    Ok((types, strings))
}

/// Finds the start of each type.
fn scan(types: &[u8], string_len: usize) -> Result<Vec<u32>, BtfError> {
    let mut starts = vec![0u32];
    starts.reserve(types.len() / 40);
    let mut furthest = Furthest::default();
    let mut at = 0;
    while at < types.len() {
        let id = starts.len() as u32;
        let raw = &types[at..];
        if raw.len() < HEADER {
            return fail(format!("type {id} is truncated"));
        }
        let info = word(raw, 4);
        let kind = match Kind::from_number(info >> 24 & 0x1f) {
            Some(kind) if kind != Kind::Void => kind,
            _ => return fail(format!("type {id} has unknown kind {}", info >> 24 & 0x1f)),
        };
        if word(raw, 0) as usize >= string_len.max(1) {
            return fail(format!("type {id}: name offset {} is out of range", word(raw, 0)));
        }
        let vlen = (info & 0xffff) as usize;
        let vlen = if kind == Kind::Func { 0 } else { vlen };
        let Some(data) = raw.get(HEADER..HEADER + kind.tail_len(vlen)) else {
            return fail(format!("type {id} ({kind:?} of {vlen} elements) is truncated"));
        };
        references(kind, raw, data, id, &mut furthest);
        starts.push(at as u32);
        at += HEADER + data.len();
    }
    if furthest.id as usize >= starts.len() {
        let Furthest { id, by } = furthest;
        return fail(format!("type {by} refers to type {id}, but there are {}", starts.len()));
    }
    Ok(starts)
}

/// Notes the ids that a type refers to.
fn references(kind: Kind, raw: &[u8], data: &[u8], id: u32, furthest: &mut Furthest) {
    match kind {
        Kind::Ptr
        | Kind::Typedef
        | Kind::Volatile
        | Kind::Const
        | Kind::Restrict
        | Kind::Func
        | Kind::Var
        | Kind::DeclTag
        | Kind::TypeTag => furthest.see(word(raw, 8), id),
        Kind::Array => {
            furthest.see(word(data, 0), id);
            furthest.see(word(data, 4), id);
        }
        Kind::Struct | Kind::Union => {
            data.chunks_exact(12).for_each(|m| furthest.see(word(m, 4), id));
        }
        Kind::Datasec => data.chunks_exact(12).for_each(|v| furthest.see(word(v, 0), id)),
        Kind::FuncProto => {
            furthest.see(word(raw, 8), id);
            data.chunks_exact(8).for_each(|p| furthest.see(word(p, 4), id));
        }
        _ => {}
    }
}
