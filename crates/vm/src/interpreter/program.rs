// SPDX-License-Identifier: MIT OR Apache-2.0
//! A decoded image: what the interpreter runs.

use super::op::Op;
use crate::code::UncheckedLoad;
use crate::error::{Fault, FaultKind};
use crate::maps::ArrayPlace;
use crate::table::CallFn;
use rota_object::image::{FuncId, Function, Image, Line};
use std::sync::Arc;

/// A helper or kernel function, resolved.
pub(super) struct Callee<H> {
    pub(super) run: CallFn<H>,
    /// Instructions that a call counts in addition to itself.
    pub(super) cost: u32,
    /// Contexts that a kernel function is limited to, and its name.
    pub(super) limit: Option<(u32, &'static str)>,
    /// Its answer while nothing is attached.
    pub(super) absent: Option<u64>,
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
    /// Faults that instructions raise when reached.
    pub(super) traps: Vec<FaultKind>,
    /// Names of nullable arguments, one for each load through one.
    pub(super) names: Vec<String>,
    /// Loads through nullable arguments that no verifier accepts.
    pub(super) unchecked: Vec<UncheckedLoad>,
    /// Address of the arena, if the image has one.
    pub(super) arena: u64,
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
    Some(format!("{}:{}: {}", line.file, line.line, line.text.trim()))
}
