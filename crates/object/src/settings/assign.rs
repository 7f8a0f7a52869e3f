// SPDX-License-Identifier: MIT OR Apache-2.0
//! Global variables: set before the object runs, read back as text.

use super::render::render_variable;
use super::scalar::Hints;
use super::SettingError;
use crate::btf::Field;
use crate::image::{Image, Variable};
use std::borrow::Cow;

impl Image {
    /// Sets a global by path: `slice_ns`, `table[3]`, `cfg.limit`. The value is typed
    /// by BTF and checked against the variable's tags.
    pub fn set_variable(&mut self, path: &str, value: &str) -> Result<(), SettingError> {
        let (at, rest) = self.variable_of(path)?;
        let variable = &self.variables[at];
        let field = self.field_of(variable, rest)?;
        let (map, start) = (variable.map.0 as usize, variable.offset as usize);
        // Edited apart, so that a refused value leaves no trace.
        let end = start + variable.size as usize;
        let stored = self.maps.get(map).and_then(|m| m.initial.as_ref());
        let Some(mut bytes) = stored.and_then(|i| i.get(start..end)).map(Cow::into_owned) else {
            return Err(SettingError::Refused {
                name: path.to_string(),
                why: "has no initial value".into(),
            });
        };
        // The tags describe the variable, not what is inside a struct.
        let tags: &[String] = if rest.contains('.') { &[] } else { &variable.tags };
        let name = rest.rsplit_once('.').map_or(variable.name.as_str(), |(_, member)| member);
        self.store(&mut bytes, &field, path, value, &Hints::of(name, tags))?;
        if let Some(initial) = &mut self.maps[map].initial {
            initial.set(start, &bytes);
        }
        Ok(())
    }

    /// The present value of a global, by path, in the form that setting it takes.
    pub fn variable_text(&self, path: &str) -> Result<String, SettingError> {
        let (at, rest) = self.variable_of(path)?;
        let variable = &self.variables[at];
        let field = self.field_of(variable, rest)?;
        let tags: &[String] = if rest.contains('.') { &[] } else { &variable.tags };
        Ok(self.text_of(variable, &field, &Hints::of(path, tags)))
    }

    /// The present value of a field of a variable.
    pub(super) fn text_of(&self, variable: &Variable, field: &Field, hints: &Hints<'_>) -> String {
        let map = self.maps.get(variable.map.0 as usize);
        let start = variable.offset as usize;
        let bytes = map
            .and_then(|m| m.initial.as_ref())
            .and_then(|i| i.get(start..start + variable.size as usize))
            .unwrap_or_default();
        render_variable(&self.btf, &bytes, field, hints)
    }
}
