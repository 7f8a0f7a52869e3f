// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arithmetic and comparisons.

use super::Translator;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{types, InstBuilder, Type, Value};
use rota_vm::engine::{Alu, Operand, Test};

impl Translator<'_> {
    fn width(wide: bool) -> Type {
        if wide {
            types::I64
        } else {
            types::I32
        }
    }

    /// The low half of a value, or all of it.
    fn narrowed(&mut self, value: Value, wide: bool) -> Value {
        if wide {
            value
        } else {
            self.b.ins().ireduce(types::I32, value)
        }
    }

    fn widened(&mut self, value: Value, wide: bool) -> Value {
        if wide {
            value
        } else {
            self.b.ins().uextend(types::I64, value)
        }
    }

    /// The second operand in this width.
    fn operand(&mut self, operand: Operand, wide: bool) -> Value {
        match operand {
            Operand::Reg(reg) => {
                let value = self.get(reg);
                self.narrowed(value, wide)
            }
            Operand::Imm(number) if wide => self.number(number as i64),
            Operand::Imm(number) => self.b.ins().iconst(types::I32, i64::from(number as u32)),
        }
    }

    pub(super) fn alu(&mut self, op: Alu, wide: bool, dst: u8, by: Operand) {
        if let (Alu::Mov, true) = (op, wide) {
            // the same value, of which the same is known
            let value = self.operand(by, true);
            return self.set(dst, value);
        }
        let whole = self.get(dst);
        let right = self.operand(by, wide);
        let left = self.narrowed(whole, wide);
        let result = match op {
            Alu::Add => self.b.ins().iadd(left, right),
            Alu::Sub => self.b.ins().isub(left, right),
            Alu::Mul => self.b.ins().imul(left, right),
            Alu::Or => self.b.ins().bor(left, right),
            Alu::And => self.b.ins().band(left, right),
            Alu::Xor => self.b.ins().bxor(left, right),
            // of shifts, Cranelift takes the distance modulo the width, too
            Alu::Lsh => self.b.ins().ishl(left, right),
            Alu::Rsh => self.b.ins().ushr(left, right),
            Alu::Arsh => self.b.ins().sshr(left, right),
            Alu::Mov => right,
            Alu::Div | Alu::Mod => self.divide(op, wide, left, by, right),
        };
        let result = self.widened(result, wide);
        if let (Alu::Add | Alu::Sub, true, Operand::Imm(number)) = (op, wide, by) {
            let number = number as i64;
            let distance = if op == Alu::Add { number } else { number.wrapping_neg() };
            self.known.note_sum(result, whole, distance);
        }
        self.set(dst, result);
    }

    /// Cranelift's division traps where the guest's gives something.
    fn divide(&mut self, op: Alu, wide: bool, left: Value, by: Operand, right: Value) -> Value {
        let ty = Self::width(wide);
        if let Operand::Imm(number) = by {
            let number = if wide { number } else { number & u64::from(u32::MAX) };
            if number != 0 {
                return self.quotient(op, left, right);
            }
        }
        let is_zero = self.b.ins().icmp_imm(IntCC::Equal, right, 0);
        let one = self.b.ins().iconst(ty, 1);
        let safe = self.b.ins().select(is_zero, one, right);
        let result = self.quotient(op, left, safe);
        let by_zero = match op {
            Alu::Div => self.b.ins().iconst(ty, 0),
            _ => left,
        };
        self.b.ins().select(is_zero, by_zero, result)
    }

    fn quotient(&mut self, op: Alu, left: Value, right: Value) -> Value {
        match op {
            Alu::Div => self.b.ins().udiv(left, right),
            _ => self.b.ins().urem(left, right),
        }
    }

    pub(super) fn neg(&mut self, wide: bool, dst: u8) {
        let value = self.get(dst);
        let value = self.narrowed(value, wide);
        let value = self.b.ins().ineg(value);
        let value = self.widened(value, wide);
        self.set(dst, value);
    }

    pub(super) fn sign_extend(&mut self, wide: bool, bits: u8, dst: u8, src: u8) {
        let value = self.get(src);
        let narrow = match bits {
            8 => types::I8,
            16 => types::I16,
            _ => types::I32,
        };
        let value = self.b.ins().ireduce(narrow, value);
        let value = self.b.ins().sextend(Self::width(wide), value);
        let value = self.widened(value, wide);
        self.set(dst, value);
    }

    pub(super) fn swap(&mut self, bits: u8, dst: u8) {
        let value = self.get(dst);
        let value = match bits {
            16 => self.swap_low(types::I16, value),
            32 => self.swap_low(types::I32, value),
            _ => self.b.ins().bswap(value),
        };
        self.set(dst, value);
    }

    fn swap_low(&mut self, ty: Type, value: Value) -> Value {
        let value = self.b.ins().ireduce(ty, value);
        let value = self.b.ins().bswap(value);
        self.b.ins().uextend(types::I64, value)
    }

    pub(super) fn cast_to_arena(&mut self, arena: u64, dst: u8, src: u8) {
        let value = self.get(src);
        let low = self.b.ins().band_imm(value, i64::from(u32::MAX));
        let pointer = self.b.ins().iadd_imm(low, arena as i64);
        let zero = self.number(0);
        let value = self.b.ins().select(low, pointer, zero);
        self.set(dst, value);
    }

    pub(super) fn cast_from_arena(&mut self, dst: u8, src: u8) {
        let value = self.get(src);
        let low = self.b.ins().ireduce(types::I32, value);
        let zero = self.number(0);
        let value = self.b.ins().select(low, value, zero);
        self.set(dst, value);
    }

    /// Not 0 if the comparison holds.
    pub(super) fn compare(&mut self, test: Test, wide: bool, left: u8, right: Operand) -> Value {
        let left = self.get(left);
        let left = self.narrowed(left, wide);
        let right = self.operand(right, wide);
        let condition = match test {
            Test::Eq => IntCC::Equal,
            Test::Ne => IntCC::NotEqual,
            Test::Gt => IntCC::UnsignedGreaterThan,
            Test::Ge => IntCC::UnsignedGreaterThanOrEqual,
            Test::Lt => IntCC::UnsignedLessThan,
            Test::Le => IntCC::UnsignedLessThanOrEqual,
            Test::SignedGt => IntCC::SignedGreaterThan,
            Test::SignedGe => IntCC::SignedGreaterThanOrEqual,
            Test::SignedLt => IntCC::SignedLessThan,
            Test::SignedLe => IntCC::SignedLessThanOrEqual,
            Test::Common => return self.b.ins().band(left, right),
        };
        self.b.ins().icmp(condition, left, right)
    }
}
