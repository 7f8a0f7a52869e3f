// SPDX-License-Identifier: MIT OR Apache-2.0
//! Text into typed memory.

use super::cpus;
use super::place::{follow, form_of, is_char, load, path_error, save};
use super::scalar::{parse, Hints, Refusal};
use super::SettingError;
use crate::btf::{Btf, Field, Kind, Type, TypeId};
use crate::image::Image;

/// Largest key, value or context.
const MAX_ENCODED: u32 = 1 << 24;

impl Image {
    /// Builds a value of a type of the object from `(path, value)` pairs; what they do
    /// not name is zero. An empty path is the value itself.
    pub fn encode<'a>(
        &self,
        ty: TypeId,
        parts: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Vec<u8>, SettingError> {
        let size = self.btf.size_of(ty).unwrap_or(0);
        if size > MAX_ENCODED {
            let why = format!("has {size} bytes, at most {MAX_ENCODED} are written");
            return Err(SettingError::Refused { name: self.btf.type_name(ty), why });
        }
        let mut bytes = vec![0; size as usize];
        self.write_parts(ty, parts, &mut bytes)?;
        Ok(bytes)
    }

    /// Writes `(path, value)` pairs into the bytes of a value of a type of the object.
    pub fn write_parts<'a>(
        &self,
        ty: TypeId,
        parts: impl IntoIterator<Item = (&'a str, &'a str)>,
        bytes: &mut [u8],
    ) -> Result<(), SettingError> {
        for (path, value) in parts {
            let name = if path.is_empty() { self.btf.type_name(ty) } else { path.to_string() };
            let field = follow(&self.btf, ty, path).map_err(|e| path_error(&name, e))?;
            self.store(bytes, &field, &name, value, &Hints::of(path, &[]))?;
        }
        Ok(())
    }

    /// The number at a path in the bytes of a value of a type of the object.
    pub fn number_in(&self, ty: TypeId, path: &str, bytes: &[u8]) -> Result<i128, SettingError> {
        let field = follow(&self.btf, ty, path).map_err(|e| path_error(path, e))?;
        let number = form_of(&self.btf, &field)
            .and_then(|form| load(bytes, &field, form).map(|raw| form.value(raw)));
        number.ok_or_else(|| SettingError::Refused {
            name: path.to_string(),
            why: format!("has type {}, which is no number", self.btf.type_name(field.ty)),
        })
    }

    /// A type of the object by name: a typedef, struct or union.
    pub fn type_named(&self, name: &str) -> Option<TypeId> {
        let kinds = [Kind::Struct, Kind::Typedef, Kind::Union];
        kinds.into_iter().find_map(|kind| self.btf.find(kind, name))
    }

    /// Writes a value into a field. `name` is for messages.
    pub(super) fn store(
        &self,
        bytes: &mut [u8],
        field: &Field,
        name: &str,
        value: &str,
        hints: &Hints<'_>,
    ) -> Result<(), SettingError> {
        let outside = || SettingError::Refused {
            name: name.to_string(),
            why: "lies outside its data section".into(),
        };
        if let Some(cpus) = cpus::set_of(value) {
            if let Some(done) = cpus::store(&self.btf, bytes, field, name, &cpus) {
                return done;
            }
        }
        if let Some(form) = form_of(&self.btf, field) {
            let named = |n: &str| self.constant(field.ty, n);
            let number = parse(value, form, hints, &named)
                .map_err(|why| refused(&self.btf, field, name, value, why))?;
            return save(bytes, field, form, number as u64).ok_or_else(outside);
        }
        let why = match self.btf.resolved(field.ty) {
            Type::Array(a) if is_char(&self.btf, a.elem) => {
                let first = field.offset() as usize;
                let room = bytes.get_mut(first..first + field.size as usize).ok_or_else(outside)?;
                if value.len() >= room.len() {
                    return Err(SettingError::Value {
                        name: name.to_string(),
                        value: value.to_string(),
                        expected: format!("a text of at most {} bytes", room.len().max(1) - 1),
                    });
                }
                room.fill(0);
                room[..value.len()].copy_from_slice(value.as_bytes());
                return Ok(());
            }
            Type::Array(a) => return self.store_list(bytes, field, a.elem, name, value, hints),
            Type::Struct(c) | Type::Union(c) => {
                let first = c.members().map(|m| m.name).find(|n| !n.is_empty()).unwrap_or("member");
                format!("is a struct; set its members one by one, {name}.{first}=…")
            }
            Type::Ptr(_) => "is a pointer, which cannot be set".into(),
            _ => format!("has type {}, which cannot be set", self.btf.type_name(field.ty)),
        };
        Err(SettingError::Refused { name: name.to_string(), why })
    }

    /// Writes `1, 2, 3` into an array: all elements.
    fn store_list(
        &self,
        bytes: &mut [u8],
        field: &Field,
        elem: TypeId,
        name: &str,
        value: &str,
        hints: &Hints<'_>,
    ) -> Result<(), SettingError> {
        let size = self.btf.size_of(elem).unwrap_or(0);
        let len = field.size.checked_div(size).unwrap_or(0);
        let elements: Vec<&str> = value.split(',').collect();
        if elements.len() as u64 != u64::from(len) {
            return Err(SettingError::Value {
                name: name.to_string(),
                value: value.to_string(),
                expected: format!("{len} values separated by commas, or {name}[0]=… for one"),
            });
        }
        for (i, text) in (0u32..).zip(elements) {
            let offset_bits =
                field.offset_bits.saturating_add(i.saturating_mul(size.saturating_mul(8)));
            let element = Field { offset_bits, bits: 0, size, ty: elem };
            self.store(bytes, &element, &format!("{name}[{i}]"), text, hints)?;
        }
        Ok(())
    }

    /// An enumerator: of the field's own enum, else of the object, else of the kernel.
    fn constant(&self, ty: TypeId, name: &str) -> Option<i128> {
        if let Type::Enum(e) = self.btf.resolved(ty) {
            if let Some(v) = e.values().find(|v| v.name == name) {
                return Some(if e.signed { i128::from(v.value as i64) } else { v.value.into() });
            }
        }
        let value = self.btf.enum_value(name).or_else(|| self.kernel_btf.enum_value(name))?;
        Some(value.into())
    }
}

/// The error for a value that was not taken.
pub(super) fn refused(
    btf: &Btf,
    field: &Field,
    name: &str,
    value: &str,
    why: Refusal,
) -> SettingError {
    let (name, value) = (name.to_string(), value.to_string());
    match why {
        Refusal::Range(expected) => SettingError::Range { name, value, expected },
        Refusal::Tag(tag) => {
            SettingError::Refused { name, why: format!("its tag '{tag}' is not a number") }
        }
        Refusal::Expected(expected) => {
            let expected = match btf.resolved(field.ty) {
                Type::Enum(e) => {
                    let names: Vec<&str> = e.values().take(12).map(|v| v.name).collect();
                    format!("one of {}", names.join(", "))
                }
                _ => expected,
            };
            SettingError::Value { name, value, expected }
        }
    }
}
