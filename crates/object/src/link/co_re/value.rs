// SPDX-License-Identifier: MIT OR Apache-2.0
//! The number that a relocation puts in place of the compiler's.

use super::spec::{Spec, Step};
use super::Ask;
use crate::btf::{Btf, Member, Type, TypeId};

/// What to do with the instruction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Outcome {
    /// What the instruction must have held, if that can be told.
    pub(super) expected: Option<u64>,
    /// What it gets.
    pub(super) value: u64,
    /// The kernel has no such thing: the instruction must not be reached.
    pub(super) missing: bool,
    /// Bytes of a load or store, before and after.
    pub(super) access: Option<(u32, u32)>,
    /// A load or store of this width would read something else.
    pub(super) bad_access: bool,
}

impl Outcome {
    /// A value that replaces anything.
    pub(super) fn plain(value: u64) -> Outcome {
        Outcome { value, ..Outcome::default() }
    }

    /// Two candidates leave the same instruction.
    pub(super) fn agrees(&self, other: &Outcome) -> bool {
        self.missing == other.missing && self.value == other.value
    }
}

/// One side of a field relocation.
struct FieldValue {
    value: u64,
    /// Bytes and type of the scalar (array elements count singly).
    scalar: Option<(u32, TypeId)>,
    /// Compiler and loader need not agree about how to read a bit field.
    ambiguous: bool,
}

/// Computes what `ask` gives on a kernel that has `target`, or lacks it.
pub(super) fn compute(
    local: &Spec<'_>,
    target: Option<&Spec<'_>>,
    ask: Ask,
) -> Result<Outcome, String> {
    match ask {
        Ask::FieldExists | Ask::EnumvalExists | Ask::TypeExists | Ask::TypeMatches => {
            Ok(Outcome { expected: Some(1), value: target.is_some().into(), ..Outcome::default() })
        }
        Ask::TypeIdLocal => Ok(Outcome::plain(u64::from(local.root.0))),
        Ask::TypeIdTarget => Ok(Outcome::plain(target.map_or(0, |t| u64::from(t.root.0)))),
        Ask::TypeSize => {
            let size = |s: &Spec<'_>| s.btf.size_of(s.root).ok_or("type has no size");
            Ok(Outcome {
                expected: Some(size(local)?.into()),
                value: target.map(size).transpose()?.unwrap_or(0).into(),
                ..Outcome::default()
            })
        }
        Ask::EnumvalValue => {
            let expected = Some(enumerator(local)?);
            Ok(match target {
                Some(t) => Outcome { expected, value: enumerator(t)?, ..Outcome::default() },
                None => Outcome { expected, missing: true, ..Outcome::default() },
            })
        }
        _ => {
            let old = field(local, ask)?;
            let expected = (!old.ambiguous).then_some(old.value);
            let Some(target) = target else {
                return Ok(Outcome { expected, missing: true, ..Outcome::default() });
            };
            let new = field(target, ask)?;
            let mut outcome = Outcome { expected, value: new.value, ..Outcome::default() };
            let none = (0, TypeId(0));
            let (a, b) = (old.scalar.unwrap_or(none), new.scalar.unwrap_or(none));
            if a.0 != b.0 {
                outcome.access = Some((a.0, b.0));
                outcome.bad_access = !resizable(local.btf, a.1, target.btf, b.1);
            }
            Ok(outcome)
        }
    }
}

fn enumerator(spec: &Spec<'_>) -> Result<u64, String> {
    let found = spec.steps.first().and_then(|s| match spec.btf.get(s.ty) {
        Type::Enum(e) => e.value(s.index as usize),
        _ => None,
    });
    found.map(|v| v.value).ok_or_else(|| "enumerator is gone".into())
}

/// Zero extension keeps the value of pointers and unsigned integers.
fn resizable(local: &Btf, a: TypeId, kernel: &Btf, b: TypeId) -> bool {
    match (local.get(a), kernel.get(b)) {
        (Type::Ptr(_), Type::Ptr(_)) => true,
        (Type::Int(a), Type::Int(b)) => !a.signed && !b.signed,
        _ => false,
    }
}

/// Bytes of a scalar, of the elements of an array.
fn scalar_size(btf: &Btf, id: TypeId) -> Option<u32> {
    let mut id = btf.resolve(id);
    for _ in 0..64 {
        match btf.get(id) {
            Type::Array(a) => id = btf.resolve(a.elem),
            _ => return btf.size_of(id),
        }
    }
    None
}

fn field(spec: &Spec<'_>, ask: Ask) -> Result<FieldValue, String> {
    let btf = spec.btf;
    let Some(last) = spec.steps.last() else { return Err("access path is empty".into()) };
    let sized = |size: Option<u32>| size.ok_or("field has no size");
    if last.name.is_none() {
        let (value, scalar) = match ask {
            Ask::ByteOffset => {
                let size = sized(scalar_size(btf, last.ty))?;
                (spec.bit_offset / 8, Some((size, last.ty)))
            }
            Ask::ByteSize => (sized(btf.size_of(last.ty))?, None),
            _ => return Err("cannot be asked of an array element".into()),
        };
        return Ok(FieldValue { value: value.into(), scalar, ambiguous: false });
    }
    let member = member(btf, last)?;
    let ty = btf.resolve(member.ty);
    let window = Window::of(spec.bit_offset, member.bits, sized(btf.size_of(ty))?)?;
    let bits = (spec.bit_offset - window.byte_offset * 8).saturating_add(window.bits);
    let ambiguous = member.bits > 0;
    Ok(match ask {
        Ask::ByteOffset => FieldValue {
            value: window.byte_offset.into(),
            scalar: match ambiguous {
                true => None,
                false => Some((sized(scalar_size(btf, ty))?, ty)),
            },
            ambiguous,
        },
        Ask::ByteSize => FieldValue { value: window.bytes.into(), scalar: None, ambiguous },
        Ask::Signed => {
            let signed = match btf.get(ty) {
                Type::Enum(e) => e.signed,
                Type::Int(i) => i.signed,
                _ => false,
            };
            FieldValue { value: signed.into(), scalar: None, ambiguous: false }
        }
        Ask::ShiftLeft => {
            let value = 64u32.checked_sub(bits).ok_or("field is wider than 64 bits")?;
            FieldValue { value: value.into(), scalar: None, ambiguous }
        }
        _ => {
            let value = 64u32.checked_sub(window.bits).ok_or("field is wider than 64 bits")?;
            FieldValue { value: value.into(), scalar: None, ambiguous: false }
        }
    })
}

fn member<'a>(btf: &'a Btf, step: &Step<'_>) -> Result<Member<'a>, String> {
    let found = match btf.get(step.ty) {
        Type::Struct(c) | Type::Union(c) => c.member(step.index as usize),
        _ => None,
    };
    found.ok_or_else(|| "member is gone".into())
}

/// The aligned load that covers a field.
struct Window {
    byte_offset: u32,
    bytes: u32,
    bits: u32,
}

impl Window {
    fn of(bit_offset: u32, bitfield: u32, size: u32) -> Result<Window, String> {
        if bitfield == 0 {
            let bits = size.checked_mul(8).ok_or("field is too large")?;
            return Ok(Window { byte_offset: bit_offset / 8, bytes: size, bits });
        }
        let mut bytes = size;
        loop {
            if bytes == 0 || bytes > 8 {
                return Err("bit field does not fit a 64-bit load".into());
            }
            let byte_offset = bit_offset / 8 / bytes * bytes;
            if bit_offset - byte_offset * 8 + bitfield <= bytes * 8 {
                return Ok(Window { byte_offset, bytes, bits: bitfield });
            }
            bytes *= 2;
        }
    }
}
