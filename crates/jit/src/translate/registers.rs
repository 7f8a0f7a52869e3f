// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which register of the computer holds what.
//!
//! The guest's r1 to r5 are where a function of the System V ABI has its second to sixth argument, r6 to
//! r9 where it has to keep what was there: so a call of the host moves nothing. `r12` has the context, `rbp`
//! the host's address of the frame pointer. `rdi`, [`SHIFT`] and [`WINDOW`] are free between instructions,
//! but for what [`Known`](super::known::Known) says of the latter two.

use crate::liveness::{Set, ARGUMENTS, KEPT};
use iced_x86::code_asm::registers::{gpr16::*, gpr32::*, gpr64::*, gpr8::*};
use iced_x86::code_asm::{
    qword_ptr, AsmMemoryOperand, AsmRegister16, AsmRegister32, AsmRegister64, AsmRegister8,
};

/// The guest's r0 to r9.
pub(super) const WIDE: [AsmRegister64; 10] = [rax, rsi, rdx, rcx, r8, r9, rbx, r13, r14, r15];
/// Low halves of these.
pub(super) const HALF: [AsmRegister32; 10] = [eax, esi, edx, ecx, r8d, r9d, ebx, r13d, r14d, r15d];
/// Low quarters of these.
pub(super) const QUARTER: [AsmRegister16; 10] = [ax, si, dx, cx, r8w, r9w, bx, r13w, r14w, r15w];
/// Low bytes of these.
pub(super) const BYTE: [AsmRegister8; 10] = [al, sil, dl, cl, r8b, r9b, bl, r13b, r14b, r15b];

/// The context, which has the instructions that are left: those of the block that runs already taken.
pub(super) const CONTEXT: AsmRegister64 = r12;
/// Where the frame's stack is in this process: what the frame pointer points to.
pub(super) const STACK: AsmRegister64 = rbp;
/// Of the window at hand: from the guest's addresses to this process's.
pub(super) const SHIFT: AsmRegister64 = r10;
/// The window at hand.
pub(super) const WINDOW: AsmRegister64 = r11;

/// Registers of the guest that calls do not keep.
pub(super) const CLOBBERED: Set = ARGUMENTS | 1;
/// Bytes of a frame for the guest's frame pointer.
pub(super) const SLOT: i32 = 8;

/// The guest's frame pointer, with `pushed` bytes on top of the frame.
pub(super) fn frame_pointer(pushed: i32) -> AsmMemoryOperand {
    qword_ptr(rsp + pushed)
}

/// A field of the context.
pub(super) fn context(offset: usize) -> AsmMemoryOperand {
    field(CONTEXT, offset)
}

/// A field behind an address.
pub(super) fn field(base: AsmRegister64, offset: usize) -> AsmMemoryOperand {
    qword_ptr(base + offset as i32)
}

/// The register that a function has to give back, for one of r6 to r9.
pub(super) fn kept(set: Set) -> impl DoubleEndedIterator<Item = AsmRegister64> {
    (0..10).filter(move |reg| set & KEPT & 1 << reg != 0).map(|reg| WIDE[reg])
}
