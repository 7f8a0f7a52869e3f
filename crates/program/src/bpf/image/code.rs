// SPDX-License-Identifier: MIT OR Apache-2.0
//! Code, functions and lines of all programs, one after the other. libbpf has put the functions that
//! a program calls behind it, and has resolved what its instructions refer to. A function that
//! several programs have is there once.

mod pieces;

use super::types::Types;
use super::{FuncId, ImageError, ObjectId, Played, Program};
use pieces::{Piece, Refers};
use rota_object::image::{Function, Insn, Line, MapId, Symbol};
use std::collections::BTreeMap;

/// What the image has of programs.
#[derive(Default)]
pub(super) struct Code {
    pub(super) code: Vec<Insn>,
    pub(super) symbols: BTreeMap<u32, Symbol>,
    pub(super) functions: Vec<Function>,
    pub(super) lines: Vec<Line>,
    pub(super) kfuncs: Vec<String>,
    pub(super) ksyms: Vec<String>,
    pub(super) programs: BTreeMap<ObjectId, FuncId>,
}

/// What makes two functions the same: their text, and what it refers to.
type Key = (String, String, Vec<(u8, u8, u8, i16, i32)>, Vec<(u32, String)>);

/// A function of a program on its way into the image.
#[derive(Clone, Copy)]
enum Progress {
    Waiting,
    /// Its callees come first. One that refers to itself, directly or through these, has its
    /// number before that.
    Begun(Option<FuncId>),
    There(FuncId),
}

/// Functions of one program, placed behind those of the programs before it.
struct Placing<'a> {
    all: &'a mut Code,
    known: &'a mut BTreeMap<Key, FuncId>,
    pieces: &'a [Piece],
    progress: Vec<Progress>,
}

impl Played {
    pub(super) fn code(
        &self,
        programs: &[(ObjectId, &Program)],
        types: &Types,
        maps: &BTreeMap<ObjectId, MapId>,
    ) -> Result<Code, ImageError> {
        let (mut all, mut known) = (Code::default(), BTreeMap::new());
        for (id, program) in programs {
            let pieces = pieces::cut(&mut all, program, types, &self.btf, maps)?;
            let progress = vec![Progress::Waiting; pieces.len()];
            let mut placing =
                Placing { all: &mut all, known: &mut known, pieces: &pieces, progress };
            let function = placing.place(0);
            all.programs.insert(*id, function);
        }
        Ok(all)
    }
}

impl Placing<'_> {
    /// The number of a function in the image. Calls nest as deep as a program's functions do.
    fn place(&mut self, index: usize) -> FuncId {
        match self.progress[index] {
            Progress::There(id) | Progress::Begun(Some(id)) => return id,
            Progress::Begun(None) => {
                let id = self.reserve(index);
                self.progress[index] = Progress::Begun(Some(id));
                return id;
            }
            Progress::Waiting => {}
        }
        self.progress[index] = Progress::Begun(None);
        let pieces = self.pieces;
        let piece = &pieces[index];
        let mut symbols = Vec::new();
        for (slot, refers) in &piece.refers {
            let symbol = match refers {
                Refers::To(symbol) => symbol.clone(),
                Refers::Function(callee) => Symbol::Func(self.place(*callee)),
            };
            symbols.push((*slot, symbol));
        }
        let id = match self.progress[index] {
            Progress::Begun(Some(id)) => id,
            _ => {
                let key = key(piece, &symbols);
                if let Some(id) = self.known.get(&key) {
                    self.progress[index] = Progress::There(*id);
                    return *id;
                }
                let id = self.reserve(index);
                self.known.insert(key, id);
                id
            }
        };
        self.progress[index] = Progress::There(id);
        self.add(id, piece, symbols);
        id
    }

    /// A number for a function that is added later.
    fn reserve(&mut self, index: usize) -> FuncId {
        self.all.functions.push(self.pieces[index].function.clone());
        FuncId(self.all.functions.len() as u32 - 1)
    }

    fn add(&mut self, id: FuncId, piece: &Piece, symbols: Vec<(u32, Symbol)>) {
        let start = self.all.code.len() as u32;
        self.all.functions[id.0 as usize].start = start;
        self.all.code.extend(&piece.code);
        let symbols = symbols.into_iter().map(|(slot, symbol)| (start + slot, symbol));
        self.all.symbols.extend(symbols);
        let lines = piece.lines.iter().cloned();
        self.all.lines.extend(lines.map(|line| Line { slot: start + line.slot, ..line }));
    }
}

fn key(piece: &Piece, symbols: &[(u32, Symbol)]) -> Key {
    let function = &piece.function;
    let code = piece.code.iter().zip(0u32..).map(|(insn, slot)| {
        // what it refers to says more than a distance or descriptor
        let imm = if piece.refers.contains_key(&slot) { 0 } else { insn.imm };
        (insn.op, insn.dst, insn.src, insn.off, imm)
    });
    let symbols = symbols.iter().map(|(slot, symbol)| (*slot, format!("{symbol:?}")));
    (function.name.clone(), function.section.clone(), code.collect(), symbols.collect())
}
