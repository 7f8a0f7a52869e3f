// SPDX-License-Identifier: MIT OR Apache-2.0
//! The rest of what a scheduler's own loader does before it attaches: sizes, inner
//! maps, members of the ops table, contents of maps.

use super::encode::refused;
use super::place::{follow, form_of, path_error};
use super::scalar::{parse, whole, Hints};
use super::{nearest, SettingError};
use crate::btf::{Field, Type, TypeId};
use crate::image::{FuncId, Image, MapId, OpsField, Variable};
use std::collections::BTreeSet;

/// Most memory that one array is resized to.
const MAX_RESIZED: u64 = 256 << 20;
/// Most inner maps that are made for one map of maps.
const MAX_INNER: u32 = 1 << 16;

impl Image {
    /// A map by name.
    pub fn map_named(&self, name: &str) -> Result<MapId, SettingError> {
        let names = || self.maps.iter().map(|m| m.name.as_str());
        names().position(|n| n == name).map(|at| MapId(at as u32)).ok_or_else(|| {
            let nearest = nearest(name, names());
            SettingError::Unknown { what: "map", name: name.to_string(), nearest }
        })
    }

    /// A function by name.
    pub fn function_named(&self, name: &str) -> Result<FuncId, SettingError> {
        let names = || self.functions.iter().map(|f| f.name.as_str());
        names().position(|n| n == name).map(|at| FuncId(at as u32)).ok_or_else(|| {
            let nearest = nearest(name, names());
            SettingError::Unknown { what: "function", name: name.to_string(), nearest }
        })
    }

    /// What a function's first argument points to: the context of a `syscall` program.
    pub fn context_type(&self, function: FuncId) -> Option<TypeId> {
        let function = self.functions.get(function.0 as usize)?;
        let first = self.btf.func_proto(function.btf?)?.params().next()?;
        match self.btf.resolved(first.ty) {
            Type::Ptr(to) => Some(to).filter(|to| self.btf.size_of(*to).is_some()),
            _ => None,
        }
    }

    /// Gives an array another number of elements. It must be the last of its section.
    pub fn resize_array(&mut self, name: &str, elements: u32) -> Result<(), SettingError> {
        let (at, rest) = self.variable_of(name)?;
        let variable = &self.variables[at];
        let refuse =
            |why: &str| Err(SettingError::Refused { name: name.to_string(), why: why.to_string() });
        let (true, Type::Array(a)) = (rest.is_empty(), self.btf.resolved(variable.ty)) else {
            return refuse("is not an array");
        };
        let last = |v: &Variable| v.map != variable.map || v.offset <= variable.offset;
        if !self.variables.iter().all(last) {
            return refuse("is not the last variable of its section, so it cannot be resized");
        }
        let size = u64::from(self.btf.size_of(a.elem).unwrap_or(0)) * u64::from(elements);
        let end = u64::from(variable.offset) + size;
        if size == 0 || end > MAX_RESIZED {
            return refuse(&format!("cannot have {elements} elements"));
        }
        let map = &mut self.maps[variable.map.0 as usize];
        if let Some(initial) = &mut map.initial {
            initial.resize(end as usize);
            map.value_size = end as u32;
        }
        self.variables[at].size = size as u32;
        Ok(())
    }

    /// Gives a map another number of entries.
    pub fn set_max_entries(&mut self, map: &str, entries: u32) -> Result<(), SettingError> {
        let id = self.map_named(map)?;
        let def = &mut self.maps[id.0 as usize];
        if def.initial.is_some() {
            let why = "holds global variables, its size is theirs".to_string();
            return Err(SettingError::Refused { name: map.to_string(), why });
        }
        def.max_entries = entries;
        Ok(())
    }

    /// Puts a map of its own, made like the inner prototype, into every free slot of a
    /// map of maps.
    pub fn fill_inner_maps(&mut self, map: &str) -> Result<(), SettingError> {
        let id = self.map_named(map)?;
        let def = &self.maps[id.0 as usize];
        let Some(inner) = def.inner.clone() else {
            let why = "is not a map of maps".to_string();
            return Err(SettingError::Refused { name: map.to_string(), why });
        };
        if def.max_entries > MAX_INNER {
            let why = format!("has {} slots, at most {MAX_INNER} are filled", def.max_entries);
            return Err(SettingError::Refused { name: map.to_string(), why });
        }
        let taken: BTreeSet<u32> = def.slots.iter().map(|s| s.0).collect();
        for slot in (0..def.max_entries).filter(|s| !taken.contains(s)) {
            let new = MapId(self.maps.len() as u32);
            let mut inner = (*inner).clone();
            inner.name = format!("{}[{slot}]", inner.name);
            self.maps.push(inner);
            self.maps[id.0 as usize].slots.push((slot, new));
        }
        Ok(())
    }

    /// Adds flags to those of every struct_ops variable.
    pub fn add_flags(&mut self, flags: u64) {
        for ops in &mut self.struct_ops {
            let own = match ops.fields.get("flags") {
                Some(OpsField::Int(own)) => *own,
                _ => 0,
            };
            if own | flags != 0 {
                ops.fields.insert("flags".to_string(), OpsField::Int(own | flags));
            }
        }
    }

    /// Has a program loaded or not, as `bpf_program__set_autoload()`: a `?` before the section says
    /// not.
    pub fn load_program(&mut self, name: &str, is_loaded: bool) -> Result<(), SettingError> {
        let id = self.function_named(name)?;
        let section = &mut self.functions[id.0 as usize].section;
        match (section.strip_prefix('?'), is_loaded) {
            (Some(bare), true) => *section = bare.to_string(),
            (None, false) => section.insert(0, '?'),
            _ => {}
        }
        Ok(())
    }

    /// Encodes a key and a value of a map from `(path, value)` pairs.
    pub fn map_entry(
        &self,
        map: &str,
        key: &[(String, String)],
        value: &[(String, String)],
    ) -> Result<(MapId, Vec<u8>, Vec<u8>), SettingError> {
        let id = self.map_named(map)?;
        let def = &self.maps[id.0 as usize];
        let key = self.encode_part(map, def.key_type, def.key_size, key)?;
        let value = self.encode_part(map, def.value_type, def.value_size, value)?;
        Ok((id, key, value))
    }

    fn encode_part(
        &self,
        map: &str,
        ty: Option<TypeId>,
        size: u32,
        parts: &[(String, String)],
    ) -> Result<Vec<u8>, SettingError> {
        if let Some(ty) = ty {
            return self.encode(ty, parts.iter().map(|(p, v)| (p.as_str(), v.as_str())));
        }
        // Without a type only a whole integer can be meant.
        match parts {
            [(path, text)] if path.is_empty() && matches!(size, 1 | 2 | 4 | 8) => {
                let fits = |n: &i128| *n >= 0 && *n >> (size * 8) == 0;
                match whole(text.trim()).filter(fits) {
                    Some(n) => Ok(n.to_le_bytes()[..size as usize].to_vec()),
                    None => Err(SettingError::Value {
                        name: map.to_string(),
                        value: text.clone(),
                        expected: format!("an integer of {size} bytes"),
                    }),
                }
            }
            _ => Err(SettingError::Refused {
                name: map.to_string(),
                why: "its key or value has no BTF type, so only an integer can be given".into(),
            }),
        }
    }

    /// Sets a member of every struct_ops variable: `flags`, `timeout_ms`, `name`, or a
    /// callback by function name (empty: none).
    pub fn set_ops(&mut self, member: &str, value: &str) -> Result<(), SettingError> {
        for at in 0..self.struct_ops.len() {
            let type_name = self.struct_ops[at].type_name.clone();
            let Some(ty) = self.kernel_btf.find_struct(&type_name) else { continue };
            let field = follow(&self.kernel_btf, ty, member).map_err(|e| path_error(member, e))?;
            let new = self.ops_value(&field, member, value)?;
            let fields = &mut self.struct_ops[at].fields;
            match new {
                Some(new) => fields.insert(member.to_string(), new),
                None => fields.remove(member),
            };
        }
        Ok(())
    }

    fn ops_value(
        &self,
        field: &Field,
        member: &str,
        value: &str,
    ) -> Result<Option<OpsField>, SettingError> {
        match self.kernel_btf.resolved(field.ty) {
            Type::Ptr(_) if value.is_empty() => Ok(None),
            Type::Ptr(_) => Ok(Some(OpsField::Func(self.function_named(value)?))),
            Type::Array(_) => Ok(Some(OpsField::Str(value.to_string()))),
            _ => {
                let Some(form) = form_of(&self.kernel_btf, field) else {
                    let why = format!("has type {}", self.kernel_btf.type_name(field.ty));
                    return Err(SettingError::Refused { name: member.to_string(), why });
                };
                let named = |n: &str| {
                    let found = self.kernel_btf.enum_value(n).or_else(|| self.btf.enum_value(n));
                    found.map(i128::from)
                };
                let number = parse(value, form, &Hints::of(member, &[]), &named)
                    .map_err(|why| refused(&self.kernel_btf, field, member, value, why))?;
                Ok(Some(number as u64).filter(|n| *n != 0).map(OpsField::Int))
            }
        }
    }
}
