// SPDX-License-Identifier: MIT OR Apache-2.0
//! BTF: the types that an object and a kernel carry with them.
//!
//! Types stay in their encoded form and are decoded on access, so a whole
//! kernel's BTF costs its file size plus an offset per type.

#[cfg(feature = "bundled")]
mod bundled;
mod derived;
pub mod ext;
mod extend;
mod fields;
mod file;
mod front;
mod index;
mod join;
mod kind;
mod parse;
mod spelling;
mod types;

#[cfg(feature = "bundled")]
pub use bundled::{reference, Bundled};
pub use extend::Extended;
pub use fields::{Field, PathError};
pub use front::Front;
pub use index::essential_name;
pub use join::Shift;
pub use kind::Kind;
pub use parse::BtfError;
pub use types::{
    Array, Composite, Datasec, DeclTag, Enum, Enumerator, FuncProto, Int, Member, Param,
    SectionVar, Type,
};

use derived::Derived;
use index::{EnumIndex, NameIndex, TagIndex};
use std::sync::OnceLock;

/// Index of a type; 0 is `void`.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub struct TypeId(pub u32);

/// `void`.
pub const VOID: TypeId = TypeId(0);

/// Longest chain of typedefs, qualifiers, pointers or array levels that is followed.
/// Real code stays below 20; a cycle in hostile BTF ends here.
const MAX_DEPTH: u32 = 64;

/// A parsed BTF section.
pub struct Btf {
    /// Encoded types.
    types: Vec<u8>,
    /// Start of each type in `types`; entry 0 (void) is unused.
    starts: Vec<u32>,
    /// All names, NUL separated.
    strings: String,
    names: OnceLock<NameIndex>,
    enumerators: OnceLock<EnumIndex>,
    tags: OnceLock<TagIndex>,
    derived: Derived,
    /// The kernel has types that are left out here.
    reduced: bool,
}

impl std::fmt::Debug for Btf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Btf({} types, {} string bytes)", self.len(), self.strings.len())
    }
}

impl Btf {
    /// Number of types, `void` included: ids are `0..len`.
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// True if there is no type but `void`.
    pub fn is_empty(&self) -> bool {
        self.len() <= 1
    }

    /// The same, known to lack types that its kernel has.
    #[must_use]
    pub fn reduced(self) -> Btf {
        Btf { reduced: true, ..self }
    }

    /// Whether the kernel has types that are left out here ([`Btf::reduced`]).
    pub fn is_reduced(&self) -> bool {
        self.reduced
    }

    /// All ids except `void`.
    pub fn ids(&self) -> impl Iterator<Item = TypeId> {
        (1..self.starts.len() as u32).map(TypeId)
    }

    /// The string at an offset of the string table; empty if there is none.
    pub fn string(&self, offset: u32) -> &str {
        let tail = self.strings.get(offset as usize..).unwrap_or("");
        // Names are short: a plain loop finds their end sooner than a search made for texts.
        let end = tail.bytes().position(|byte| byte == 0);
        &tail[..end.unwrap_or(tail.len())]
    }

    /// Follows typedefs, qualifiers and type tags to the type proper.
    /// A cycle resolves to `void`.
    pub fn resolve(&self, id: TypeId) -> TypeId {
        let mut id = id;
        for _ in 0..MAX_DEPTH {
            match self.get(id) {
                Type::Typedef(_, to)
                | Type::Const(to)
                | Type::Volatile(to)
                | Type::Restrict(to)
                | Type::TypeTag(_, to) => id = to,
                _ => return id,
            }
        }
        VOID
    }

    /// The type behind typedefs and qualifiers.
    pub fn resolved(&self, id: TypeId) -> Type<'_> {
        self.get(self.resolve(id))
    }

    /// Bytes a variable of this type takes; `None` for functions, forward
    /// declarations, `void`, and sizes beyond 4 GiB.
    pub fn size_of(&self, id: TypeId) -> Option<u32> {
        let mut id = id;
        let mut count: u32 = 1;
        for _ in 0..MAX_DEPTH {
            id = self.resolve(id);
            let size = match self.get(id) {
                Type::Int(i) => i.size,
                Type::Ptr(_) => 8,
                Type::Struct(c) | Type::Union(c) => c.size,
                Type::Enum(e) => e.size,
                Type::Float(_, size) => size,
                Type::Datasec(d) => d.size,
                Type::Var(_, ty, _) => {
                    id = ty;
                    continue;
                }
                Type::Array(a) => {
                    count = count.checked_mul(a.len)?;
                    id = a.elem;
                    continue;
                }
                _ => return None,
            };
            return count.checked_mul(size);
        }
        None
    }

    /// The prototype of a `func`, of a prototype, or of a pointer to one.
    pub fn func_proto(&self, id: TypeId) -> Option<FuncProto<'_>> {
        let mut id = id;
        for _ in 0..MAX_DEPTH {
            match self.resolved(id) {
                Type::FuncProto(p) => return Some(p),
                Type::Func(_, proto, _) => id = proto,
                Type::Ptr(to) => id = to,
                _ => return None,
            }
        }
        None
    }
}
