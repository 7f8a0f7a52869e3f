// SPDX-License-Identifier: MIT OR Apache-2.0
//! Declarations of something of a type.

use crate::align::Aligns;
use crate::names::Names;
use crate::structs;
use rota_object::btf::{Btf, FuncProto, Param, Type, TypeId};

/// What spelling needs.
#[derive(Clone, Copy)]
pub(crate) struct Speller<'a> {
    pub(crate) btf: &'a Btf,
    pub(crate) names: &'a Names,
    pub(crate) aligns: &'a Aligns<'a>,
}

impl Speller<'_> {
    /// Declares `declarator`, which may be empty, as something of type `id`. Types without a name
    /// are spelled out, their lines indented by `depth` tabs.
    pub(crate) fn declare(&self, id: TypeId, declarator: &str, depth: usize) -> String {
        let after = |base: String| match declarator {
            "" => base,
            _ if declarator.starts_with('[') => format!("{base}{declarator}"),
            _ => format!("{base} {declarator}"),
        };
        let named = |keyword: &str| after(format!("{keyword} {}", self.names.of(id)));
        match self.btf.get(id) {
            Type::Void | Type::Datasec(_) | Type::DeclTag(_) => after("void".into()),
            Type::Int(int) => after(int.name.into()),
            Type::Float(name, _) => after(name.into()),
            Type::Typedef(..) => after(self.names.of(id).into()),
            Type::Struct(c) if c.name.is_empty() => after(structs::body(self, id, depth)),
            Type::Union(c) if c.name.is_empty() => after(structs::body(self, id, depth)),
            Type::Struct(_) | Type::Fwd(_, false) => named("struct"),
            Type::Union(_) | Type::Fwd(_, true) => named("union"),
            // Enums without a name are declared on their own: a number is as good.
            Type::Enum(e) if e.name.is_empty() => after(number(e.size, e.signed).into()),
            Type::Enum(_) => named("enum"),
            Type::Ptr(to) => match self.btf.get(self.untagged(to)) {
                Type::Array(_) | Type::FuncProto(_) => {
                    self.declare(to, &format!("(*{declarator})"), depth)
                }
                _ => self.declare(to, &format!("*{declarator}"), depth),
            },
            Type::Const(to) => self.qualify("const", to, declarator, depth),
            Type::Volatile(to) => self.qualify("volatile", to, declarator, depth),
            Type::Restrict(to) => self.declare(to, declarator, depth),
            Type::TypeTag(_, to) => self.declare(to, declarator, depth),
            Type::Array(a) => self.declare(a.elem, &format!("{declarator}[{}]", a.len), depth),
            Type::FuncProto(proto) => {
                let params = self.params(proto, depth, |_| true);
                self.declare(proto.ret, &format!("{declarator}({params})"), depth)
            }
            Type::Func(_, to, _) | Type::Var(_, to, _) => self.declare(to, declarator, depth),
        }
    }

    /// Parameters of a function, of those that are `wanted`.
    pub(crate) fn params(
        &self,
        proto: FuncProto<'_>,
        depth: usize,
        wanted: impl Fn(&Param<'_>) -> bool,
    ) -> String {
        let variadic = |p: &Param<'_>| p.name.is_empty() && p.ty == TypeId::default();
        let params: Vec<String> = proto
            .params()
            .filter(|p| wanted(p))
            .map(|p| match variadic(&p) {
                true => "...".to_owned(),
                false => self.declare(p.ty, p.name, depth),
            })
            .collect();
        match params.is_empty() {
            true => "void".to_owned(),
            false => params.join(", "),
        }
    }

    /// A qualifier of a pointer goes behind its star, any other in front.
    fn qualify(&self, word: &str, to: TypeId, declarator: &str, depth: usize) -> String {
        match self.btf.get(self.untagged(to)) {
            Type::Ptr(_) => {
                let space = if declarator.is_empty() { "" } else { " " };
                self.declare(to, &format!("{word}{space}{declarator}"), depth)
            }
            _ => format!("{word} {}", self.declare(to, declarator, depth)),
        }
    }

    /// Below type tags, which C does not have.
    fn untagged(&self, id: TypeId) -> TypeId {
        match self.btf.get(id) {
            Type::TypeTag(_, to) | Type::Restrict(to) => self.untagged(to),
            _ => id,
        }
    }
}

fn number(size: u32, signed: bool) -> &'static str {
    match (size, signed) {
        (1, true) => "signed char",
        (1, false) => "unsigned char",
        (2, true) => "short",
        (2, false) => "unsigned short",
        (8, true) => "long long",
        (8, false) => "unsigned long long",
        (_, true) => "int",
        (_, false) => "unsigned int",
    }
}
