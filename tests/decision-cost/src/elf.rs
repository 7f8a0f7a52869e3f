// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sections, symbols and relocations of a BPF object that is being rewritten.

use object::build::elf::{Builder, Relocation, SectionData, SectionId, Symbol, SymbolId};
use object::elf::{SHF_INFO_LINK, SHT_REL, SHT_STRTAB, STB_WEAK, STV_HIDDEN};

/// An object file in memory, section by section.
pub(crate) type Elf<'data> = Builder<'data>;

/// Relocation of a 64-bit immediate load.
pub(crate) const R_BPF_64_64: u32 = 1;
/// Relocation of a call.
pub(crate) const R_BPF_64_32: u32 = 10;
/// Bytes of an instruction.
pub(crate) const INSN: usize = 8;
/// Opcode of a call.
pub(crate) const CALL: u8 = 0x85;
/// Opcode of a 64-bit immediate load, which has two slots.
pub(crate) const LOAD_IMM64: u8 = 0x18;
/// The source register of a call to a BPF function.
pub(crate) const PSEUDO_CALL: u8 = 1;

pub(crate) fn read(bytes: &[u8]) -> Result<Elf<'_>, String> {
    let mut elf = Builder::read64(bytes).map_err(|e| format!("it is no ELF object: {e}"))?;
    if !elf.sections.iter().any(|s| matches!(s.data, SectionData::SectionString)) {
        // names of sections and symbols shared one table; the writer wants two
        let names = elf.sections.add();
        names.name = b".shstrtab"[..].into();
        names.sh_type = SHT_STRTAB;
        names.sh_addralign = 1;
        names.data = SectionData::SectionString;
    }
    Ok(elf)
}

/// Writes it without the parts that are marked as deleted, or that refer to such.
pub(crate) fn write(mut elf: Elf<'_>) -> Result<Vec<u8>, String> {
    elf.delete_orphans();
    elf.set_section_sizes();
    let mut bytes = Vec::new();
    elf.write(&mut bytes).map_err(|e| format!("cannot write the linked object: {e}"))?;
    Ok(bytes)
}

pub(crate) fn section(elf: &Elf<'_>, name: &str) -> Option<SectionId> {
    let is_it =
        |s: &&object::build::elf::Section<'_>| !s.delete && s.name.as_slice() == name.as_bytes();
    elf.sections.iter().find(is_it).map(|s| s.id())
}

/// Contents of a section; nothing for one without (`.bss`).
pub(crate) fn data<'a>(elf: &'a Elf<'_>, id: SectionId) -> &'a [u8] {
    match &elf.sections.get(id).data {
        SectionData::Data(bytes) => bytes.as_slice(),
        _ => &[],
    }
}

/// Contents of a section to change, `None` for one without.
pub(crate) fn data_mut<'a>(elf: &'a mut Elf<'_>, id: SectionId) -> Option<&'a mut Vec<u8>> {
    match &mut elf.sections.get_mut(id).data {
        SectionData::Data(bytes) => Some(bytes.to_mut()),
        _ => None,
    }
}

fn relocation_section(elf: &Elf<'_>, of: SectionId) -> Option<SectionId> {
    let is_it = |s: &&object::build::elf::Section<'_>| {
        s.sh_info_section == Some(of) && matches!(s.data, SectionData::Relocation(_))
    };
    elf.sections.iter().find(is_it).map(|s| s.id())
}

/// The relocations that apply to a section.
pub(crate) fn relocations_of<'a>(elf: &'a Elf<'_>, of: SectionId) -> &'a [Relocation] {
    match relocation_section(elf, of).map(|id| &elf.sections.get(id).data) {
        Some(SectionData::Relocation(list)) => list,
        _ => &[],
    }
}

/// Takes the relocations of a section away, and leaves it without any.
pub(crate) fn take_relocations(elf: &mut Elf<'_>, of: SectionId) -> Vec<Relocation> {
    let Some(id) = relocation_section(elf, of) else { return Vec::new() };
    let section = elf.sections.get_mut(id);
    section.delete = true;
    section.sh_info_section = None;
    match std::mem::replace(&mut section.data, SectionData::Relocation(Vec::new())) {
        SectionData::Relocation(list) => list,
        _ => Vec::new(),
    }
}

/// Gives a section relocations; it must have none.
pub(crate) fn put_relocations(elf: &mut Elf<'_>, of: SectionId, mut list: Vec<Relocation>) {
    list.sort_by_key(|r| r.r_offset);
    let mut name = b".rel".to_vec();
    name.extend_from_slice(elf.sections.get(of).name.as_slice());
    let symbols =
        elf.sections.iter().find(|s| matches!(s.data, SectionData::Symbol)).map(|s| s.id());
    let section = elf.sections.add();
    section.name = name.into();
    section.sh_type = SHT_REL;
    section.sh_flags = SHF_INFO_LINK.into();
    section.sh_addralign = 8;
    section.sh_entsize = 16;
    section.sh_link_section = symbols;
    section.sh_info_section = Some(of);
    section.data = SectionData::Relocation(list);
}

pub(crate) fn name(symbol: &Symbol<'_>) -> String {
    String::from_utf8_lossy(symbol.name.as_slice()).into_owned()
}

/// The defined symbol of that name.
pub(crate) fn defined(elf: &Elf<'_>, name: &str) -> Option<SymbolId> {
    let is_it = |s: &&Symbol<'_>| s.section.is_some() && s.name.as_slice() == name.as_bytes();
    elf.symbols.iter().find(is_it).map(|s| s.id())
}

/// Gives a global variable its initial value.
pub(crate) fn set_variable(elf: &mut Elf<'_>, name: &str, value: &[u8]) -> Result<(), String> {
    let symbol = defined(elf, name).ok_or_else(|| format!("there is no variable {name}"))?;
    let symbol = elf.symbols.get(symbol);
    let (at, section) = (symbol.st_value as usize, symbol.section);
    section
        .and_then(|id| data_mut(elf, id))
        .and_then(|bytes| bytes.get_mut(at..at + value.len()))
        .map(|bytes| bytes.copy_from_slice(value))
        .ok_or_else(|| format!("{name} has no initial value"))
}

/// A global function that is hidden counts as static: the verifier follows calls to it
/// instead of checking it alone, as it does with functions of one program.
pub(crate) fn hide(symbol: &mut Symbol<'_>) {
    symbol.st_other = (symbol.st_other & !3) | STV_HIDDEN;
}

/// An undefined symbol need not be found.
pub(crate) fn weaken(symbol: &mut Symbol<'_>) {
    let kind = symbol.st_type();
    symbol.set_st_info(STB_WEAK, kind);
}

/// The 8 bytes (or fewer: 0) as a little-endian number.
pub(crate) fn u64_at(bytes: &[u8]) -> u64 {
    bytes.try_into().map_or(0, u64::from_le_bytes)
}

/// The `imm` field of the instruction at a byte offset.
pub(crate) fn imm(text: &[u8], at: usize) -> i32 {
    text.get(at + 4..at + 8).and_then(|b| b.try_into().ok()).map_or(0, i32::from_le_bytes)
}
