// SPDX-License-Identifier: MIT OR Apache-2.0
//! When a kernel type can stand for a local one.

use super::is_enum;
use crate::btf::{essential_name, Btf, Composite, Enum, FuncProto, Kind, Type, TypeId};

/// Nesting of prototypes and structs that is followed.
const MAX_LEVEL: u32 = 32;
/// Types compared for one question; hostile types branch endlessly.
const BUDGET: u32 = 1 << 20;

/// Kinds agree, `enum` and `enum64` being one.
pub(super) fn kinds_agree(a: Kind, b: Kind) -> bool {
    a == b || is_enum(a) && is_enum(b)
}

/// Bit-field-like integers of old compilers are never compatible.
fn plain_ints(a: Type<'_>, b: Type<'_>) -> bool {
    matches!((a, b), (Type::Int(a), Type::Int(b)) if a.bit_offset == 0 && b.bit_offset == 0)
}

/// Is a kernel member of this type what the program means by a member of its own type?
/// Sizes and signs of integers may differ, pointers agree whatever they point to.
pub(super) fn fields_compatible(local: &Btf, a: TypeId, kernel: &Btf, b: TypeId) -> bool {
    let (mut a, mut b) = (a, b);
    for _ in 0..MAX_LEVEL {
        let (x, y) = (local.resolved(a), kernel.resolved(b));
        match (x, y) {
            (Type::Struct(_) | Type::Union(_), Type::Struct(_) | Type::Union(_))
            | (Type::Ptr(_), Type::Ptr(_))
            | (Type::Float(..), Type::Float(..)) => return true,
            (Type::Fwd(x, _), Type::Fwd(y, _)) => return tags_agree(x, y),
            (Type::Enum(x), Type::Enum(y)) => return tags_agree(x.name, y.name),
            (Type::Int(_), Type::Int(_)) => return plain_ints(x, y),
            (Type::Array(x), Type::Array(y)) => (a, b) = (x.elem, y.elem),
            _ => return false,
        }
    }
    false
}

/// Same name without flavor, or one of them anonymous.
fn tags_agree(a: &str, b: &str) -> bool {
    a.is_empty() || b.is_empty() || essential_name(a) == essential_name(b)
}

/// Both anonymous, or the same name without flavor.
fn names_match(a: &str, b: &str) -> bool {
    essential_name(a) == essential_name(b)
}

/// Two BTFs being compared.
struct Compare<'a> {
    local: &'a Btf,
    kernel: &'a Btf,
    budget: u32,
}

/// Is the kernel type of the same make (existence, size and id of types)? Root names
/// have been compared by the caller.
pub(super) fn types_compatible(
    local: &Btf,
    a: TypeId,
    kernel: &Btf,
    b: TypeId,
) -> Result<bool, String> {
    if !kinds_agree(local.kind(a), kernel.kind(b)) {
        return Ok(false);
    }
    Compare { local, kernel, budget: BUDGET }.compatible(a, b, MAX_LEVEL)
}

/// Does the kernel type have all that the local one has?
pub(super) fn types_match(local: &Btf, a: TypeId, kernel: &Btf, b: TypeId) -> Result<bool, String> {
    Compare { local, kernel, budget: BUDGET }.matches(a, b, false, MAX_LEVEL)
}

impl Compare<'_> {
    fn spend(&mut self, level: u32) -> Result<u32, String> {
        self.budget = self.budget.checked_sub(1).ok_or("types are too large to compare")?;
        level.checked_sub(1).ok_or_else(|| "types are nested too deeply to compare".into())
    }

    fn compatible(&mut self, a: TypeId, b: TypeId, level: u32) -> Result<bool, String> {
        let (mut a, mut b) = (a, b);
        for _ in 0..MAX_LEVEL {
            let level = self.spend(level)?;
            let (x, y) = (self.local.resolved(a), self.kernel.resolved(b));
            match (x, y) {
                (Type::Void, Type::Void)
                | (Type::Struct(_), Type::Struct(_))
                | (Type::Union(_), Type::Union(_))
                | (Type::Enum(_), Type::Enum(_))
                | (Type::Fwd(..), Type::Fwd(..)) => return Ok(true),
                (Type::Int(_), Type::Int(_)) => return Ok(plain_ints(x, y)),
                (Type::Ptr(x), Type::Ptr(y)) => (a, b) = (x, y),
                (Type::Array(x), Type::Array(y)) => (a, b) = (x.elem, y.elem),
                (Type::FuncProto(x), Type::FuncProto(y)) => {
                    let same = |c: &mut Self, a, b| c.compatible(a, b, level);
                    if !self.params_agree(x, y, same)? {
                        return Ok(false);
                    }
                    (a, b) = (x.ret, y.ret);
                }
                _ => return Ok(false),
            }
        }
        Err("types are nested too deeply to compare".into())
    }

    fn params_agree(
        &mut self,
        x: FuncProto<'_>,
        y: FuncProto<'_>,
        same: impl Fn(&mut Self, TypeId, TypeId) -> Result<bool, String>,
    ) -> Result<bool, String> {
        if x.len() != y.len() {
            return Ok(false);
        }
        for (x, y) in x.params().zip(y.params()) {
            if !same(self, x.ty, y.ty)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn matches(
        &mut self,
        a: TypeId,
        b: TypeId,
        behind_pointer: bool,
        level: u32,
    ) -> Result<bool, String> {
        let (mut a, mut b, mut behind) = (a, b, behind_pointer);
        for _ in 0..MAX_LEVEL {
            let level = self.spend(level)?;
            (a, b) = (self.local.resolve(a), self.kernel.resolve(b));
            if !names_match(self.local.name(a), self.kernel.name(b)) {
                return Ok(false);
            }
            match (self.local.get(a), self.kernel.get(b)) {
                (Type::Void, Type::Void) => return Ok(true),
                (Type::Fwd(_, x), Type::Fwd(_, y)) => return Ok(x == y),
                // A forward declaration behind a pointer stands for the whole type.
                (Type::Fwd(_, union), Type::Struct(_)) | (Type::Struct(_), Type::Fwd(_, union)) => {
                    return Ok(behind && !union);
                }
                (Type::Fwd(_, union), Type::Union(_)) | (Type::Union(_), Type::Fwd(_, union)) => {
                    return Ok(behind && union);
                }
                (Type::Enum(x), Type::Enum(y)) => return Ok(enums_match(x, y)),
                (Type::Struct(x), Type::Struct(y)) | (Type::Union(x), Type::Union(y)) => {
                    return if behind { Ok(true) } else { self.members_match(x, y, level) };
                }
                (Type::Int(x), Type::Int(y)) => {
                    return Ok(x.size == y.size && x.signed == y.signed);
                }
                (Type::Ptr(x), Type::Ptr(y)) => (a, b, behind) = (x, y, true),
                (Type::Array(x), Type::Array(y)) if x.len == y.len => (a, b) = (x.elem, y.elem),
                (Type::FuncProto(x), Type::FuncProto(y)) => {
                    let same = |c: &mut Self, a, b| c.matches(a, b, behind, level);
                    if !self.params_agree(x, y, same)? {
                        return Ok(false);
                    }
                    (a, b) = (x.ret, y.ret);
                }
                _ => return Ok(false),
            }
        }
        Err("types are nested too deeply to compare".into())
    }

    /// Every local member has a match of the same name.
    fn members_match(
        &mut self,
        x: Composite<'_>,
        y: Composite<'_>,
        level: u32,
    ) -> Result<bool, String> {
        if x.len() > y.len() {
            return Ok(false);
        }
        for m in x.members() {
            let mut matched = false;
            for n in y.members().filter(|n| names_match(m.name, n.name)) {
                if self.matches(m.ty, n.ty, false, level)? {
                    matched = true;
                    break;
                }
            }
            if !matched {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Every local enumerator is there, whatever its value.
fn enums_match(x: Enum<'_>, y: Enum<'_>) -> bool {
    x.size == y.size
        && x.len() <= y.len()
        && x.values().all(|a| y.values().any(|b| names_match(a.name, b.name)))
}
