// SPDX-License-Identifier: MIT OR Apache-2.0
//! Types spelled as C spells them.

use super::{Btf, Type, TypeId};

/// Nesting after which a spelling ends in `…`.
const SPELLING_DEPTH: u32 = 16;

impl Btf {
    /// `const struct task_struct *`, `char[16]`, `int (*)(struct task_struct *)`.
    pub fn type_name(&self, id: TypeId) -> String {
        self.spell(id, String::new(), SPELLING_DEPTH)
    }

    /// Spells `declarator` as something of type `id`.
    fn spell(&self, id: TypeId, declarator: String, depth: u32) -> String {
        let Some(depth) = depth.checked_sub(1) else {
            return format!("…{declarator}");
        };
        let after = |base: String| match declarator.as_str() {
            "" => base,
            d if d.starts_with('[') => format!("{base}{d}"),
            d => format!("{base} {d}"),
        };
        let tagged = |what: &str, name: &str| {
            after(if name.is_empty() {
                format!("{what} {{…}}")
            } else {
                format!("{what} {name}")
            })
        };
        match self.get(id) {
            Type::Void => after("void".into()),
            Type::Int(i) => after(i.name.into()),
            Type::Float(name, _) | Type::Typedef(name, _) => after(name.into()),
            Type::Struct(c) => tagged("struct", c.name),
            Type::Union(c) => tagged("union", c.name),
            Type::Enum(e) => tagged("enum", e.name),
            Type::Fwd(name, false) => tagged("struct", name),
            Type::Fwd(name, true) => tagged("union", name),
            Type::Ptr(to) => match self.get(to) {
                Type::Array(_) | Type::FuncProto(_) => {
                    self.spell(to, format!("(*{declarator})"), depth)
                }
                _ => self.spell(to, format!("*{declarator}"), depth),
            },
            Type::Const(to) => self.qualify("const", to, declarator, depth),
            Type::Volatile(to) => self.qualify("volatile", to, declarator, depth),
            Type::Restrict(to) => self.qualify("restrict", to, declarator, depth),
            Type::TypeTag(_, to) => self.spell(to, declarator, depth),
            Type::Array(a) => self.spell(a.elem, format!("{declarator}[{}]", a.len), depth),
            Type::FuncProto(p) => {
                // Parameters get less room each, so that the whole stays short.
                let room = depth.min(4);
                let mut params: Vec<String> =
                    p.params().take(8).map(|p| self.spell(p.ty, String::new(), room / 2)).collect();
                if p.len() > 8 {
                    params.push("…".into());
                }
                let params = if params.is_empty() { "void".into() } else { params.join(", ") };
                let declarator = format!("{declarator}({params})");
                self.spell(p.ret, declarator, depth)
            }
            Type::Func(name, proto, _) => self.spell(proto, name.into(), depth),
            Type::Var(name, ty, _) => self.spell(ty, name.into(), depth),
            Type::Datasec(d) => d.name.into(),
            Type::DeclTag(t) => t.text.into(),
        }
    }

    /// A qualifier of a pointer goes behind its star, any other in front.
    fn qualify(&self, word: &str, to: TypeId, declarator: String, depth: u32) -> String {
        match self.get(to) {
            Type::Ptr(_) => {
                let space = if declarator.is_empty() { "" } else { " " };
                self.spell(to, format!(" {word}{space}{declarator}"), depth)
            }
            _ => format!("{word} {}", self.spell(to, declarator, depth)),
        }
    }
}
