// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loads and stores: what is inside a region and allowed there is done at once, everything else by the
//! guest's memory.

use super::alu::low;
use super::cold::Cold;
use super::known::{Sum, FRAME};
use super::registers::{context, field, BYTE, HALF, QUARTER, SHIFT, STACK, WIDE, WINDOW};
use super::stubs::Stub;
use super::{short, Encoded, Translator};
use crate::context::Context;
use iced_x86::code_asm::registers::{
    gpr16::di,
    gpr32::{eax, edi},
    gpr64::*,
    gpr8::dil,
};
use iced_x86::code_asm::{
    byte_ptr, dword_ptr, qword_ptr, word_ptr, AsmMemoryOperand, AsmRegister64, CodeLabel,
};
use rota_vm::engine::{Alu, Insn, Operand, Window, FRAME_STACK};
use std::mem::{offset_of, size_of};

/// Of the size of a window.
pub(super) const WINDOW_BITS: i32 = 5;
const _: () = assert!(size_of::<Window>() == 1 << WINDOW_BITS);

/// Whether an instruction may access the stack by the frame pointer, or by a sum of it.
pub(super) fn may_use_stack(insn: &Insn) -> bool {
    match *insn {
        Insn::Load { base, .. } | Insn::Store { base, .. } | Insn::Change { base, .. } => {
            base == 10
        }
        Insn::Alu { op: Alu::Mov, by, .. } => by == Operand::Reg(10),
        _ => false,
    }
}

/// What is loaded.
#[derive(Clone, Copy)]
pub(super) struct Bytes {
    pub(super) bytes: u32,
    pub(super) signed: bool,
}

/// Where bytes are.
pub(super) enum Place {
    /// There, in this process.
    There(AsmMemoryOperand),
    /// There, unless this label was gone to, with the window at hand.
    Perhaps(AsmMemoryOperand, CodeLabel),
    /// The same without a window.
    Hinted(AsmMemoryOperand, CodeLabel),
    /// Only the guest's memory knows.
    Unknown,
}

impl Translator<'_> {
    pub(super) fn load(
        &mut self,
        at: usize,
        what: Bytes,
        dst: u8,
        base: u8,
        offset: i32,
    ) -> Encoded {
        let place = self.place(what.bytes, base, offset, offset_of!(Window, loadable))?;
        let otherwise = match place {
            Place::There(from) => {
                self.load_from(what, dst, from)?;
                None
            }
            Place::Perhaps(from, label) => {
                self.load_from(what, dst, from)?;
                Some((label, Stub::Load(what.bytes)))
            }
            Place::Hinted(from, label) => {
                self.load_from(what, dst, from)?;
                Some((label, Stub::LoadAnywhere(what.bytes)))
            }
            Place::Unknown => Some((self.jump_to_cold()?, Stub::LoadAnywhere(what.bytes))),
        };
        if let Some((label, stub)) = otherwise {
            let back = self.a.create_label();
            self.put(back)?;
            let rest = self.rest;
            self.cold.push(Cold::Load { label, back, at, what, dst, base, offset, rest, stub });
        }
        self.forget(dst);
        Ok(())
    }

    pub(super) fn store(
        &mut self,
        at: usize,
        bytes: u32,
        base: u8,
        offset: i32,
        value: Operand,
    ) -> Encoded {
        let otherwise = match self.place(bytes, base, offset, offset_of!(Window, storable))? {
            Place::There(to) => {
                self.store_to(bytes, to, value)?;
                None
            }
            Place::Perhaps(to, label) => {
                self.store_to(bytes, to, value)?;
                Some((label, Stub::Store(bytes)))
            }
            Place::Hinted(to, label) => {
                self.store_to(bytes, to, value)?;
                Some((label, Stub::StoreAnywhere(bytes)))
            }
            Place::Unknown => Some((self.jump_to_cold()?, Stub::StoreAnywhere(bytes))),
        };
        if let Some((label, stub)) = otherwise {
            let back = self.a.create_label();
            self.put(back)?;
            let rest = self.rest;
            self.cold.push(Cold::Store { label, back, at, base, offset, value, rest, stub });
        }
        Ok(())
    }

    /// Goes to a place that is yet to be put.
    fn jump_to_cold(&mut self) -> Encoded<CodeLabel> {
        let label = self.a.create_label();
        self.a.jmp(label)?;
        Ok(label)
    }

    /// Looks where bytes are; `limit` is the field of a window that has how many there are.
    pub(super) fn place(
        &mut self,
        bytes: u32,
        base: u8,
        offset: i32,
        limit: usize,
    ) -> Encoded<Place> {
        let Sum { root, distance } = self.known.of(base);
        let sum = Sum { root, distance: distance + i64::from(offset) };
        let behind = i64::from(bytes) - 1;
        let in_stack = -(FRAME_STACK as i64)..=-i64::from(bytes);
        if self.uses_stack && root == FRAME.root && in_stack.contains(&sum.distance) {
            return Ok(Place::There(STACK + sum.distance as i32));
        }
        let register = WIDE.get(usize::from(base));
        let (Some(&register), Some(last)) = (register, short(i64::from(offset) + behind)) else {
            return Ok(Place::Unknown);
        };
        if let Some(place) = self.place_in_kept(bytes, base, offset, limit)? {
            return Ok(place);
        }
        if !self.known.in_window(sum) {
            self.find_window(register, offset)?;
            let found = Sum { root, distance: distance + i64::from(offset.min(0)) };
            self.known.found(found);
        }
        // An offset below 2^31 and a short way do not leave 32 bits.
        let unlikely = self.a.create_label();
        self.a.lea(edi, register + last)?;
        self.a.cmp(edi, dword_ptr(WINDOW + limit as i32))?;
        self.a.jae(unlikely)?;
        Ok(Place::Perhaps(register + SHIFT + offset, unlikely))
    }

    /// The window of an address, and how far its bytes are from there. If there is none, or the address
    /// is in the upper half of what a region can have, that of region 0, which is empty.
    fn find_window(&mut self, register: AsmRegister64, offset: i32) -> Encoded {
        let (none, found) = (self.a.create_label(), self.a.create_label());
        if offset < 0 {
            self.a.lea(WINDOW, register + offset)?;
        } else {
            self.a.mov(WINDOW, register)?;
        }
        self.a.test(low(WINDOW), low(WINDOW))?;
        self.a.js(none)?;
        self.a.shr(WINDOW, 32)?;
        self.a.cmp(WINDOW, context(offset_of!(Context<'_>, view.window_count)))?;
        self.a.jae(none)?;
        self.a.shl(WINDOW, WINDOW_BITS)?;
        self.a.add(WINDOW, context(offset_of!(Context<'_>, view.windows)))?;
        self.a.mov(SHIFT, field(WINDOW, offset_of!(Window, shift)))?;
        self.put(found)?;
        self.cold.push(Cold::NoWindow { label: none, back: found });
        Ok(())
    }

    fn load_from(&mut self, what: Bytes, dst: u8, from: AsmMemoryOperand) -> Encoded {
        let reg = usize::from(dst);
        let (whole, half) = match WIDE.get(reg) {
            Some(&whole) => (whole, HALF[reg]),
            None => (rdi, edi),
        };
        match (what.bytes, what.signed) {
            (1, false) => self.a.movzx(half, byte_ptr(from)),
            (1, true) => self.a.movsx(whole, byte_ptr(from)),
            (2, false) => self.a.movzx(half, word_ptr(from)),
            (2, true) => self.a.movsx(whole, word_ptr(from)),
            (4, false) => self.a.mov(half, dword_ptr(from)),
            (4, true) => self.a.movsxd(whole, dword_ptr(from)),
            _ => self.a.mov(whole, qword_ptr(from)),
        }
    }

    fn store_to(&mut self, bytes: u32, to: AsmMemoryOperand, value: Operand) -> Encoded {
        let reg = match value {
            Operand::Reg(reg) => usize::from(reg),
            Operand::Imm(number) => return self.store_number(bytes, to, number as i64),
        };
        if reg == 10 {
            self.source(10, rdi)?;
        }
        let at = |registers: [_; 10]| registers.get(reg).copied();
        match bytes {
            1 => self.a.mov(byte_ptr(to), BYTE.get(reg).copied().unwrap_or(dil)),
            2 => self.a.mov(word_ptr(to), QUARTER.get(reg).copied().unwrap_or(di)),
            4 => self.a.mov(dword_ptr(to), HALF.get(reg).copied().unwrap_or(edi)),
            _ => self.a.mov(qword_ptr(to), at(WIDE).unwrap_or(rdi)),
        }
    }

    fn store_number(&mut self, bytes: u32, to: AsmMemoryOperand, number: i64) -> Encoded {
        match (bytes, short(number)) {
            (1, _) => self.a.mov(byte_ptr(to), i32::from(number as i8)),
            (2, _) => self.a.mov(word_ptr(to), i32::from(number as i16)),
            (4, _) => self.a.mov(dword_ptr(to), number as i32),
            (_, Some(number)) => self.a.mov(qword_ptr(to), number),
            (_, None) => {
                self.number(rdi, number)?;
                self.a.mov(qword_ptr(to), rdi)
            }
        }
    }

    /// `bpf_map_lookup_elem` of an array, with the index in r0.
    pub(super) fn element(
        &mut self,
        base: u64,
        entries: u32,
        stride: u32,
        cpu_stride: u32,
    ) -> Encoded {
        let (exists, end) = (self.a.create_label(), self.a.create_label());
        self.a.cmp(eax, entries as i32)?;
        self.a.jb(exists)?;
        self.a.mov(eax, 0)?;
        self.a.jmp(end)?;
        self.put(exists)?;
        self.a.mov(edi, stride)?;
        self.a.imul_2(rax, rdi)?;
        if cpu_stride != 0 {
            self.a.mov(edi, cpu_stride)?;
            self.a.imul_2(rdi, context(offset_of!(Context<'_>, view.cpu)))?;
            self.a.add(rax, rdi)?;
        }
        self.number(rdi, base as i64)?;
        self.a.add(rax, rdi)?;
        self.put(end)
    }
}
