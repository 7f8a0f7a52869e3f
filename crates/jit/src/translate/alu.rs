// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arithmetic.

use super::registers::{frame_pointer, HALF, QUARTER, SHIFT, WIDE, WINDOW};
use super::{short, Encoded, Translator};
use iced_x86::code_asm::registers::{gpr32::*, gpr64::*, gpr8::cl};
use iced_x86::code_asm::AsmRegister64;
use rota_vm::engine::{Alu, Operand};

impl Translator<'_> {
    /// A register of the guest, which may be its frame pointer: that is put into `free` first.
    pub(super) fn source(&mut self, reg: u8, free: AsmRegister64) -> Encoded<AsmRegister64> {
        match WIDE.get(usize::from(reg)) {
            Some(&register) => Ok(register),
            None => {
                self.a.mov(free, frame_pointer(0))?;
                Ok(free)
            }
        }
    }

    /// A register gets a value of which nothing is known.
    pub(super) fn forget(&mut self, reg: u8) {
        let value = self.roots.next();
        self.known.set(reg, value);
    }

    pub(super) fn alu(&mut self, op: Alu, wide: bool, dst: u8, by: Operand) -> Encoded {
        let Some(&register) = WIDE.get(usize::from(dst)) else { return Ok(()) };
        match (op, by) {
            (Alu::Mov, _) => return self.mov(wide, dst, by),
            (Alu::Div | Alu::Mod, _) => self.divide(op, wide, dst, by)?,
            (Alu::Lsh | Alu::Rsh | Alu::Arsh, _) => self.shift(op, wide, dst, by)?,
            (_, Operand::Reg(src)) => {
                let src = self.source(src, rdi)?;
                self.operate(op, wide, register, src)?;
            }
            (_, Operand::Imm(number)) => {
                let number = if wide { number as i64 } else { i64::from(number as i32) };
                self.operate_by(op, wide, register, number)?;
                if let (Alu::Add | Alu::Sub, true) = (op, wide) {
                    self.known.moved(dst, op, number, &mut self.roots);
                    return Ok(());
                }
            }
        }
        self.forget(dst);
        Ok(())
    }

    fn mov(&mut self, wide: bool, dst: u8, by: Operand) -> Encoded {
        let (whole, half) = (WIDE[usize::from(dst)], HALF[usize::from(dst)]);
        match by {
            Operand::Imm(number) => {
                let number = if wide { number } else { number & u64::from(u32::MAX) };
                match u32::try_from(number) {
                    Ok(number) => self.a.mov(half, number)?,
                    Err(_) => self.number(whole, number as i64)?,
                }
            }
            Operand::Reg(src) => {
                let from = self.source(src, rdi)?;
                if wide {
                    self.a.mov(whole, from)?;
                    // the same value, of which the same is known
                    let known = self.known.of(src);
                    self.known.set(dst, known);
                    return Ok(());
                }
                self.a.mov(half, low(from))?;
            }
        }
        self.forget(dst);
        Ok(())
    }

    fn operate(&mut self, op: Alu, wide: bool, dst: AsmRegister64, src: AsmRegister64) -> Encoded {
        let (half, low) = (low(dst), low(src));
        match (op, wide) {
            (Alu::Add, true) => self.a.add(dst, src),
            (Alu::Add, false) => self.a.add(half, low),
            (Alu::Sub, true) => self.a.sub(dst, src),
            (Alu::Sub, false) => self.a.sub(half, low),
            (Alu::Or, true) => self.a.or(dst, src),
            (Alu::Or, false) => self.a.or(half, low),
            (Alu::And, true) => self.a.and(dst, src),
            (Alu::And, false) => self.a.and(half, low),
            (Alu::Xor, true) => self.a.xor(dst, src),
            (Alu::Xor, false) => self.a.xor(half, low),
            (_, true) => self.a.imul_2(dst, src),
            (_, false) => self.a.imul_2(half, low),
        }
    }

    fn operate_by(&mut self, op: Alu, wide: bool, dst: AsmRegister64, number: i64) -> Encoded {
        let Some(by) = short(number) else {
            self.number(rdi, number)?;
            return self.operate(op, wide, dst, rdi);
        };
        let half = low(dst);
        match (op, wide) {
            (Alu::Add, true) => self.a.add(dst, by),
            (Alu::Add, false) => self.a.add(half, by),
            (Alu::Sub, true) => self.a.sub(dst, by),
            (Alu::Sub, false) => self.a.sub(half, by),
            (Alu::Or, true) => self.a.or(dst, by),
            (Alu::Or, false) => self.a.or(half, by),
            (Alu::And, true) => self.a.and(dst, by),
            (Alu::And, false) => self.a.and(half, by),
            (Alu::Xor, true) => self.a.xor(dst, by),
            (Alu::Xor, false) => self.a.xor(half, by),
            (_, true) => self.a.imul_3(dst, dst, by),
            (_, false) => self.a.imul_3(half, half, by),
        }
    }

    /// The processor, too, takes distances modulo the width. It takes them from `cl` only, which is a
    /// part of r3.
    fn shift(&mut self, op: Alu, wide: bool, dst: u8, by: Operand) -> Encoded {
        let register = WIDE[usize::from(dst)];
        let src = match by {
            Operand::Imm(number) => {
                let distance = number as i32 & if wide { 63 } else { 31 };
                return self.shift_by(op, wide, register, distance);
            }
            Operand::Reg(src) => self.source(src, WINDOW)?,
        };
        if src == WINDOW {
            self.known.lose_window();
        }
        if src == rcx && register != rcx {
            return self.shift_by_cl(op, wide, register);
        }
        self.a.mov(rdi, rcx)?;
        self.a.mov(rcx, src)?;
        let shifted = if register == rcx { rdi } else { register };
        self.shift_by_cl(op, wide, shifted)?;
        self.a.mov(rcx, rdi)
    }

    fn shift_by(&mut self, op: Alu, wide: bool, dst: AsmRegister64, distance: i32) -> Encoded {
        let half = low(dst);
        match (op, wide) {
            // the high half becomes 0 also where nothing is shifted
            (_, false) if distance == 0 => self.a.mov(half, half),
            (Alu::Lsh, true) => self.a.shl(dst, distance),
            (Alu::Lsh, false) => self.a.shl(half, distance),
            (Alu::Rsh, true) => self.a.shr(dst, distance),
            (Alu::Rsh, false) => self.a.shr(half, distance),
            (_, true) => self.a.sar(dst, distance),
            (_, false) => self.a.sar(half, distance),
        }
    }

    fn shift_by_cl(&mut self, op: Alu, wide: bool, dst: AsmRegister64) -> Encoded {
        let half = low(dst);
        match (op, wide) {
            (Alu::Lsh, true) => self.a.shl(dst, cl),
            (Alu::Lsh, false) => self.a.shl(half, cl),
            (Alu::Rsh, true) => self.a.shr(dst, cl),
            (Alu::Rsh, false) => self.a.shr(half, cl),
            (_, true) => self.a.sar(dst, cl),
            (_, false) => self.a.sar(half, cl),
        }
    }

    /// The processor's division traps where the guest's gives something. It has its operands in `rax`
    /// and `rdx`, which are r0 and r2.
    fn divide(&mut self, op: Alu, wide: bool, dst: u8, by: Operand) -> Encoded {
        let (register, half) = (WIDE[usize::from(dst)], HALF[usize::from(dst)]);
        let known = match by {
            Operand::Reg(src) => {
                let src = self.source(src, rdi)?;
                if src != rdi {
                    self.a.mov(rdi, src)?;
                }
                None
            }
            Operand::Imm(number) => {
                let number = if wide { number } else { number & u64::from(u32::MAX) };
                self.number(rdi, number as i64)?;
                Some(number)
            }
        };
        let (by_zero, end) = (self.a.create_label(), self.a.create_label());
        if known.is_none() || known == Some(0) {
            if wide {
                self.a.test(rdi, rdi)?;
            } else {
                self.a.test(edi, edi)?;
            }
            self.a.je(by_zero)?;
        }
        self.known.lose();
        self.a.mov(SHIFT, rax)?;
        self.a.mov(WINDOW, rdx)?;
        if register != rax {
            self.a.mov(rax, register)?;
        }
        self.a.xor(edx, edx)?;
        if wide {
            self.a.div(rdi)?;
        } else {
            self.a.div(edi)?;
        }
        self.a.mov(rdi, if op == Alu::Div { rax } else { rdx })?;
        self.a.mov(rax, SHIFT)?;
        self.a.mov(rdx, WINDOW)?;
        self.a.mov(register, rdi)?;
        self.a.jmp(end)?;
        self.put(by_zero)?;
        match (op, wide) {
            (Alu::Div, _) => self.a.mov(half, 0)?,
            (_, false) => self.a.mov(half, half)?,
            (_, true) => {}
        }
        self.put(end)
    }

    pub(super) fn neg(&mut self, wide: bool, dst: u8) -> Encoded {
        let Some(&register) = WIDE.get(usize::from(dst)) else { return Ok(()) };
        self.forget(dst);
        match wide {
            true => self.a.neg(register),
            false => self.a.neg(low(register)),
        }
    }

    pub(super) fn sign_extend(&mut self, wide: bool, bits: u8, dst: u8, src: u8) -> Encoded {
        let Some(&whole) = WIDE.get(usize::from(dst)) else { return Ok(()) };
        let half = HALF[usize::from(dst)];
        self.mov(true, dst, Operand::Reg(src))?;
        self.forget(dst);
        let (quarter, byte) = (QUARTER[usize::from(dst)], super::registers::BYTE[usize::from(dst)]);
        match (bits, wide) {
            (8, true) => self.a.movsx(whole, byte),
            (8, false) => self.a.movsx(half, byte),
            (16, true) => self.a.movsx(whole, quarter),
            (16, false) => self.a.movsx(half, quarter),
            (_, true) => self.a.movsxd(whole, half),
            (_, false) => self.a.mov(half, half),
        }
    }

    pub(super) fn swap(&mut self, bits: u8, dst: u8) -> Encoded {
        let Some(&register) = WIDE.get(usize::from(dst)) else { return Ok(()) };
        let half = low(register);
        self.forget(dst);
        match bits {
            64 => self.a.bswap(register),
            32 => self.a.bswap(half),
            _ => {
                self.a.bswap(half)?;
                self.a.shr(half, 16)
            }
        }
    }

    pub(super) fn cast_to_arena(&mut self, arena: u64, dst: u8, src: u8) -> Encoded {
        let Some(&register) = WIDE.get(usize::from(dst)) else { return Ok(()) };
        let half = low(register);
        self.mov(false, dst, Operand::Reg(src))?;
        self.number(rdi, arena as i64)?;
        self.a.add(rdi, register)?;
        self.a.test(half, half)?;
        self.a.cmovne(register, rdi)
    }

    pub(super) fn cast_from_arena(&mut self, dst: u8, src: u8) -> Encoded {
        let Some(&register) = WIDE.get(usize::from(dst)) else { return Ok(()) };
        let half = low(register);
        self.mov(true, dst, Operand::Reg(src))?;
        self.forget(dst);
        self.a.mov(edi, 0)?;
        self.a.test(half, half)?;
        self.a.cmove(register, rdi)
    }
}

/// The low half of a register.
pub(super) fn low(register: AsmRegister64) -> iced_x86::code_asm::AsmRegister32 {
    match WIDE.iter().position(|wide| *wide == register) {
        Some(reg) => HALF[reg],
        None if register == SHIFT => r10d,
        None if register == WINDOW => r11d,
        None => edi,
    }
}
