// SPDX-License-Identifier: MIT OR Apache-2.0
//! Decoded views of single types. Every access is bounds checked; the parser has
//! already made sure that a type's bytes are all there.

use super::{Btf, Kind, TypeId, VOID};

/// Number of bytes before a type's own data: name offset, info, size or type.
pub(super) const HEADER: usize = 12;

/// An integer type.
#[derive(Clone, Copy, Debug)]
pub struct Int<'a> {
    /// `unsigned int`, `char` …
    pub name: &'a str,
    /// Bytes.
    pub size: u32,
    /// Bits used.
    pub bits: u8,
    /// First bit used: not 0 only in bit fields of old compilers.
    pub bit_offset: u8,
    /// Signed.
    pub signed: bool,
    /// `_Bool`.
    pub boolean: bool,
    /// Marked as a character (clang leaves this to the name).
    pub character: bool,
}

/// An array type.
#[derive(Clone, Copy, Debug)]
pub struct Array {
    /// Element type.
    pub elem: TypeId,
    /// Type of the index.
    pub index: TypeId,
    /// Number of elements; 0 for a flexible array.
    pub len: u32,
}

/// A struct or union.
#[derive(Clone, Copy, Debug)]
pub struct Composite<'a> {
    /// Tag, empty if anonymous.
    pub name: &'a str,
    /// Bytes.
    pub size: u32,
    /// Places of members have widths of bit fields in them.
    pub(super) bitfields: bool,
    btf: &'a Btf,
    pub(super) data: &'a [u8],
}

/// A member of a struct or union.
#[derive(Clone, Copy, Debug)]
pub struct Member<'a> {
    /// Name, empty if anonymous.
    pub name: &'a str,
    /// Type.
    pub ty: TypeId,
    /// Bits from the start of the struct.
    pub bit_offset: u32,
    /// Width of a bit field, else 0.
    pub bits: u32,
}

/// An enum or enum64.
#[derive(Clone, Copy, Debug)]
pub struct Enum<'a> {
    /// Tag, empty if anonymous.
    pub name: &'a str,
    /// Bytes.
    pub size: u32,
    /// Has negative enumerators.
    pub signed: bool,
    wide: bool,
    btf: &'a Btf,
    data: &'a [u8],
}

/// One value of an enum.
#[derive(Clone, Copy, Debug)]
pub struct Enumerator<'a> {
    /// Name.
    pub name: &'a str,
    /// Value, sign-extended to 64 bits if the enum is signed.
    pub value: u64,
}

/// A function's type.
#[derive(Clone, Copy, Debug)]
pub struct FuncProto<'a> {
    /// Return type.
    pub ret: TypeId,
    btf: &'a Btf,
    data: &'a [u8],
}

/// One parameter; `...` is nameless with type `void`.
#[derive(Clone, Copy, Debug)]
pub struct Param<'a> {
    /// Name, may be empty.
    pub name: &'a str,
    /// Type.
    pub ty: TypeId,
}

/// A data section: where variables are.
#[derive(Clone, Copy, Debug)]
pub struct Datasec<'a> {
    /// Section name.
    pub name: &'a str,
    /// Bytes.
    pub size: u32,
    data: &'a [u8],
}

/// One variable (or extern function) of a data section.
#[derive(Clone, Copy, Debug)]
pub struct SectionVar {
    /// A `var` or `func`.
    pub ty: TypeId,
    /// Bytes from the start of the section.
    pub offset: u32,
    /// Bytes.
    pub size: u32,
}

/// A declaration tag.
#[derive(Clone, Copy, Debug)]
pub struct DeclTag<'a> {
    /// Text of the tag.
    pub text: &'a str,
    /// Type it is on.
    pub target: TypeId,
    /// Member or parameter it is on, -1 for the type itself.
    pub component: i32,
}

/// A type.
#[derive(Clone, Copy, Debug)]
pub enum Type<'a> {
    /// `void`, and every id that does not exist.
    Void,
    /// Integer.
    Int(Int<'a>),
    /// Pointer.
    Ptr(TypeId),
    /// Array.
    Array(Array),
    /// Struct.
    Struct(Composite<'a>),
    /// Union.
    Union(Composite<'a>),
    /// `enum` and `enum64`.
    Enum(Enum<'a>),
    /// Forward declaration; true for a union.
    Fwd(&'a str, bool),
    /// Typedef.
    Typedef(&'a str, TypeId),
    /// `volatile`.
    Volatile(TypeId),
    /// `const`.
    Const(TypeId),
    /// `restrict`.
    Restrict(TypeId),
    /// Function: name, prototype, linkage (0 static, 1 global, 2 extern).
    Func(&'a str, TypeId, u32),
    /// Function prototype.
    FuncProto(FuncProto<'a>),
    /// Variable: name, type, linkage (0 static, 1 global, 2 extern).
    Var(&'a str, TypeId, u32),
    /// Data section.
    Datasec(Datasec<'a>),
    /// Floating point number: name and size.
    Float(&'a str, u32),
    /// Declaration tag.
    DeclTag(DeclTag<'a>),
    /// Type tag (`__kptr`, `__rcu` …) on the type it qualifies.
    TypeTag(&'a str, TypeId),
}

/// Little-endian word at `at`; 0 beyond the end.
pub(super) fn word(data: &[u8], at: usize) -> u32 {
    match data.get(at..at + 4) {
        Some(b) => u32::from_le_bytes([b[0], b[1], b[2], b[3]]),
        None => 0,
    }
}

impl Btf {
    /// Bytes of a type from its header on; empty for `void` and unknown ids.
    pub(super) fn raw(&self, id: TypeId) -> &[u8] {
        let at = id.0 as usize;
        if at == 0 || at >= self.starts.len() {
            return &[];
        }
        let end = self.starts.get(at + 1).map_or(self.types.len(), |e| *e as usize);
        self.types.get(self.starts[at] as usize..end).unwrap_or(&[])
    }

    /// The kind of a type.
    pub fn kind(&self, id: TypeId) -> Kind {
        Kind::from_number(word(self.raw(id), 4) >> 24 & 0x1f).unwrap_or(Kind::Void)
    }

    /// The name of a type, empty if it has none.
    pub fn name(&self, id: TypeId) -> &str {
        match self.raw(id) {
            [] => "",
            raw => self.string(word(raw, 0)),
        }
    }

    /// Decodes a type. Unknown ids are `void`.
    pub fn get(&self, id: TypeId) -> Type<'_> {
        let raw = self.raw(id);
        if raw.is_empty() {
            return Type::Void;
        }
        let name = || self.string(word(raw, 0));
        let info = word(raw, 4);
        let (vlen, flag) = ((info & 0xffff) as usize, info >> 31 != 0);
        let size = word(raw, 8);
        let to = TypeId(size);
        let data = raw.get(HEADER..).unwrap_or(&[]);
        match Kind::from_number(info >> 24 & 0x1f).unwrap_or(Kind::Void) {
            Kind::Void => Type::Void,
            Kind::Int => {
                let bits = word(data, 0);
                Type::Int(Int {
                    name: name(),
                    size,
                    bits: bits as u8,
                    bit_offset: (bits >> 16) as u8,
                    signed: bits >> 24 & 1 != 0,
                    character: bits >> 24 & 2 != 0,
                    boolean: bits >> 24 & 4 != 0,
                })
            }
            Kind::Ptr => Type::Ptr(to),
            Kind::Array => Type::Array(Array {
                elem: TypeId(word(data, 0)),
                index: TypeId(word(data, 4)),
                len: word(data, 8),
            }),
            kind @ (Kind::Struct | Kind::Union) => {
                let c = Composite { name: name(), size, bitfields: flag, btf: self, data };
                if kind == Kind::Struct {
                    Type::Struct(c)
                } else {
                    Type::Union(c)
                }
            }
            kind @ (Kind::Enum | Kind::Enum64) => Type::Enum(Enum {
                name: name(),
                size,
                signed: flag,
                wide: kind == Kind::Enum64,
                btf: self,
                data,
            }),
            Kind::Fwd => Type::Fwd(name(), flag),
            Kind::Typedef => Type::Typedef(name(), to),
            Kind::Volatile => Type::Volatile(to),
            Kind::Const => Type::Const(to),
            Kind::Restrict => Type::Restrict(to),
            Kind::Func => Type::Func(name(), to, vlen as u32),
            Kind::FuncProto => Type::FuncProto(FuncProto { ret: to, btf: self, data }),
            Kind::Var => Type::Var(name(), to, word(data, 0)),
            Kind::Datasec => Type::Datasec(Datasec { name: name(), size, data }),
            Kind::Float => Type::Float(name(), size),
            Kind::DeclTag => {
                Type::DeclTag(DeclTag { text: name(), target: to, component: word(data, 0) as i32 })
            }
            Kind::TypeTag => Type::TypeTag(name(), to),
        }
    }
}

impl<'a> Composite<'a> {
    /// Number of members.
    pub fn len(&self) -> usize {
        self.data.len() / 12
    }

    /// True if there is no member.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Member number `i`.
    pub fn member(&self, i: usize) -> Option<Member<'a>> {
        self.data.chunks_exact(12).nth(i).map(|m| self.decode(m))
    }

    /// All members in order.
    pub fn members(self) -> impl Iterator<Item = Member<'a>> {
        self.data.chunks_exact(12).map(move |m| self.decode(m))
    }

    fn decode(&self, m: &'a [u8]) -> Member<'a> {
        let place = word(m, 8);
        let (bits, bit_offset) =
            if self.bitfields { (place >> 24, place & 0xff_ffff) } else { (0, place) };
        Member { name: self.btf.string(word(m, 0)), ty: TypeId(word(m, 4)), bit_offset, bits }
    }
}

impl<'a> Enum<'a> {
    /// Number of enumerators.
    pub fn len(&self) -> usize {
        self.data.len() / if self.wide { 12 } else { 8 }
    }

    /// True if there is no enumerator.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Enumerator number `i`.
    pub fn value(&self, i: usize) -> Option<Enumerator<'a>> {
        self.values().nth(i)
    }

    /// All enumerators in order.
    pub fn values(self) -> impl Iterator<Item = Enumerator<'a>> {
        self.data.chunks_exact(if self.wide { 12 } else { 8 }).map(move |e| {
            let low = word(e, 4);
            let value = match (self.wide, self.signed) {
                (true, _) => u64::from(word(e, 8)) << 32 | u64::from(low),
                (false, true) => i64::from(low as i32) as u64,
                (false, false) => u64::from(low),
            };
            Enumerator { name: self.btf.string(word(e, 0)), value }
        })
    }
}

impl<'a> FuncProto<'a> {
    /// Number of parameters.
    pub fn len(&self) -> usize {
        self.data.len() / 8
    }

    /// True if there is no parameter.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All parameters in order.
    pub fn params(self) -> impl Iterator<Item = Param<'a>> {
        self.data
            .chunks_exact(8)
            .map(move |p| Param { name: self.btf.string(word(p, 0)), ty: TypeId(word(p, 4)) })
    }
}

impl<'a> Datasec<'a> {
    /// All variables of the section.
    pub fn vars(self) -> impl Iterator<Item = SectionVar> + 'a {
        self.data.chunks_exact(12).map(|v| SectionVar {
            ty: TypeId(word(v, 0)),
            offset: word(v, 4),
            size: word(v, 8),
        })
    }
}

impl Default for TypeId {
    fn default() -> Self {
        VOID
    }
}
