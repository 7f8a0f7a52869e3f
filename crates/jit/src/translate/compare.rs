// SPDX-License-Identifier: MIT OR Apache-2.0
//! Comparisons, and jumps by what they give.

use super::alu::low;
use super::registers::WINDOW;
use super::{short, Encoded, Translator};
use iced_x86::code_asm::registers::gpr64::rdi;
use rota_vm::engine::{Operand, Test};

impl Translator<'_> {
    pub(super) fn branch(
        &mut self,
        test: Test,
        wide: bool,
        left: u8,
        right: Operand,
        target: usize,
    ) -> Encoded {
        self.compare(test, wide, left, right)?;
        let target = self.target(target);
        match test {
            Test::Eq => self.a.je(target),
            Test::Ne | Test::Common => self.a.jne(target),
            Test::Gt => self.a.ja(target),
            Test::Ge => self.a.jae(target),
            Test::Lt => self.a.jb(target),
            Test::Le => self.a.jbe(target),
            Test::SignedGt => self.a.jg(target),
            Test::SignedGe => self.a.jge(target),
            Test::SignedLt => self.a.jl(target),
            Test::SignedLe => self.a.jle(target),
        }
    }

    /// Sets the flags.
    fn compare(&mut self, test: Test, wide: bool, left: u8, right: Operand) -> Encoded {
        let left = self.source(left, rdi)?;
        let right = match right {
            Operand::Reg(reg) => {
                let right = self.source(reg, WINDOW)?;
                if right == WINDOW {
                    self.known.lose_window();
                }
                right
            }
            Operand::Imm(number) => {
                let number = if wide { number as i64 } else { i64::from(number as i32) };
                if let Some(by) = short(number) {
                    return match (test, wide) {
                        (Test::Common, true) => self.a.test(left, by),
                        (Test::Common, false) => self.a.test(low(left), by),
                        (_, true) => self.a.cmp(left, by),
                        (_, false) => self.a.cmp(low(left), by),
                    };
                }
                self.known.lose_window();
                self.number(WINDOW, number)?;
                WINDOW
            }
        };
        match (test, wide) {
            (Test::Common, true) => self.a.test(left, right),
            (Test::Common, false) => self.a.test(low(left), low(right)),
            (_, true) => self.a.cmp(left, right),
            (_, false) => self.a.cmp(low(left), low(right)),
        }
    }
}
