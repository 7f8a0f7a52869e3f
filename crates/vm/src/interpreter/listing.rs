// SPDX-License-Identifier: MIT OR Apache-2.0
//! Decoded code for compilers: ops by what they mean rather than by their bytes.

use super::op::{atomic, class, code, field, is_jump, jump, mode, operation, size, Op};
use super::program::Program;
use super::run::INLINE_LOOKUP_COST;
use crate::engine::{Alu, Change, Insn, Listing, Operand, Test};

/// All functions of a program.
pub(super) fn listing<H>(program: &Program<H>) -> Listing {
    let ends = program.entries.iter().skip(1).copied().chain([program.ops.len() as u32]);
    let functions = program.entries.iter().zip(ends);
    Listing {
        functions: functions.map(|(&start, end)| start as usize..end as usize).collect(),
        kept: program.kept.clone(),
        insns: program.ops.iter().map(|op| insn(program, *op)).collect(),
    }
}

fn insn<H>(program: &Program<H>, op: Op) -> Insn {
    let Op { dst, src, .. } = op;
    let target = op.off as usize;
    match op.code {
        code::JA => Insn::Jump { target },
        code::EXIT => Insn::Exit,
        code::CALL => Insn::Call { function: op.imm as usize },
        code::MAY_GOTO => Insn::MayGoto { target },
        code::CALL_HOST => {
            let callee = program.callees.get(op.imm as usize);
            let cost = callee.map_or(0, |callee| callee.cost);
            let simple = callee.and_then(|callee| callee.simple);
            Insn::CallHost { callee: op.imm as u32, cost, simple }
        }
        code::LOOKUP_ARRAY => {
            let place = program.arrays.get(op.imm as usize).copied().unwrap_or_default();
            Insn::Lookup {
                base: place.base,
                entries: place.entries,
                stride: place.stride,
                cpu_stride: place.cpu_stride,
                cost: INLINE_LOOKUP_COST as u32,
            }
        }
        code::LDDW => Insn::Alu { op: Alu::Mov, wide: true, dst, by: Operand::Imm(op.imm) },
        code::CAST_KERN => Insn::ToArena { arena: program.arena, dst, src },
        code::CAST_USER => Insn::FromArena { dst, src },
        code::NEG64 => Insn::Neg { wide: true, dst },
        code::NEG32 => Insn::Neg { wide: false, dst },
        code::MOVSX64_B => Insn::SignExtend { wide: true, bits: 8, dst, src },
        code::MOVSX64_H => Insn::SignExtend { wide: true, bits: 16, dst, src },
        code::MOVSX64_W => Insn::SignExtend { wide: true, bits: 32, dst, src },
        code::MOVSX32_B => Insn::SignExtend { wide: false, bits: 8, dst, src },
        code::MOVSX32_H => Insn::SignExtend { wide: false, bits: 16, dst, src },
        code::SWAP16 => Insn::Swap { bits: 16, dst },
        code::SWAP32 => Insn::Swap { bits: 32, dst },
        code::SWAP64 => Insn::Swap { bits: 64, dst },
        code::LOAD_NULLABLE if src < 10 => match by_class(Op { code: op.imm as u8, ..op }) {
            Some(Insn::Load { bytes, signed, dst, base, offset, .. }) => {
                Insn::Load { nullable: true, bytes, signed, dst, base, offset }
            }
            _ => Insn::Other { dst, src },
        },
        _ => by_class(op).unwrap_or(Insn::Other { dst, src }),
    }
}

/// Of ops whose byte is the ISA's own.
fn by_class(op: Op) -> Option<Insn> {
    let Op { dst, src, off, .. } = op;
    let second = match op.code & field::FROM_REGISTER {
        0 => Operand::Imm(op.imm),
        _ => Operand::Reg(src),
    };
    let bytes = match op.code & field::SIZE {
        size::B => 1,
        size::H => 2,
        size::W => 4,
        _ => 8,
    };
    let mode = op.code & field::MODE;
    match op.code & field::CLASS {
        class @ (class::ALU32 | class::ALU64) => {
            let wide = class == class::ALU64;
            Some(Insn::Alu { op: alu(op.code & field::OPERATION)?, wide, dst, by: second })
        }
        class @ (class::JMP | class::JMP32) if is_jump(op.code) => {
            let test = test(op.code & field::OPERATION)?;
            let (wide, target) = (class == class::JMP, off as usize);
            Some(Insn::Branch { test, wide, left: dst, right: second, target })
        }
        class::LDX if mode == mode::MEM || (mode == mode::MEM_SIGNED && bytes < 8) => {
            let signed = mode == mode::MEM_SIGNED;
            Some(Insn::Load { nullable: false, bytes, signed, dst, base: src, offset: off })
        }
        class::STX if mode == mode::ATOMIC => atomic(op, bytes),
        class::ST if mode == mode::MEM => {
            Some(Insn::Store { bytes, base: dst, offset: off, value: Operand::Imm(op.imm) })
        }
        class::STX if mode == mode::MEM => {
            Some(Insn::Store { bytes, base: dst, offset: off, value: Operand::Reg(src) })
        }
        _ => None,
    }
}

/// Guest CPUs take turns at instructions: nobody sees the memory in between.
fn atomic(op: Op, bytes: u32) -> Option<Insn> {
    let Op { dst, src, off: offset, imm, .. } = op;
    let kind = imm as i32;
    let fetch = kind & atomic::FETCH != 0;
    let how = match kind & !atomic::FETCH {
        _ if kind == atomic::LOAD_ACQUIRE => {
            let signed = false;
            return Some(Insn::Load { nullable: false, bytes, signed, dst, base: src, offset });
        }
        _ if kind == atomic::STORE_RELEASE => {
            return Some(Insn::Store { bytes, base: dst, offset, value: Operand::Reg(src) });
        }
        // it could change the frame pointer
        _ if src >= 10 => return None,
        _ if kind == atomic::EXCHANGE => Change::Exchange,
        _ if kind == atomic::COMPARE_EXCHANGE => Change::CompareExchange,
        atomic::ADD => Change::Add { fetch },
        atomic::OR => Change::Or { fetch },
        atomic::AND => Change::And { fetch },
        atomic::XOR => Change::Xor { fetch },
        _ => return None,
    };
    Some(Insn::Change { bytes, how, base: dst, offset, src })
}

fn alu(operation: u8) -> Option<Alu> {
    Some(match operation {
        0x00 => Alu::Add,
        0x10 => Alu::Sub,
        0x20 => Alu::Mul,
        operation::DIV => Alu::Div,
        0x40 => Alu::Or,
        0x50 => Alu::And,
        0x60 => Alu::Lsh,
        0x70 => Alu::Rsh,
        operation::MOD => Alu::Mod,
        0xa0 => Alu::Xor,
        operation::MOV => Alu::Mov,
        operation::ARSH => Alu::Arsh,
        _ => return None,
    })
}

fn test(operation: u8) -> Option<Test> {
    Some(match operation {
        0x10 => Test::Eq,
        0x20 => Test::Gt,
        0x30 => Test::Ge,
        0x40 => Test::Common,
        0x50 => Test::Ne,
        0x60 => Test::SignedGt,
        0x70 => Test::SignedGe,
        0xa0 => Test::Lt,
        0xb0 => Test::Le,
        0xc0 => Test::SignedLt,
        0xd0 => Test::SignedLe,
        jump::JA.. => return None,
    })
}
