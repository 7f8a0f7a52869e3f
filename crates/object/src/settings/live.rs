// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tunables of a program that runs: what to write where, and what is there now.

use super::place::{form_of, is_char};
use super::render::render_variable;
use super::scalar::Hints;
use super::{is_documented, nearest, SettingError};
use crate::btf::{Field, Type};
use crate::image::{Image, MapId, Variable};

/// Where a variable is that can be written while the program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VariablePlace {
    /// The data section.
    pub map: MapId,
    /// Bytes from its start.
    pub offset: u32,
    /// Its size.
    pub bytes: u32,
}

/// Bytes to be written into the value of a map of global variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    /// The data section.
    pub map: MapId,
    /// Bytes from its start.
    pub offset: u32,
    /// What belongs there.
    pub bytes: Vec<u8>,
}

impl Image {
    /// Is a variable a tunable that can be set while the program runs?
    pub(super) fn is_live(&self, v: &Variable) -> bool {
        let writable = |m: &crate::image::MapDef| !m.read_only && m.initial.is_some();
        self.maps.get(v.map.0 as usize).is_some_and(writable)
            && self.qualifiers(v.ty) == (false, true)
            && is_documented(v)
            && self.is_number(v)
    }

    /// A number, or an array of numbers: what can be written without a lock.
    fn is_number(&self, v: &Variable) -> bool {
        let ty = match self.btf.resolved(v.ty) {
            Type::Array(a) if is_char(&self.btf, a.elem) => return false,
            Type::Array(a) => a.elem,
            _ => v.ty,
        };
        let size = self.btf.size_of(ty).unwrap_or(0);
        form_of(&self.btf, &Field { offset_bits: 0, bits: 0, size, ty }).is_some()
    }

    /// What to write to set a tunable of a running program. Type and range are checked as
    /// [`Image::set_variable`] does; a tunable that is not live is refused.
    pub fn live_patch(&self, path: &str, value: &str) -> Result<Patch, SettingError> {
        let (at, rest) = self.tunable_of(path)?;
        let variable = &self.variables[at];
        let refuse = |why: String| Err(SettingError::Refused { name: variable.name.clone(), why });
        if self.is_option(variable) {
            return refuse(format!(
                "is fixed when the policy is loaded: restart with --set {path}={value}"
            ));
        }
        if !self.is_live(variable) {
            return refuse("is the policy's own variable, not a tunable".into());
        }
        let field = self.field_of(variable, rest)?;
        let mut bytes = vec![0; variable.size as usize];
        let hints = Hints::of(&variable.name, &variable.tags);
        self.store(&mut bytes, &field, path, value, &hints)?;
        let first = field.offset() as usize;
        let bytes = bytes.get(first..first + field.size as usize).unwrap_or(&[]).to_vec();
        Ok(Patch { map: variable.map, offset: variable.offset + field.offset(), bytes })
    }

    /// The variable of a path, if user space can write it while the program runs, and its bytes at
    /// the beginning.
    pub fn writable(&self, path: &str) -> Result<(VariablePlace, Vec<u8>), SettingError> {
        let (at, _) = self.variable_of(path)?;
        let variable = &self.variables[at];
        let refuse = |why: &str| {
            Err(SettingError::Refused { name: variable.name.clone(), why: why.to_string() })
        };
        let Some(map) = self.maps.get(variable.map.0 as usize) else {
            return refuse("has no place");
        };
        if map.read_only {
            return refuse("is constant once the object is loaded: set it with --set");
        }
        let (start, size) = (variable.offset as usize, variable.size as usize);
        let Some(bytes) = map.initial.as_ref().and_then(|i| i.get(start..start + size)) else {
            return refuse("has no initial value");
        };
        let place =
            VariablePlace { map: variable.map, offset: variable.offset, bytes: variable.size };
        Ok((place, bytes.into_owned()))
    }

    /// Writes a value into the bytes of the variable of a path. Type and range are checked as
    /// [`Image::set_variable`] does.
    pub fn write_in(&self, path: &str, value: &str, bytes: &mut [u8]) -> Result<(), SettingError> {
        let (at, rest) = self.variable_of(path)?;
        let variable = &self.variables[at];
        let field = self.field_of(variable, rest)?;
        // The tags describe the variable, not what is inside a struct.
        let tags: &[String] = if rest.contains('.') { &[] } else { &variable.tags };
        let name = rest.rsplit_once('.').map_or(variable.name.as_str(), |(_, member)| member);
        self.store(bytes, &field, path, value, &Hints::of(name, tags))
    }

    /// The variable of a path, as [`Image::variable_of`]; a suggestion is a tunable.
    fn tunable_of<'p>(&self, path: &'p str) -> Result<(usize, &'p str), SettingError> {
        self.variable_of(path).map_err(|error| match error {
            SettingError::Unknown { name, .. } => {
                let known = self.variables.iter().filter(|v| self.is_option(v) || self.is_live(v));
                let nearest = nearest(&name, known.map(|v| v.name.as_str()));
                SettingError::Unknown { what: "tunable", name, nearest }
            }
            other => other,
        })
    }

    /// A variable's value as text, in the form that setting it takes, from its bytes.
    pub fn text_in(&self, variable: &Variable, bytes: &[u8]) -> String {
        let whole = Field { offset_bits: 0, bits: 0, size: variable.size, ty: variable.ty };
        let hints = Hints::of(&variable.name, &variable.tags);
        render_variable(&self.btf, bytes, &whole, &hints)
    }
}
