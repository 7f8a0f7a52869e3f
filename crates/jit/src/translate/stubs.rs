// SPDX-License-Identifier: MIT OR Apache-2.0
//! What accesses share that are not inside a region's bounds: a function of this process is called for
//! them, and what it may change is kept. Each compiled function has its own.
//!
//! Above a stub's return address are the access's instruction, and of a store its value. The address is
//! in `rdi`. As it returns, the zero flag says that it went well, and `rdi` is what was loaded.

use super::registers::{field, CLOBBERED, CONTEXT, SHIFT, WIDE, WINDOW};
use super::{Encoded, Translator};
use crate::context::Thunks;
use iced_x86::code_asm::registers::{gpr16::di, gpr32::*, gpr64::*, gpr8::dil};
use iced_x86::code_asm::{
    byte_ptr, dword_ptr, qword_ptr, word_ptr, AsmRegister32, AsmRegister64, CodeLabel,
};
use rota_vm::engine::Window;
use rota_vm::memory::PAGE_SIZE;
use std::mem::offset_of;

/// Of the register that a stub has for itself, as it is in the window.
const SHIFT_LOW: AsmRegister32 = r10d;

/// A stub, for accesses of so many bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stub {
    /// By the window of the address.
    Load(u32),
    Store(u32),
    /// It is not known.
    LoadAnywhere(u32),
    StoreAnywhere(u32),
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
                    self.load_of_some(bytes)?;
                    self.load_by_guest(bytes)?;
                }
                Stub::LoadAnywhere(bytes) => self.load_by_guest(bytes)?,
                Stub::StoreAnywhere(bytes) => self.store_by_guest(bytes)?,
                Stub::Store(bytes) => {
                    self.store_to_arena(bytes)?;
                    self.store_by_guest(bytes)?;
                }
            }
        }
        Ok(())
    }

    /// Returns with a field of a kernel object, if the address is that of a filled one, or with what is
    /// in a page of an arena, if that exists.
    fn load_of_some(&mut self, bytes: u32) -> Encoded {
        let (arena, there, other) =
            (self.a.create_label(), self.a.create_label(), self.a.create_label());
        self.begin_access()?;
        self.unless_in(offset_of!(Window, kernel), bytes, arena, other)?;
        self.unless_filled(other)?;
        self.a.jmp(there)?;
        self.put(arena)?;
        self.unless_in(offset_of!(Window, arena), bytes, other, other)?;
        self.unless_page(other)?;
        self.put(there)?;
        self.a.mov(SHIFT, field(WINDOW, offset_of!(Window, shift)))?;
        self.a.pop(rdi)?;
        let from = rdi + SHIFT;
        match bytes {
            1 => self.a.movzx(edi, byte_ptr(from))?,
            2 => self.a.movzx(edi, word_ptr(from))?,
            4 => self.a.mov(edi, dword_ptr(from))?,
            _ => self.a.mov(rdi, qword_ptr(from))?,
        }
        self.end_access(other)
    }

    /// Returns after a store to an arena, if all of its pages exist.
    fn store_to_arena(&mut self, bytes: u32) -> Encoded {
        let other = self.a.create_label();
        self.begin_access()?;
        self.unless_in(offset_of!(Window, arena), bytes, other, other)?;
        self.unless_page(other)?;
        if bytes > 1 {
            self.a.mov(edi, dword_ptr(rsp))?;
            self.a.add(edi, bytes as i32 - 1)?;
            self.unless_page(other)?;
        }
        self.a.mov(SHIFT, field(WINDOW, offset_of!(Window, shift)))?;
        self.a.add(SHIFT, qword_ptr(rsp))?;
        // behind the address, the return address and the instruction
        self.a.mov(rdi, qword_ptr(rsp + 24))?;
        match bytes {
            1 => self.a.mov(byte_ptr(SHIFT), dil)?,
            2 => self.a.mov(word_ptr(SHIFT), di)?,
            4 => self.a.mov(dword_ptr(SHIFT), edi)?,
            _ => self.a.mov(qword_ptr(SHIFT), rdi)?,
        }
        self.a.pop(rdi)?;
        self.a.mov(SHIFT, field(WINDOW, offset_of!(Window, shift)))?;
        self.end_access(other)
    }

    /// Keeps the address, and has its offset in its region in `rdi`.
    fn begin_access(&mut self) -> Encoded {
        self.a.push(rdi)?;
        self.a.mov(edi, edi)
    }

    /// Returns; `other` is behind that, with the registers as they were.
    fn end_access(&mut self, other: CodeLabel) -> Encoded {
        self.a.cmp(rsp, rsp)?;
        self.a.ret()?;
        self.put(other)?;
        self.a.pop(rdi)?;
        self.a.mov(SHIFT, field(WINDOW, offset_of!(Window, shift)))
    }

    /// Goes to `none` if a field of the window says that there are fewer bytes than are accessed, and to
    /// `beyond` unless the access is inside them.
    fn unless_in(
        &mut self,
        limit: usize,
        bytes: u32,
        none: CodeLabel,
        beyond: CodeLabel,
    ) -> Encoded {
        self.a.mov(SHIFT_LOW, dword_ptr(WINDOW + limit as i32))?;
        self.a.sub(SHIFT, bytes as i32)?;
        self.a.jb(none)?;
        self.a.cmp(SHIFT, rdi)?;
        self.a.jb(beyond)
    }

    /// Goes to `other` unless the bit of this number in `rdi` is set.
    fn unless_filled(&mut self, other: CodeLabel) -> Encoded {
        self.a.mov(SHIFT, field(WINDOW, offset_of!(Window, filled)))?;
        self.a.bt(qword_ptr(SHIFT), rdi)?;
        self.a.jnc(other)
    }

    /// Goes to `other` unless the page of the offset in `edi` exists.
    fn unless_page(&mut self, other: CodeLabel) -> Encoded {
        self.a.shr(edi, PAGE_SIZE.ilog2())?;
        self.unless_filled(other)
    }

    fn load_by_guest(&mut self, bytes: u32) -> Encoded {
        self.save()?;
        let above = saved_bytes();
        self.a.mov(rdx, rdi)?;
        self.a.mov(rsi, qword_ptr(rsp + above + 8))?;
        self.a.mov(rdi, CONTEXT)?;
        self.a.mov(ecx, bytes)?;
        self.call_thunk(offset_of!(Thunks, load))?;
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
        self.a.mov(rdi, CONTEXT)?;
        self.a.mov(ecx, bytes)?;
        self.call_thunk(offset_of!(Thunks, store))?;
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
