// SPDX-License-Identifier: MIT OR Apache-2.0
//! From a dotted path to a place in a struct, and from an offset back to a path.

use super::{Btf, Composite, Member, Type, TypeId, MAX_DEPTH};
use std::fmt::Write;
use thiserror::Error;

/// Members looked at while one name is searched through anonymous members; hostile
/// BTF can nest those endlessly.
const SEARCH_BUDGET: u32 = 100_000;

/// A place inside a struct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Bits from the start of the outermost struct.
    pub offset_bits: u32,
    /// Width of a bit field, else 0.
    pub bits: u32,
    /// Bytes of the type (of the storage type for a bit field).
    pub size: u32,
    /// Type as declared.
    pub ty: TypeId,
}

impl Field {
    /// Bytes from the start of the outermost struct.
    pub fn offset(&self) -> u32 {
        self.offset_bits / 8
    }

    /// The first byte behind it; `None` beyond 4 GiB.
    pub fn end(&self) -> Option<u32> {
        self.offset().checked_add(self.size)
    }
}

/// Why a path leads nowhere.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PathError {
    /// No such member.
    #[error("{parent} has no member '{name}'")]
    NoMember {
        /// Type that was searched.
        parent: String,
        /// Name that it lacks.
        name: String,
        /// Names that it has.
        known: Vec<String>,
    },
    /// An index on something that is no array, or a member of no struct.
    #[error("'{step}' cannot be applied to {ty}")]
    WrongKind {
        /// The step of the path.
        step: String,
        /// The type it was applied to.
        ty: String,
    },
    /// Index beyond the end.
    #[error("index {index} is out of range, the array has {len} elements")]
    Index {
        /// Index asked for.
        index: u64,
        /// Number of elements.
        len: u32,
    },
    /// Not of the form `a.b[3].c`.
    #[error("'{0}' is not a path of the form a.b[3].c")]
    Syntax(String),
}

/// One step of a path.
enum Step<'a> {
    Member(&'a str),
    Index(u64),
}

/// Splits `a.b[3].c`.
fn steps(path: &str) -> Result<Vec<Step<'_>>, PathError> {
    let bad = || PathError::Syntax(path.to_string());
    let mut steps = Vec::new();
    for (i, part) in path.split('.').enumerate() {
        let (name, mut rest) = part.split_at(part.find('[').unwrap_or(part.len()));
        // A path may begin with an index, on an array.
        if !name.is_empty() {
            steps.push(Step::Member(name));
        } else if i > 0 || rest.is_empty() {
            return Err(bad());
        }
        while !rest.is_empty() {
            let inner = rest.strip_prefix('[').and_then(|r| r.split_once(']'));
            let (index, more) = inner.ok_or_else(bad)?;
            steps.push(Step::Index(index.trim().parse().map_err(|_| bad())?));
            rest = more;
        }
    }
    Ok(steps)
}

impl Btf {
    /// Finds `scx.slice` in `task_struct`; anonymous members are looked through.
    pub fn member_at(&self, structure: &str, path: &str) -> Option<Field> {
        self.field_at(self.find_struct(structure)?, path).ok()
    }

    /// Follows a path like `a.b[3].c` from a type.
    pub fn field_at(&self, ty: TypeId, path: &str) -> Result<Field, PathError> {
        let mut at = Field { offset_bits: 0, bits: 0, size: self.size_of(ty).unwrap_or(0), ty };
        for step in steps(path)? {
            at = match step {
                Step::Member(name) => self.step_into(at, name)?,
                Step::Index(index) => self.step_along(at, index)?,
            };
        }
        Ok(at)
    }

    fn step_into(&self, from: Field, name: &str) -> Result<Field, PathError> {
        let (Type::Struct(c) | Type::Union(c)) = self.resolved(from.ty) else {
            return Err(PathError::WrongKind { step: name.into(), ty: self.type_name(from.ty) });
        };
        let mut budget = SEARCH_BUDGET;
        match self.search(c, name, &mut budget, 0) {
            Some(found) => {
                Ok(Field { offset_bits: from.offset_bits.wrapping_add(found.offset_bits), ..found })
            }
            None => Err(PathError::NoMember {
                parent: self.type_name(self.resolve(from.ty)),
                name: name.into(),
                known: c.members().map(|m| m.name.to_string()).filter(|n| !n.is_empty()).collect(),
            }),
        }
    }

    /// Looks for a member, through anonymous ones too.
    fn search(&self, c: Composite<'_>, name: &str, budget: &mut u32, depth: u32) -> Option<Field> {
        for m in c.members() {
            *budget = budget.checked_sub(1)?;
            if m.name == name {
                let size = self.size_of(m.ty).unwrap_or(0);
                return Some(Field { offset_bits: m.bit_offset, bits: m.bits, size, ty: m.ty });
            }
            if m.name.is_empty() && depth < MAX_DEPTH {
                if let Type::Struct(inner) | Type::Union(inner) = self.resolved(m.ty) {
                    if let Some(f) = self.search(inner, name, budget, depth + 1) {
                        let offset_bits = f.offset_bits.wrapping_add(m.bit_offset);
                        return Some(Field { offset_bits, ..f });
                    }
                }
            }
        }
        None
    }

    fn step_along(&self, from: Field, index: u64) -> Result<Field, PathError> {
        let Type::Array(a) = self.resolved(from.ty) else {
            let step = format!("[{index}]");
            return Err(PathError::WrongKind { step, ty: self.type_name(from.ty) });
        };
        if index >= u64::from(a.len) {
            return Err(PathError::Index { index, len: a.len });
        }
        let size = self.size_of(a.elem).unwrap_or(0);
        let offset_bits =
            from.offset_bits.wrapping_add((index as u32).wrapping_mul(size.wrapping_mul(8)));
        Ok(Field { offset_bits, bits: 0, size, ty: a.elem })
    }

    /// Names what lies at a byte offset of a struct: `scx.dsq_list.node`, with `+n`
    /// for a place inside a scalar. Of a union's members the first that reaches is taken; what
    /// lies behind all members is an element of the flexible array at the end, if there is one.
    pub fn field_name_at(&self, ty: TypeId, offset: u32) -> String {
        let mut name = String::new();
        let mut ty = ty;
        let mut rest = offset;
        for _ in 0..MAX_DEPTH {
            let inner = self.resolved(ty);
            match inner {
                Type::Struct(c) | Type::Union(c) => {
                    let reaches = |m: &Member<'_>| {
                        let start = m.bit_offset / 8;
                        let size = self.size_of(m.ty).unwrap_or(0);
                        start <= rest && u64::from(rest) < u64::from(start) + u64::from(size)
                    };
                    let flexible = |m: &Member<'_>| {
                        m.bit_offset / 8 <= rest && self.ends_with_flexible_array(m.ty)
                    };
                    let found = c.members().find(reaches).or_else(|| {
                        let mut at_end = c.members().filter(flexible);
                        match inner {
                            Type::Union(_) => at_end.next(),
                            _ => at_end.last(),
                        }
                    });
                    let Some(m) = found else { break };
                    if !m.name.is_empty() {
                        if !name.is_empty() {
                            name.push('.');
                        }
                        name.push_str(m.name);
                    }
                    rest -= m.bit_offset / 8;
                    ty = m.ty;
                }
                Type::Array(a) => {
                    let size = self.size_of(a.elem).unwrap_or(0);
                    if size == 0 || a.len > 0 && rest / size >= a.len {
                        break;
                    }
                    // Writing into a String cannot fail.
                    let _ = write!(name, "[{}]", rest / size);
                    rest %= size;
                    ty = a.elem;
                }
                _ => break,
            }
        }
        if rest != 0 || name.is_empty() {
            let _ = write!(name, "+{rest}");
        }
        name
    }

    /// Whether a type is a flexible array, or a union or struct without a name at whose end one is.
    fn ends_with_flexible_array(&self, ty: TypeId) -> bool {
        let mut ty = ty;
        for _ in 0..MAX_DEPTH {
            match self.resolved(ty) {
                Type::Array(a) => return a.len == 0,
                Type::Struct(c) | Type::Union(c) => match c.members().last() {
                    Some(last) => ty = last.ty,
                    None => return false,
                },
                _ => return false,
            }
        }
        false
    }
}
