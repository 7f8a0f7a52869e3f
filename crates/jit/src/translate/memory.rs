// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loads and stores: what is inside a region and allowed there is done at once, everything else by the
//! guest's memory.

use super::windows::Place;
use super::{table_flags, Translator};
use crate::context::Context;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{types, AliasRegion, InstBuilder, MemFlags, Value};
use rota_vm::engine::{Alu, Insn, Operand, Window, FRAME_STACK};
use std::mem::offset_of;

/// Bytes of a frame's stack below its frame pointer.
const STACK: i64 = FRAME_STACK as i64;

/// Whether an instruction may access the stack by the frame pointer, or by a sum of it.
pub(super) fn may_use_stack(insn: &Insn) -> bool {
    match *insn {
        Insn::Load { base, .. } | Insn::Store { base, .. } => base == 10,
        Insn::Alu { op: Alu::Mov, by, .. } => by == Operand::Reg(10),
        _ => false,
    }
}

/// Guest memory: any alignment.
fn guest_flags() -> MemFlags {
    MemFlags::new().with_notrap().with_alias_region(Some(AliasRegion::Heap))
}

impl Translator<'_> {
    pub(super) fn load(
        &mut self,
        at: usize,
        bytes: u32,
        signed: bool,
        base: u8,
        offset: i32,
    ) -> Value {
        let register = self.get(base);
        let (root, distance) = self.known.root(register);
        let distance = distance + i64::from(offset);
        if let Some((stack, distance)) = self.in_stack(root, distance, bytes) {
            return self.load_direct(bytes, signed, stack, distance);
        }
        let mut place = self.place(root);
        if place.loadable.is_none() {
            place.loadable = Some(self.size(place.window, offset_of!(Window, loadable)));
            self.known.learn(root, place);
        }
        let done = self.b.create_block();
        let result = self.b.append_block_param(done, types::I64);
        let loadable = place.loadable.unwrap_or(place.offset);
        let is_inside = self.is_inside(&place, distance, bytes, loadable);
        let (direct, not) = (self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(not);
        self.b.ins().brif(is_inside, direct, &[], not, &[]);
        self.go_on_in(direct);
        let value = self.load_direct(bytes, signed, place.bytes, distance as i32);
        self.b.ins().jump(done, &[value.into()]);
        self.go_on_in(not);
        let address = self.b.ins().iadd_imm(register, i64::from(offset));
        let (value, status) = self.load_by_guest(at, address, bytes);
        let left = self.left();
        let value = match (signed, bytes) {
            (true, 1) => self.extended(types::I8, value),
            (true, 2) => self.extended(types::I16, value),
            (true, 4) => self.extended(types::I32, value),
            _ => value,
        };
        self.b.ins().brif(status, self.faulty, &[left.into()], done, &[value.into()]);
        self.go_on_in(done);
        result
    }

    fn extended(&mut self, ty: types::Type, value: Value) -> Value {
        let value = self.b.ins().ireduce(ty, value);
        self.b.ins().sextend(types::I64, value)
    }

    pub(super) fn store(&mut self, at: usize, bytes: u32, base: u8, offset: i32, value: Operand) {
        let value = match value {
            Operand::Reg(reg) => self.get(reg),
            Operand::Imm(number) => self.number(number as i64),
        };
        let register = self.get(base);
        let (root, distance) = self.known.root(register);
        let distance = distance + i64::from(offset);
        if let Some((stack, distance)) = self.in_stack(root, distance, bytes) {
            return self.store_direct(bytes, stack, distance, value);
        }
        let mut place = self.place(root);
        if place.storable.is_none() {
            place.storable = Some(self.size(place.window, offset_of!(Window, storable)));
            self.known.learn(root, place);
        }
        let storable = place.storable.unwrap_or(place.offset);
        let is_inside = self.is_inside(&place, distance, bytes, storable);
        let (direct, not, done) =
            (self.b.create_block(), self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(not);
        self.b.ins().brif(is_inside, direct, &[], not, &[]);
        self.go_on_in(direct);
        self.store_direct(bytes, place.bytes, distance as i32, value);
        self.b.ins().jump(done, &[]);
        self.go_on_in(not);
        let address = self.b.ins().iadd_imm(register, i64::from(offset));
        let status = self.store_by_guest(at, address, bytes, value);
        let left = self.left();
        self.b.ins().brif(status, self.faulty, &[left.into()], done, &[]);
        self.go_on_in(done);
    }

    /// `bpf_map_lookup_elem` of an array.
    pub(super) fn lookup(
        &mut self,
        at: usize,
        base: u64,
        entries: u32,
        stride: u32,
        cpu_stride: u32,
        cost: i64,
    ) {
        // a fault costs the one instruction
        self.rest += cost - 1;
        let index = self.load(at, 4, false, 2, 0);
        self.rest -= cost - 1;
        let exists = self.b.ins().icmp_imm(IntCC::UnsignedLessThan, index, i64::from(entries));
        let distance = self.b.ins().imul_imm(index, i64::from(stride));
        let mut address = self.b.ins().iadd_imm(distance, base as i64);
        if cpu_stride != 0 {
            let cpu = self.field(offset_of!(Context<'_>, cpu));
            let copy = self.b.ins().imul_imm(cpu, i64::from(cpu_stride));
            address = self.b.ins().iadd(address, copy);
        }
        let zero = self.number(0);
        let address = self.b.ins().select(exists, address, zero);
        self.set(0, address);
    }

    /// Where bytes of the frame's stack are in this process. Its region lasts as long as the memory.
    fn in_stack(&self, root: Value, distance: i64, bytes: u32) -> Option<(Value, i32)> {
        let is_inside = distance >= -STACK && distance <= -i64::from(bytes);
        let stack = self.stack.filter(|_| root == self.frame_pointer && is_inside)?;
        Some((stack, distance as i32))
    }

    /// Where a frame pointer points in this process.
    pub(super) fn stack_of(&mut self, frame_pointer: Value) -> Value {
        let id = self.b.ins().ushr_imm(frame_pointer, 32);
        let window = self.window_of(id);
        let field = offset_of!(Window, bytes) as i32;
        let first = self.b.ins().load(types::I64, table_flags(), window, field);
        self.b.ins().iadd_imm(first, STACK)
    }

    /// Whether bytes so far from a place are among the first `size` of its region.
    fn is_inside(&mut self, place: &Place, distance: i64, bytes: u32, size: Value) -> Value {
        let end = self.b.ins().iadd_imm(place.offset, distance + i64::from(bytes));
        let ends_inside = self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, end, size);
        if distance >= 0 {
            return ends_inside;
        }
        let start = self.b.ins().iadd_imm(place.offset, distance);
        let starts_inside = self.b.ins().icmp(IntCC::UnsignedLessThan, start, size);
        self.b.ins().band(ends_inside, starts_inside)
    }

    fn load_direct(&mut self, bytes: u32, signed: bool, from: Value, offset: i32) -> Value {
        let (flags, ty) = (guest_flags(), types::I64);
        let load = self.b.ins();
        match (bytes, signed) {
            (1, false) => load.uload8(ty, flags, from, offset),
            (1, true) => load.sload8(ty, flags, from, offset),
            (2, false) => load.uload16(ty, flags, from, offset),
            (2, true) => load.sload16(ty, flags, from, offset),
            (4, false) => load.uload32(flags, from, offset),
            (4, true) => load.sload32(flags, from, offset),
            _ => load.load(ty, flags, from, offset),
        }
    }

    fn store_direct(&mut self, bytes: u32, to: Value, offset: i32, value: Value) {
        let (flags, store) = (guest_flags(), self.b.ins());
        match bytes {
            1 => store.istore8(flags, value, to, offset),
            2 => store.istore16(flags, value, to, offset),
            4 => store.istore32(flags, value, to, offset),
            _ => store.store(flags, value, to, offset),
        };
    }
}
