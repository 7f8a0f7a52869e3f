// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values in memory as text.

use super::place::{form_of, is_char, load};
use super::scalar::{write, Form, Hints};
use crate::btf::{Btf, Composite, Field, Type, TypeId};

/// Elements of an array, levels of structs, and fields altogether that a text shows.
const MAX_ELEMENTS: u32 = 64;
const MAX_LEVELS: u32 = 8;
const MAX_FIELDS: u32 = 1024;

/// Writes a value of a type: `5`, `true`, `PBS_LOW`, `text`, `1, 2, 3`, `{a: 1, b: 2}`.
pub fn render(btf: &Btf, ty: TypeId, bytes: &[u8]) -> String {
    let size = btf.size_of(ty).unwrap_or(0);
    let field = Field { offset_bits: 0, bits: 0, size, ty };
    render_variable(btf, bytes, &field, &Hints::default())
}

/// As [`render`], for a field of a variable with tags.
pub(super) fn render_variable(btf: &Btf, bytes: &[u8], field: &Field, hints: &Hints<'_>) -> String {
    Renderer { btf, bytes, fields: MAX_FIELDS }.field(field, hints, MAX_LEVELS)
}

struct Renderer<'a> {
    btf: &'a Btf,
    bytes: &'a [u8],
    /// Fields that may still be shown.
    fields: u32,
}

impl Renderer<'_> {
    fn field(&mut self, field: &Field, hints: &Hints<'_>, levels: u32) -> String {
        let Some(fields) = self.fields.checked_sub(1) else { return "…".into() };
        self.fields = fields;
        let Some(levels) = levels.checked_sub(1) else { return "…".into() };
        let btf = self.btf;
        let raw = |form: Form| load(self.bytes, field, form).unwrap_or(0);
        if let Some(form) = form_of(btf, field) {
            let value = form.value(raw(form));
            if let (Type::Enum(e), true) = (btf.resolved(field.ty), hints.values.is_empty()) {
                if let Some(v) = e.values().find(|v| form.value(v.value) == value) {
                    return v.name.to_string();
                }
            }
            return write(value, form, hints);
        }
        match btf.resolved(field.ty) {
            Type::Ptr(_) => {
                format!("{:#x}", raw(Form { bits: 64, signed: false, boolean: false }))
            }
            Type::Array(a) if is_char(btf, a.elem) => {
                let first = field.offset() as usize;
                let text = self.bytes.get(first..first + field.size as usize).unwrap_or(&[]);
                let end = text.iter().position(|b| *b == 0).unwrap_or(text.len());
                String::from_utf8_lossy(&text[..end]).into_owned()
            }
            Type::Array(a) => self.elements(field, a.elem, hints, levels),
            Type::Struct(c) | Type::Union(c) => self.members(field, c, levels),
            _ => "?".into(),
        }
    }

    fn elements(&mut self, field: &Field, elem: TypeId, hints: &Hints<'_>, levels: u32) -> String {
        let size = self.btf.size_of(elem).unwrap_or(0);
        // A resized variable has more elements than its type.
        let len = field.size.checked_div(size).unwrap_or(0);
        let mut texts = Vec::new();
        for i in 0..len.min(MAX_ELEMENTS) {
            if self.fields == 0 {
                break;
            }
            let bits = i.saturating_mul(size.saturating_mul(8));
            let offset_bits = field.offset_bits.saturating_add(bits);
            let element = Field { offset_bits, bits: 0, size, ty: elem };
            texts.push(self.field(&element, hints, levels));
        }
        if (texts.len() as u32) < len {
            texts.push("…".into());
        }
        texts.join(", ")
    }

    fn members(&mut self, field: &Field, c: Composite<'_>, levels: u32) -> String {
        let mut texts = Vec::new();
        for m in c.members().take(MAX_ELEMENTS as usize) {
            if self.fields == 0 {
                texts.push("…".into());
                break;
            }
            let offset_bits = field.offset_bits.saturating_add(m.bit_offset);
            let size = self.btf.size_of(m.ty).unwrap_or(0);
            let member = Field { offset_bits, bits: m.bits, size, ty: m.ty };
            let text = self.field(&member, &Hints::default(), levels);
            texts.push(match (m.name, self.btf.resolved(m.ty)) {
                ("", _) => text,
                (name, Type::Array(a)) if !is_char(self.btf, a.elem) => format!("{name}: [{text}]"),
                (name, _) => format!("{name}: {text}"),
            });
        }
        format!("{{{}}}", texts.join(", "))
    }
}
