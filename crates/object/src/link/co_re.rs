// SPDX-License-Identifier: MIT OR Apache-2.0
//! CO-RE: adapts field offsets, sizes, type ids and enumerators that the compiler
//! took from its headers to the kernel at hand. The rules are libbpf's.

mod compat;
mod patch;
mod spec;
mod value;

use super::code::Code;
use super::object::Object;
use crate::btf::ext::CoreRelo;
use crate::btf::{essential_name, Btf, Kind, TypeId};
use crate::image::Symbol;
use rustc_hash::FxHashMap;
use spec::Spec;
use std::collections::{BTreeMap, BTreeSet};
use value::Outcome;

/// What a relocation asks for; the numbers are the compiler's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ask {
    ByteOffset,
    ByteSize,
    FieldExists,
    Signed,
    ShiftLeft,
    ShiftRight,
    TypeIdLocal,
    TypeIdTarget,
    TypeExists,
    TypeSize,
    EnumvalExists,
    EnumvalValue,
    TypeMatches,
}

impl Ask {
    const ALL: [Ask; 13] = [
        Ask::ByteOffset,
        Ask::ByteSize,
        Ask::FieldExists,
        Ask::Signed,
        Ask::ShiftLeft,
        Ask::ShiftRight,
        Ask::TypeIdLocal,
        Ask::TypeIdTarget,
        Ask::TypeExists,
        Ask::TypeSize,
        Ask::EnumvalExists,
        Ask::EnumvalValue,
        Ask::TypeMatches,
    ];

    fn about_field(self) -> bool {
        matches!(
            self,
            Ask::ByteOffset
                | Ask::ByteSize
                | Ask::FieldExists
                | Ask::Signed
                | Ask::ShiftLeft
                | Ask::ShiftRight
        )
    }

    fn about_enumerator(self) -> bool {
        matches!(self, Ask::EnumvalExists | Ask::EnumvalValue)
    }
}

/// What the relocations ask of the kernel.
#[derive(Debug, Default)]
pub(super) struct Asked {
    /// Types of which the kernel's BTF does not tell whether the kernel has them.
    pub(super) untold: BTreeSet<String>,
    /// Fields that it has.
    pub(super) fields: BTreeSet<String>,
}

/// Applies all CO-RE relocations.
pub(super) fn relocate(
    object: &Object,
    kernel: &Btf,
    code: &mut Code,
    symbols: &mut BTreeMap<u32, Symbol>,
) -> Result<Asked, String> {
    let local = &*object.btf;
    let mut relocator =
        Relocator { local, kernel, candidates: FxHashMap::default(), asked: Asked::default() };
    for section in &object.ext.relos {
        let index = object.section(&section.section);
        let Some((base, slots)) = index.and_then(|i| code.section(i)) else {
            return Err(format!("CO-RE relocations for unknown section {}", section.section));
        };
        for relo in &section.records {
            if relo.offset % 8 != 0 || relo.offset / 8 >= slots {
                return Err(format!(
                    "section {}: CO-RE relocation at {:#x} is not at an instruction",
                    section.section, relo.offset
                ));
            }
            let slot = base + relo.offset / 8;
            let end = (base + slots) as usize;
            relocator
                .resolve(relo)
                .and_then(|outcome| {
                    patch::apply(&mut code.insns[slot as usize..end], &outcome)
                        .map_err(|e| format!("{} {e}", relocator.describe(relo)))
                })
                .map(|poison| {
                    if let Some(why) = poison {
                        let what = format!("{} {why}", relocator.describe(relo));
                        let what = match relocator.is_untold(relo) {
                            true => format!("{what}'s bundled types; its full BTF may have it"),
                            false => what,
                        };
                        symbols.insert(slot, Symbol::Poison(what));
                    }
                })
                .map_err(|e| format!("{}: CO-RE relocation: {e}", code.place(slot)))?;
        }
    }
    Ok(relocator.asked)
}

struct Relocator<'a> {
    local: &'a Btf,
    kernel: &'a Btf,
    /// Kernel types that may be meant by a local one, by its id.
    candidates: FxHashMap<TypeId, Vec<TypeId>>,
    asked: Asked,
}

impl Relocator<'_> {
    /// `struct task_struct.scx.slice` for messages.
    fn describe(&self, relo: &CoreRelo) -> String {
        let ask = Ask::ALL.get(relo.kind as usize).copied();
        let root = self.local.type_name(relo.ty);
        match ask.map(|ask| Spec::parse(self.local, relo.ty, self.local.string(relo.access), ask)) {
            Some(Ok(spec)) => format!("{root}{}", spec.path()),
            _ => root,
        }
    }

    /// The kernel's BTF is not all of it, and lacks the type.
    fn is_untold(&self, relo: &CoreRelo) -> bool {
        self.asked.untold.contains(&self.local.type_name(relo.ty))
    }

    fn resolve(&mut self, relo: &CoreRelo) -> Result<Outcome, String> {
        let Some(ask) = Ask::ALL.get(relo.kind as usize).copied() else {
            return Err(format!("unknown kind {}", relo.kind));
        };
        let access = self.local.string(relo.access);
        let local = Spec::parse(self.local, relo.ty, access, ask)?;
        if ask == Ask::TypeIdLocal {
            return Ok(Outcome::plain(u64::from(relo.ty.0)));
        }
        let name = self.local.name(relo.ty);
        if name.is_empty() {
            return Err("root type is anonymous".into());
        }
        let (btf, kernel) = (self.local, self.kernel);
        let candidates = self.candidates.entry(relo.ty).or_insert_with(|| {
            let kind = btf.kind(relo.ty);
            let named = kernel.candidates(essential_name(name));
            named.filter(|id| compat::kinds_agree(kernel.kind(*id), kind)).collect()
        });
        if candidates.is_empty() && kernel.is_reduced() {
            self.asked.untold.insert(btf.type_name(relo.ty));
        }
        let mut matching = Vec::new();
        let mut found: Option<(u32, Outcome)> = None;
        for id in candidates.iter().copied() {
            let Some(target) = local.find_in(kernel, id, ask)? else { continue };
            let outcome = value::compute(&local, Some(&target), ask)?;
            match &found {
                None => found = Some((target.bit_offset, outcome)),
                Some((bits, first)) => {
                    if *bits != target.bit_offset || !first.agrees(&outcome) {
                        return Err(format!(
                            "'{name}{}' is ambiguous: the kernel's types of that name differ",
                            local.path()
                        ));
                    }
                }
            }
            matching.push(id);
        }
        match found {
            Some((_, outcome)) => {
                *candidates = matching;
                if ask.about_field() {
                    self.asked.fields.insert(format!("{}{}", essential_name(name), local.path()));
                }
                Ok(outcome)
            }
            None => value::compute(&local, None, ask),
        }
    }
}

/// `enum` and `enum64` stand for each other.
fn is_enum(kind: Kind) -> bool {
    matches!(kind, Kind::Enum | Kind::Enum64)
}
