// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values in memory as trees, by BTF: numbers, texts, arrays and structs.

use super::place::{form_of, is_char, load};
use super::scalar::Form;
use crate::btf::{Btf, Composite, Field, Type, TypeId};
use std::fmt;

/// Leaves of one tree, and levels; what is beyond is left out.
const MAX_LEAVES: u32 = 4096;
const MAX_LEVELS: u32 = 16;
/// Elements that a text of an array shows.
const MAX_SHOWN: usize = 64;

/// A value of any type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tree {
    /// `_Bool`.
    Bool(bool),
    /// A number.
    Number(i128),
    /// An address.
    Address(u64),
    /// An enumerator, or text in a `char[]`.
    Text(String),
    /// An array.
    List(Vec<Tree>),
    /// A struct or union: members in order; those without a name have an empty one.
    Struct(Vec<(String, Tree)>),
    /// More than fits, or of a type that has no values.
    Omitted,
}

/// The value of a type that these bytes have.
pub fn tree(btf: &Btf, ty: TypeId, bytes: &[u8]) -> Tree {
    // A resized array has more elements than its type.
    let size = match btf.resolved(ty) {
        Type::Array(_) => bytes.len() as u32,
        _ => btf.size_of(ty).unwrap_or(0),
    };
    let field = Field { offset_bits: 0, bits: 0, size, ty };
    Planter { btf, bytes, leaves: MAX_LEAVES }.plant(&field, MAX_LEVELS)
}

struct Planter<'a> {
    btf: &'a Btf,
    bytes: &'a [u8],
    /// Leaves that may still be made.
    leaves: u32,
}

impl Planter<'_> {
    fn plant(&mut self, field: &Field, levels: u32) -> Tree {
        let (Some(leaves), Some(levels)) = (self.leaves.checked_sub(1), levels.checked_sub(1))
        else {
            return Tree::Omitted;
        };
        self.leaves = leaves;
        let btf = self.btf;
        let raw = |form: Form| load(self.bytes, field, form);
        if let Some(form) = form_of(btf, field) {
            let Some(value) = raw(form).map(|raw| form.value(raw)) else { return Tree::Omitted };
            let named = match btf.resolved(field.ty) {
                Type::Enum(e) => e.values().find(|v| form.value(v.value) == value),
                _ => None,
            };
            return match named {
                Some(enumerator) => Tree::Text(enumerator.name.to_owned()),
                None if form.boolean => Tree::Bool(value != 0),
                None => Tree::Number(value),
            };
        }
        match btf.resolved(field.ty) {
            Type::Ptr(_) => match raw(Form { bits: 64, signed: false, boolean: false }) {
                Some(address) => Tree::Address(address),
                None => Tree::Omitted,
            },
            Type::Array(a) if is_char(btf, a.elem) => {
                let first = field.offset() as usize;
                let end = first.saturating_add(field.size as usize);
                let text = self.bytes.get(first..end).unwrap_or(&[]);
                let end = text.iter().position(|b| *b == 0).unwrap_or(text.len());
                Tree::Text(String::from_utf8_lossy(&text[..end]).into_owned())
            }
            Type::Array(a) => self.elements(field, a.elem, levels),
            Type::Struct(c) | Type::Union(c) => self.members(field, c, levels),
            _ => Tree::Omitted,
        }
    }

    fn elements(&mut self, field: &Field, elem: TypeId, levels: u32) -> Tree {
        let size = self.btf.size_of(elem).unwrap_or(0);
        let mut list = Vec::new();
        for i in 0..field.size.checked_div(size).unwrap_or(0) {
            let bits = i.saturating_mul(size.saturating_mul(8));
            let offset_bits = field.offset_bits.saturating_add(bits);
            list.push(self.plant(&Field { offset_bits, bits: 0, size, ty: elem }, levels));
            if self.leaves == 0 {
                list.push(Tree::Omitted);
                break;
            }
        }
        Tree::List(list)
    }

    fn members(&mut self, field: &Field, c: Composite<'_>, levels: u32) -> Tree {
        let mut members = Vec::new();
        for m in c.members() {
            if self.leaves == 0 {
                break;
            }
            let offset_bits = field.offset_bits.saturating_add(m.bit_offset);
            let size = self.btf.size_of(m.ty).unwrap_or(0);
            let member = Field { offset_bits, bits: m.bits, size, ty: m.ty };
            members.push((m.name.to_owned(), self.plant(&member, levels)));
        }
        Tree::Struct(members)
    }
}

impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => write!(f, "{value}"),
            Self::Number(value) => write!(f, "{value}"),
            Self::Address(value) => write!(f, "{value:#x}"),
            Self::Text(text) => f.write_str(text),
            Self::Omitted => f.write_str("…"),
            Self::List(list) => {
                f.write_str("[")?;
                for (at, element) in list.iter().take(MAX_SHOWN).enumerate() {
                    write!(f, "{}{element}", if at > 0 { ", " } else { "" })?;
                }
                f.write_str(if list.len() > MAX_SHOWN { ", …]" } else { "]" })
            }
            Self::Struct(members) => {
                f.write_str("{")?;
                for (at, (name, value)) in members.iter().enumerate() {
                    f.write_str(if at > 0 { ", " } else { "" })?;
                    match name.is_empty() {
                        true => write!(f, "{value}")?,
                        false => write!(f, "{name}: {value}")?,
                    }
                }
                f.write_str("}")
            }
        }
    }
}
