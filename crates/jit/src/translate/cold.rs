// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is seldom gone to. It is put behind the function, so that it is not in the way.

use super::calls::Call;
use super::memory::Bytes;
use super::registers::{context, frame_pointer, CONTEXT, WIDE, WINDOW};
use super::stubs::Stub;
use super::{short, Encoded, Translator};
use crate::context::{Context, Thunks};
use crate::liveness::{Set, KEPT};
use iced_x86::code_asm::registers::{gpr16::di, gpr32::*, gpr64::*, gpr8::dil};
use iced_x86::code_asm::CodeLabel;
use rota_vm::engine::Operand;
use std::mem::offset_of;

/// A part of a function, and where it goes back to.
#[derive(Clone, Copy)]
pub(super) enum Cold {
    /// There may be too few instructions left.
    HandOver { label: CodeLabel, at: usize, spilled: Set },
    /// An address without a region.
    NoWindow { label: CodeLabel, back: CodeLabel },
    /// A load that the guest's memory does.
    Load {
        label: CodeLabel,
        back: CodeLabel,
        at: usize,
        what: Bytes,
        dst: u8,
        base: u8,
        offset: i32,
        rest: i64,
        stub: Stub,
    },
    /// A store that the guest's memory does.
    Store {
        label: CodeLabel,
        back: CodeLabel,
        at: usize,
        base: u8,
        offset: i32,
        value: Operand,
        rest: i64,
        stub: Stub,
    },
    /// There was no frame yet at the callee's depth, or there may be none.
    Enter { label: CodeLabel, back: CodeLabel, at: usize, kept: Set },
    /// What a simple helper leaves to the host.
    Call { label: CodeLabel, back: CodeLabel, call: Call },
    /// An instruction that the interpreter does this time.
    Step { label: CodeLabel, back: CodeLabel, at: usize, dst: u8, src: u8, rest: i64 },
    /// One that is a fault.
    Fault { label: CodeLabel, at: usize, src: u8, rest: i64 },
    /// A function that is not compiled yet.
    Run { label: CodeLabel, back: CodeLabel, function: usize },
    /// After a call of the host: a fault, a callback, or more work than usual.
    Settle {
        label: CodeLabel,
        back: CodeLabel,
        at: usize,
        expected: u32,
        rest: i64,
        /// What is needed to go on.
        need: i64,
    },
}

impl Translator<'_> {
    pub(super) fn cold_parts(&mut self) -> Encoded {
        // some have parts of their own
        while !self.cold.is_empty() {
            for part in std::mem::take(&mut self.cold) {
                self.cold_part(part)?;
            }
        }
        Ok(())
    }

    fn cold_part(&mut self, part: Cold) -> Encoded {
        match part {
            Cold::HandOver { label, at, spilled } => {
                self.put(label)?;
                self.spill(spilled)?;
                self.hand_over(at)
            }
            Cold::NoWindow { label, back } => {
                self.put(label)?;
                self.a.mov(WINDOW, context(offset_of!(Context<'_>, view.windows)))?;
                self.a.jmp(back)
            }
            Cold::Load { label, back, at, what, dst, base, offset, rest, stub } => {
                self.put(label)?;
                self.a.push(at as i32)?;
                self.address(base, offset, 8)?;
                self.call_stub(stub)?;
                self.a.lea(rsp, rsp + 8)?;
                self.fault_unless_equal(rest)?;
                self.take_loaded(what, dst)?;
                self.a.jmp(back)
            }
            Cold::Store { label, back, at, base, offset, value, rest, stub } => {
                self.put(label)?;
                self.push(value)?;
                self.a.push(at as i32)?;
                self.address(base, offset, 16)?;
                self.call_stub(stub)?;
                self.a.lea(rsp, rsp + 16)?;
                self.fault_unless_equal(rest)?;
                self.a.jmp(back)
            }
            Cold::Enter { label, back, at, kept } => {
                self.put(label)?;
                self.spill(kept)?;
                self.a.mov(rdi, CONTEXT)?;
                self.a.mov(esi, at as u32)?;
                self.call_thunk(offset_of!(Thunks, enter))?;
                self.a.test(eax, eax)?;
                self.a.jne(self.over)?;
                self.a.jmp(back)
            }
            Cold::Call { label, back, call } => {
                self.put(label)?;
                self.call_host(call)?;
                self.a.jmp(back)
            }
            Cold::Step { label, back, at, dst, src, rest } => {
                self.put(label)?;
                self.rest = rest;
                self.step(at, dst, src)?;
                self.a.jmp(back)
            }
            Cold::Fault { label, at, src, rest } => {
                self.put(label)?;
                self.rest = rest;
                self.step(at, src, src)?;
                self.a.jmp(self.faulty)
            }
            Cold::Run { label, back, function } => {
                self.put(label)?;
                self.a.mov(rdi, CONTEXT)?;
                self.a.mov(esi, function as u32)?;
                self.call_thunk(offset_of!(Thunks, run))?;
                self.a.jmp(back)
            }
            Cold::Settle { label, back, at, expected, rest, need } => {
                self.put(label)?;
                let after = self.liveness.before(at + 1);
                self.spill((after | self.liveness.inherited) & KEPT)?;
                self.take(-rest)?;
                self.a.mov(rdi, CONTEXT)?;
                self.a.mov(r9, rdx)?;
                self.a.mov(r8, rax)?;
                self.a.mov(ecx, expected)?;
                self.number(rdx, need)?;
                self.a.mov(esi, at as u32)?;
                self.call_thunk(offset_of!(Thunks, settle))?;
                self.a.test(eax, eax)?;
                self.a.jne(self.over)?;
                self.take(rest)?;
                self.reload(1 & after)?;
                self.a.jmp(back)
            }
        }
    }

    /// The address of an access into `rdi`, with so many bytes on top of the frame.
    fn address(&mut self, base: u8, offset: i32, pushed: i32) -> Encoded {
        match WIDE.get(usize::from(base)) {
            Some(&register) => self.a.lea(rdi, register + offset),
            None => {
                self.a.mov(rdi, frame_pointer(pushed))?;
                self.a.lea(rdi, rdi + offset)
            }
        }
    }

    /// What is stored.
    fn push(&mut self, value: Operand) -> Encoded {
        match value {
            Operand::Reg(reg) => match WIDE.get(usize::from(reg)) {
                Some(&register) => self.a.push(register),
                None => self.a.push(frame_pointer(0)),
            },
            Operand::Imm(number) => match short(number as i64) {
                Some(number) => self.a.push(number),
                None => {
                    self.number(rdi, number as i64)?;
                    self.a.push(rdi)
                }
            },
        }
    }

    /// Gives back what was taken for the instructions behind the one at hand, if it is a fault.
    fn fault_unless_equal(&mut self, rest: i64) -> Encoded {
        let fine = self.a.create_label();
        self.a.je(fine)?;
        self.take(-rest)?;
        self.a.jmp(self.faulty)?;
        self.put(fine)
    }

    /// What was loaded is in `rdi`, zero-extended.
    fn take_loaded(&mut self, what: Bytes, dst: u8) -> Encoded {
        let reg = usize::from(dst);
        let Some(&whole) = WIDE.get(reg) else { return Ok(()) };
        match (what.bytes, what.signed) {
            (1, true) => self.a.movsx(whole, dil),
            (2, true) => self.a.movsx(whole, di),
            (4, true) => self.a.movsxd(whole, edi),
            _ => self.a.mov(whole, rdi),
        }
    }
}
