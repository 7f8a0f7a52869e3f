// SPDX-License-Identifier: MIT OR Apache-2.0
//! A decoded image: what the interpreter runs.

use super::op::Op;
use crate::error::{Fault, FaultKind};
use crate::host::KfuncFn;
use rota_object::image::{FuncId, Image, Line};
use std::sync::Arc;

/// A helper or kernel function, resolved.
pub(crate) struct Callee<H> {
    pub(crate) run: KfuncFn<H>,
    /// Instructions that a call counts in addition to itself.
    pub(crate) cost: u32,
    /// Contexts that a kernel function is limited to, and its name.
    pub(crate) limit: Option<(u32, &'static str)>,
}

/// An array, for the lookup that the interpreter does itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ArrayPlace {
    pub(crate) base: u64,
    pub(crate) entries: u32,
    pub(crate) stride: u32,
    /// Bytes from one CPU's values to the next's, 0 if all CPUs share them.
    pub(crate) cpu_stride: u32,
}

/// Decoded code of one image, immutable and shared by all calls into it.
pub(crate) struct Program<H> {
    pub(crate) image: Arc<Image>,
    pub(crate) ops: Vec<Op>,
    /// The instruction slot each op came from.
    pub(crate) slots: Vec<u32>,
    /// First op of each function.
    pub(crate) entries: Vec<u32>,
    pub(crate) callees: Vec<Callee<H>>,
    /// By map number; without entries where the map is no array.
    pub(crate) arrays: Vec<ArrayPlace>,
    /// Faults that instructions raise when reached.
    pub(crate) traps: Vec<FaultKind>,
    /// Address of the arena, if the image has one.
    pub(crate) arena: u64,
}

impl<H> Program<H> {
    /// First op of a function.
    pub(crate) fn entry(&self, func: FuncId) -> Option<usize> {
        self.entries.get(func.0 as usize).map(|&at| at as usize)
    }

    /// Completes a fault with function, instruction and source line of the op at `pc`.
    #[cold]
    pub(crate) fn locate(&self, mut fault: Fault, pc: usize) -> Fault {
        let Some(&slot) = self.slots.get(pc) else { return fault };
        let holder = |f: &&rota_object::image::Function| slot >= f.start && slot < f.start + f.len;
        if let (true, Some(function)) =
            (fault.function.is_empty(), self.image.functions.iter().find(holder))
        {
            fault.function.clone_from(&function.name);
            fault.insn = slot - function.start;
            fault.source = line_at(&self.image.lines, function.start, slot);
        }
        fault
    }
}

fn line_at(lines: &[Line], start: u32, slot: u32) -> Option<String> {
    let after = lines.partition_point(|line| line.slot <= slot);
    let line = lines[..after].last().filter(|line| line.slot >= start)?;
    Some(format!("{}:{}: {}", line.file, line.line, line.text.trim()))
}
