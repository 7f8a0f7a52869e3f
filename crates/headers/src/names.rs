// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names of types and enumerators: BTF has some twice, C must not.

use rota_object::btf::{Btf, Type, TypeId};
use std::collections::{HashMap, HashSet};

/// The name of each type that has one.
pub(crate) struct Names {
    of: HashMap<TypeId, String>,
    /// Ordinary identifiers: typedefs, enumerators, functions.
    taken: HashSet<String>,
}

impl Names {
    pub(crate) fn new(btf: &Btf) -> Self {
        let mut names = Self { of: HashMap::new(), taken: HashSet::new() };
        let mut tags = HashSet::new();
        for id in btf.ids() {
            match btf.get(id) {
                Type::Struct(c) | Type::Union(c) if !c.name.is_empty() => {
                    names.of.insert(id, unused(&mut tags, c.name));
                }
                Type::Enum(e) if !e.name.is_empty() => {
                    names.of.insert(id, unused(&mut tags, e.name));
                }
                Type::Typedef(name, _) => {
                    let name = names.ordinary(name);
                    names.of.insert(id, name);
                }
                // Of a type that is there it is the type's tag.
                Type::Fwd(name, _) => {
                    names.of.insert(id, name.to_owned());
                }
                _ => {}
            }
        }
        names
    }

    /// Empty for a type without one.
    pub(crate) fn of(&self, id: TypeId) -> &str {
        self.of.get(&id).map_or("", String::as_str)
    }

    /// A name among identifiers that no other has: a second one gets a suffix, which CO-RE ignores.
    pub(crate) fn ordinary(&mut self, name: &str) -> String {
        unused(&mut self.taken, name)
    }
}

fn unused(taken: &mut HashSet<String>, name: &str) -> String {
    let mut unused = name.to_owned();
    let mut number = 2;
    while !taken.insert(unused.clone()) {
        unused = format!("{name}___{number}");
        number += 1;
    }
    unused
}
