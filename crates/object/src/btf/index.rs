// SPDX-License-Identifier: MIT OR Apache-2.0
//! Look-up by name: types, enumerators and declaration tags. The indexes are
//! sorted arrays of hashes, built at the first question.

use super::{Btf, Kind, Type, TypeId};
use rustc_hash::FxHasher;
use std::hash::Hasher;

/// Hash of the essential name (upper half) and id of every named type, sorted.
pub(super) struct NameIndex(Vec<u64>);

/// `(hash of the name, enum, position)` of every enumerator, sorted.
pub(super) struct EnumIndex(Vec<(u32, TypeId, u32)>);

/// `(target, component, tag)` of every declaration tag, sorted.
pub(super) struct TagIndex(Vec<(TypeId, i32, TypeId)>);

fn hash(name: &str) -> u32 {
    let mut h = FxHasher::default();
    h.write(name.as_bytes());
    // The low bits of FxHash are weak, the high ones good.
    (h.finish() >> 32) as u32
}

/// A name without its last flavor: `task_struct___old` is `task_struct`.
///
/// The separator is three underscores between two other characters, as in libbpf.
pub fn essential_name(name: &str) -> &str {
    let b = name.as_bytes();
    // Most names have none: of three underscores in a row, one is looked at here.
    if !b.iter().skip(2).step_by(3).any(|byte| *byte == b'_') {
        return name;
    }
    for i in (0..b.len().saturating_sub(4)).rev() {
        if b[i] != b'_' && &b[i + 1..i + 4] == b"___" && b[i + 4] != b'_' {
            return &name[..i + 1];
        }
    }
    name
}

impl Btf {
    fn name_index(&self) -> &NameIndex {
        self.names.get_or_init(|| {
            let mut all = Vec::with_capacity(self.len());
            for id in self.ids() {
                let name = self.name(id);
                if !name.is_empty() && self.kind(id) != Kind::DeclTag {
                    all.push(u64::from(hash(essential_name(name))) << 32 | u64::from(id.0));
                }
            }
            all.sort_unstable();
            NameIndex(all)
        })
    }

    /// All types whose name without flavor is `essential`, of any kind, by id.
    pub fn candidates<'a>(&'a self, essential: &'a str) -> impl Iterator<Item = TypeId> + 'a {
        let index = &self.name_index().0;
        let key = hash(essential);
        let from = index.partition_point(|e| e >> 32 < u64::from(key));
        index[from..]
            .iter()
            .take_while(move |e| **e >> 32 == u64::from(key))
            .map(|e| TypeId(*e as u32))
            .filter(move |id| essential_name(self.name(*id)) == essential)
    }

    /// The first type of a kind with exactly this name.
    pub fn find(&self, kind: Kind, name: &str) -> Option<TypeId> {
        self.candidates(essential_name(name))
            .find(|id| self.kind(*id) == kind && self.name(*id) == name)
    }

    /// The struct with this tag.
    pub fn find_struct(&self, name: &str) -> Option<TypeId> {
        self.find(Kind::Struct, name)
    }

    /// Value of an enumerator of any enum, by its name.
    pub fn enum_value(&self, name: &str) -> Option<u64> {
        let index = &self
            .enumerators
            .get_or_init(|| {
                let mut all = Vec::new();
                for id in self.ids() {
                    if let Type::Enum(e) = self.get(id) {
                        all.extend(e.values().zip(0u32..).map(|(v, i)| (hash(v.name), id, i)));
                    }
                }
                all.sort_unstable();
                EnumIndex(all)
            })
            .0;
        let key = hash(name);
        let from = index.partition_point(|e| e.0 < key);
        index[from..].iter().take_while(|e| e.0 == key).find_map(|(_, id, i)| {
            let Type::Enum(e) = self.get(*id) else { return None };
            e.value(*i as usize).filter(|v| v.name == name).map(|v| v.value)
        })
    }

    /// Declaration tags on a type, variable or function (`component` `None`), or on
    /// one of its members or parameters, in the order of the source.
    pub fn decl_tags(&self, target: TypeId, component: Option<u32>) -> Vec<&str> {
        let index = &self
            .tags
            .get_or_init(|| {
                let mut all = Vec::new();
                for id in self.ids() {
                    if let Type::DeclTag(t) = self.get(id) {
                        all.push((t.target, t.component, id));
                    }
                }
                all.sort_unstable();
                TagIndex(all)
            })
            .0;
        let component = component.map_or(-1, |c| c as i32);
        let from = index.partition_point(|t| (t.0, t.1) < (target, component));
        index[from..]
            .iter()
            .take_while(|t| (t.0, t.1) == (target, component))
            .map(|t| self.name(t.2))
            .collect()
    }
}
