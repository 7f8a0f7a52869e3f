// SPDX-License-Identifier: MIT OR Apache-2.0
//! Options of an object, as its own BTF describes them: listed, set and read by name.
//!
//! A tunable is a `const volatile` global with declaration tags: `help:…`, `unit:ns`,
//! `min:…`, `max:…`, `scale:1024` (the integer is the user's decimal times 1024),
//! `values:a|b|c` (the integers 0, 1, 2 by name), `infinite:yes` (`inf` and `-inf` stand
//! for the greatest and the least number of the type, whatever the range), `follows:tick` (nanoseconds of
//! the kernel's tick, unless it is set), `follows:preempt`, `follows:base_slice` and
//! `with_base_slice:none` (as the simulated kernel is set), `kernel:false` (its value in a kernel,
//! unless it is set). `min` and `max` are in the user's terms: with `scale:1024`, `max:2` allows the integer 2048. Objects without tags
//! have [`Image::options`]: all their `const volatile` globals.
//!
//! A number with such tags that is `volatile` but not `const` is a tunable too, and a
//! live one: the program reads it again and again, so it can be set while it runs.

mod assign;
mod cpus;
mod encode;
mod follow;
mod kernel;
mod live;
mod place;
mod render;
mod scalar;
mod setup;
mod tree;
mod value;

pub use live::{Patch, VariablePlace};
pub(crate) use place::{form_of, load};
pub use render::render;
pub(crate) use scalar::Form;
pub use tree::{tree, Tree};
pub use value::Value;

use crate::btf::{Field, PathError, Type, TypeId};
use crate::image::{Image, Variable};
use scalar::Hints;
use thiserror::Error;

/// A documented option of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tunable {
    /// Variable name.
    pub name: String,
    /// C type, without qualifiers.
    pub ctype: String,
    /// Present value, in the form that setting it takes.
    pub default: String,
    /// Least value.
    pub min: Option<String>,
    /// Greatest value.
    pub max: Option<String>,
    /// What it does; empty if the object does not say.
    pub help: String,
    /// Unit, `ns` …
    pub unit: Option<String>,
    /// Fixed-point scale of the integer.
    pub scale: Option<u64>,
    /// `inf` is a value, too, and `-inf` if it is signed.
    pub infinite: bool,
    /// Names of the values 0, 1, 2 …
    pub values: Vec<String>,
    /// Can be set while the program runs.
    pub live: bool,
}

/// A setting that cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SettingError {
    /// No such thing.
    #[error("there is no {what} '{name}'{}", suggestion(.nearest))]
    Unknown {
        /// Kind of thing: variable, member, map …
        what: &'static str,
        /// Name asked for.
        name: String,
        /// Known name that is most like it.
        nearest: Option<String>,
    },
    /// Not a value of that type.
    #[error("{name}: '{value}' is not valid, expected {expected}")]
    Value {
        /// Variable.
        name: String,
        /// Value given.
        value: String,
        /// What would do.
        expected: String,
    },
    /// Outside its range.
    #[error("{name}: {value} is out of range, expected {expected}")]
    Range {
        /// Variable.
        name: String,
        /// Value given.
        value: String,
        /// The range.
        expected: String,
    },
    /// The path does not fit the variable's type.
    #[error("{name}: {error}{}", suggestion(.nearest))]
    Path {
        /// Variable with path.
        name: String,
        /// What is wrong with it.
        error: PathError,
        /// Member that is most like the one asked for.
        nearest: Option<String>,
    },
    /// A thing that has no value to be set, such as a pointer.
    #[error("{name}: {why}")]
    Refused {
        /// Variable.
        name: String,
        /// Why.
        why: String,
    },
}

fn suggestion(nearest: &Option<String>) -> String {
    nearest.as_ref().map_or(String::new(), |n| format!("; did you mean '{n}'?"))
}

/// The known name most like `name`, if it could be a typo of it.
fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    known
        .map(|k| (strsim::damerau_levenshtein(name, k), k))
        .filter(|(distance, k)| *distance <= 1 + name.len().max(k.len()) / 4)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, k)| k.to_string())
}

/// Do tags tell what a variable is for?
fn is_documented(v: &Variable) -> bool {
    Hints::of(&v.name, &v.tags).documented
}

impl Image {
    /// The documented options: `const volatile` and `volatile` globals with tags, in the
    /// object's order.
    pub fn tunables(&self) -> Vec<Tunable> {
        let documented = |v: &&Variable| self.is_option(v) && is_documented(v) || self.is_live(v);
        self.variables.iter().filter(documented).map(|v| self.describe(v)).collect()
    }

    /// All options, documented or not: every `const volatile` global except mirrors of
    /// the kernel's enumerators, and the live tunables.
    pub fn options(&self) -> Vec<Tunable> {
        let option = |v: &&Variable| self.is_option(v) || self.is_live(v);
        self.variables.iter().filter(option).map(|v| self.describe(v)).collect()
    }

    fn is_option(&self, v: &Variable) -> bool {
        let read_only = self.maps.get(v.map.0 as usize).is_some_and(|m| m.read_only);
        let mirror = v
            .name
            .strip_prefix("__")
            .is_some_and(|n| n.starts_with("SCX_") || self.kernel_btf.enum_value(n).is_some());
        // What a loader tells of the computer.
        let told = v.name.starts_with("rota_");
        let loaders = mirror || told || self.is_dump_length(v);
        read_only && !loaders && self.qualifiers(v.ty) == (true, true)
    }

    /// By sched_ext's custom a loader tells in `uei_dump_len` how large it made `uei_dump`.
    fn is_dump_length(&self, v: &Variable) -> bool {
        let buffer = v.name.strip_suffix("_len").filter(|name| name.ends_with("_dump"));
        buffer.is_some_and(|name| self.variables.iter().any(|other| other.name == name))
    }

    /// Is a type `const`, and is it `volatile`? For arrays it is the element that is.
    fn qualifiers(&self, ty: TypeId) -> (bool, bool) {
        let (mut constant, mut volatile, mut ty) = (false, false, ty);
        for _ in 0..64 {
            match self.btf.get(ty) {
                Type::Const(to) => (constant, ty) = (true, to),
                Type::Volatile(to) => (volatile, ty) = (true, to),
                Type::Restrict(to) | Type::Typedef(_, to) | Type::TypeTag(_, to) => ty = to,
                Type::Array(a) => ty = a.elem,
                _ => break,
            }
        }
        (constant, volatile)
    }

    fn describe(&self, v: &Variable) -> Tunable {
        let hints = Hints::of(&v.name, &v.tags);
        let whole = Field { offset_bits: 0, bits: 0, size: v.size, ty: v.ty };
        Tunable {
            name: v.name.clone(),
            ctype: self.plain_type_name(v.ty),
            default: self.text_of(v, &whole, &hints),
            min: hints.min.map(String::from),
            max: hints.max.map(String::from),
            help: hints.help.unwrap_or_default().to_string(),
            unit: hints.unit.map(String::from),
            scale: hints.scale,
            infinite: hints.infinite,
            values: hints.values.iter().map(|n| n.to_string()).collect(),
            live: self.is_live(v),
        }
    }

    /// The C type without leading qualifiers.
    fn plain_type_name(&self, ty: TypeId) -> String {
        let mut ty = ty;
        while let Type::Const(to) | Type::Volatile(to) = self.btf.get(ty) {
            // A cycle of qualifiers resolves to void.
            if self.btf.resolve(ty) == crate::btf::VOID {
                break;
            }
            ty = to;
        }
        let name = self.btf.type_name(ty);
        ["const volatile ", "volatile const ", "volatile "]
            .iter()
            .fold(name, |name, qualifiers| name.replace(qualifiers, ""))
    }
}
