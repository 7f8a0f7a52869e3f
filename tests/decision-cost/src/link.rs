// SPDX-License-Identifier: MIT OR Apache-2.0
//! Making one loadable object of the bench and a policy.
//!
//! 1. The policy's callbacks, each in a section of its own (`struct_ops/…`), are moved
//!    into `.text`, instructions unchanged, so that another program can call them.
//! 2. libbpf's linker joins that with the bench.
//! 3. Calls of what a `SYSCALL` program may not call are led to stand-ins ([`bind`]).

use crate::bind;
use crate::btf_ext::{self, Moved};
use crate::callbacks::{struct_ops_section, Callbacks};
use crate::elf::{self, Elf};
use crate::failure::Failure;
use libbpf_rs::Linker;
use object::build::elf::{SectionData, SectionId};
use object::elf::{SHF_ALLOC, SHF_EXECINSTR, SHT_PROGBITS, STB_LOCAL, STT_FUNC, STT_SECTION};
use rota_object::btf::{reference, Btf};
use rota_object::link::Object;
use std::path::{Path, PathBuf};

/// The bench's own object, compiled once.
#[derive(Clone, Debug)]
pub struct Bench {
    object: Vec<u8>,
}

/// Folder of the bench's sources.
pub(crate) fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("bpf")
}

impl Bench {
    /// Compiles the bench, laid out for the reference kernel's `task_struct`.
    pub fn compile() -> Result<Self, Failure> {
        let btf = reference();
        let task = |path: &str| btf.member_at("task_struct", path).map(|f| f.offset());
        let size = btf.find_struct("task_struct").and_then(|id| btf.size_of(id));
        let (Some(size), Some(scx), Some(cpus)) = (size, task("scx"), task("cpus_ptr")) else {
            return Err(Failure::object("bench", "the reference BTF has no such task_struct"));
        };
        let flags = [
            format!("-DBENCH_TASK_SIZE={size}"),
            format!("-DBENCH_SCX_AT={scx}"),
            format!("-DBENCH_CPUS_PTR_AT={cpus}"),
        ];
        let object = rota_catalog::compile(&sources().join("bench.bpf.c"), &[], &flags)
            .map_err(|e| Failure::Unavailable(e.to_string()))?;
        // a linker leaves out DWARF and what else nobody needs
        let object = join(&[&object]).map_err(|e| Failure::object("bench", e))?;
        Ok(Self { object })
    }

    /// Links it with a policy's object.
    pub fn link(&self, policy: &str, object: &[u8], recording: bool) -> Result<Vec<u8>, Failure> {
        // says in more words what is wrong with an object than libbpf's linker does
        Object::parse("object", object).map_err(|e| Failure::object(policy, e))?;
        let prepared = join(&[object]).and_then(|clean| prepare(&clean));
        let (prepared, callbacks) = prepared.map_err(|reason| Failure::object(policy, reason))?;
        let joined = join(&[&self.object, &prepared]).map_err(|e| Failure::object(policy, e))?;
        let of_bench = text_len(&self.object).map_err(|e| Failure::object("bench", e))?;
        bind::bind(policy, &joined, &callbacks, of_bench, recording)
    }
}

fn text_len(object: &[u8]) -> Result<u64, String> {
    let elf = elf::read(object)?;
    Ok(elf::section(&elf, ".text").map_or(0, |text| elf::data(&elf, text).len() as u64))
}

pub(crate) fn join(objects: &[&[u8]]) -> Result<Vec<u8>, String> {
    let dir = tempfile::tempdir().map_err(|e| e.to_string())?;
    let path = dir.path().join("joined.bpf.o");
    let linked = || -> libbpf_rs::Result<()> {
        let mut linker = Linker::new(&path)?;
        for object in objects {
            linker.add_buf(object)?;
        }
        linker.link()
    };
    linked().map_err(|e| format!("libbpf cannot link it: {e}"))?;
    std::fs::read(&path).map_err(|e| e.to_string())
}

/// Step 1. Returns the new object, and its callbacks.
pub(crate) fn prepare(object: &[u8]) -> Result<(Vec<u8>, Callbacks), String> {
    let mut elf = elf::read(object)?;
    let btf = Btf::from_file(object).map_err(|e| e.to_string())?;
    let callbacks = Callbacks::read(&elf, &btf)?;
    if let Some(ops) = struct_ops_section(&elf) {
        // the bench does not register it, and its functions are no programs any more
        elf::take_relocations(&mut elf, ops);
    }
    fill_enumerators(&mut elf, &reference());
    move_callbacks(&mut elf)?;
    Ok((elf::write(elf)?, callbacks))
}

/// The kernel's examples read enumerators from `__SCX_…` constants, which their loaders
/// fill in from BTF.
fn fill_enumerators(elf: &mut Elf<'_>, kernel: &Btf) {
    let Some(rodata) = elf::section(elf, ".rodata") else { return };
    let mirrors: Vec<(usize, u64)> = elf
        .symbols
        .iter()
        .filter(|s| s.section == Some(rodata) && s.st_size == 8)
        .filter_map(|s| {
            let name = elf::name(s);
            let value =
                kernel.enum_value(name.strip_prefix("__").filter(|n| n.starts_with("SCX_"))?)?;
            Some((s.st_value as usize, value))
        })
        .collect();
    let Some(bytes) = elf::data_mut(elf, rodata) else { return };
    for (at, value) in mirrors {
        if let Some(field) = bytes.get_mut(at..at + 8) {
            field.copy_from_slice(&value.to_le_bytes());
        }
    }
}

fn is_callback_section(name: &[u8]) -> bool {
    name.starts_with(b"struct_ops/") || name.starts_with(b"struct_ops.s/")
}

fn move_callbacks(elf: &mut Elf<'_>) -> Result<(), String> {
    let text = text_section(elf);
    let from: Vec<SectionId> = elf
        .sections
        .iter()
        .filter(|s| is_callback_section(s.name.as_slice()))
        .map(|s| s.id())
        .collect();
    let mut relocations = elf::take_relocations(elf, text);
    let mut moves = Vec::new();
    for id in from {
        let by = elf::data(elf, text).len() as u64;
        let code = elf::data(elf, id).to_vec();
        elf::data_mut(elf, text).ok_or("its .text has no contents")?.extend(code);
        for mut relocation in elf::take_relocations(elf, id) {
            relocation.r_offset += by;
            relocations.push(relocation);
        }
        for symbol in elf.symbols.iter_mut().filter(|s| s.section == Some(id)) {
            if symbol.st_type() == STT_SECTION {
                symbol.delete = true;
                continue;
            }
            symbol.section = Some(text);
            symbol.st_value += by;
            if symbol.st_type() == STT_FUNC && symbol.st_bind() != STB_LOCAL {
                elf::hide(symbol);
            }
        }
        let section = elf.sections.get_mut(id);
        section.delete = true;
        let name = String::from_utf8_lossy(section.name.as_slice()).into_owned();
        moves.push((name, by as u32));
    }
    elf::put_relocations(elf, text, relocations);
    if moves.is_empty() {
        return Ok(()); // no callbacks, and perhaps no records of any
    }
    follow(elf, &moves)
}

/// The `.text` section; made if there is none.
fn text_section(elf: &mut Elf<'_>) -> SectionId {
    if let Some(text) = elf::section(elf, ".text") {
        return text;
    }
    let section = elf.sections.add();
    section.name = b".text"[..].into();
    section.sh_type = SHT_PROGBITS;
    section.sh_flags = u64::from(SHF_ALLOC | SHF_EXECINSTR);
    section.sh_addralign = 8;
    section.data = SectionData::Data(Vec::new().into());
    section.id()
}

/// Takes the moves over into `.BTF.ext`.
fn follow(elf: &mut Elf<'_>, moves: &[(String, u32)]) -> Result<(), String> {
    let missing = "it has no BTF: compile it with -g";
    let btf_id = elf::section(elf, ".BTF").ok_or(missing)?;
    let ext_id = elf::section(elf, ".BTF.ext").ok_or(missing)?;
    let btf = elf::data_mut(elf, btf_id).ok_or(missing)?;
    let into = btf_ext::string_offset(btf, ".text")?;
    let moved = moves
        .iter()
        .map(|(name, by)| Ok(Moved { name: btf_ext::string_offset(btf, name)?, by: *by }))
        .collect::<Result<Vec<_>, String>>()?;
    let ext = elf::data_mut(elf, ext_id).ok_or(missing)?;
    *ext = btf_ext::merge(ext, &moved, into)?;
    Ok(())
}
