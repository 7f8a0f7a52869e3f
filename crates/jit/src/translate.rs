// SPDX-License-Identifier: MIT OR Apache-2.0
//! Functions of a listing to machine code, instruction by instruction. BPF was made for that: its
//! compiler has chosen registers, and each of the guest's has one of the computer here. They are stored
//! in the guest's only where it reads them.

mod alu;
mod calls;
mod change;
mod cold;
mod compare;
mod encode;
mod hints;
mod kept;
mod known;
mod memory;
mod registers;
mod simple;
mod stubs;

use crate::context::{status, Context, Thunks};
use crate::flow::{cost, Flow};
use crate::liveness::{members, Liveness, Set};
use cold::Cold;
use encode::encode;
use iced_x86::code_asm::registers::{gpr32::*, gpr64::*};
use iced_x86::code_asm::{AsmRegister64, CodeAssembler, CodeLabel};
use iced_x86::IcedError;
use known::{Known, Roots};
use registers::{context, field, frame_pointer, kept, CONTEXT, SHIFT, SLOT, STACK, WIDE, WINDOW};
use rota_vm::engine::{Insn, Listing, Window};
use std::mem::offset_of;
use std::ops::Range;

/// Where the address of a function's machine code is or will be, if there is such a function.
pub(crate) type Places<'a> = &'a dyn Fn(usize) -> Option<*mut usize>;

/// Whether it could be encoded.
type Encoded<T = ()> = Result<T, IcedError>;

/// A function on its way.
struct Translator<'a> {
    a: CodeAssembler,
    /// How many instructions there were when a label was last put.
    labelled: Option<usize>,
    listing: &'a Listing,
    liveness: &'a Liveness,
    flow: &'a Flow,
    places: Places<'a>,
    /// For each block of the flow.
    blocks: Vec<CodeLabel>,
    /// Those of r6 to r9 that the function has.
    kept: Set,
    uses_stack: bool,
    /// Returns from the compiled function with the status in `eax`.
    over: CodeLabel,
    /// The same because of a fault.
    faulty: CodeLabel,
    /// What comes behind the function, as it is seldom gone to.
    cold: Vec<Cold>,
    stubs: stubs::Stubs,
    roots: Roots,
    known: Known,
    hints: hints::Hints,
    /// Where registers may point to, at the instruction at hand.
    hint: hints::State,
    /// Instructions of the block that come after the one at hand, and their costs.
    rest: i64,
    /// The block of the flow.
    block: usize,
    /// What is known at the end of blocks.
    known_after: Vec<Option<Known>>,
}

/// The machine code of a function.
pub(crate) fn translate(
    listing: &Listing,
    liveness: &Liveness,
    function: &Range<usize>,
    places: Places<'_>,
) -> Encoded<Vec<u8>> {
    let flow = Flow::of(listing, function);
    let mut a = CodeAssembler::new(64)?;
    // All of one form, so that each has its place at once.
    a.set_prefer_short_branch(false);
    let blocks = flow.blocks.iter().map(|_| a.create_label()).collect();
    let (over, faulty) = (a.create_label(), a.create_label());
    let mut roots = Roots::new();
    let known = Known::nothing(&mut roots);
    let mut this = Translator {
        a,
        labelled: None,
        listing,
        liveness,
        flow: &flow,
        places,
        blocks,
        kept: function.clone().fold(0, |all, at| all | liveness.touched(listing, at)),
        uses_stack: listing.insns[function.clone()].iter().any(memory::may_use_stack),
        over,
        faulty,
        cold: Vec::new(),
        stubs: stubs::Stubs::default(),
        roots,
        known,
        hints: hints::Hints::of(listing, &flow),
        hint: hints::State::nothing(),
        rest: 0,
        block: 0,
        known_after: vec![None; flow.blocks.len()],
    };
    this.begin(function)?;
    let order: Vec<usize> = flow.in_order().collect();
    for (nr, &block) in order.iter().enumerate() {
        this.block(block, order.get(nr + 1).copied())?;
    }
    this.ends()?;
    this.cold_parts()?;
    this.stubs()?;
    encode(&this.a.take_instructions())
}

/// Whether a number can be part of an instruction.
fn short(number: i64) -> Option<i32> {
    i32::try_from(number).ok()
}

impl Translator<'_> {
    /// What is read before it is written comes from the guest's registers.
    fn begin(&mut self, function: &Range<usize>) -> Encoded {
        for register in self.saved() {
            self.a.push(register)?;
        }
        self.a.sub(rsp, self.frame_size())?;
        self.a.mov(CONTEXT, rdi)?;
        self.hand_over_unless_enough(self.flow.blocks[0].need, function.start, 0)?;
        self.a.mov(r11, context(offset_of!(Context<'_>, registers)))?;
        self.a.mov(SHIFT, field(r11, 80))?;
        self.a.mov(frame_pointer(0), SHIFT)?;
        for reg in members(self.liveness.before(function.start)) {
            self.a.mov(WIDE[reg], field(r11, reg * 8))?;
        }
        if self.uses_stack {
            // Its region lasts as long as the memory.
            self.a.mov(STACK, SHIFT)?;
            self.a.shr(SHIFT, 32)?;
            self.a.shl(SHIFT, memory::WINDOW_BITS)?;
            self.a.add(SHIFT, context(offset_of!(Context<'_>, view.windows)))?;
            self.a.add(STACK, field(SHIFT, offset_of!(Window, shift)))?;
        }
        Ok(())
    }

    /// Registers that are the caller's.
    fn saved(&self) -> Vec<AsmRegister64> {
        let stack = self.uses_stack.then_some(STACK);
        kept(self.kept).chain(stack).chain([CONTEXT]).collect()
    }

    /// Bytes of the frame below them: calls are made from addresses that 16 divides, and the return
    /// address is above them.
    fn frame_size(&self) -> i32 {
        let odd = self.saved().len() % 2 == 1;
        SLOT + if odd { 8 } else { 0 }
    }

    /// What all ways out of the function share.
    fn ends(&mut self) -> Encoded {
        self.put(self.faulty)?;
        self.a.mov(eax, status::FAULT as u32)?;
        self.put(self.over)?;
        self.return_()
    }

    /// Returns from the compiled function, with the status in `eax`.
    fn return_(&mut self) -> Encoded {
        self.a.add(rsp, self.frame_size())?;
        for register in self.saved().into_iter().rev() {
            self.a.pop(register)?;
        }
        self.a.ret()
    }

    fn block(&mut self, number: usize, following: Option<usize>) -> Encoded {
        let flow = self.flow;
        let block = &flow.blocks[number];
        self.block = number;
        self.known = self.known_before(number);
        self.hint = self.hints.before(number);
        self.put(self.blocks[number])?;
        if block.asks {
            let start = block.range.start;
            self.hand_over_unless_enough(block.need, start, self.liveness.before(start))?;
        }
        self.take(block.cost)?;
        self.rest = block.cost;
        for at in block.range.clone() {
            let insn = &self.listing.insns[at];
            self.rest -= cost(insn);
            let is_last = self.insn(at, insn, following)?;
            self.hint.pass(self.listing, insn);
            if is_last {
                self.known_after[number] = Some(self.known.clone());
                return Ok(());
            }
        }
        self.known_after[number] = Some(self.known.clone());
        match flow.at(block.range.end) {
            Some(_) => self.go_to(block.range.end, following),
            // Behind the last instruction, which always is a fault.
            None => self.hand_over(block.range.end - 1),
        }
    }

    /// What all ways to a block leave: nothing at the beginning of the function, and of loops.
    fn known_before(&mut self, number: usize) -> Known {
        let block = &self.flow.blocks[number];
        let mut known: Option<Known> = None;
        for from in &block.from {
            let after = from.and_then(|from| self.known_after[from].clone());
            let Some(after) = after.filter(|_| !block.asks) else {
                return Known::nothing(&mut self.roots);
            };
            known = Some(match known {
                Some(known) => known.both(&after, &mut self.roots),
                None => after,
            });
        }
        known.unwrap_or_else(|| Known::nothing(&mut self.roots))
    }

    /// Translates an instruction; true if nothing of the block is left.
    fn insn(&mut self, at: usize, insn: &Insn, following: Option<usize>) -> Encoded<bool> {
        match *insn {
            Insn::Alu { op, wide, dst, by } => self.alu(op, wide, dst, by)?,
            Insn::Neg { wide, dst } => self.neg(wide, dst)?,
            Insn::SignExtend { wide, bits, dst, src } => self.sign_extend(wide, bits, dst, src)?,
            Insn::Swap { bits, dst } => self.swap(bits, dst)?,
            Insn::Load { nullable, bytes, signed, dst, base, offset } => {
                if nullable {
                    self.fault_if_null(at, base, offset)?;
                }
                self.load(at, memory::Bytes { bytes, signed }, dst, base, offset)?;
            }
            Insn::Change { bytes, how, base, offset, src } => {
                self.change(change::At { at, base, offset }, bytes, how, src)?;
            }
            Insn::Store { bytes, base, offset, value } => {
                self.store(at, bytes, base, offset, value)?;
            }
            Insn::Lookup { base, entries, stride, cpu_stride, .. } => {
                // a fault costs the one instruction
                self.rest += cost(insn) - 1;
                self.load(at, memory::Bytes { bytes: 4, signed: false }, 0, 2, 0)?;
                self.rest -= cost(insn) - 1;
                self.element(base, entries, stride, cpu_stride)?;
            }
            Insn::ToArena { arena, dst, src } => self.cast_to_arena(arena, dst, src)?,
            Insn::FromArena { dst, src } => self.cast_from_arena(dst, src)?,
            Insn::CallHost { callee, cost, simple } => {
                let call = calls::Call {
                    at,
                    callee,
                    expected: cost,
                    rest: self.rest,
                    need: self.rest + self.flow.need_after(self.block),
                };
                self.call_simple(call, simple)?;
            }
            Insn::Call { function } => {
                self.call(at, function)?;
                self.go_to(at + 1, following)?;
                return Ok(true);
            }
            Insn::Other { dst, src } => return self.step(at, dst, src),
            Insn::Jump { target } => {
                self.go_to(target, following)?;
                return Ok(true);
            }
            Insn::Branch { test, wide, left, right, target } => {
                self.branch(test, wide, left, right, target)?;
                self.go_to(at + 1, following)?;
                return Ok(true);
            }
            Insn::MayGoto { target } => {
                self.may_loop(target)?;
                self.go_to(at + 1, following)?;
                return Ok(true);
            }
            Insn::Exit => {
                self.spill(self.liveness.at_exit)?;
                self.a.mov(eax, status::FINE as u32)?;
                self.return_()?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Puts a label at what comes next. An instruction has but one.
    fn put(&mut self, mut label: CodeLabel) -> Encoded {
        if self.labelled == Some(self.a.instructions().len()) {
            self.a.nop()?;
        }
        self.labelled = Some(self.a.instructions().len());
        self.a.set_label(&mut label)
    }

    /// Where an instruction is that others go to.
    fn target(&self, at: usize) -> CodeLabel {
        // Blocks begin at all targets and behind all jumps.
        self.blocks[self.flow.at(at).unwrap_or_default()]
    }

    /// Goes on at an instruction, of which the block may be the one that follows.
    fn go_to(&mut self, at: usize, following: Option<usize>) -> Encoded {
        if self.flow.at(at) == following && following.is_some() {
            return Ok(());
        }
        self.a.jmp(self.target(at))
    }

    /// A number into a register; flags stay.
    fn number(&mut self, into: AsmRegister64, number: i64) -> Encoded {
        self.a.mov(into, number)
    }

    /// Has the guest's registers hold what these hold.
    fn spill(&mut self, set: Set) -> Encoded {
        if set != 0 {
            self.guest_registers()?;
        }
        for reg in members(set) {
            self.a.mov(field(rdi, reg * 8), WIDE[reg])?;
        }
        Ok(())
    }

    /// The other way round.
    fn reload(&mut self, set: Set) -> Encoded {
        if set != 0 {
            self.guest_registers()?;
        }
        for reg in members(set) {
            self.a.mov(WIDE[reg], field(rdi, reg * 8))?;
            let value = self.roots.next();
            self.known.set(reg as u8, value);
        }
        Ok(())
    }

    /// Where the guest's registers are, in `rdi`.
    fn guest_registers(&mut self) -> Encoded {
        self.a.mov(rdi, context(offset_of!(Context<'_>, registers)))
    }

    /// Calls one of what is seldom called. `rax` is lost.
    fn call_thunk(&mut self, offset: usize) -> Encoded {
        self.a.mov(rax, context(offset_of!(Context<'_>, thunks)))?;
        self.a.call(field(rax, offset))
    }

    /// Takes instructions from the fuel.
    fn take(&mut self, instructions: i64) -> Encoded {
        let left = context(offset_of!(Context<'_>, left));
        match short(instructions) {
            Some(0) => Ok(()),
            Some(short) => self.a.sub(left, short),
            None => {
                self.number(rdi, instructions)?;
                self.a.sub(left, rdi)
            }
        }
    }

    /// The interpreter goes on at an instruction, unless there is as much fuel.
    fn hand_over_unless_enough(&mut self, need: i64, at: usize, spilled: Set) -> Encoded {
        let left = context(offset_of!(Context<'_>, left));
        match short(need) {
            Some(need) => self.a.cmp(left, need)?,
            None => {
                self.number(WINDOW, need)?;
                self.a.cmp(left, WINDOW)?;
            }
        }
        let label = self.a.create_label();
        self.cold.push(Cold::HandOver { label, at, spilled });
        self.a.jl(label)
    }

    /// The interpreter goes on at an instruction; the guest's registers hold what it reads.
    fn hand_over(&mut self, at: usize) -> Encoded {
        self.a.mov(rdi, CONTEXT)?;
        self.a.mov(esi, at as u32)?;
        self.call_thunk(offset_of!(Thunks, interpret))?;
        self.a.jmp(self.over)
    }
}

#[cfg(test)]
mod tests;
