// SPDX-License-Identifier: MIT OR Apache-2.0
//! What accesses share that are not inside a region's bounds: a function of this process is called for
//! them, and what it may change is kept. Each compiled function has its own.
//!
//! Above a stub's return address are the access's instruction, and of a store its value. The address is
//! in `rdi`. As it returns, the zero flag says that it went well, and `rdi` is what was loaded.

use super::memory::WINDOW_BITS;
use super::registers::{context, field, CLOBBERED, FUEL, SHIFT, WIDE, WINDOW};
use super::{Encoded, Translator};
use crate::context::Context;
use iced_x86::code_asm::registers::{gpr32::*, gpr64::*};
use iced_x86::code_asm::{byte_ptr, dword_ptr, qword_ptr, word_ptr, AsmRegister64, CodeLabel};
use rota_vm::engine::Window;
use std::mem::offset_of;

/// A stub, for accesses of so many bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stub {
    Load(u32),
    Store(u32),
}

/// Those that a function has.
#[derive(Default)]
pub(super) struct Stubs(Vec<(Stub, CodeLabel)>);

impl Translator<'_> {
    pub(super) fn call_stub(&mut self, stub: Stub) -> Encoded {
        let found = self.stubs.0.iter().find(|(of, _)| *of == stub).map(|(_, label)| *label);
        let label = found.unwrap_or_else(|| {
            let label = self.a.create_label();
            self.stubs.0.push((stub, label));
            label
        });
        self.a.call(label)
    }

    pub(super) fn stubs(&mut self) -> Encoded {
        for (stub, label) in std::mem::take(&mut self.stubs.0) {
            self.put(label)?;
            match stub {
                Stub::Load(bytes) => {
                    self.load_of_kernel(bytes)?;
                    self.load_by_guest(bytes)?;
                }
                Stub::Store(bytes) => self.store_by_guest(bytes)?,
            }
        }
        Ok(())
    }

    /// Returns with a field of a kernel object, if the address is that of a filled one.
    fn load_of_kernel(&mut self, bytes: u32) -> Encoded {
        let saved = [rdi, SHIFT, WINDOW];
        for register in saved {
            self.a.push(register)?;
        }
        let other = self.a.create_label();
        // the return address and the instruction are above the registers
        self.a.mov(r11, context(24 + 16))?;
        self.a.mov(r10, rdi)?;
        self.a.shr(r10, 32)?;
        self.a.cmp(r10, field(r11, offset_of!(Context<'_>, window_count)))?;
        self.a.jae(other)?;
        self.a.shl(r10, WINDOW_BITS)?;
        self.a.add(r10, field(r11, offset_of!(Context<'_>, windows)))?;
        self.a.mov(r11d, dword_ptr(r10 + offset_of!(Window, kernel) as i32))?;
        self.a.sub(r11, bytes as i32)?;
        self.a.jb(other)?;
        self.a.mov(edi, edi)?;
        self.a.cmp(r11, rdi)?;
        self.a.jb(other)?;
        self.a.mov(r11, field(r10, offset_of!(Window, filled)))?;
        self.a.bt(qword_ptr(r11), rdi)?;
        self.a.jnc(other)?;
        self.a.mov(r10, field(r10, offset_of!(Window, shift)))?;
        self.a.add(r10, qword_ptr(rsp + 16))?;
        match bytes {
            1 => self.a.movzx(edi, byte_ptr(r10))?,
            2 => self.a.movzx(edi, word_ptr(r10))?,
            4 => self.a.mov(edi, dword_ptr(r10))?,
            _ => self.a.mov(rdi, qword_ptr(r10))?,
        }
        self.a.pop(WINDOW)?;
        self.a.pop(SHIFT)?;
        self.a.lea(rsp, rsp + 8)?;
        self.a.cmp(FUEL, FUEL)?;
        self.a.ret()?;
        self.put(other)?;
        for register in saved.into_iter().rev() {
            self.a.pop(register)?;
        }
        Ok(())
    }

    fn load_by_guest(&mut self, bytes: u32) -> Encoded {
        self.save()?;
        let above = saved_bytes();
        self.a.mov(rdx, rdi)?;
        self.a.mov(rsi, qword_ptr(rsp + above + 8))?;
        self.a.mov(rdi, context(above + 16))?;
        self.a.mov(ecx, bytes)?;
        self.a.call(field(rdi, offset_of!(Context<'_>, thunks.load)))?;
        self.a.mov(rdi, rax)?;
        self.a.test(edx, edx)?;
        self.restore()?;
        self.a.ret()
    }

    fn store_by_guest(&mut self, bytes: u32) -> Encoded {
        // of 16 bytes, as a call wants them
        self.a.lea(rsp, rsp - 8)?;
        self.save()?;
        let above = saved_bytes() + 8;
        self.a.mov(rdx, rdi)?;
        self.a.mov(rsi, qword_ptr(rsp + above + 8))?;
        self.a.mov(r8, qword_ptr(rsp + above + 16))?;
        self.a.mov(rdi, context(above + 24))?;
        self.a.mov(ecx, bytes)?;
        self.a.call(field(rdi, offset_of!(Context<'_>, thunks.store)))?;
        self.a.test(eax, eax)?;
        self.restore()?;
        self.a.lea(rsp, rsp + 8)?;
        self.a.ret()
    }

    fn save(&mut self) -> Encoded {
        for register in changed() {
            self.a.push(register)?;
        }
        Ok(())
    }

    fn restore(&mut self) -> Encoded {
        for register in changed().into_iter().rev() {
            self.a.pop(register)?;
        }
        Ok(())
    }
}

/// What a call of a function changes of what compiled code has.
fn changed() -> Vec<AsmRegister64> {
    let guest = (0..10).filter(|reg| CLOBBERED & 1 << reg != 0).map(|reg| WIDE[reg]);
    guest.chain([SHIFT, WINDOW]).collect()
}

fn saved_bytes() -> i32 {
    changed().len() as i32 * 8
}
