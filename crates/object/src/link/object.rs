// SPDX-License-Identifier: MIT OR Apache-2.0
//! The ELF file: sections, symbols, relocations, BTF.

use crate::btf::ext::Ext;
use crate::btf::{Btf, Type};
use crate::error::{LoadError, Problem};
use object::elf::{EM_BPF, ET_REL, SHF_EXECINSTR, SHT_NOBITS, STB_GLOBAL, STB_WEAK, STT_FUNC};
use object::read::elf::{ElfFile64, FileHeader as _};
use object::{
    LittleEndian, Object as _, ObjectSection as _, ObjectSymbol as _, RelocationFlags,
    RelocationTarget, SectionFlags, SectionIndex, SymbolFlags,
};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Most memory for sections together: `.bss` can ask for any size with no byte in the file.
const MAX_MEMORY: u64 = 256 << 20;

/// A parsed object, not yet linked.
#[derive(Debug)]
pub struct Object {
    /// File or policy name, for messages.
    pub name: String,
    /// Contents of the `license` section.
    pub license: String,
    pub(super) btf: Arc<Btf>,
    pub(super) ext: Ext,
    /// By ELF index; unused ones are empty.
    pub(super) sections: Vec<Section>,
    /// By ELF index; unused ones are empty.
    pub(super) symbols: Vec<ElfSymbol>,
}

/// One ELF section.
#[derive(Debug, Default)]
pub(super) struct Section {
    pub(super) name: String,
    /// Bytes in memory.
    pub(super) size: u32,
    /// Bytes in the file: none for `.bss`.
    pub(super) data: Vec<u8>,
    pub(super) executable: bool,
    pub(super) relocs: Vec<Reloc>,
}

/// One relocation: where, and against which symbol.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reloc {
    pub(super) offset: u32,
    pub(super) symbol: usize,
    pub(super) r_type: u32,
}

/// One ELF symbol.
#[derive(Debug, Default)]
pub(super) struct ElfSymbol {
    pub(super) name: String,
    /// Section it is defined in; `None` if it is an extern.
    pub(super) section: Option<usize>,
    pub(super) value: u64,
    pub(super) size: u64,
    pub(super) function: bool,
    pub(super) weak: bool,
    pub(super) global: bool,
}

impl Object {
    /// Reads an object file. `name` is for messages.
    pub fn parse(name: &str, bytes: &[u8]) -> Result<Object, LoadError> {
        parse(name, bytes)
            .map_err(|what| LoadError { object: name.to_string(), problem: Problem::File(what) })
    }

    /// The object's own BTF.
    pub fn btf(&self) -> &Arc<Btf> {
        &self.btf
    }

    /// Index of the section with this name.
    pub(super) fn section(&self, name: &str) -> Option<usize> {
        self.sections.iter().position(|s| s.name == name)
    }

    /// The symbol a relocation is against.
    pub(super) fn symbol(&self, at: usize) -> Result<&ElfSymbol, String> {
        self.symbols.get(at).ok_or_else(|| format!("relocation against unknown symbol {at}"))
    }
}

fn parse(name: &str, bytes: &[u8]) -> Result<Object, String> {
    let elf = ElfFile64::<LittleEndian>::parse(bytes)
        .map_err(|e| format!("not a 64-bit little-endian ELF object: {e}"))?;
    let (machine, kind) =
        (elf.elf_header().e_machine(LittleEndian), elf.elf_header().e_type(LittleEndian));
    if machine != EM_BPF {
        return Err(format!("ELF machine is {machine}, expected {EM_BPF} (BPF)"));
    }
    if kind != ET_REL {
        return Err(format!("ELF type is {kind}, expected {ET_REL} (relocatable)"));
    }
    let sections = read_sections(&elf)?;
    let symbols = read_symbols(&elf)?;
    let by_name = |name: &str| sections.iter().find(|s| s.name == name);
    let mut btf = match by_name(".BTF") {
        Some(s) => Btf::parse(&s.data).map_err(|e| e.to_string())?,
        None => Btf::empty(),
    };
    let ext = match by_name(".BTF.ext") {
        Some(s) => Ext::parse(&s.data, &btf).map_err(|e| e.to_string())?,
        None => Ext::default(),
    };
    let license = by_name("license").map_or(String::new(), |s| text_of(&s.data));
    place_variables(&mut btf, &sections, &symbols);
    Ok(Object { name: name.to_string(), license, btf: Arc::new(btf), ext, sections, symbols })
}

/// A NUL-terminated string.
pub(super) fn text_of(data: &[u8]) -> String {
    let end = data.iter().position(|b| *b == 0).unwrap_or(data.len());
    String::from_utf8_lossy(&data[..end]).into_owned()
}

fn read_sections(elf: &ElfFile64<'_, LittleEndian>) -> Result<Vec<Section>, String> {
    let mut all = Vec::new();
    let mut memory = 0u64;
    for s in elf.sections() {
        let SectionIndex(index) = s.index();
        let name = s.name().map_err(|e| format!("section {index}: name: {e}"))?.to_string();
        memory = memory.saturating_add(s.size());
        if memory > MAX_MEMORY {
            return Err(format!(
                "section {name} of {} bytes: sections together have more than {MAX_MEMORY} bytes",
                s.size()
            ));
        }
        let SectionFlags::Elf { sh_flags } = s.flags() else { continue };
        let mut relocs = Vec::new();
        // Debug information has the most relocations and is of no use here.
        let wanted = !name.starts_with(".debug") && !name.starts_with(".BTF");
        for (offset, r) in s.relocations().filter(|_| wanted) {
            let (RelocationTarget::Symbol(symbol), RelocationFlags::Elf { r_type }) =
                (r.target(), r.flags())
            else {
                return Err(format!("section {name}+{offset:#x}: relocation without a symbol"));
            };
            let offset = u32::try_from(offset)
                .map_err(|_| format!("section {name}: relocation at {offset:#x}"))?;
            relocs.push(Reloc { offset, symbol: symbol.0, r_type });
        }
        let nobits = s.elf_section_header().sh_type.get(LittleEndian) == SHT_NOBITS;
        let data = match (nobits, name.starts_with(".debug")) {
            (false, false) => s.data().map_err(|e| format!("section {name}: {e}"))?.to_vec(),
            _ => Vec::new(),
        };
        while all.len() <= index {
            all.push(Section::default());
        }
        let executable = sh_flags & u64::from(SHF_EXECINSTR) != 0;
        all[index] = Section { name, size: s.size() as u32, data, executable, relocs };
    }
    Ok(all)
}

fn read_symbols(elf: &ElfFile64<'_, LittleEndian>) -> Result<Vec<ElfSymbol>, String> {
    let mut all = Vec::new();
    for s in elf.symbols() {
        let index = s.index().0;
        let name = s.name().map_err(|e| format!("symbol {index}: name: {e}"))?.to_string();
        let SymbolFlags::Elf { st_info, .. } = s.flags() else { continue };
        while all.len() <= index {
            all.push(ElfSymbol::default());
        }
        all[index] = ElfSymbol {
            name,
            section: s.section_index().map(|i| i.0),
            value: s.address(),
            size: s.size(),
            function: st_info & 0xf == STT_FUNC,
            weak: st_info >> 4 == STB_WEAK,
            global: matches!(st_info >> 4, STB_GLOBAL | STB_WEAK),
        };
    }
    Ok(all)
}

/// Gives the variables of data sections the places that their symbols have: clang
/// writes only the offsets of static ones.
fn place_variables(btf: &mut Btf, sections: &[Section], symbols: &[ElfSymbol]) {
    let globals: FxHashMap<_, _> = symbols
        .iter()
        .filter(|s| s.global)
        .filter_map(|s| Some(((s.section?, s.name.as_str()), s.value)))
        .collect();
    let mut places = Vec::new();
    for id in btf.ids() {
        let Type::Datasec(sec) = btf.get(id) else { continue };
        let Some(section) = sections.iter().position(|s| s.name == sec.name) else { continue };
        for (nth, var) in sec.vars().enumerate() {
            let Type::Var(name, ty, linkage) = btf.get(var.ty) else { continue };
            let size = btf.size_of(ty).unwrap_or(var.size);
            let offset = match (linkage, globals.get(&(section, name))) {
                (0, _) | (_, None) => var.offset,
                (_, Some(value)) => u32::try_from(*value).unwrap_or(u32::MAX),
            };
            places.push((id, nth, offset, size));
        }
        places.push((id, usize::MAX, 0, sections[section].size));
    }
    for (sec, nth, offset, size) in places {
        match nth {
            usize::MAX => btf.set_section_size(sec, size),
            _ => btf.place_variable(sec, nth, offset, size),
        }
    }
}
