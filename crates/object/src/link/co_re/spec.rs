// SPDX-License-Identifier: MIT OR Apache-2.0
//! An access path: parsed from the compiler's string on the local type, then
//! followed by name on a kernel type.

use super::{compat, is_enum, Ask};
use crate::btf::{essential_name, Array, Btf, Composite, Type, TypeId};
use std::fmt::Write;

/// Longest access path, as libbpf has it.
const MAX_STEPS: usize = 64;

/// A named member, enumerator or an array index.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step<'a> {
    /// Type that has the member, or the array's element type.
    pub(super) ty: TypeId,
    /// Number of the member, or the index.
    pub(super) index: u32,
    /// Name; `None` for an array index.
    pub(super) name: Option<&'a str>,
}

/// A path from a root type.
#[derive(Clone, Debug)]
pub(super) struct Spec<'a> {
    pub(super) btf: &'a Btf,
    pub(super) root: TypeId,
    /// Array indexes and named members; anonymous members are not steps.
    pub(super) steps: Vec<Step<'a>>,
    pub(super) bit_offset: u32,
}

impl<'a> Spec<'a> {
    /// Reads an access string such as `0:1:2`.
    pub(super) fn parse(
        btf: &'a Btf,
        root: TypeId,
        access: &str,
        ask: Ask,
    ) -> Result<Spec<'a>, String> {
        let mut spec = Spec { btf, root, steps: Vec::new(), bit_offset: 0 };
        let bad = |why: &str| format!("access string '{access}' {why}");
        let numbers: Vec<u32> = access
            .split(':')
            .map(|n| n.parse().map_err(|_| bad("is not a list of numbers")))
            .collect::<Result<_, _>>()?;
        if numbers.len() > MAX_STEPS {
            return Err(bad("is too long"));
        }
        let first = numbers[0];
        let mut id = btf.resolve(root);
        if !ask.about_field() && !ask.about_enumerator() {
            return if access == "0" { Ok(spec) } else { Err(bad("is not 0, for a type")) };
        }
        if ask.about_enumerator() {
            let value = match btf.get(id) {
                Type::Enum(e) if numbers.len() == 1 => e.value(first as usize),
                _ => None,
            };
            let value = value.ok_or_else(|| bad("names no enumerator"))?;
            spec.steps.push(Step { ty: id, index: first, name: Some(value.name) });
            return Ok(spec);
        }
        spec.steps.push(Step { ty: id, index: first, name: None });
        spec.advance(first, id)?;
        for &index in &numbers[1..] {
            id = btf.resolve(id);
            match btf.get(id) {
                Type::Struct(c) | Type::Union(c) => {
                    let m = c.member(index as usize).ok_or_else(|| bad("has no such member"))?;
                    spec.bit_offset = spec.bit_offset.wrapping_add(m.bit_offset);
                    if !m.name.is_empty() {
                        spec.steps.push(Step { ty: id, index, name: Some(m.name) });
                    }
                    id = m.ty;
                }
                Type::Array(a) => {
                    if index >= a.len && !spec.flexible(a) {
                        return Err(bad("is beyond the end of an array"));
                    }
                    id = btf.resolve(a.elem);
                    spec.steps.push(Step { ty: id, index, name: None });
                    spec.advance(index, id)?;
                }
                _ => return Err(bad(&format!("goes into {}", btf.type_name(id)))),
            }
        }
        Ok(spec)
    }

    /// Adds `index` elements of type `id` to the offset.
    fn advance(&mut self, index: u32, id: TypeId) -> Result<(), String> {
        if index == 0 {
            // `&s[0]` of an incomplete type is fine.
            return Ok(());
        }
        let size = self.btf.size_of(id).ok_or("goes through a type without size")?;
        let bits = index.wrapping_mul(size).wrapping_mul(8);
        self.bit_offset = self.bit_offset.wrapping_add(bits);
        Ok(())
    }

    /// Is this array, reached by the last step, the flexible end of its struct?
    fn flexible(&self, a: Array) -> bool {
        let Some(Step { ty, index, name: Some(_) }) = self.steps.last() else { return false };
        match self.btf.get(*ty) {
            Type::Struct(c) | Type::Union(c) => a.len == 0 && *index as usize + 1 == c.len(),
            _ => false,
        }
    }

    /// `.scx.slice` or `::SCX_DSQ_LOCAL`.
    pub(super) fn path(&self) -> String {
        let mut path = String::new();
        for (i, step) in self.steps.iter().enumerate() {
            // Writing into a String cannot fail.
            let _ = match step.name {
                Some(name) if is_enum(self.btf.kind(step.ty)) => write!(path, "::{name}"),
                Some(name) => write!(path, ".{name}"),
                None if i > 0 || step.index > 0 => write!(path, "[{}]", step.index),
                None => Ok(()),
            };
        }
        path
    }

    /// Follows this path on a kernel type; `None` if that has no such thing.
    pub(super) fn find_in<'k>(
        &self,
        kernel: &'k Btf,
        id: TypeId,
        ask: Ask,
    ) -> Result<Option<Spec<'k>>, String> {
        let mut target = Spec { btf: kernel, root: id, steps: Vec::new(), bit_offset: 0 };
        if ask == Ask::TypeMatches {
            let matches = compat::types_match(self.btf, self.root, kernel, id)?;
            return Ok(matches.then_some(target));
        }
        if ask.about_enumerator() {
            let name = self.steps.first().and_then(|s| s.name).unwrap_or("");
            let ty = kernel.resolve(id);
            let Type::Enum(e) = kernel.get(ty) else { return Ok(None) };
            let same = e
                .values()
                .zip(0u32..)
                .find(|(v, _)| essential_name(v.name) == essential_name(name));
            let Some((value, index)) = same else { return Ok(None) };
            target.steps.push(Step { ty, index, name: Some(value.name) });
            return Ok(Some(target));
        }
        if !ask.about_field() {
            let compatible = compat::types_compatible(self.btf, self.root, kernel, id)?;
            return Ok(compatible.then_some(target));
        }
        let mut id = id;
        for (i, step) in self.steps.iter().enumerate() {
            id = kernel.resolve(id);
            if step.name.is_some() {
                match target.enter(self.btf, step, id)? {
                    Some(next) => id = next,
                    None => return Ok(None),
                }
                continue;
            }
            if i > 0 {
                let Type::Array(a) = kernel.get(id) else { return Ok(None) };
                if step.index >= a.len && !target.flexible(a) {
                    return Ok(None);
                }
                id = kernel.resolve(a.elem);
            }
            target.steps.push(Step { ty: id, index: step.index, name: None });
            target.advance(step.index, id)?;
        }
        Ok(Some(target))
    }

    /// Finds the member that `step` names on the local side; gives its type.
    fn enter(
        &mut self,
        local: &Btf,
        step: &Step<'_>,
        id: TypeId,
    ) -> Result<Option<TypeId>, String> {
        let wanted = match local.get(step.ty) {
            Type::Struct(c) | Type::Union(c) => c.member(step.index as usize),
            _ => None,
        };
        let (Some(wanted), Type::Struct(c) | Type::Union(c)) = (wanted, self.btf.get(id)) else {
            return Ok(None);
        };
        let mut search = Search { local, wanted: wanted.ty, name: wanted.name, budget: 1 << 20 };
        let Some((step, ty, bits)) = search.members(self.btf, id, c, MAX_STEPS)? else {
            return Ok(None);
        };
        self.bit_offset = self.bit_offset.wrapping_add(bits);
        self.steps.push(step);
        Ok(Some(ty))
    }
}

/// Search for a member by name, through anonymous members.
struct Search<'l> {
    local: &'l Btf,
    wanted: TypeId,
    name: &'l str,
    /// Members still looked at: hostile types nest anonymous members endlessly.
    budget: u32,
}

impl Search<'_> {
    /// The member, its type and its offset in bits.
    fn members<'k>(
        &mut self,
        btf: &'k Btf,
        id: TypeId,
        c: Composite<'k>,
        depth: usize,
    ) -> Result<Option<(Step<'k>, TypeId, u32)>, String> {
        let depth = depth.checked_sub(1).ok_or("kernel type is nested too deeply")?;
        for (m, index) in c.members().zip(0u32..) {
            self.budget = self.budget.checked_sub(1).ok_or("kernel type has too many members")?;
            if m.name.is_empty() {
                let inner = btf.resolve(m.ty);
                let (Type::Struct(c) | Type::Union(c)) = btf.get(inner) else { continue };
                if let Some((step, ty, bits)) = self.members(btf, inner, c, depth)? {
                    return Ok(Some((step, ty, bits.wrapping_add(m.bit_offset))));
                }
            } else if m.name == self.name {
                // A member of that name but of another kind is a different thing.
                let same = compat::fields_compatible(self.local, self.wanted, btf, m.ty);
                let step = Step { ty: id, index, name: Some(m.name) };
                return Ok(same.then_some((step, m.ty, m.bit_offset)));
            }
        }
        Ok(None)
    }
}
