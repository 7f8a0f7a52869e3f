// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which regions registers probably point to: found by following addresses of arrays and global data
//! through a function. A hint that is wrong costs time and nothing else.

use crate::flow::Flow;
use rota_vm::engine::{Alu, Insn, Listing, Operand, FRAME_STACK};

/// Frame pointer.
const FRAME: u8 = 10;
/// Slots of 8 bytes in a frame.
const SLOTS: usize = FRAME_STACK as usize / 8;

/// A region, and how far behind its beginning, if that is known for certain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hint {
    pub(super) region: u32,
    pub(super) offset: Option<i32>,
}

impl Hint {
    fn without_offset(self) -> Self {
        Self { offset: None, ..self }
    }
}

/// Hints of all registers, and of what is kept in the frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct State {
    registers: [Option<Hint>; 10],
    slots: [Option<Hint>; SLOTS],
}

/// Those at the beginning of blocks.
pub(super) struct Hints(Vec<Option<State>>);

/// What holds behind both of two ways.
fn both(one: Option<Hint>, other: Option<Hint>) -> Option<Hint> {
    let (one, other) = (one?, other?);
    match one == other {
        true => Some(one),
        false => (one.region == other.region).then_some(one.without_offset()),
    }
}

/// The slot of an access by the frame pointer, if it is of all of one.
fn slot(offset: i32, bytes: u32) -> Option<usize> {
    let at = offset.checked_add(FRAME_STACK as i32).filter(|at| bytes == 8 && at % 8 == 0)?;
    usize::try_from(at / 8).ok().filter(|slot| *slot < SLOTS)
}

impl State {
    pub(super) fn nothing() -> Self {
        Self { registers: [None; 10], slots: [None; SLOTS] }
    }

    pub(super) fn of(&self, reg: u8) -> Option<Hint> {
        self.registers.get(usize::from(reg)).copied().flatten()
    }

    fn set(&mut self, reg: u8, hint: Option<Hint>) {
        if let Some(register) = self.registers.get_mut(usize::from(reg)) {
            *register = hint;
        }
    }

    /// Goes on behind another way, too; whether that changed something.
    fn join(&mut self, other: &Self) -> bool {
        let before = self.clone();
        for (one, other) in self.registers.iter_mut().zip(&other.registers) {
            *one = both(*one, *other);
        }
        for (one, other) in self.slots.iter_mut().zip(&other.slots) {
            *one = both(*one, *other);
        }
        *self != before
    }

    /// Goes on behind an instruction.
    pub(super) fn pass(&mut self, listing: &Listing, insn: &Insn) {
        match *insn {
            Insn::Alu { op, wide, dst, by } => {
                let hint = if wide { self.sum(listing, op, dst, by) } else { None };
                self.set(dst, hint);
            }
            Insn::Load { bytes, dst, base, offset, .. } => {
                let slot = slot(offset, bytes).filter(|_| base == FRAME);
                // others may have stored there
                self.set(dst, slot.and_then(|slot| self.slots[slot]).map(Hint::without_offset));
            }
            Insn::Store { bytes, base: FRAME, offset, value } => {
                if let Some(slot) = slot(offset, bytes) {
                    self.slots[slot] = match value {
                        Operand::Reg(reg) => self.of(reg),
                        Operand::Imm(_) => None,
                    };
                }
            }
            Insn::Lookup { base, .. } => {
                self.set(0, Some(Hint { region: (base >> 32) as u32, offset: None }));
            }
            Insn::Neg { dst, .. }
            | Insn::SignExtend { dst, .. }
            | Insn::Swap { dst, .. }
            | Insn::ToArena { dst, .. }
            | Insn::FromArena { dst, .. } => self.set(dst, None),
            Insn::Change { src, .. } => {
                self.set(src, None);
                self.set(0, None);
            }
            Insn::Other { dst, src } => {
                [dst, src, 0].into_iter().for_each(|reg| self.set(reg, None))
            }
            Insn::Call { .. } | Insn::CallHost { .. } => (0..6).for_each(|reg| self.set(reg, None)),
            Insn::Store { .. }
            | Insn::Jump { .. }
            | Insn::Branch { .. }
            | Insn::MayGoto { .. }
            | Insn::Exit => {}
        }
    }

    /// Of what a register holds after an operation on it.
    fn sum(&self, listing: &Listing, op: Alu, dst: u8, by: Operand) -> Option<Hint> {
        match (op, by) {
            (Alu::Mov, Operand::Reg(src)) => self.of(src),
            (Alu::Mov, Operand::Imm(number)) => {
                let region = (number >> 32) as u32;
                let offset = i32::try_from(number as u32).ok();
                let is_kept = listing.kept.iter().any(|kept| kept.region == region);
                is_kept.then_some(Hint { region, offset })
            }
            (Alu::Add, Operand::Reg(src)) => match (self.of(dst), self.of(src)) {
                (Some(hint), None) | (None, Some(hint)) => Some(hint.without_offset()),
                _ => None,
            },
            (Alu::Add | Alu::Sub, Operand::Imm(number)) => {
                let hint = self.of(dst)?;
                let number = i32::try_from(number as i64).ok();
                let offset = hint.offset.zip(number).and_then(|(offset, number)| match op {
                    Alu::Add => offset.checked_add(number),
                    _ => offset.checked_sub(number),
                });
                Some(Hint { offset, ..hint })
            }
            (Alu::Sub, Operand::Reg(_)) => self.of(dst).map(Hint::without_offset),
            _ => None,
        }
    }
}

impl Hints {
    pub(super) fn of(listing: &Listing, flow: &Flow) -> Self {
        let mut before: Vec<Option<State>> = vec![None; flow.blocks.len()];
        before[0] = Some(State::nothing());
        let mut open = vec![0];
        while let Some(number) = open.pop() {
            let Some(mut state) = before[number].clone() else { continue };
            let block = &flow.blocks[number];
            for insn in &listing.insns[block.range.clone()] {
                state.pass(listing, insn);
            }
            for &next in &block.next {
                let changed = match &mut before[next] {
                    Some(known) => known.join(&state),
                    unknown => {
                        *unknown = Some(state.clone());
                        true
                    }
                };
                if changed && !open.contains(&next) {
                    open.push(next);
                }
            }
        }
        Self(before)
    }

    /// What holds as a block begins.
    pub(super) fn before(&self, block: usize) -> State {
        self.0.get(block).cloned().flatten().unwrap_or_else(State::nothing)
    }
}
