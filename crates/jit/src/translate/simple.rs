// SPDX-License-Identifier: MIT OR Apache-2.0
//! Helpers that are done here: in the usual case, as for everything else the host is called.

use super::calls::Call;
use super::cold::Cold;
use super::memory::Place;
use super::registers::{context, field, HALF, SHIFT, WIDE, WINDOW};
use super::{Encoded, Translator};
use crate::context::Context;
use iced_x86::code_asm::registers::{gpr32::*, gpr64::*};
use iced_x86::code_asm::{dword_ptr, AsmMemoryOperand, AsmRegister32, AsmRegister64, CodeLabel};
use rota_vm::engine::{MapView, Simple, Window, FIRST_MAP, MAP_STRIDE};
use std::mem::{offset_of, size_of};

/// `BPF_LOCAL_STORAGE_GET_F_CREATE`, which makes no difference where there is a value.
const CREATE: i32 = 1;
/// Handles of maps are as far apart as what is read of them.
const _: () = assert!(size_of::<MapView>() == MAP_STRIDE as usize);
/// The free register other than `rdi`, as it has an address's region.
const REGION: AsmRegister32 = r10d;

impl Translator<'_> {
    pub(super) fn call_simple(&mut self, call: Call, simple: Option<Simple>) -> Encoded {
        let otherwise = match simple {
            None => return self.call_host(call),
            Some(Simple::Clock) => {
                return self.read_view(offset_of!(Context<'_>, view.now_ns));
            }
            Some(Simple::Cpu) => return self.read_view(offset_of!(Context<'_>, view.cpu)),
            Some(Simple::Nothing) => {
                self.forget(0);
                return self.a.mov(eax, 0);
            }
            Some(Simple::First) => {
                self.forget(0);
                return self.a.mov(rax, WIDE[1]);
            }
            Some(Simple::OfCpu) => self.find_of_cpu()?,
            Some(Simple::Lock) => self.turn_lock(true)?,
            Some(Simple::Unlock) => self.turn_lock(false)?,
            Some(Simple::Owned) => Some(self.find_owned()?),
        };
        let Some(label) = otherwise else { return self.call_host(call) };
        let back = self.a.create_label();
        self.put(back)?;
        self.cold.push(Cold::Call { label, back, call });
        self.known.lose();
        self.forget(0);
        Ok(())
    }

    fn read_view(&mut self, offset: usize) -> Encoded {
        self.a.mov(rax, context(offset))?;
        self.forget(0);
        Ok(())
    }

    /// Takes the lock at r1, or gives it back; goes to the label if it cannot be accessed or is as it is
    /// to be already. `None` if nothing is known of it.
    fn turn_lock(&mut self, take: bool) -> Encoded<Option<CodeLabel>> {
        let (lock, unlikely): (AsmMemoryOperand, _) =
            match self.place(4, 1, 0, offset_of!(Window, storable))? {
                Place::There(lock) => (lock, self.a.create_label()),
                Place::Perhaps(lock, label) | Place::Hinted(lock, label) => (lock, label),
                Place::Unknown => return Ok(None),
            };
        self.a.cmp(dword_ptr(lock), 0)?;
        match take {
            true => self.a.jne(unlikely)?,
            false => self.a.je(unlikely)?,
        }
        self.a.mov(dword_ptr(lock), i32::from(take))?;
        self.a.mov(eax, 0)?;
        Ok(Some(unlikely))
    }

    /// The address of what r2 owns in the map r1 into r0; goes to the label if that is not known, or r4
    /// has flags that are none.
    fn find_owned(&mut self) -> Encoded<CodeLabel> {
        let unlikely = self.a.create_label();
        let (map, owner, flags) = (WIDE[1], WIDE[2], WIDE[4]);
        self.a.test(flags, !CREATE)?;
        self.a.jne(unlikely)?;
        self.find_map(map, unlikely)?;
        self.a.test(HALF[2], HALF[2])?;
        self.a.jne(unlikely)?;
        self.a.mov(SHIFT, owner)?;
        self.a.shr(SHIFT, 32)?;
        self.a.cmp(SHIFT, field(rdi, offset_of!(MapView, regions)))?;
        self.a.jae(unlikely)?;
        self.a.mov(rdi, field(rdi, offset_of!(MapView, values)))?;
        self.a.mov(REGION, dword_ptr(rdi + SHIFT * 4))?;
        self.a.test(REGION, REGION)?;
        self.a.je(unlikely)?;
        self.a.mov(rax, SHIFT)?;
        self.a.shl(rax, 32)?;
        Ok(unlikely)
    }

    /// What is known of a map into `rdi`; goes to the label if it is none.
    fn find_map(&mut self, map: AsmRegister64, unlikely: CodeLabel) -> Encoded {
        self.number(WINDOW, FIRST_MAP as i64)?;
        self.a.mov(rdi, map)?;
        self.a.sub(rdi, WINDOW)?;
        self.a.test(edi, MAP_STRIDE as i32 - 1)?;
        self.a.jne(unlikely)?;
        self.a.cmp(rdi, context(offset_of!(Context<'_>, view.maps_end)))?;
        self.a.jae(unlikely)?;
        self.a.add(rdi, context(offset_of!(Context<'_>, view.maps)))
    }

    /// The address of the element of the array r1 whose index is at r2, of the CPU r3, into r0; goes to
    /// the label if there is no such element, or it is no array. `None` if nothing is known of the index.
    fn find_of_cpu(&mut self) -> Encoded<Option<CodeLabel>> {
        let (index, unlikely): (AsmMemoryOperand, _) =
            match self.place(4, 2, 0, offset_of!(Window, loadable))? {
                Place::There(index) => (index, self.a.create_label()),
                Place::Perhaps(index, label) | Place::Hinted(index, label) => (index, label),
                Place::Unknown => return Ok(None),
            };
        self.a.mov(eax, dword_ptr(index))?;
        self.find_map(WIDE[1], unlikely)?;
        self.a.cmp(eax, dword_ptr(rdi + offset_of!(MapView, entries) as i32))?;
        self.a.jae(unlikely)?;
        self.a.cmp(HALF[3], dword_ptr(rdi + offset_of!(MapView, cpus) as i32))?;
        self.a.jae(unlikely)?;
        // the CPU is what the low half says
        self.a.mov(REGION, HALF[3])?;
        self.a.imul_2(SHIFT, field(rdi, offset_of!(MapView, cpu_stride)))?;
        self.a.imul_2(rax, field(rdi, offset_of!(MapView, stride)))?;
        self.a.add(rax, SHIFT)?;
        self.a.add(rax, field(rdi, offset_of!(MapView, base)))?;
        Ok(Some(unlikely))
    }
}
