// SPDX-License-Identifier: MIT OR Apache-2.0
//! What relocated instructions refer to: maps, globals, functions, externs.

use super::code::{Code, CALL, LDDW};
use super::externs::Externs;
use super::maps::Maps;
use super::object::{ElfSymbol, Object};
use crate::error::Problem;
use crate::image::{FuncId, Symbol};
use object::elf::{R_BPF_64_32, R_BPF_64_64};
use std::collections::BTreeMap;

/// `src` of a `call` to a BPF function.
const PSEUDO_CALL: u8 = 1;

/// Resolves all code relocations, and calls inside a section, which need none.
pub(super) fn resolve(
    object: &Object,
    code: &Code,
    maps: &Maps,
    externs: &mut Externs<'_>,
) -> Result<BTreeMap<u32, Symbol>, Problem> {
    let mut symbols = BTreeMap::new();
    for (index, section) in object.sections.iter().enumerate() {
        let Some((base, slots)) = code.section(index) else { continue };
        for r in &section.relocs {
            if r.offset % 8 != 0 || r.offset / 8 >= slots {
                return Err(Problem::Relocation(format!(
                    "section {}: relocation at {:#x} is not at an instruction",
                    section.name, r.offset
                )));
            }
            if !matches!(r.r_type, R_BPF_64_64 | R_BPF_64_32) {
                return Err(Problem::Relocation(format!(
                    "section {}+{:#x}: relocation of type {} in code",
                    section.name, r.offset, r.r_type
                )));
            }
            let slot = base + r.offset / 8;
            let symbol = object.symbol(r.symbol).map_err(Problem::Relocation)?;
            let meaning = one(object, code, maps, externs, slot, symbol)
                .map_err(|problem| problem.at(code.place(slot)))?;
            symbols.insert(slot, meaning);
        }
    }
    local_calls(code, &mut symbols).map_err(Problem::Relocation)?;
    Ok(symbols)
}

fn one(
    object: &Object,
    code: &Code,
    maps: &Maps,
    externs: &mut Externs<'_>,
    slot: u32,
    symbol: &ElfSymbol,
) -> Result<Symbol, Problem> {
    let insn = code.insns[slot as usize];
    let imm = i64::from(insn.imm);
    match (insn.op, symbol.section) {
        (CALL, None) => externs.call(symbol),
        (CALL, Some(section)) => {
            // A call's immediate counts instructions and is relative to the next one.
            let target = symbol.value.wrapping_add(((imm + 1) * 8) as u64);
            function(object, code, section, target, symbol).map_err(Problem::Relocation)
        }
        (LDDW, place) => {
            let Some(high) = code.insns.get(slot as usize + 1) else {
                return Err(Problem::Relocation("lddw has no second half".into()));
            };
            let addend = u64::from(high.imm as u32) << 32 | u64::from(insn.imm as u32);
            let Some(section) = place else { return externs.load(symbol, addend) };
            let at = symbol.value.wrapping_add(addend);
            if let Some(map) = maps.data(section) {
                // One past the end is a legal pointer in C.
                if at > u64::from(object.sections[section].size) {
                    return Err(Problem::Relocation(format!(
                        "'{}' + {addend:#x} is outside section {}",
                        symbol.name, object.sections[section].name
                    )));
                }
                return Ok(Symbol::MapValue(map, at));
            }
            if maps.defines(section) {
                return match maps.at(section, at) {
                    Some(map) => Ok(Symbol::Map(map)),
                    None => {
                        let what = format!("'{}' + {addend:#x} is not a map", symbol.name);
                        Err(Problem::Relocation(what))
                    }
                };
            }
            function(object, code, section, at, symbol).map_err(Problem::Relocation)
        }
        (op, _) => Err(Problem::Relocation(format!(
            "relocation against '{}' on opcode {op:#04x}, expected call or lddw",
            symbol.name
        ))),
    }
}

fn function(
    object: &Object,
    code: &Code,
    section: usize,
    at: u64,
    symbol: &ElfSymbol,
) -> Result<Symbol, String> {
    code.function_in(section, at).map(Symbol::Func).ok_or_else(|| {
        let name = object.sections.get(section).map_or("?", |s| s.name.as_str());
        format!("'{}': no function, map or variable at {name}+{at:#x}", symbol.name)
    })
}

/// Calls of static functions in the same section carry no relocation.
fn local_calls(code: &Code, symbols: &mut BTreeMap<u32, Symbol>) -> Result<(), String> {
    let mut slot = 0u32;
    while let Some(insn) = code.insns.get(slot as usize) {
        if insn.op == CALL && insn.src == PSEUDO_CALL && !symbols.contains_key(&slot) {
            let target = i64::from(slot) + i64::from(insn.imm) + 1;
            let target: Option<FuncId> =
                u32::try_from(target).ok().and_then(|t| code.function_at(t));
            let Some(target) = target else {
                return Err(format!("{}: call of no function", code.place(slot)));
            };
            symbols.insert(slot, Symbol::Func(target));
        }
        slot += if insn.op == LDDW { 2 } else { 1 };
    }
    Ok(())
}
