// SPDX-License-Identifier: MIT OR Apache-2.0
//! BTF of several parts: loaders may give each program and map types of its own.

use super::types::{word, HEADER};
use super::{Btf, Kind, TypeId};

/// By how much the ids of a part are others in the whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shift {
    types: u32,
    strings: u32,
}

impl Shift {
    /// The id in the whole of a type of the part.
    pub fn of_type(self, id: TypeId) -> TypeId {
        TypeId(moved(id.0, self.types))
    }

    /// The offset in the whole of a string of the part.
    pub fn of_string(self, offset: u32) -> u32 {
        moved(offset, self.strings)
    }
}

/// `void` and the empty name are the same everywhere.
fn moved(number: u32, by: u32) -> u32 {
    match number {
        0 => 0,
        number => number + by,
    }
}

impl Btf {
    /// All types of all parts, one part after the other: what is there twice stays twice. Ids of the
    /// first part stay as they are, those of each part are moved by its shift.
    pub fn join(parts: &[&Btf]) -> (Btf, Vec<Shift>) {
        let (mut types, mut starts, mut strings) = (Vec::new(), vec![0], String::from("\0"));
        let mut shifts = Vec::new();
        for part in parts {
            if shifts.is_empty() && !part.strings.is_empty() {
                strings.clear();
            }
            let shift = Shift { types: starts.len() as u32 - 1, strings: strings.len() as u32 };
            strings.push_str(&part.strings);
            for id in part.ids() {
                let start = types.len();
                starts.push(start as u32);
                types.extend(part.encoded(id));
                shift_type(&mut types[start..], part.kind(id), shift);
            }
            shifts.push(shift);
        }
        (Btf::new(types, starts, strings), shifts)
    }

    fn encoded(&self, id: TypeId) -> &[u8] {
        let start = self.starts[id.0 as usize] as usize;
        let end = self.starts.get(id.0 as usize + 1).map_or(self.types.len(), |end| *end as usize);
        &self.types[start..end]
    }
}

/// What each kind refers to: names, types (`Documentation/bpf/btf.rst`).
fn shift_type(encoded: &mut [u8], kind: Kind, shift: Shift) {
    let (header, tail) = encoded.split_at_mut(HEADER);
    shift_word(header, 0, shift.strings);
    match kind {
        Kind::Ptr
        | Kind::Typedef
        | Kind::Volatile
        | Kind::Const
        | Kind::Restrict
        | Kind::Func
        | Kind::FuncProto
        | Kind::Var
        | Kind::DeclTag
        | Kind::TypeTag => shift_word(header, 8, shift.types),
        _ => {}
    }
    // of each element: where its name is, where its type is
    let (size, name, types): (usize, Option<usize>, &[usize]) = match kind {
        Kind::Array => (12, None, &[0, 4]),
        Kind::Struct | Kind::Union => (12, Some(0), &[4]),
        Kind::Enum => (8, Some(0), &[]),
        Kind::Enum64 => (12, Some(0), &[]),
        Kind::FuncProto => (8, Some(0), &[4]),
        Kind::Datasec => (12, None, &[0]),
        _ => return,
    };
    for element in tail.chunks_exact_mut(size) {
        if let Some(at) = name {
            shift_word(element, at, shift.strings);
        }
        for at in types {
            shift_word(element, *at, shift.types);
        }
    }
}

fn shift_word(bytes: &mut [u8], at: usize, by: u32) {
    let moved = moved(word(bytes, at), by);
    bytes[at..at + 4].copy_from_slice(&moved.to_le_bytes());
}
