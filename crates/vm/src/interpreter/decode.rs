// SPDX-License-Identifier: MIT OR Apache-2.0
//! Instruction slots to ops, once per instance.
//!
//! Nothing here fails: what cannot run becomes a trap that faults when reached, as
//! dead code may hold anything.

use super::op::{
    accessed, atomic, class, code, field, is_jump, jump, mode, operation, size, writes_dst, Op,
};
use super::program::{Callee, Program};
use super::{fold, nullable};
use crate::error::FaultKind;
use crate::frames::STACK_SIZE;
use crate::helper_names;
use crate::host::Host;
use crate::memory::handle;
use crate::places::Places;
use crate::table::{CallTable, Helper, ANY_CONTEXT};
use rota_object::image::{Function, Image, Insn, Symbol};
use rustc_hash::FxHashMap;
use std::sync::{Arc, OnceLock};

/// `gotol`: the distance is in the immediate.
const JA32: u8 = class::JMP32 | jump::JA;

/// Decodes all functions of an image.
pub(super) fn decode<H: Host>(
    image: &Arc<Image>,
    table: &CallTable<H>,
    places: &Places,
) -> Program<H> {
    let mut decoder = Decoder {
        image,
        table,
        places,
        callees: Vec::new(),
        known: FxHashMap::default(),
        traps: Vec::new(),
    };
    let mut program = Program {
        image: Arc::clone(image),
        ops: Vec::new(),
        slots: Vec::new(),
        entries: Vec::new(),
        callees: Vec::new(),
        arrays: places.arrays.iter().map(|place| place.unwrap_or_default()).collect(),
        kept: places.kept.clone(),
        traps: Vec::new(),
        names: Vec::new(),
        unchecked: Vec::new(),
        arena: places.arena,
        compiled: OnceLock::new(),
    };
    for function in &image.functions {
        let (mut ops, mut slots) = decoder.function(function);
        fold::simplify(&mut ops, &mut slots, places);
        let base = program.ops.len();
        program.entries.push(base as u32);
        for op in &mut ops {
            if is_jump(op.code) {
                op.off += base as i32;
            }
        }
        program.ops.append(&mut ops);
        program.slots.append(&mut slots);
    }
    // Calls name functions until all entries are known.
    for op in program.ops.iter_mut().filter(|op| op.code == code::CALL) {
        op.off = program.entries[op.imm as usize] as i32;
    }
    program.callees = decoder.callees;
    program.traps = decoder.traps;
    nullable::mark(&mut program);
    program
}

#[derive(PartialEq, Eq, Hash)]
enum CalleeKey {
    Helper(i32),
    Kfunc(String),
}

struct Decoder<'a, H> {
    image: &'a Image,
    table: &'a CallTable<H>,
    places: &'a Places,
    callees: Vec<Callee<H>>,
    known: FxHashMap<CalleeKey, u64>,
    traps: Vec<FaultKind>,
}

impl<H: Host> Decoder<'_, H> {
    fn function(&mut self, function: &Function) -> (Vec<Op>, Vec<u32>) {
        let start = function.start as usize;
        let code = self.image.code.get(start..start + function.len as usize).unwrap_or(&[]);
        let (mut ops, mut slots) = (Vec::new(), Vec::new());
        // Op of each slot; second slots of `lddw` are nobody's target.
        let mut op_of = vec![None; code.len()];
        let mut slot = 0;
        while let Some(insn) = code.get(slot) {
            op_of[slot] = Some(ops.len());
            slots.push(function.start + slot as u32);
            let next = code.get(slot + 1);
            ops.push(self.instruction(*insn, next, function.start + slot as u32));
            // A jump keeps its target slot until every slot has its op.
            if let Some(op) = ops.last_mut().filter(|op| is_jump(op.code)) {
                let distance = if insn.op == JA32 { insn.imm } else { i32::from(insn.off) };
                op.off = (slot as i32).saturating_add(1).saturating_add(distance);
            }
            slot += if insn.op == code::LDDW { 2 } else { 1 };
        }
        // Where bad jumps and code without an exit end up.
        let end = ops.len();
        slots.push(function.start + function.len.max(1) - 1);
        ops.push(self.trap(FaultKind::Denied("control leaves the function's code".into())));
        for op in ops.iter_mut().filter(|op| is_jump(op.code)) {
            let target = usize::try_from(op.off).ok().and_then(|at| *op_of.get(at)?);
            op.off = target.unwrap_or(end) as i32;
        }
        (ops, slots)
    }

    fn trap(&mut self, kind: FaultKind) -> Op {
        self.traps.push(kind);
        Op { code: code::TRAP, dst: 0, src: 0, off: 0, imm: self.traps.len() as u64 - 1 }
    }

    fn bad(&mut self, insn: Insn) -> Op {
        self.trap(FaultKind::BadInsn(insn.op))
    }

    fn instruction(&mut self, insn: Insn, next: Option<&Insn>, slot: u32) -> Op {
        let image = self.image;
        let symbol = image.symbols.get(&slot);
        if let Some(Symbol::Poison(what)) = symbol {
            return self.trap(FaultKind::Missing(what.clone()));
        }
        if insn.dst > 10 || (insn.src > 10 && insn.op & field::CLASS != class::LD) {
            return self.bad(insn);
        }
        let op = match insn.op {
            code::LDDW => return self.load_wide(insn, next, symbol, slot),
            code::CALL => return self.call(insn, symbol, slot),
            _ => match insn.op & field::CLASS {
                class::ALU32 | class::ALU64 => arithmetic(insn),
                class::JMP | class::JMP32 => jump(insn),
                class::LDX | class::ST | class::STX => memory(insn),
                _ => None,
            },
        };
        let Some(op) = op else { return self.bad(insn) };
        if writes_dst(op) && op.dst == 10 {
            return self.trap(FaultKind::Denied("writes the frame pointer".into()));
        }
        if let Some((base, size)) = accessed(op) {
            let inside = op.off >= -(STACK_SIZE as i32) && op.off <= -size;
            if base == 10 && !inside {
                return self.trap(FaultKind::Stack);
            }
        }
        op
    }

    fn load_wide(
        &mut self,
        insn: Insn,
        next: Option<&Insn>,
        symbol: Option<&Symbol>,
        slot: u32,
    ) -> Op {
        let Some(high) = next.filter(|_| insn.dst < 10) else { return self.bad(insn) };
        let immediate = u64::from(insn.imm as u32) | u64::from(high.imm as u32) << 32;
        let value = match symbol {
            Some(Symbol::Map(map)) => Some(handle::map(map.0)),
            Some(Symbol::MapValue(map, offset)) => {
                self.places.values.get(map.0 as usize).map(|base| base.wrapping_add(*offset))
            }
            Some(Symbol::Func(func)) => Some(handle::function(*func)),
            Some(Symbol::Ksym(index)) => self.places.ksyms.get(*index as usize).copied(),
            Some(Symbol::Value(value)) => Some(*value),
            // A pointer to a function of the same object that needed no relocation.
            None if insn.src == 4 => self.function_at(slot, insn.imm).map(handle::function),
            None => (insn.src == 0).then_some(immediate),
            Some(_) => None,
        };
        match value {
            Some(value) => Op { code: code::LDDW, dst: insn.dst, src: 0, off: 0, imm: value },
            None => self.trap(FaultKind::Missing("load of an address that is not linked".into())),
        }
    }

    fn function_at(&self, slot: u32, distance: i32) -> Option<rota_object::image::FuncId> {
        let target = i64::from(slot) + i64::from(distance) + 1;
        let found = self.image.functions.iter().position(|f| i64::from(f.start) == target)?;
        Some(rota_object::image::FuncId(found as u32))
    }

    fn call(&mut self, insn: Insn, symbol: Option<&Symbol>, slot: u32) -> Op {
        let direct = |imm: u64| Op { code: code::CALL, dst: 0, src: 0, off: 0, imm };
        match (symbol, insn.src) {
            (Some(Symbol::Func(func)), _) if (func.0 as usize) < self.image.functions.len() => {
                direct(func.0.into())
            }
            (Some(Symbol::Kfunc(index)), _) => {
                let image = self.image;
                match image.kfuncs.get(*index as usize) {
                    Some(name) => self.kfunc(name),
                    None => self.bad(insn),
                }
            }
            (Some(Symbol::MissingKfunc(name)), _) => self.missing_kfunc(name),
            (None, 0) => self.helper(insn.imm),
            (None, 1) => match self.function_at(slot, insn.imm) {
                Some(func) => direct(func.0.into()),
                None => {
                    self.trap(FaultKind::Missing(format!("call of no function ({})", insn.imm)))
                }
            },
            _ => self.trap(FaultKind::Missing("call that is not linked".into())),
        }
    }

    fn missing_kfunc(&mut self, name: &str) -> Op {
        self.trap(FaultKind::Missing(format!("kernel function {name} does not exist here")))
    }

    fn kfunc(&mut self, name: &str) -> Op {
        let Some(row) = self.table.kfunc(name) else { return self.missing_kfunc(name) };
        let limit = (row.contexts != ANY_CONTEXT).then_some((row.contexts, row.name));
        let simple = row.simple.filter(|_| limit.is_none() && row.absent.is_none());
        let callee = Callee { run: row.run, cost: row.cost, limit, absent: row.absent, simple };
        self.host_call(CalleeKey::Kfunc(name.to_owned()), callee)
    }

    fn helper(&mut self, id: i32) -> Op {
        match self.table.helper(id) {
            Some(row) => {
                let Helper { run, cost, simple, .. } = *row;
                let callee = Callee { run, cost, limit: None, absent: None, simple };
                Op { off: id, ..self.host_call(CalleeKey::Helper(id), callee) }
            }
            None => {
                let name = helper_names::name(id);
                self.trap(FaultKind::Missing(format!("helper {id} ({name}) does not exist here")))
            }
        }
    }

    fn host_call(&mut self, key: CalleeKey, callee: Callee<H>) -> Op {
        let callees = &mut self.callees;
        let index = *self.known.entry(key).or_insert_with(|| {
            callees.push(callee);
            callees.len() as u64 - 1
        });
        Op { code: code::CALL_HOST, dst: 0, src: 0, off: 0, imm: index }
    }
}

fn plain(insn: Insn, code: u8, imm: u64) -> Option<Op> {
    Some(Op { code, dst: insn.dst, src: insn.src, off: i32::from(insn.off), imm })
}

fn arithmetic(insn: Insn) -> Option<Op> {
    let wide = insn.op & field::CLASS == class::ALU64;
    let from_register = insn.op & field::FROM_REGISTER != 0;
    let imm = if wide { insn.imm as i64 as u64 } else { u64::from(insn.imm as u32) };
    let (form, off) = (insn.op & field::OPERATION, insn.off);
    let code = match (form, off) {
        (operation::DIV | operation::MOD, 1) => {
            let table = match (form, wide) {
                (operation::DIV, true) => [code::SDIV64_K, code::SDIV64_X],
                (operation::DIV, false) => [code::SDIV32_K, code::SDIV32_X],
                (_, true) => [code::SMOD64_K, code::SMOD64_X],
                (_, false) => [code::SMOD32_K, code::SMOD32_X],
            };
            table[usize::from(from_register)]
        }
        (operation::MOV, 1..) if from_register => match (wide, off, insn.imm) {
            // imm: destination address space << 16 | source address space.
            (true, 1, 1) => code::CAST_KERN,
            (true, 1, 0x1_0000) => code::CAST_USER,
            (true, 8, _) => code::MOVSX64_B,
            (true, 16, _) => code::MOVSX64_H,
            (true, 32, _) => code::MOVSX64_W,
            (false, 8, _) => code::MOVSX32_B,
            (false, 16, _) => code::MOVSX32_H,
            _ => return None,
        },
        (_, 1..) | (_, ..=-1) => return None,
        (operation::NEG, _) if !from_register => insn.op,
        (operation::NEG, _) => return None,
        (operation::END, _) => return swap(insn),
        (..=operation::ARSH, _) => insn.op,
        _ => return None,
    };
    plain(insn, code, imm)
}

/// Byte order conversions; the guest is little-endian.
fn swap(insn: Insn) -> Option<Op> {
    const TO_LITTLE: u8 = class::ALU32 | operation::END;
    const UNCONDITIONAL_OF_REGISTER: u8 = class::ALU64 | operation::END | field::FROM_REGISTER;
    if insn.op == UNCONDITIONAL_OF_REGISTER {
        return None;
    }
    let code = match (insn.op == TO_LITTLE, insn.imm) {
        (true, 16) => return plain(insn, code::AND64_K, 0xffff),
        (true, 32) => return plain(insn, code::AND64_K, 0xffff_ffff),
        (true, 64) => return plain(insn, code::OR64_K, 0),
        (false, 16) => code::SWAP16,
        (false, 32) => code::SWAP32,
        (false, 64) => code::SWAP64,
        _ => return None,
    };
    plain(insn, code, 0)
}

fn jump(insn: Insn) -> Option<Op> {
    let wide = insn.op & field::CLASS == class::JMP;
    let imm = if wide { insn.imm as i64 as u64 } else { u64::from(insn.imm as u32) };
    match insn.op {
        code::JA | JA32 => plain(insn, code::JA, 0),
        code::EXIT => plain(insn, code::EXIT, 0),
        code::MAY_GOTO if insn.src == 0 => plain(insn, code::MAY_GOTO, 0),
        op => match op & field::OPERATION {
            jump::JA | jump::CALL | jump::EXIT | jump::MAY_GOTO | jump::UNUSED => None,
            _ => plain(insn, op, imm),
        },
    }
}

fn memory(insn: Insn) -> Option<Op> {
    let imm = insn.imm as i64 as u64;
    let size = insn.op & field::SIZE;
    match (insn.op & field::MODE, insn.op & field::CLASS) {
        (mode::MEM, _) => plain(insn, insn.op, imm),
        (mode::MEM_SIGNED, class::LDX) if size != size::DW => plain(insn, insn.op, imm),
        (mode::ATOMIC, class::STX) => {
            let any_width = matches!(insn.imm, atomic::LOAD_ACQUIRE | atomic::STORE_RELEASE);
            let fetching = matches!(insn.imm, atomic::EXCHANGE | atomic::COMPARE_EXCHANGE);
            let either = matches!(
                insn.imm & !atomic::FETCH,
                atomic::ADD | atomic::OR | atomic::AND | atomic::XOR
            );
            let word = size == size::W || size == size::DW;
            (any_width || ((either || fetching) && word)).then(|| plain(insn, insn.op, imm))?
        }
        _ => None,
    }
}
