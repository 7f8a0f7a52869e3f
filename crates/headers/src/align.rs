// SPDX-License-Identifier: MIT OR Apache-2.0
//! How types are aligned. A struct is looked at once, however many others have it inside.

use rota_object::btf::{Btf, Composite, Type, TypeId};
use std::cell::RefCell;
use std::collections::HashMap;

/// Alignments of the types of a BTF, as far as they were asked for.
pub(crate) struct Aligns<'a> {
    pub(crate) btf: &'a Btf,
    structs: RefCell<HashMap<TypeId, Shape>>,
}

/// How a struct or union is laid out.
#[derive(Clone, Copy)]
struct Shape {
    /// The greatest alignment of a member.
    natural: u32,
    /// Members are nearer to each other than the compiler would put them.
    packed: bool,
}

impl<'a> Aligns<'a> {
    pub(crate) fn new(btf: &'a Btf) -> Self {
        Self { btf, structs: RefCell::default() }
    }

    /// Alignment of a type, in bytes.
    pub(crate) fn of(&self, id: TypeId) -> u32 {
        let id = self.btf.resolve(id);
        match self.btf.get(id) {
            Type::Int(int) => int.size.clamp(1, 16),
            Type::Float(_, size) => size.clamp(1, 8),
            Type::Enum(e) => e.size.clamp(1, 8),
            Type::Ptr(_) => 8,
            Type::Array(a) => self.of(a.elem),
            Type::Struct(c) | Type::Union(c) => match self.shape(id, c) {
                Shape { packed: true, .. } => 1,
                Shape { natural, .. } => natural,
            },
            _ => 1,
        }
    }

    pub(crate) fn is_packed(&self, id: TypeId) -> bool {
        match self.btf.get(id) {
            Type::Struct(composite) | Type::Union(composite) => self.shape(id, composite).packed,
            _ => false,
        }
    }

    fn shape(&self, id: TypeId, composite: Composite<'_>) -> Shape {
        // Types of a broken BTF that contain themselves end at this one.
        let begun = Shape { natural: 1, packed: false };
        if let Some(known) = self.structs.borrow().get(&id) {
            return *known;
        }
        self.structs.borrow_mut().insert(id, begun);
        let aligned: Vec<_> =
            composite.members().map(|member| (member, self.of(member.ty))).collect();
        // A bit field without a name, which padding is, does not align.
        let natural = aligned.iter().map(|(_, align)| *align).max().unwrap_or(1);
        let nearer = aligned.iter().any(|(member, align)| match member.bits {
            0 => member.bit_offset % (align * 8) != 0,
            bits => {
                let unit = self.btf.size_of(member.ty).unwrap_or(4) * 8;
                unit > 0 && member.bit_offset / unit != (member.bit_offset + bits - 1) / unit
            }
        });
        let shape = Shape { natural, packed: composite.size % natural != 0 || nearer };
        self.structs.borrow_mut().insert(id, shape);
        shape
    }
}
