// SPDX-License-Identifier: MIT OR Apache-2.0
//! A program cut into its functions, and what their instructions refer to.

use super::{Code, ImageError, MapId, ObjectId, Program, Types};
use crate::bpf::verify::{callee, instructions, wide, CALL, LDDW};
use rota_object::btf::{Btf, Kind, TypeId};
use rota_object::image::{Function, Insn, Line, Symbol};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Calls that libbpf puts where there is nothing to call: a CO-RE relocation without target
/// (`bpf_core_poison_insn()`), a map that was not made (`poison_map_ldimm64()`), a function that
/// the kernel lacks (`poison_kfunc_call()`).
const POISON_CORE: i32 = 0x0bad_2310;
const POISON_MAP: Range<i32> = 2_001_000_000..2_002_000_000;
const POISON_KFUNC: Range<i32> = 2_002_000_000..2_003_000_000;

/// What an instruction refers to.
#[derive(Debug)]
pub(super) enum Refers {
    To(Symbol),
    /// A function of the same program.
    Function(usize),
}

/// A function by itself: slots count from its first instruction.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) function: Function,
    pub(super) code: Vec<Insn>,
    pub(super) refers: BTreeMap<u32, Refers>,
    pub(super) lines: Vec<Line>,
}

/// The functions of a program, its own first. `kernel` are the kernel's types.
pub(super) fn cut(
    all: &mut Code,
    program: &Program,
    types: &Types,
    kernel: &Btf,
    maps: &BTreeMap<ObjectId, MapId>,
) -> Result<Vec<Piece>, ImageError> {
    let mut pieces: Vec<Piece> = functions(program, types);
    let starts: Vec<u32> = pieces.iter().map(|piece| piece.function.start).collect();
    for (slot, insn) in instructions(&program.code) {
        let map = program.maps.get(&(slot as u32)).and_then(|map| maps.get(map)).copied();
        let target = slot as i64 + i64::from(insn.imm) + 1;
        let second = program.code.get(slot + 1).map_or(0, |second| second.imm);
        let refers = match (insn.op, insn.src) {
            (LDDW, wide::MAP_FD | wide::MAP_IDX) => map.map(Symbol::Map).map(Refers::To),
            (LDDW, wide::MAP_VALUE | wide::MAP_IDX_VALUE) => {
                map.map(|map| Refers::To(Symbol::MapValue(map, u64::from(second as u32))))
            }
            (LDDW, wide::FUNC) | (CALL, callee::FUNCTION) => {
                let function = starts.iter().position(|start| i64::from(*start) == target);
                function.map(Refers::Function)
            }
            (LDDW, wide::BTF_ID) => all.kernel_symbol(kernel, insn.imm).map(Refers::To),
            (CALL, callee::KFUNC) => all.kernel_function(kernel, insn).map(Refers::To),
            (CALL, callee::HELPER) => match poison(insn.imm) {
                Some(poison) => Some(Refers::To(poison)),
                None => continue,
            },
            _ => continue,
        };
        let refers = refers.ok_or_else(|| ImageError::Code {
            program: pieces.first().map_or("", |main| main.function.name.as_str()).to_owned(),
            slot,
            what: format!(
                "operation {:#x} with source {} and immediate {} refers to nothing",
                insn.op, insn.src, insn.imm
            ),
        })?;
        let at = starts.partition_point(|start| *start as usize <= slot) - 1;
        pieces[at].refers.insert(slot as u32 - starts[at], refers);
    }
    Ok(pieces)
}

impl Code {
    /// A variable or function of the kernel, by its type.
    fn kernel_symbol(&mut self, kernel: &Btf, id: i32) -> Option<Symbol> {
        let id = TypeId(u32::try_from(id).ok()?);
        match kernel.kind(id) {
            Kind::Var => Some(Symbol::Ksym(index_of(&mut self.ksyms, kernel.name(id)))),
            // code compares its address with 0, to know whether it is there
            Kind::Func => Some(Symbol::Value(1)),
            _ => None,
        }
    }

    /// A function of the kernel that is called; `off` would name a module.
    fn kernel_function(&mut self, kernel: &Btf, insn: Insn) -> Option<Symbol> {
        let id = TypeId(u32::try_from(insn.imm).ok()?);
        (insn.off == 0 && kernel.kind(id) == Kind::Func)
            .then(|| Symbol::Kfunc(index_of(&mut self.kfuncs, kernel.name(id))))
    }
}

fn index_of(names: &mut Vec<String>, name: &str) -> u32 {
    let found = names.iter().position(|known| known == name);
    found.unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    }) as u32
}

fn poison(imm: i32) -> Option<Symbol> {
    if imm == POISON_CORE {
        return Some(Symbol::Poison("a field or type that this kernel does not have".into()));
    }
    if POISON_MAP.contains(&imm) {
        let number = imm - POISON_MAP.start;
        let what = format!("map number {number} of the object, which was not made");
        return Some(Symbol::Poison(what));
    }
    let number = POISON_KFUNC.contains(&imm).then(|| imm - POISON_KFUNC.start)?;
    Some(Symbol::MissingKfunc(format!("(extern number {number} of the object)")))
}

/// A program's functions without references: its own, which has the section, and those that it
/// calls. Their starts are those in the program.
fn functions(program: &Program, types: &Types) -> Vec<Piece> {
    let (btf, shift) = (&types.btf, types.shift(program.btf).unwrap_or_default());
    let slots = program.code.len() as u32;
    let infos = program.functions.iter().map(|info| (info.slot, Some(shift.of_type(info.ty))));
    let infos: Vec<(u32, Option<TypeId>)> = match program.functions.is_empty() {
        true => vec![(0, None)],
        false => infos.collect(),
    };
    let ends = infos.iter().skip(1).map(|next| next.0).chain([slots]);
    let mut texts: BTreeMap<u32, Arc<str>> = BTreeMap::new();
    let mut text = |offset: u32| {
        let offset = shift.of_string(offset);
        let make = || Arc::from(btf.string(offset).trim());
        texts.entry(offset).or_insert_with(make).clone()
    };
    let mut pieces = Vec::new();
    for ((start, ty), end) in infos.iter().copied().zip(ends) {
        let args = ty.and_then(|ty| btf.func_proto(ty)).map_or(0, |prototype| prototype.len());
        let name = ty.map_or(program.name.as_str(), |ty| btf.name(ty));
        let lines = program.lines.iter().filter(|line| (start..end).contains(&line.slot));
        let lines = lines.map(|line| Line {
            slot: line.slot - start,
            file: text(line.file),
            line: line.line,
            text: text(line.text),
        });
        pieces.push(Piece {
            lines: lines.collect(),
            function: Function {
                name: name.to_owned(),
                section: if start == 0 { program.section.clone() } else { ".text".to_owned() },
                start,
                len: end - start,
                btf: ty,
                args: u8::try_from(args).unwrap_or(u8::MAX),
            },
            code: program.code[start as usize..end as usize].to_vec(),
            refers: BTreeMap::new(),
        });
    }
    pieces
}
