// SPDX-License-Identifier: MIT OR Apache-2.0
//! From a path such as `cfg.limit` or `table[3]` to a variable and a field of it.

use super::scalar::Form;
use super::{nearest, SettingError};
use crate::btf::{Btf, Field, PathError, Type, TypeId};
use crate::image::{Image, Variable};

impl Image {
    /// The variable that a path begins with, and the rest of the path. Names of
    /// static variables hold dots themselves, so the longest name wins.
    pub(super) fn variable_of<'p>(&self, path: &'p str) -> Result<(usize, &'p str), SettingError> {
        let cuts = path.char_indices().rev().filter(|(_, c)| matches!(c, '.' | '['));
        for cut in std::iter::once(path.len()).chain(cuts.map(|(at, _)| at)) {
            let (name, rest) = path.split_at(cut);
            if let Some(at) = self.variables.iter().position(|v| v.name == name) {
                return Ok((at, rest));
            }
        }
        let name = path.split(['.', '[']).next().unwrap_or(path);
        let known = self.variables.iter().map(|v| v.name.as_str()).filter(|n| !n.contains('.'));
        let nearest = nearest(name, known);
        Err(SettingError::Unknown { what: "variable", name: name.to_string(), nearest })
    }

    /// The field that the rest of a path leads to, from the start of the variable.
    pub(super) fn field_of(&self, v: &Variable, rest: &str) -> Result<Field, SettingError> {
        if let Some(field) = self.resized_element(v, rest) {
            return Ok(field);
        }
        follow(&self.btf, v.ty, rest.strip_prefix('.').unwrap_or(rest))
            .map(|f| if rest.is_empty() { Field { size: v.size, ..f } } else { f })
            .map_err(|error| path_error(&format!("{}{rest}", v.name), error))
    }

    /// An element of an array that was given more elements than its type has.
    fn resized_element(&self, v: &Variable, rest: &str) -> Option<Field> {
        let Type::Array(a) = self.btf.resolved(v.ty) else { return None };
        let size = self.btf.size_of(a.elem).filter(|s| *s > 0)?;
        let (index, rest) = rest.strip_prefix('[')?.split_once(']')?;
        let index: u32 = index.trim().parse().ok()?;
        if index < a.len || index >= v.size / size {
            return None;
        }
        let inner = follow(&self.btf, a.elem, rest.strip_prefix('.').unwrap_or(rest)).ok()?;
        let offset_bits =
            index.checked_mul(size)?.checked_mul(8)?.checked_add(inner.offset_bits)?;
        Some(Field { offset_bits, ..inner })
    }
}

/// Follows a path that may be empty.
pub(super) fn follow(btf: &Btf, ty: TypeId, path: &str) -> Result<Field, PathError> {
    if path.is_empty() {
        let size = btf.size_of(ty).unwrap_or(0);
        return Ok(Field { offset_bits: 0, bits: 0, size, ty });
    }
    btf.field_at(ty, path)
}

pub(super) fn path_error(name: &str, error: PathError) -> SettingError {
    let nearest = match &error {
        PathError::NoMember { name, known, .. } => nearest(name, known.iter().map(String::as_str)),
        _ => None,
    };
    SettingError::Path { name: name.to_string(), error, nearest }
}

/// The integer form of a field, if it is an integer or enum.
pub(crate) fn form_of(btf: &Btf, field: &Field) -> Option<Form> {
    let bits = if field.bits > 0 { field.bits } else { field.size.checked_mul(8)? };
    if bits > 64 {
        return None;
    }
    match btf.resolved(field.ty) {
        Type::Int(i) => Some(Form { bits, signed: i.signed, boolean: i.boolean }),
        Type::Enum(e) => Some(Form { bits, signed: e.signed, boolean: false }),
        _ => None,
    }
}

/// Is this the element type of a text?
pub(super) fn is_char(btf: &Btf, ty: TypeId) -> bool {
    matches!(btf.resolved(ty), Type::Int(i) if i.size == 1 && (i.name == "char" || i.character))
}

/// Bits of a field, lowest first.
pub(crate) fn load(bytes: &[u8], field: &Field, form: Form) -> Option<u64> {
    let (first, shift) = ((field.offset_bits / 8) as usize, field.offset_bits % 8);
    let len = (shift + form.bits).div_ceil(8) as usize;
    let raw = bytes.get(first..first + len)?;
    let word = raw.iter().rev().fold(0u128, |w, b| w << 8 | u128::from(*b));
    Some((word >> shift) as u64 & (u64::MAX >> (64 - form.bits.clamp(1, 64))))
}

/// Stores the low bits of a value in a field.
pub(super) fn save(bytes: &mut [u8], field: &Field, form: Form, value: u64) -> Option<()> {
    let (first, shift) = ((field.offset_bits / 8) as usize, field.offset_bits % 8);
    let len = (shift + form.bits).div_ceil(8) as usize;
    let raw = bytes.get_mut(first..first + len)?;
    let word = raw.iter().rev().fold(0u128, |w, b| w << 8 | u128::from(*b));
    let mask = u128::from(u64::MAX >> (64 - form.bits.clamp(1, 64))) << shift;
    let word = word & !mask | (u128::from(value) << shift) & mask;
    raw.copy_from_slice(&word.to_le_bytes()[..len]);
    Some(())
}
