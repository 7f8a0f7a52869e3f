// SPDX-License-Identifier: MIT OR Apache-2.0
//! All executable sections laid out one after the other, and the functions in them.

use super::object::Object;
use crate::btf::TypeId;
use crate::image::{FuncId, Function, Insn};
use std::collections::BTreeMap;

/// `lddw`: takes two slots.
pub(super) const LDDW: u8 = 0x18;
/// `call`.
pub(super) const CALL: u8 = 0x85;

/// Code of an object.
pub(super) struct Code {
    pub(super) insns: Vec<Insn>,
    pub(super) functions: Vec<Function>,
    /// First slot and number of slots of each executable section.
    bases: BTreeMap<usize, (u32, u32)>,
    starts: BTreeMap<u32, FuncId>,
}

impl Code {
    /// Places sections and finds functions.
    pub(super) fn lay_out(object: &Object) -> Result<Code, String> {
        let mut insns = Vec::new();
        let mut bases = BTreeMap::new();
        for (index, s) in object.sections.iter().enumerate() {
            if !s.executable || s.data.is_empty() {
                continue;
            }
            if s.data.len() % 8 != 0 {
                let len = s.data.len();
                return Err(format!(
                    "section {} has {len} bytes, not a multiple of an instruction's 8",
                    s.name
                ));
            }
            bases.insert(index, (insns.len() as u32, (s.data.len() / 8) as u32));
            insns.extend(
                s.data.chunks_exact(8).filter_map(|slot| slot.first_chunk()).map(Insn::decode),
            );
        }
        let mut code = Code { insns, functions: Vec::new(), bases, starts: BTreeMap::new() };
        code.find_functions(object)?;
        Ok(code)
    }

    fn find_functions(&mut self, object: &Object) -> Result<(), String> {
        let types = function_types(object);
        // One per start; a global name wins over a local alias.
        let mut found: BTreeMap<u32, (bool, Function)> = BTreeMap::new();
        for symbol in object.symbols.iter().filter(|s| s.function) {
            let Some(section) = symbol.section else { continue };
            let name = &symbol.name;
            let Some(&(base, slots)) = self.bases.get(&section) else {
                return Err(format!("function {name} is not in an executable section"));
            };
            let (start, len) = (symbol.value / 8, symbol.size / 8);
            let inside = start.checked_add(len).is_some_and(|end| end <= u64::from(slots));
            if symbol.value % 8 != 0 || symbol.size % 8 != 0 || !inside || len == 0 {
                return Err(format!(
                    "function {name}: offset {:#x}, size {:#x} is not within its section of {slots} \
                     instructions",
                    symbol.value, symbol.size
                ));
            }
            let section_name = &object.sections[section].name;
            let btf = types.get(&(section_name.as_str(), start as u32)).copied();
            let args = btf.and_then(|ty| object.btf.func_proto(ty)).map_or(0, |p| p.len());
            let function = Function {
                name: name.clone(),
                section: section_name.clone(),
                start: base + start as u32,
                len: len as u32,
                btf,
                args: u8::try_from(args).unwrap_or(u8::MAX),
            };
            let slot = found.entry(function.start);
            let entry = slot.or_insert_with(|| (symbol.global, function.clone()));
            if symbol.global && !entry.0 {
                *entry = (true, function);
            }
        }
        for (start, (_, function)) in found {
            self.starts.insert(start, FuncId(self.functions.len() as u32));
            self.functions.push(function);
        }
        Ok(())
    }

    /// First slot and number of slots of a section, if it holds code.
    pub(super) fn section(&self, section: usize) -> Option<(u32, u32)> {
        self.bases.get(&section).copied()
    }

    /// The function that starts at a slot.
    pub(super) fn function_at(&self, slot: u32) -> Option<FuncId> {
        self.starts.get(&slot).copied()
    }

    /// The function that starts at a byte offset of a section.
    pub(super) fn function_in(&self, section: usize, offset: u64) -> Option<FuncId> {
        let (base, slots) = self.section(section)?;
        if offset % 8 != 0 || offset / 8 >= u64::from(slots) {
            return None;
        }
        self.function_at(base + (offset / 8) as u32)
    }

    /// `function+n` for messages.
    pub(super) fn place(&self, slot: u32) -> String {
        match self.starts.range(..=slot).next_back() {
            Some((start, id)) => {
                format!("{} instruction {}", self.functions[id.0 as usize].name, slot - start)
            }
            None => format!("instruction {slot}"),
        }
    }
}

/// BTF types of functions by section name and slot in the section.
fn function_types(object: &Object) -> BTreeMap<(&str, u32), TypeId> {
    let mut types = BTreeMap::new();
    for s in &object.ext.funcs {
        for f in &s.records {
            types.insert((s.section.as_str(), f.offset / 8), f.ty);
        }
    }
    types
}
