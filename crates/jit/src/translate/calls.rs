// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls: of functions, of helpers and kernel functions, and of what runs single instructions.

use super::{context_flags, Translator};
use crate::context::Context;
use crate::liveness::{ARGUMENTS, KEPT};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, SigRef, Value};
use std::mem::offset_of;

impl Translator<'_> {
    /// Calls what the context has at an offset.
    pub(super) fn call_thunk(&mut self, offset: usize, of: SigRef, args: &[Value]) -> Vec<Value> {
        let thunk = self.field(offset);
        let call = self.b.ins().call_indirect(of, thunk, args);
        self.b.inst_results(call).to_vec()
    }

    /// Calls one of those that are told of an instruction only.
    pub(super) fn call_at(&mut self, offset: usize, at: usize) -> Value {
        let at = self.number(at as i64);
        self.call_thunk(offset, self.signatures.site, &[self.context, at])[0]
    }

    /// Runs one instruction as the interpreter does; true if nothing of the block is left.
    pub(super) fn step(&mut self, at: usize, dst: u8, src: u8) -> bool {
        let touched = (1 << dst | 1 << src | 1) & (ARGUMENTS | KEPT | 1);
        self.spill(touched);
        let status = self.call_at(offset_of!(Context<'_>, thunks.step), at);
        self.unless_fault(status);
        if dst == 10 || src == 10 {
            // It may have changed the frame pointer, which is nothing that is compiled.
            self.spill(self.liveness.before(at + 1) & !touched);
            self.store_fuel(self.rest);
            let status = self.call_at(offset_of!(Context<'_>, thunks.interpret), at + 1);
            self.b.ins().return_(&[status]);
            return true;
        }
        self.reload(touched & self.liveness.before(at + 1));
        false
    }

    /// Calls a helper or kernel function.
    pub(super) fn call_host(&mut self, at: usize, expected: u32) {
        let site = self.number(at as i64);
        let field = offset_of!(Context<'_>, site) as i32;
        self.b.ins().store(context_flags(), site, self.context, field);
        let mut args = vec![self.context];
        args.extend((1..6).map(|reg| self.get(reg)));
        let thunk = offset_of!(Context<'_>, thunks.host);
        let results = self.call_thunk(thunk, self.signatures.host, &args);
        let (r0, cost) = (results[0], results[1]);
        self.known.forget_windows();
        self.set(0, r0);
        let is_expected = self.b.ins().icmp_imm(IntCC::Equal, cost, i64::from(expected));
        let usual = self.unless(is_expected);

        // A fault, a callback, or more work than usual.
        let after = self.liveness.before(at + 1);
        self.spill((after | self.liveness.inherited) & KEPT);
        self.store_fuel(self.rest);
        let need = self.rest + self.flow.need_after(self.block);
        let [at, need, expected] =
            [at as i64, need, i64::from(expected)].map(|number| self.number(number));
        let args = [self.context, at, need, expected, r0, cost];
        let thunk = offset_of!(Context<'_>, thunks.settle);
        let status = self.call_thunk(thunk, self.signatures.settle, &args)[0];
        self.unless_over(status);
        self.take_fuel(self.rest);
        self.reload((ARGUMENTS | 1) & after);
        self.b.ins().jump(usual, &[]);
        self.go_on_in(usual);
    }

    /// Calls a function; it is the last of a block.
    pub(super) fn call(&mut self, at: usize, function: usize) {
        let callee = self.listing.functions.get(function).map_or(0, |callee| callee.start);
        let after = self.liveness.before(at + 1);
        self.spill((after & KEPT) | self.liveness.before(callee));
        self.store_fuel(0);
        let need = self.flow.need_after(self.block);
        let [site, function, need] =
            [at as i64, function as i64, need].map(|number| self.number(number));
        let args = [self.context, site, function, need];
        let thunk = offset_of!(Context<'_>, thunks.call);
        let status = self.call_thunk(thunk, self.signatures.call, &args)[0];
        self.unless_over(status);
        self.known.forget_windows();
        self.take_fuel(0);
        self.reload((ARGUMENTS | 1) & after);
        let next = self.target(at + 1);
        self.b.ins().jump(next, &[]);
    }

    /// Counts a loop: not 0 once there may be no more.
    pub(super) fn may_loop(&mut self, at: usize) -> Value {
        self.call_at(offset_of!(Context<'_>, thunks.may_loop), at)
    }

    /// Loads by the guest's memory.
    pub(super) fn load_by_guest(
        &mut self,
        at: usize,
        address: Value,
        bytes: u32,
    ) -> (Value, Value) {
        let [at, bytes] = [at as i64, i64::from(bytes)].map(|number| self.number(number));
        let args = [self.context, at, address, bytes];
        let thunk = offset_of!(Context<'_>, thunks.load);
        let results = self.call_thunk(thunk, self.signatures.load, &args);
        (results[0], results[1])
    }

    /// Stores by the guest's memory.
    pub(super) fn store_by_guest(
        &mut self,
        at: usize,
        address: Value,
        bytes: u32,
        value: Value,
    ) -> Value {
        let [at, bytes] = [at as i64, i64::from(bytes)].map(|number| self.number(number));
        let args = [self.context, at, address, bytes, value];
        let thunk = offset_of!(Context<'_>, thunks.store);
        self.call_thunk(thunk, self.signatures.store, &args)[0]
    }
}
