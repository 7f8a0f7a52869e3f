// SPDX-License-Identifier: MIT OR Apache-2.0
//! A tiny assembler: one function per instruction form.

use rota_object::image::{FuncId, Insn, MapId, Symbol};

/// One instruction, with what it refers to.
pub struct Line {
    pub insns: Vec<Insn>,
    pub symbol: Option<Ref>,
}

/// A reference.
pub enum Ref {
    Symbol(Symbol),
    Kfunc(&'static str),
}

pub fn insn(op: u8, dst: u8, src: u8, off: i16, imm: i32) -> Insn {
    Insn { op, dst, src, off, imm }
}

pub fn line(op: u8, dst: u8, src: u8, off: i16, imm: i32) -> Line {
    Line { insns: vec![insn(op, dst, src, off, imm)], symbol: None }
}

// Operations of ALU and jump instructions.
pub const ADD: u8 = 0x00;
pub const SUB: u8 = 0x10;
pub const MUL: u8 = 0x20;
pub const DIV: u8 = 0x30;
pub const OR: u8 = 0x40;
pub const AND: u8 = 0x50;
pub const LSH: u8 = 0x60;
pub const RSH: u8 = 0x70;
pub const NEG: u8 = 0x80;
pub const MOD: u8 = 0x90;
pub const XOR: u8 = 0xa0;
pub const MOV: u8 = 0xb0;
pub const ARSH: u8 = 0xc0;
pub const JEQ: u8 = 0x10;
pub const JGT: u8 = 0x20;
pub const JGE: u8 = 0x30;
pub const JSET: u8 = 0x40;
pub const JNE: u8 = 0x50;
pub const JSGT: u8 = 0x60;
pub const JSGE: u8 = 0x70;
pub const JLT: u8 = 0xa0;
pub const JLE: u8 = 0xb0;
pub const JSLT: u8 = 0xc0;
pub const JSLE: u8 = 0xd0;

// Sizes of loads and stores.
pub const W: u8 = 0x00;
pub const H: u8 = 0x08;
pub const B: u8 = 0x10;
pub const DW: u8 = 0x18;

pub fn alu64(op: u8, dst: u8, imm: i32) -> Line {
    line(op | 0x07, dst, 0, 0, imm)
}

pub fn alu64r(op: u8, dst: u8, src: u8) -> Line {
    line(op | 0x0f, dst, src, 0, 0)
}

pub fn alu32(op: u8, dst: u8, imm: i32) -> Line {
    line(op | 0x04, dst, 0, 0, imm)
}

pub fn alu32r(op: u8, dst: u8, src: u8) -> Line {
    line(op | 0x0c, dst, src, 0, 0)
}

pub fn mov(dst: u8, imm: i32) -> Line {
    alu64(MOV, dst, imm)
}

pub fn movr(dst: u8, src: u8) -> Line {
    alu64r(MOV, dst, src)
}

pub fn ja(off: i16) -> Line {
    line(0x05, 0, 0, off, 0)
}

pub fn gotol(off: i32) -> Line {
    line(0x06, 0, 0, 0, off)
}

pub fn jump64(op: u8, dst: u8, imm: i32, off: i16) -> Line {
    line(op | 0x05, dst, 0, off, imm)
}

pub fn jump64r(op: u8, dst: u8, src: u8, off: i16) -> Line {
    line(op | 0x0d, dst, src, off, 0)
}

pub fn jump32(op: u8, dst: u8, imm: i32, off: i16) -> Line {
    line(op | 0x06, dst, 0, off, imm)
}

pub fn jump32r(op: u8, dst: u8, src: u8, off: i16) -> Line {
    line(op | 0x0e, dst, src, off, 0)
}

pub fn may_goto(off: i16) -> Line {
    line(0xe5, 0, 0, off, 0)
}

pub fn load(size: u8, dst: u8, src: u8, off: i16) -> Line {
    line(0x61 | size, dst, src, off, 0)
}

pub fn load_signed(size: u8, dst: u8, src: u8, off: i16) -> Line {
    line(0x81 | size, dst, src, off, 0)
}

pub fn store(size: u8, dst: u8, off: i16, src: u8) -> Line {
    line(0x63 | size, dst, src, off, 0)
}

pub fn store_imm(size: u8, dst: u8, off: i16, imm: i32) -> Line {
    line(0x62 | size, dst, 0, off, imm)
}

pub fn atomic(size: u8, dst: u8, off: i16, src: u8, op: i32) -> Line {
    line(0xc3 | size, dst, src, off, op)
}

fn wide(dst: u8, src: u8, value: u64, symbol: Option<Symbol>) -> Line {
    let low = insn(0x18, dst, src, 0, value as u32 as i32);
    let high = insn(0, 0, 0, 0, (value >> 32) as u32 as i32);
    Line { insns: vec![low, high], symbol: symbol.map(Ref::Symbol) }
}

pub fn lddw(dst: u8, value: u64) -> Line {
    wide(dst, 0, value, None)
}

pub fn map_handle(dst: u8, number: u32) -> Line {
    wide(dst, 1, 0, Some(Symbol::Map(MapId(number))))
}

pub fn map_value(dst: u8, number: u32, offset: u64) -> Line {
    wide(dst, 2, 0, Some(Symbol::MapValue(MapId(number), offset)))
}

pub fn func(dst: u8, number: u32) -> Line {
    wide(dst, 4, 0, Some(Symbol::Func(FuncId(number))))
}

pub fn helper(id: i32) -> Line {
    line(0x85, 0, 0, 0, id)
}

pub fn call(number: u32) -> Line {
    let insns = vec![insn(0x85, 0, 1, 0, -1)];
    Line { insns, symbol: Some(Ref::Symbol(Symbol::Func(FuncId(number)))) }
}

pub fn kfunc(name: &'static str) -> Line {
    Line { insns: vec![insn(0x85, 0, 2, 0, -1)], symbol: Some(Ref::Kfunc(name)) }
}

pub fn exit() -> Line {
    line(0x95, 0, 0, 0, 0)
}
