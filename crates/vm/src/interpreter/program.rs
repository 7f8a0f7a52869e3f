// SPDX-License-Identifier: MIT OR Apache-2.0
//! A decoded image: what the interpreter runs.

use super::op::Op;
use crate::code::UncheckedLoad;
use crate::engine::{Compiled, Kept, Simple};
use crate::error::{Fault, FaultKind};
use crate::maps::ArrayPlace;
use crate::table::CallFn;
use rota_object::image::{FuncId, Function, Image, Line};
use std::sync::{Arc, OnceLock};

/// A helper or kernel function, resolved: in one line of a processor's cache.
#[repr(align(64))]
pub(super) struct Callee<H> {
    pub(super) run: CallFn<H>,
    /// Instructions that a call counts in addition to itself.
    pub(super) cost: u32,
    /// Contexts that a kernel function is limited to, and its name.
    pub(super) limit: Option<(u32, &'static str)>,
    /// Its answer while nothing is attached.
    pub(super) absent: Option<u64>,
    pub(super) simple: Option<Simple>,
}

/// Decoded code of one image, immutable and shared by all calls into it.
pub(super) struct Program<H> {
    pub(super) image: Arc<Image>,
    pub(super) ops: Vec<Op>,
    /// The instruction slot each op came from.
    pub(super) slots: Vec<u32>,
    /// First op of each function.
    pub(super) entries: Vec<u32>,
    pub(super) callees: Vec<Callee<H>>,
    /// By map number; without entries where the map is no array.
    pub(super) arrays: Vec<ArrayPlace>,
    /// Regions of the arrays.
    pub(super) kept: Vec<Kept>,
    /// Faults that instructions raise when reached.
    pub(super) traps: Vec<FaultKind>,
    /// Names of nullable arguments, one for each load through one.
    pub(super) names: Vec<String>,
    /// Loads through nullable arguments that no verifier accepts.
    pub(super) unchecked: Vec<UncheckedLoad>,
    /// Address of the arena, if the image has one.
    pub(super) arena: u64,
    /// The same as an engine has compiled it.
    pub(super) compiled: OnceLock<Option<Arc<dyn Compiled>>>,
}

impl<H> Program<H> {
    /// First op of a function.
    pub(super) fn first_op(&self, func: FuncId) -> Option<usize> {
        self.entries.get(func.0 as usize).map(|&at| at as usize)
    }

    /// Completes a fault with function, instruction and source line of the op at `pc`.
    #[cold]
    pub(super) fn locate(&self, mut fault: Fault, pc: usize) -> Fault {
        if let (true, Some(place)) = (fault.function.is_empty(), self.place(pc)) {
            (fault.function, fault.insn, fault.source) = place;
        }
        fault
    }

    /// Function, instruction slot in it, and source line of the op at `pc`.
    pub(super) fn place(&self, pc: usize) -> Option<(String, u32, Option<String>)> {
        let slot = *self.slots.get(pc)?;
        let holder = |f: &&Function| slot >= f.start && slot < f.start + f.len;
        let function = self.image.functions.iter().find(holder)?;
        let source = line_at(&self.image.lines, function.start, slot);
        Some((function.name.clone(), slot - function.start, source))
    }
}

fn line_at(lines: &[Line], start: u32, slot: u32) -> Option<String> {
    let after = lines.partition_point(|line| line.slot <= slot);
    let line = lines[..after].last().filter(|line| line.slot >= start)?;
    // BTF does not name the functions that a compiler inlined: what is in another file, or before
    // the function begins, is of one
    let first = lines[..after].iter().find(|line| line.slot >= start)?;
    let is_own = line.file == first.file && line.line >= first.line;
    let inlined = if is_own { "" } else { ", inlined" };
    let place = format!("{}:{}{inlined}", line.file, line.line);
    // A compiler that did not find the file again left no text.
    Some(match line.text.trim() {
        "" => place,
        text => format!("{place}: {text}"),
    })
}

#[cfg(test)]
mod tests {
    use super::{line_at, Line};

    #[test]
    fn lines_of_other_files_and_before_the_function_are_inlined() {
        let line =
            |slot, file: &str, line| Line { slot, file: file.into(), line, text: "x".into() };
        // a function that begins at slot 4, on line 20 of a.c
        let lines = [
            line(0, "a.c", 1),
            line(4, "a.c", 20),
            line(5, "b.h", 30),
            line(6, "a.c", 7),
            line(7, "a.c", 22),
        ];
        let at = |slot| line_at(&lines, 4, slot).unwrap();
        let found: Vec<_> = (4..=8).map(at).collect();
        let expected =
            ["a.c:20: x", "b.h:30, inlined: x", "a.c:7, inlined: x", "a.c:22: x", "a.c:22: x"];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_line_without_its_text_is_a_place_alone() {
        let line = Line { slot: 4, file: "b.h".into(), line: 83, text: "".into() };
        assert_eq!(line_at(&[line], 4, 4).as_deref(), Some("b.h:83"));
    }
}
