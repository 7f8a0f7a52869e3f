// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which functions of a text section can be reached from some of them. What only other
//! callbacks use (debug dumps, cgroups) need not be there for the bench.

use crate::elf::{self, Elf, CALL, INSN, LOAD_IMM64, PSEUDO_CALL};
use object::build::elf::SectionId;
use object::elf::{STT_FUNC, STT_SECTION};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Byte ranges of all functions that `roots` (byte offsets) call or point to, themselves
/// included.
pub(crate) fn from(elf: &Elf<'_>, text: SectionId, roots: &[u64]) -> Vec<Range<u64>> {
    let functions: BTreeMap<u64, u64> = elf
        .symbols
        .iter()
        .filter(|s| s.section == Some(text) && s.st_type() == STT_FUNC)
        .map(|s| (s.st_value, s.st_value + s.st_size))
        .collect();
    let targets = relocated_targets(elf, text);
    let code = elf::data(elf, text);
    let mut seen = BTreeSet::new();
    let mut todo = roots.to_vec();
    while let Some(at) = todo.pop() {
        let Some((&start, &end)) = functions.range(..=at).next_back() else { continue };
        if at >= end || !seen.insert(start) {
            continue;
        }
        let mut insn = start as usize;
        while insn < (end as usize).min(code.len()) {
            if let Some(target) = targets.get(&(insn as u64)) {
                todo.push(*target);
            } else if code[insn] == CALL && code[insn + 1] >> 4 == PSEUDO_CALL {
                // a call within the section that needed no relocation
                let slots = i64::from(elf::imm(code, insn)) + 1;
                todo.extend(u64::try_from(insn as i64 + slots * INSN as i64));
            }
            insn += if code[insn] == LOAD_IMM64 { 2 * INSN } else { INSN };
        }
    }
    seen.into_iter().map(|start| start..functions[&start]).collect()
}

/// Where relocated calls and function pointers lead that stay within the section.
fn relocated_targets(elf: &Elf<'_>, text: SectionId) -> BTreeMap<u64, u64> {
    let code = elf::data(elf, text);
    let mut targets = BTreeMap::new();
    for relocation in elf::relocations_of(elf, text) {
        let Some(symbol) = relocation.symbol.map(|id| elf.symbols.get(id)) else { continue };
        if symbol.section == Some(text) {
            let at = relocation.r_offset as usize;
            let imm = i64::from(elf::imm(code, at));
            let addend = match (code.get(at), symbol.st_type()) {
                (Some(&CALL), _) => (imm + 1) * INSN as i64,
                (_, STT_SECTION) => imm,
                _ => 0,
            };
            targets.insert(relocation.r_offset, symbol.st_value.saturating_add_signed(addend));
        } else {
            // leaves the section: not a call that needed no relocation
            targets.insert(relocation.r_offset, u64::MAX);
        }
    }
    targets
}
