// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls: of functions, of helpers and kernel functions, and of what runs single instructions.

use super::cold::Cold;
use super::registers::{context, field, frame_pointer, CLOBBERED, CONTEXT, WIDE};
use super::{short, Encoded, Translator};
use crate::context::{Context, Thunks};
use crate::liveness::{members, Set, ARGUMENTS, KEPT};
use crate::native::NEVER;
use iced_x86::code_asm::registers::{gpr32::*, gpr64::*};
use iced_x86::code_asm::{qword_ptr, AsmRegister64, CodeLabel};
use rota_vm::engine::{Caller, FrameStack, MAX_FRAMES, MAX_LOOPS};
use std::mem::{offset_of, size_of};

/// Of the size of what is kept for a caller.
const CALLER_BITS: i32 = 6;
const _: () = assert!(size_of::<Caller>() == 1 << CALLER_BITS);

/// A call of a helper or kernel function.
#[derive(Clone, Copy)]
pub(super) struct Call {
    pub(super) at: usize,
    pub(super) callee: u32,
    /// What it costs if it charges nothing more.
    pub(super) expected: u32,
    /// Taken for the instructions of the block that come after it.
    pub(super) rest: i64,
    /// What is needed to go on.
    pub(super) need: i64,
}

impl Translator<'_> {
    /// Calls one of those that are told of an instruction only; of r0 to r5, keeps these. The status is
    /// in `edi`.
    fn call_at(&mut self, offset: usize, at: usize, keeps: Set) -> Encoded {
        let saved: Vec<AsmRegister64> = members(keeps & CLOBBERED).map(|reg| WIDE[reg]).collect();
        for &register in &saved {
            self.a.push(register)?;
        }
        // of 16 bytes
        let odd = saved.len() % 2 == 1;
        if odd {
            self.a.sub(rsp, 8)?;
        }
        self.a.mov(rdi, CONTEXT)?;
        self.a.mov(esi, at as u32)?;
        self.call_thunk(offset)?;
        self.a.mov(edi, eax)?;
        if odd {
            self.a.add(rsp, 8)?;
        }
        for &register in saved.iter().rev() {
            self.a.pop(register)?;
        }
        self.known.lose();
        Ok(())
    }

    /// Runs one instruction as the interpreter does; true if nothing of the block is left.
    pub(super) fn step(&mut self, at: usize, dst: u8, src: u8) -> Encoded<bool> {
        let touched = (1 << dst | 1 << src | 1) & (ARGUMENTS | KEPT | 1);
        let after = self.liveness.before(at + 1);
        self.spill(touched)?;
        self.call_at(offset_of!(Thunks, step), at, after & !touched)?;
        self.a.test(edi, edi)?;
        let fine = self.a.create_label();
        self.a.je(fine)?;
        self.take(-self.rest)?;
        self.a.jmp(self.faulty)?;
        self.put(fine)?;
        if dst == 10 || src == 10 {
            // It may have changed the frame pointer, which is nothing that is compiled.
            self.spill(after & !touched)?;
            self.take(-self.rest)?;
            self.hand_over(at + 1)?;
            return Ok(true);
        }
        self.reload(touched & after)?;
        Ok(false)
    }

    /// Calls a helper or kernel function.
    pub(super) fn call_host(&mut self, call: Call) -> Encoded {
        let Call { at, callee, expected, rest, need } = call;
        self.spill(ARGUMENTS)?;
        self.a.mov(rdi, CONTEXT)?;
        self.a.mov(context(offset_of!(Context<'_>, site)), at as i32)?;
        self.a.mov(context(offset_of!(Context<'_>, callee)), callee as i32)?;
        self.a.call(context(offset_of!(Context<'_>, host)))?;
        self.known.lose();
        self.forget(0);
        match short(i64::from(expected)) {
            Some(expected) => self.a.cmp(rdx, expected)?,
            None => {
                self.number(rdi, i64::from(expected))?;
                self.a.cmp(rdx, rdi)?;
            }
        }
        let (label, back) = (self.a.create_label(), self.a.create_label());
        self.a.jne(label)?;
        self.put(back)?;
        self.cold.push(Cold::Settle { label, back, at, expected, rest, need });
        // They are where the call had them.
        self.reload(ARGUMENTS & self.liveness.before(at + 1))
    }

    /// Calls a function; it is the last of a block. Its frame is entered here if there was one before at
    /// this depth: then its stack is there.
    pub(super) fn call(&mut self, at: usize, function: usize) -> Encoded {
        let callee = self.listing.functions.get(function).map_or(0, |callee| callee.start);
        let after = self.liveness.before(at + 1);
        let [enter, entered, run, returned] = std::array::from_fn(|_| self.a.create_label());
        self.spill(self.liveness.before(callee))?;
        self.enter_frame(at, after & KEPT, enter)?;
        self.put(entered)?;
        let place = (self.places)(function).map_or(0, |place| place.expose_provenance());
        self.number(rax, place as i64)?;
        self.a.mov(rax, qword_ptr(rax))?;
        self.a.cmp(rax, NEVER as i32)?;
        self.a.jbe(run)?;
        self.a.mov(rdi, CONTEXT)?;
        self.a.call(rax)?;
        self.put(returned)?;
        self.a.test(eax, eax)?;
        self.a.jne(self.over)?;
        self.leave_frame()?;
        self.known.lose();
        (0..6).for_each(|reg| self.forget(reg));
        let need = self.flow.need_after(self.block);
        self.hand_over_unless_enough(need, at + 1, after & KEPT)?;
        self.cold.push(Cold::Enter { label: enter, back: entered, at, kept: after & KEPT });
        self.cold.push(Cold::Run { label: run, back: returned, function });
        self.reload(CLOBBERED & after)
    }

    /// No argument is in a register any more.
    fn enter_frame(&mut self, at: usize, kept: Set, unless: CodeLabel) -> Encoded {
        let (frames, caller, free) = (r10, r11, rcx);
        self.a.mov(frames, context(offset_of!(Context<'_>, frames)))?;
        self.a.mov(caller, field(frames, offset_of!(FrameStack, depth)))?;
        self.a.cmp(caller, MAX_FRAMES as i32 - 1)?;
        self.a.jae(unless)?;
        let pointer = offset_of!(FrameStack, pointers) as i32 + 8;
        self.a.mov(rax, qword_ptr(frames + caller * 8 + pointer))?;
        self.a.test(rax, rax)?;
        self.a.je(unless)?;
        self.a.add(field(frames, offset_of!(FrameStack, depth)), 1)?;
        self.a.shl(caller, CALLER_BITS)?;
        self.a.lea(caller, frames + caller + offset_of!(FrameStack, callers) as i32)?;
        self.a.mov(field(caller, offset_of!(Caller, pc)), at as i32 + 1)?;
        for reg in members(kept) {
            self.a.mov(field(caller, offset_of!(Caller, kept) + (reg - 6) * 8), WIDE[reg])?;
        }
        self.a.mov(free, frame_pointer(0))?;
        self.a.mov(field(caller, offset_of!(Caller, frame_pointer)), free)?;
        self.a.mov(free, field(frames, offset_of!(FrameStack, loops_left)))?;
        self.a.mov(field(caller, offset_of!(Caller, loops_left)), free)?;
        self.a.mov(field(frames, offset_of!(FrameStack, loops_left)), MAX_LOOPS as i32)?;
        self.a.mov(free, context(offset_of!(Context<'_>, registers)))?;
        self.a.mov(field(free, 80), rax)
    }

    /// r6 to r9 are here as they were.
    fn leave_frame(&mut self) -> Encoded {
        let (frames, caller, free) = (r10, r11, rcx);
        self.a.mov(frames, context(offset_of!(Context<'_>, frames)))?;
        self.a.mov(caller, field(frames, offset_of!(FrameStack, depth)))?;
        self.a.sub(caller, 1)?;
        self.a.mov(field(frames, offset_of!(FrameStack, depth)), caller)?;
        self.a.shl(caller, CALLER_BITS)?;
        let loops = offset_of!(FrameStack, callers) + offset_of!(Caller, loops_left);
        self.a.mov(free, qword_ptr(frames + caller + loops as i32))?;
        self.a.mov(field(frames, offset_of!(FrameStack, loops_left)), free)?;
        self.a.mov(free, frame_pointer(0))?;
        self.a.mov(rax, context(offset_of!(Context<'_>, registers)))?;
        self.a.mov(field(rax, 80), free)
    }

    /// Counts a loop: goes to the target once there may be no more.
    pub(super) fn may_loop(&mut self, target: usize) -> Encoded {
        let loops = offset_of!(FrameStack, loops_left);
        self.a.mov(rdi, context(offset_of!(Context<'_>, frames)))?;
        self.a.cmp(field(rdi, loops), 0)?;
        self.a.je(self.target(target))?;
        self.a.sub(field(rdi, loops), 1)
    }
}
