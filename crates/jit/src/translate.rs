// SPDX-License-Identifier: MIT OR Apache-2.0
//! Functions of a listing to machine code. Registers of the guest become variables, which Cranelift
//! keeps in registers of the computer; they are stored in the guest's only where it reads them.

mod alu;
mod calls;
mod memory;
mod windows;

use crate::context::{status, Context};
use crate::flow::{cost, Flow};
use crate::liveness::{members, Liveness};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    types, AbiParam, AliasRegion, Block, InstBuilder, MemFlags, SigRef, Signature, Value,
};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::{FunctionBuilder, Variable};
use rota_vm::engine::{Insn, Listing};
use std::mem::offset_of;
use std::ops::Range;
use windows::Known;

/// A function of so many 64-bit numbers.
pub(crate) fn signature(parameters: usize, results: usize) -> Signature {
    let mut signature = Signature::new(CallConv::SystemV);
    signature.params.resize(parameters, AbiParam::new(types::I64));
    signature.returns.resize(results, AbiParam::new(types::I64));
    signature
}

/// A function on its way.
struct Translator<'a> {
    b: FunctionBuilder<'a>,
    listing: &'a Listing,
    liveness: &'a Liveness,
    flow: &'a Flow,
    /// For each block of the flow.
    blocks: Vec<Block>,
    registers: [Variable; 10],
    /// Instructions left, those of the block that runs already taken.
    fuel: Variable,
    context: Value,
    frame_pointer: Value,
    /// Where the frame's stack is in this process, if the function uses it.
    stack: Option<Value>,
    signatures: Signatures,
    /// Returns from the compiled function with this status.
    over: Block,
    /// The same because of a fault, with so many instructions left.
    faulty: Block,
    /// What is known of addresses at this point.
    known: Known,
    /// Instructions of the block that come after the one at hand, and their costs.
    rest: i64,
    /// The block of the flow.
    block: usize,
    /// What is known at the end of blocks.
    known_after: Vec<Option<Known>>,
}

/// Of what compiled code calls.
struct Signatures {
    site: SigRef,
    host: SigRef,
    settle: SigRef,
    load: SigRef,
    store: SigRef,
    call: SigRef,
}

/// Fills the body of a function.
pub(crate) fn translate(
    mut b: FunctionBuilder<'_>,
    listing: &Listing,
    liveness: &Liveness,
    function: &Range<usize>,
) {
    let flow = Flow::of(listing, function);
    let entry = b.create_block();
    b.append_block_params_for_function_params(entry);
    b.switch_to_block(entry);
    let context = b.block_params(entry)[0];
    let registers: [Variable; 10] = std::array::from_fn(|reg| Variable::from_u32(reg as u32));
    let fuel = Variable::from_u32(10);
    for variable in registers.into_iter().chain([fuel]) {
        b.declare_var(variable, types::I64);
    }
    let mut of = |parameters, results| b.import_signature(signature(parameters, results));
    let signatures = Signatures {
        site: of(2, 1),
        host: of(6, 2),
        settle: of(6, 1),
        load: of(4, 2),
        store: of(5, 1),
        call: of(4, 1),
    };
    let blocks = flow.blocks.iter().map(|_| b.create_block()).collect();
    let (over, faulty) = (b.create_block(), b.create_block());
    let mut this = Translator {
        b,
        listing,
        liveness,
        flow: &flow,
        blocks,
        registers,
        fuel,
        context,
        frame_pointer: context,
        stack: None,
        signatures,
        over,
        faulty,
        known: Known::default(),
        rest: 0,
        block: 0,
        known_after: vec![None; flow.blocks.len()],
    };
    this.begin(function);
    for block in flow.in_order() {
        this.block(block);
    }
    this.ends();
    this.b.seal_all_blocks();
    this.b.finalize();
}

/// Fields of the context: nothing else of what is accessed is there.
fn context_flags() -> MemFlags {
    MemFlags::trusted().with_alias_region(Some(AliasRegion::Vmctx))
}

/// The guest's registers, and the windows.
fn table_flags() -> MemFlags {
    MemFlags::trusted().with_alias_region(Some(AliasRegion::Table))
}

impl Translator<'_> {
    /// What is read before it is written comes from the guest's registers.
    fn begin(&mut self, function: &Range<usize>) {
        let left = self.field(offset_of!(Context<'_>, left));
        self.b.def_var(self.fuel, left);
        let is_enough = self.is_enough(self.flow.blocks[0].need);
        let go_on = self.unless(is_enough);
        self.hand_over(function.start);
        self.go_on_in(go_on);
        let registers = self.guest_registers();
        self.frame_pointer = self.reload_from(registers, 10);
        for reg in members(self.liveness.before(function.start)) {
            let value = self.reload_from(registers, reg);
            self.b.def_var(self.registers[reg], value);
        }
        let insns = &self.listing.insns[function.clone()];
        if insns.iter().any(memory::may_use_stack) {
            self.stack = Some(self.stack_of(self.frame_pointer));
        }
        let first = self.blocks[0];
        self.b.ins().jump(first, &[]);
    }

    /// What all ways out of the function share.
    fn ends(&mut self) {
        for block in [self.over, self.faulty] {
            self.b.set_cold_block(block);
        }
        self.b.switch_to_block(self.faulty);
        let left = self.b.append_block_param(self.faulty, types::I64);
        self.leave(left, status::FAULT);
        self.b.switch_to_block(self.over);
        let status = self.b.append_block_param(self.over, types::I64);
        self.b.ins().return_(&[status]);
    }

    fn block(&mut self, number: usize) {
        let flow = self.flow;
        let block = &flow.blocks[number];
        self.block = number;
        // What is known where there is one way only to come from.
        self.known = match block.only_from {
            Some(before) => self.known_after[before].clone().unwrap_or_default(),
            None => Known::default(),
        };
        self.b.switch_to_block(self.blocks[number]);
        if block.asks {
            let is_enough = self.is_enough(block.need);
            let go_on = self.unless(is_enough);
            self.spill(self.liveness.before(block.range.start));
            self.hand_over(block.range.start);
            self.go_on_in(go_on);
        }
        let fuel = self.b.use_var(self.fuel);
        let fuel = self.b.ins().iadd_imm(fuel, -block.cost);
        self.b.def_var(self.fuel, fuel);
        self.rest = block.cost;
        for at in block.range.clone() {
            let insn = &self.listing.insns[at];
            self.rest -= cost(insn);
            if self.insn(at, insn) {
                self.known_after[number] = Some(std::mem::take(&mut self.known));
                return;
            }
        }
        self.known_after[number] = Some(std::mem::take(&mut self.known));
        match flow.at(block.range.end) {
            Some(next) => {
                let next = self.blocks[next];
                self.b.ins().jump(next, &[]);
            }
            // Behind the last instruction, which always is a fault.
            None => self.hand_over(block.range.end - 1),
        }
    }

    /// Translates an instruction; true if nothing of the block is left.
    fn insn(&mut self, at: usize, insn: &Insn) -> bool {
        match *insn {
            Insn::Alu { op, wide, dst, by } => self.alu(op, wide, dst, by),
            Insn::Neg { wide, dst } => self.neg(wide, dst),
            Insn::SignExtend { wide, bits, dst, src } => self.sign_extend(wide, bits, dst, src),
            Insn::Swap { bits, dst } => self.swap(bits, dst),
            Insn::Load { bytes, signed, dst, base, offset } => {
                let value = self.load(at, bytes, signed, base, offset);
                self.set(dst, value);
            }
            Insn::Store { bytes, base, offset, value } => {
                self.store(at, bytes, base, offset, value);
            }
            Insn::Lookup { base, entries, stride, cpu_stride, .. } => {
                self.lookup(at, base, entries, stride, cpu_stride, cost(insn));
            }
            Insn::ToArena { arena, dst, src } => self.cast_to_arena(arena, dst, src),
            Insn::FromArena { dst, src } => self.cast_from_arena(dst, src),
            Insn::CallHost { cost } => self.call_host(at, cost),
            Insn::Call { function } => {
                self.call(at, function);
                return true;
            }
            Insn::Other { dst, src } => return self.step(at, dst, src),
            Insn::Jump { target } => {
                let target = self.target(target);
                self.b.ins().jump(target, &[]);
                return true;
            }
            Insn::Branch { test, wide, left, right, target } => {
                let holds = self.compare(test, wide, left, right);
                let (target, next) = (self.target(target), self.target(at + 1));
                self.b.ins().brif(holds, target, &[], next, &[]);
                return true;
            }
            Insn::MayGoto { target } => {
                let result = self.may_loop(at);
                let (target, next) = (self.target(target), self.target(at + 1));
                self.b.ins().brif(result, target, &[], next, &[]);
                return true;
            }
            Insn::Exit => {
                self.spill(self.liveness.at_exit);
                let fuel = self.b.use_var(self.fuel);
                self.leave(fuel, status::FINE);
                return true;
            }
        }
        false
    }

    fn target(&self, at: usize) -> Block {
        // Blocks begin at all targets and behind all jumps.
        self.blocks[self.flow.at(at).unwrap_or_default()]
    }

    fn field(&mut self, offset: usize) -> Value {
        self.b.ins().load(types::I64, context_flags(), self.context, offset as i32)
    }

    fn guest_registers(&mut self) -> Value {
        self.field(offset_of!(Context<'_>, registers))
    }

    fn reload_from(&mut self, registers: Value, reg: usize) -> Value {
        self.b.ins().load(types::I64, table_flags(), registers, reg as i32 * 8)
    }

    /// Has the guest's registers hold what these hold.
    fn spill(&mut self, set: crate::liveness::Set) {
        let registers = self.guest_registers();
        for reg in members(set) {
            let value = self.b.use_var(self.registers[reg]);
            self.b.ins().store(table_flags(), value, registers, reg as i32 * 8);
        }
    }

    /// The other way round.
    fn reload(&mut self, set: crate::liveness::Set) {
        let registers = self.guest_registers();
        for reg in members(set) {
            let value = self.reload_from(registers, reg);
            self.b.def_var(self.registers[reg], value);
        }
    }

    fn get(&mut self, reg: u8) -> Value {
        match self.registers.get(usize::from(reg)) {
            Some(&variable) => self.b.use_var(variable),
            None => self.frame_pointer,
        }
    }

    fn set(&mut self, reg: u8, value: Value) {
        if let Some(&variable) = self.registers.get(usize::from(reg)) {
            self.b.def_var(variable, value);
        }
    }

    fn number(&mut self, number: i64) -> Value {
        self.b.ins().iconst(types::I64, number)
    }

    /// Returns from the compiled function.
    fn leave(&mut self, left: Value, status: u64) {
        let offset = offset_of!(Context<'_>, left) as i32;
        self.b.ins().store(context_flags(), left, self.context, offset);
        let status = self.number(status as i64);
        self.b.ins().return_(&[status]);
    }

    /// Continues in `fine` if `is_fine`, which is what is expected; what comes next is for if not.
    fn unless(&mut self, is_fine: Value) -> Block {
        let (fine, not) = (self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(not);
        self.b.ins().brif(is_fine, fine, &[], not, &[]);
        self.b.seal_block(not);
        self.b.switch_to_block(not);
        fine
    }

    fn go_on_in(&mut self, block: Block) {
        self.b.seal_block(block);
        self.b.switch_to_block(block);
    }

    /// Whether there is as much fuel.
    fn is_enough(&mut self, need: i64) -> Value {
        let fuel = self.b.use_var(self.fuel);
        self.b.ins().icmp_imm(IntCC::SignedGreaterThanOrEqual, fuel, need)
    }

    /// The interpreter goes on at an instruction; the guest's registers hold what it reads.
    fn hand_over(&mut self, at: usize) {
        self.store_fuel(0);
        let status = self.call_at(offset_of!(Context<'_>, thunks.interpret), at);
        self.b.ins().return_(&[status]);
    }

    /// Goes on only if the status is fine. It is a fault otherwise, which the guest knows: gives back
    /// what was taken for the instructions behind the one at hand.
    fn unless_fault(&mut self, status: Value) {
        let left = self.left();
        let go_on = self.b.create_block();
        self.b.ins().brif(status, self.faulty, &[left.into()], go_on, &[]);
        self.go_on_in(go_on);
    }

    /// Instructions left, those behind the one at hand not taken.
    fn left(&mut self) -> Value {
        let fuel = self.b.use_var(self.fuel);
        match self.rest {
            0 => fuel,
            rest => self.b.ins().iadd_imm(fuel, rest),
        }
    }

    /// Others count from here on; `refund` was taken for later.
    fn store_fuel(&mut self, refund: i64) {
        let fuel = self.b.use_var(self.fuel);
        let left = if refund == 0 { fuel } else { self.b.ins().iadd_imm(fuel, refund) };
        let offset = offset_of!(Context<'_>, left) as i32;
        self.b.ins().store(context_flags(), left, self.context, offset);
    }

    /// Counts on, and takes again what is for later.
    fn take_fuel(&mut self, for_later: i64) {
        let left = self.field(offset_of!(Context<'_>, left));
        let fuel = self.b.ins().iadd_imm(left, -for_later);
        self.b.def_var(self.fuel, fuel);
    }

    /// Goes on only if the status is fine, and returns it otherwise.
    fn unless_over(&mut self, status: Value) {
        let go_on = self.b.create_block();
        self.b.ins().brif(status, self.over, &[status.into()], go_on, &[]);
        self.go_on_in(go_on);
    }
}
