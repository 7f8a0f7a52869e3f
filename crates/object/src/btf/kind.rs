// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kinds of types and the room their encodings take.

/// `BTF_KIND_*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Kind {
    Void = 0,
    Int,
    Ptr,
    Array,
    Struct,
    Union,
    Enum,
    Fwd,
    Typedef,
    Volatile,
    Const,
    Restrict,
    Func,
    FuncProto,
    Var,
    Datasec,
    Float,
    DeclTag,
    TypeTag,
    Enum64,
}

impl Kind {
    const ALL: [Kind; 20] = [
        Kind::Void,
        Kind::Int,
        Kind::Ptr,
        Kind::Array,
        Kind::Struct,
        Kind::Union,
        Kind::Enum,
        Kind::Fwd,
        Kind::Typedef,
        Kind::Volatile,
        Kind::Const,
        Kind::Restrict,
        Kind::Func,
        Kind::FuncProto,
        Kind::Var,
        Kind::Datasec,
        Kind::Float,
        Kind::DeclTag,
        Kind::TypeTag,
        Kind::Enum64,
    ];

    /// The kind with this number.
    pub fn from_number(n: u32) -> Option<Kind> {
        Self::ALL.get(n as usize).copied()
    }

    /// Bytes that follow the header of a type with `vlen` elements.
    pub(super) fn tail_len(self, vlen: usize) -> usize {
        match self {
            Kind::Int | Kind::Var | Kind::DeclTag => 4,
            Kind::Array => 12,
            Kind::Struct | Kind::Union | Kind::Datasec | Kind::Enum64 => vlen * 12,
            Kind::Enum | Kind::FuncProto => vlen * 8,
            _ => 0,
        }
    }
}
