// SPDX-License-Identifier: MIT OR Apache-2.0
//! The value of a global variable, or of a part of it, from the bytes of a program that runs.

use super::place::{form_of, load};
use super::render::render_variable;
use super::scalar::{Form, Hints};
use super::SettingError;
use crate::btf::Type;
use crate::image::{Image, Variable};

/// What a global variable, or a part of one, holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// As [`Image::variable_text`] writes it.
    pub text: String,
    /// A number, boolean, enumerator or pointer as a number.
    pub number: Option<i128>,
}

impl Image {
    /// The value of a global by path: `slice_ns`, `table[3]`, `uei.kind`. `read` gets the variable
    /// and returns its bytes.
    pub fn value_of(
        &self,
        path: &str,
        read: impl FnOnce(&Variable) -> Vec<u8>,
    ) -> Result<Value, SettingError> {
        let (at, rest) = self.variable_of(path)?;
        let variable = &self.variables[at];
        let field = self.field_of(variable, rest)?;
        // The tags describe the variable, not what is inside a struct.
        let tags: &[String] = if rest.contains('.') { &[] } else { &variable.tags };
        let name = rest.rsplit_once('.').map_or(variable.name.as_str(), |(_, member)| member);
        let bytes = read(variable);
        let text = render_variable(&self.btf, &bytes, &field, &Hints::of(name, tags));
        let pointer = || matches!(self.btf.resolved(field.ty), Type::Ptr(_));
        let form = form_of(&self.btf, &field)
            .or_else(|| pointer().then_some(Form { bits: 64, signed: false, boolean: false }));
        let number = form.and_then(|form| load(&bytes, &field, form).map(|raw| form.value(raw)));
        Ok(Value { text, number })
    }
}
