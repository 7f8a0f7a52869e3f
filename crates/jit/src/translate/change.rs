// SPDX-License-Identifier: MIT OR Apache-2.0
//! Changes of bytes in memory, and loads that compare the address with NULL first.

use super::alu::low;
use super::cold::Cold;
use super::memory::Place;
use super::registers::WIDE;
use super::{Encoded, Translator};
use crate::liveness::fetches;
use iced_x86::code_asm::registers::{gpr32::*, gpr64::*};
use iced_x86::code_asm::{dword_ptr, qword_ptr, AsmMemoryOperand, AsmRegister64};
use rota_vm::engine::{Change, Window, FIRST_ADDRESS};
use std::mem::offset_of;

/// An instruction, and what it accesses.
#[derive(Clone, Copy)]
pub(super) struct At {
    pub(super) at: usize,
    pub(super) base: u8,
    pub(super) offset: i32,
}

impl Translator<'_> {
    /// What cannot be stored to at once is the interpreter's. The instructions are not locked: nobody else
    /// accesses the memory.
    pub(super) fn change(&mut self, at: At, bytes: u32, how: Change, src: u8) -> Encoded {
        let At { at, base, offset } = at;
        let Some(&register) = WIDE.get(usize::from(src)) else { return Ok(()) };
        let (place, otherwise) =
            match self.place(bytes, base, offset, offset_of!(Window, storable))? {
                Place::There(place) => (Some(place), None),
                Place::Perhaps(place, label) | Place::Hinted(place, label) => {
                    (Some(place), Some(label))
                }
                Place::Unknown => {
                    let label = self.a.create_label();
                    self.a.jmp(label)?;
                    (None, Some(label))
                }
            };
        if let Some(place) = place {
            self.change_at(place, bytes == 8, how, register)?;
        }
        if let Some(label) = otherwise {
            let back = self.a.create_label();
            self.put(back)?;
            self.cold.push(Cold::Step { label, back, at, dst: base, src, rest: self.rest });
            self.known.lose();
        }
        if how == Change::CompareExchange {
            self.forget(0);
        } else if fetches(how) {
            self.forget(src);
        }
        Ok(())
    }

    fn change_at(
        &mut self,
        place: AsmMemoryOperand,
        wide: bool,
        how: Change,
        src: AsmRegister64,
    ) -> Encoded {
        let (whole, half, src_half) = (qword_ptr(place), dword_ptr(place), low(src));
        if fetches(how) {
            match wide {
                true => self.a.mov(rdi, whole)?,
                false => self.a.mov(edi, half)?,
            }
        }
        match (how, wide) {
            (Change::Add { .. }, true) => self.a.add(whole, src)?,
            (Change::Add { .. }, false) => self.a.add(half, src_half)?,
            (Change::Or { .. }, true) => self.a.or(whole, src)?,
            (Change::Or { .. }, false) => self.a.or(half, src_half)?,
            (Change::And { .. }, true) => self.a.and(whole, src)?,
            (Change::And { .. }, false) => self.a.and(half, src_half)?,
            (Change::Xor { .. }, true) => self.a.xor(whole, src)?,
            (Change::Xor { .. }, false) => self.a.xor(half, src_half)?,
            (Change::Exchange, true) => self.a.mov(whole, src)?,
            (Change::Exchange, false) => self.a.mov(half, src_half)?,
            (Change::CompareExchange, true) => self.a.cmpxchg(whole, src)?,
            (Change::CompareExchange, false) => {
                self.a.cmpxchg(half, src_half)?;
                // of what was there already the high half is left
                self.a.mov(eax, eax)?;
            }
        }
        if fetches(how) {
            // what was fetched of 4 bytes has a high half of 0
            self.a.mov(src, rdi)?;
        }
        Ok(())
    }

    /// The interpreter says what is wrong with a load from such an address.
    pub(super) fn fault_if_null(&mut self, at: usize, base: u8, offset: i32) -> Encoded {
        let Some(&register) = WIDE.get(usize::from(base)) else { return Ok(()) };
        let label = self.a.create_label();
        self.a.lea(rdi, register + offset)?;
        self.a.cmp(rdi, FIRST_ADDRESS as i32)?;
        self.a.jb(label)?;
        self.cold.push(Cold::Fault { label, at, src: base, rest: self.rest });
        Ok(())
    }
}
